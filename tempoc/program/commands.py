"""How a GPU is told what a kernel does: what a program says about command buffers (CUDA graphs).

XLA records what it launches again and again, and launches that in one piece: with ``default`` as
it thinks fit, with ``none`` never, with ``loops`` whole loops, too. Which is the fastest depends on
the kernel. Other devices know nothing of it.
"""

from __future__ import annotations

from tempoc.program.nodes import Program

COMMANDS = "command_buffers"
"""The entry of a program's provenance for all kernels; ``command_buffers.NAME`` for one of them."""
WAYS = ("default", "none", "loops")


def commands_of(program: Program, kernel: str) -> str:
    """What a kernel was measured to want; ``default`` where nobody did."""
    kept = dict(program.provenance)
    found = kept.get(f"{COMMANDS}.{kernel}", kept.get(COMMANDS, WAYS[0]))
    return found if found in WAYS else WAYS[0]
