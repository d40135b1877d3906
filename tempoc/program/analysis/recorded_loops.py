"""How the loops of a kernel run on a GPU: with how many steps it is compiled, what a graph holds.

The host launches each step of a loop, or a graph of the step. If the number of steps is not known
when the kernel is compiled, or a step depends on a condition, the host also waits for the device in
each step, unless the graph holds the whole loop. A step of such a graph costs more than a launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tempoc.program.analysis.traversal import calls, regions, statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import bounds_set_by_run
from tempoc.program.nodes.gpu_commands import COMMANDS, COMMON, LOOPS, OPTIONS
from tempoc.symbolic.walk import symbols


def command_modes(program: prog.Program) -> Mapping[str, str]:
    """The mode of command buffers of each kernel: the one recorded, else what its loops need."""
    recorded = {
        key: mode
        for key, mode in program.provenance
        if key.partition(".")[0] == COMMANDS and mode in OPTIONS
    }
    waiting = {
        s.kernel
        for s in statements_in(program.tree)
        if isinstance(s, prog.Region | prog.Block) and waits(s, program)
    }
    return {
        k.name: recorded.get(
            f"{COMMANDS}.{k.name}",
            recorded.get(COMMANDS, LOOPS if k.name in waiting else COMMON),
        )
        for k in program.kernels
    }


def counted_regions(program: prog.Program) -> frozenset[str]:
    """The kernels of device loops that a GPU compiles for a number of steps.

    Each number is a compilation, so these are loops whose steps are brief.
    """
    return frozenset(r.kernel for r in regions(program.tree) if _is_brief(r))


def waits(s: prog.Region | prog.Block, program: prog.Program) -> bool:
    """Whether the host waits for the device in each step of an innermost loop of a kernel."""
    inner = [*_device_loops(s.loop.body if isinstance(s, prog.Region) else s.body)]
    passed = {*s.counts}
    if s.endings or any({loop.lower, loop.upper} & passed for loop in inner):
        return True
    if isinstance(s, prog.Region) and not inner:
        return not _is_brief(s)
    known = known_bounds(program)
    innermost = [loop for loop in inner if not any(_device_loops(loop.body))]
    return any(is_open(loop, known) for loop in inner) or any(
        isinstance(part, prog.Guard) for loop in innermost for part in statements_in(loop.body)
    )


def _is_brief(region: prog.Region) -> bool:
    """Whether a step of a device loop has no loops, no conditions, and no end of its own."""
    parts = statements_in(region.loop.body)
    plain = not any(isinstance(part, prog.Loop | prog.Guard) for part in parts)
    points = {e for call in calls(region.loop.body) for e in call.point}
    return plain and not region.endings and points.isdisjoint(region.counts)


def known_bounds(program: prog.Program) -> frozenset[str]:
    """The bounds that are known before a run."""
    names = frozenset(bound.name for bound in program.bounds)
    return names - bounds_set_by_run(program.bounds, program.lengths)


def is_open(loop: prog.Loop, known: frozenset[str]) -> bool:
    """Whether how many steps a loop has depends on more than bounds that are known."""
    names = {*symbols(loop.lower), *symbols(loop.upper)}
    return loop.limit is not None or not names <= known


def _device_loops(s: prog.ProgramStatement) -> Iterator[prog.Loop]:
    """The loops in a statement that are not unrolled."""
    loops = (part for part in statements_in(s) if isinstance(part, prog.Loop))
    return (loop for loop in loops if loop.place != "unrolled")
