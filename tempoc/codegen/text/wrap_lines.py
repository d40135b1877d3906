"""Wraps long lines of emitted code at outermost brackets."""

from __future__ import annotations

import re

WIDTH = 100
INDENT = "    "

_OPENING, _CLOSING = "([{", ")]}"
_MARKS = re.compile(r"""[()\[\]{},]|"[^"]*"?|'[^']*'?""")
"""Brackets, commas and whole strings."""


def wrapped(line: str, width: int = WIDTH) -> list[str]:
    """The line wrapped to the width; a line without brackets stays long."""
    if len(line) <= width:
        return [line]
    space = " " * (len(line) - len(line.lstrip(" ")))
    targets, equals, value = line.partition(" = ")
    if equals and len(targets) > width // 2 and _closed(targets) and len(_parts(targets)) > 1:
        names = packed(_parts(targets.strip()), space + INDENT, width)
        return [f"{space}(", *names, *wrapped(f"{space}) = {value}", width)]
    _, returned, results = line.partition("return ")
    if returned and len(parts := _parts(results)) > 1:
        return [f"{space}return (", *packed(parts, space + INDENT, width), f"{space})"]
    pairs = _outermost(line)
    if not pairs:
        return [line]
    start, end = pairs[-1] if pairs[-1][0] < width else max(pairs, key=lambda p: p[1] - p[0])
    text = line[start + 1 : end]
    parts = _parts(text)
    # A single part gets no new trailing comma: that could make a tuple of it.
    comma = "," if len(parts) > 1 or text.rstrip().endswith(",") else ""
    *before, first = wrapped(line[:start], width)
    inside = packed(parts, space + INDENT, width, comma)
    return [*before, f"{first}{line[start]}", *inside, *wrapped(space + line[end:], width)]


def packed(parts: list[str], inside: str, width: int = WIDTH, comma: str = ",") -> list[str]:
    """Parts with trailing commas, packed on as few indented lines as possible."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(part) + 2 <= width:
            lines[-1] += f" {part},"
        else:
            lines += wrapped(f"{inside}{part}{comma}", width)
    return lines


def _outermost(line: str) -> list[tuple[int, int]]:
    """The columns of outermost brackets that are not empty."""
    return [(a, b) for a, b in _pairs(line) if b > a + 1]


def _pairs(line: str) -> list[tuple[int, int]]:
    """The columns of outermost brackets; brackets in strings do not count.

    Neither does a bracket that closes one of an earlier line.
    """
    pairs: list[tuple[int, int]] = []
    open_: list[int] = []
    for mark in _MARKS.finditer(line):
        if mark[0] in _OPENING:
            open_.append(mark.start())
        elif mark[0] in _CLOSING and open_:
            start = open_.pop()
            if not open_:
                pairs.append((start, mark.start()))
    return pairs


def _closed(text: str) -> bool:
    """Whether each bracket of the text is closed in it, so that brackets may be put around all."""
    open_: list[str] = []
    for mark in _MARKS.finditer(text):
        if mark[0] in _OPENING:
            open_.append(mark[0])
        elif mark[0] in _CLOSING and not (open_ and open_.pop()):
            return False
    return not open_


def _parts(text: str) -> list[str]:
    """The text split at commas outside of brackets and of the parameters of lambdas."""
    inner = iter((*_pairs(text), (len(text), len(text))))
    cuts, start = [], 0
    first, last = next(inner)
    for k in (mark.start() for mark in _MARKS.finditer(text) if mark[0] == ","):
        while last < k:
            first, last = next(inner)
        if k < first and not _in_parameters(text[start:k]):
            cuts.append(text[start:k].strip())
            start = k + 1
    tail = text[start:].strip()
    return [*cuts, tail] if tail else cuts


def _in_parameters(part: str) -> bool:
    """Whether a part ends in the parameter list of a lambda, which has commas, too."""
    at = part.rfind("lambda ")
    return at >= 0 and ":" not in part[at:] and not any(c in part[at:] for c in "()[]")
