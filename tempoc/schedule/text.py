"""Printer of schedule trees.

::

    h.0
    for t in 0..T:
      x[t]
      if t >= 7:
        g[t-7]
    for t in reversed 0..T on device:
      dx[t]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tempoc.schedule.tree import Execute, LoopPlace, ScheduleTree, TreeGuard, TreeLoop, TreeSequence
from tempoc.symbolic.text import show as show_index

INDENT = "  "


def show(tree: ScheduleTree) -> str:
    """The text of a tree, one statement per line."""
    return "\n".join(_lines(tree, 0)) + "\n"


def _lines(tree: ScheduleTree, depth: int) -> Iterator[str]:
    indent = INDENT * depth
    match tree:
        case TreeSequence(items=items):
            for item in items:
                yield from _lines(item, depth)
        case TreeLoop():
            yield indent + _header(tree)
            yield from _lines(tree.body, depth + 1)
        case TreeGuard(condition=condition, body=body):
            yield f"{indent}if {show_index(condition)}:"
            yield from _lines(body, depth + 1)
        case Execute(statement=name, point=point):
            at = ", ".join(show_index(p) for p in point)
            yield f"{indent}{name}[{at}]" if point else f"{indent}{name}"


def _header(loop: TreeLoop) -> str:
    by = f" by {abs(loop.step)}" if abs(loop.step) != 1 else ""
    by += _PLACES[loop.place]
    if loop.step > 0:
        return f"for {loop.var} in {show_index(loop.lower)}..{show_index(loop.upper)}{by}:"
    low, high = show_index(loop.upper + 1), show_index(loop.lower + 1)
    return f"for {loop.var} in reversed {low}..{high}{by}:"


_PLACES: Mapping[LoopPlace, str] = {"host": "", "device": " on device", "unrolled": " unrolled"}
