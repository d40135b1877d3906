"""Printer and parser of schedule trees.

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

import re
from collections.abc import Iterator, Mapping

from tempoc.schedule.tree import Execute, LoopPlace, ScheduleTree, TreeGuard, TreeLoop, TreeSequence
from tempoc.symbolic.parse import parse_expr, parse_list
from tempoc.symbolic.text import show as show_index

INDENT = "  "


def show(tree: ScheduleTree) -> str:
    """The text of a tree, one statement per line; `parse` is its inverse."""
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
_FOR = re.compile(r"for (\w+) in (reversed )?(.+?)\.\.(.+?)(?: by (\d+))?( on device| unrolled)?:$")
_IF = re.compile(r"if (.+):$")
_EXECUTE = re.compile(r"([^\s\[]+)(?:\[(.*)\])?$")


def parse(text: str) -> ScheduleTree:
    """The tree of a text. Raises `ValueError` with the malformed line."""
    lines = [line for line in text.splitlines() if line.strip()]
    tree, end = _block(lines, 0, 0)
    if end != len(lines):
        raise ValueError(f"unexpected indentation: {lines[end]!r}")
    return tree


def _block(lines: list[str], at: int, depth: int) -> tuple[ScheduleTree, int]:
    items: list[ScheduleTree] = []
    while at < len(lines) and _depth(lines[at]) == depth:
        line = lines[at].strip()
        if parsed := _FOR.match(line):
            body, at = _block(lines, at + 1, depth + 1)
            items.append(_loop(parsed, body))
        elif parsed := _IF.match(line):
            body, at = _block(lines, at + 1, depth + 1)
            items.append(TreeGuard(condition=parse_expr(parsed[1]), body=body))
        elif parsed := _EXECUTE.match(line):
            items.append(Execute(statement=parsed[1], point=parse_list(parsed[2] or "")))
            at += 1
        else:
            raise ValueError(f"not a line of a schedule: {line!r}")
    return (items[0] if len(items) == 1 else TreeSequence(items=tuple(items))), at


def _depth(line: str) -> int:
    return (len(line) - len(line.lstrip())) // len(INDENT)


def _loop(line: re.Match[str], body: ScheduleTree) -> TreeLoop:
    low, high, step = parse_expr(line[3]), parse_expr(line[4]), int(line[5] or 1)
    place = next(p for p, shown in _PLACES.items() if shown == (line[6] or ""))
    if line[2]:
        low, high, step = high - 1, low - 1, -step
    return TreeLoop(var=line[1], lower=low, upper=high, step=step, body=body, place=place)
