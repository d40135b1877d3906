"""XLA command buffers (CUDA graphs) for the kernels of a program on GPUs.

XLA records launches that repeat, and replays them as one: with ``default`` what stands between two
tasks of the host, with ``none`` nothing. Which mode is the faster depends on the kernel. Other
devices ignore it.

Whole loops XLA records only if it is told to, and is not: on 2026-11-27, an H200 with JAX 0.11.2,
such graphs ended loops after their first steps, or wrote to slots of other steps, whatever else was
recorded and in whichever order. The same functions are right without.
"""

from __future__ import annotations

from collections.abc import Mapping

COMMANDS = "command_buffers"
"""The entry of a program's provenance for all kernels; ``command_buffers.NAME`` for one of them."""
COMMON, NONE = "default", "none"
OPTIONS: Mapping[str, Mapping[str, str | int]] = {
    COMMON: {"xla_gpu_graph_min_graph_size": 1},
    NONE: {"xla_gpu_enable_command_buffer": ""},
}
"""The XLA compiler options of each mode.

By itself XLA records five launches or more. 2026-11-26, an H100: a step of a loop with two kernels
and two counters takes 15.9 us as XLA would have it, 5.8 recorded.
"""
WAYS = (*OPTIONS,)
