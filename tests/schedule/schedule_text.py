"""Reads schedules as `tempoc.schedule.text` shows them: tests write down what is wrong, too."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tempoc.schedule.text import INDENT
from tempoc.schedule.tree import Execute, LoopPlace, ScheduleTree, TreeGuard, TreeLoop, TreeSequence
from tempoc.symbolic.parse import parse_expr, parse_list

PLACES: Mapping[str | None, LoopPlace] = {
    None: "host",
    " on device": "device",
    " unrolled": "unrolled",
}
FOR = re.compile(r"for (\w+) in (reversed )?(.+?)\.\.(.+?)(?: by (\d+))?( on device| unrolled)?:$")
IF = re.compile(r"if (.+):$")
EXECUTE = re.compile(r"([^\s\[]+)(?:\[(.*)\])?$")


def parse(text: str) -> ScheduleTree:
    """The tree of a text. Raises `ValueError` with the malformed line."""
    lines = [line for line in text.splitlines() if line.strip()]
    tree, end = block(lines, 0, 0)
    if end != len(lines):
        raise ValueError(f"unexpected indentation: {lines[end]!r}")
    return tree


def block(lines: list[str], at: int, depth: int) -> tuple[ScheduleTree, int]:
    items: list[ScheduleTree] = []
    while at < len(lines) and depth_of(lines[at]) == depth:
        line = lines[at].strip()
        if parsed := FOR.match(line):
            body, at = block(lines, at + 1, depth + 1)
            items.append(loop_of(parsed, body))
        elif parsed := IF.match(line):
            body, at = block(lines, at + 1, depth + 1)
            items.append(TreeGuard(condition=parse_expr(parsed[1]), body=body))
        elif parsed := EXECUTE.match(line):
            items.append(Execute(statement=parsed[1], point=parse_list(parsed[2] or "")))
            at += 1
        else:
            raise ValueError(f"not a line of a schedule: {line!r}")
    return (items[0] if len(items) == 1 else TreeSequence(items=tuple(items))), at


def depth_of(line: str) -> int:
    return (len(line) - len(line.lstrip())) // len(INDENT)


def loop_of(line: re.Match[str], body: ScheduleTree) -> TreeLoop:
    low, high, step = parse_expr(line[3]), parse_expr(line[4]), int(line[5] or 1)
    if line[2]:
        low, high, step = high - 1, low - 1, -step
    return TreeLoop(var=line[1], lower=low, upper=high, step=step, body=body, place=PLACES[line[6]])
