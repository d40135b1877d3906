"""XLA command buffers (CUDA graphs) for the kernels of a program on GPUs.

XLA records launches that repeat, and replays them as one: with ``default`` what stands between two
tasks of the host, with ``none`` nothing. Which mode is the faster depends on the kernel. Other
devices ignore it.

Whole loops XLA records only if it is told to, and is not: on 2026-11-27, an H200 with JAX 0.11.2,
such graphs ended loops after their first steps, or wrote to slots of other steps, whatever else was
recorded and in whichever order. The same functions are right without. Perhaps the cause is that the
host computes addresses of slices (`_CLAMPED`), which a graph keeps; that was not tried. With
`_CLAMPED` and without whole loops 100 programs of 100 computed what their twins do.
"""

from __future__ import annotations

from collections.abc import Mapping

COMMANDS = "command_buffers"
"""The entry of a program's provenance for all kernels; ``command_buffers.NAME`` for one of them."""
COMMON, NONE = "default", "none"
_CLAMPED = {"xla_disable_hlo_passes": "dynamic-slice-annotator"}
"""In loops whose number of steps it knows, XLA lets the host compute where a slice begins, by the
step, and does not bring that into the array, as `lax.dynamic_slice` does. On 2026-11-27, an H200
with JAX 0.11.2, a state that stays as it is at the last step took what lies behind its array."""
OPTIONS: Mapping[str, Mapping[str, str | int]] = {
    COMMON: {"xla_gpu_graph_min_graph_size": 1, **_CLAMPED},
    NONE: {"xla_gpu_enable_command_buffer": "", **_CLAMPED},
}
"""The XLA compiler options of each mode.

By itself XLA records five launches or more. 2026-11-26, an H100: a step of a loop with two kernels
and two counters takes 15.9 us as XLA would have it, 5.8 recorded.
"""
WAYS = (*OPTIONS,)
