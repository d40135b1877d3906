"""How a GPU is told what a kernel does: what a program says about command buffers (CUDA graphs).

XLA records what it launches again and again, and launches that in one piece: with ``default`` as
it thinks fit, with ``none`` never, with ``loops`` whole loops, too. Which is the fastest depends on
the kernel. Other devices know nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from tempoc.program.nodes.nodes import Program

COMMANDS = "command_buffers"
"""The entry of a program's provenance for all kernels; ``command_buffers.NAME`` for one of them."""
COMMON = "default"
_ALONE = "FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,DYNAMIC_SLICE_FUSION"
OPTIONS: Mapping[str, Mapping[str, str | int]] = {
    COMMON: {},
    "none": {"xla_gpu_enable_command_buffer": ""},
    "loops": {
        "xla_gpu_enable_command_buffer": f"{_ALONE},CONDITIONAL,WHILE",
        "xla_gpu_graph_min_graph_size": 1,
    },
}
"""What is said to XLA for each way; devices that know nothing of it do not mind."""
WAYS = (*OPTIONS,)


def commands_of(program: Program, kernel: str) -> str:
    """What a kernel was measured to want; ``default`` where nobody did."""
    provenance = dict(program.provenance)
    mode = provenance.get(f"{COMMANDS}.{kernel}", provenance.get(COMMANDS, COMMON))
    return mode if mode in OPTIONS else COMMON
