"""Loops of which it is not known before a run how many steps they have."""

from __future__ import annotations

from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import bounds_set_by_run
from tempoc.symbolic.walk import symbols


def known_bounds(program: prog.Program) -> frozenset[str]:
    """The bounds that are known before a run."""
    names = frozenset(bound.name for bound in program.bounds)
    return names - bounds_set_by_run(program.bounds, program.lengths)


def is_open(loop: prog.Loop, known: frozenset[str]) -> bool:
    """Whether how many steps a loop has depends on more than bounds that are known."""
    names = {*symbols(loop.lower), *symbols(loop.upper)}
    return loop.limit is not None or not names <= known
