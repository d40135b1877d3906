"""How the loops of a kernel run on a GPU: with how many steps it is compiled, what a graph holds.

The host launches each step of a loop, or a graph of the step. If the number of steps is not known
when the kernel is compiled, or much depends on a condition, the host also waits for the device in
each step.
"""

from __future__ import annotations

from collections.abc import Mapping

from tempoc.program.analysis.traversal import calls, regions, statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.gpu_commands import COMMANDS, COMMON, OPTIONS


def command_modes(program: prog.Program) -> Mapping[str, str]:
    """The mode of command buffers of each kernel: its own, that of all kernels, or the usual one.

    Modes that are not known any more (`gpu_commands.py`) count as none.
    """
    chosen = {
        key: mode
        for key, mode in program.provenance
        if key.partition(".")[0] == COMMANDS and mode in OPTIONS
    }
    common = chosen.get(COMMANDS, COMMON)
    return {k.name: chosen.get(f"{COMMANDS}.{k.name}", common) for k in program.kernels}


def counted_regions(program: prog.Program) -> frozenset[str]:
    """The kernels of device loops that a GPU compiles for a number of steps.

    Each number is a compilation, so these are loops whose steps are brief.
    """
    return frozenset(r.kernel for r in regions(program.tree) if _is_brief(r))


def _is_brief(region: prog.Region) -> bool:
    """Whether a step of a device loop has no loops, and no end of its own.

    A GPU mostly computes what has a condition in any case (``taken_if`` in
    `codegen/regions/prelude.py`).
    """
    parts = statements_in(region.loop.body)
    plain = not any(isinstance(part, prog.Loop) for part in parts)
    points = {e for call in calls(region.loop.body) for e in call.point}
    return plain and not region.endings and points.isdisjoint(region.counts)
