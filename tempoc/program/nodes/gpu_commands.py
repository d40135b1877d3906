"""XLA command buffers (CUDA graphs) for the kernels of a program on GPUs.

XLA records launches that repeat, and replays them as one: with ``default`` what stands between two
tasks of the host, with ``none`` nothing, with ``loops`` also whole loops. Which mode is the fastest
depends on the kernel. Other devices ignore it.
"""

from __future__ import annotations

from collections.abc import Mapping

COMMANDS = "command_buffers"
"""The entry of a program's provenance for all kernels; ``command_buffers.NAME`` for one of them."""
COMMON, NONE, LOOPS = "default", "none", "loops"
_ALONE = "FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,DYNAMIC_SLICE_FUSION"
OPTIONS: Mapping[str, Mapping[str, str | int]] = {
    COMMON: {"xla_gpu_graph_min_graph_size": 1},
    NONE: {"xla_gpu_enable_command_buffer": ""},
    LOOPS: {
        "xla_gpu_enable_command_buffer": f"{_ALONE},CONDITIONAL,WHILE",
        "xla_gpu_graph_min_graph_size": 1,
    },
}
"""The XLA compiler options of each mode.

By itself XLA records five launches or more. 2026-11-26, an H100: a step of a loop with two kernels
and two counters takes 15.9 us as XLA would have it, 5.8 recorded, and 10.1 in a recorded loop.
"""
WAYS = (*OPTIONS,)
