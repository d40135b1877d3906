"""What is wider than a terminal: columns of tables folded, source lines cut around what is marked.

The texts are finished and plain; nothing is drawn here.
"""

import re
from collections.abc import Sequence

GAP = "  "
"""Between two columns of a table."""
_MARKS = re.compile(r"[\^-]+")
_SPACE = re.compile(r"(?<![-+<>=]) (?![<>=]|bytes)")
"""Where a cell may be broken: not behind an operator, nor within a comparison or a size."""
_BEFORE = 12
"""Columns of source shown in front of what is marked."""


def cells(lines: Sequence[str]) -> list[list[str]] | None:
    """The cells of a table whose columns begin where those of its first line do.

    ``None`` if the lines are no table of three columns or more. Those of a graph are none: they
    can be read back.
    """
    starts = [0, *(gap.end() for gap in re.finditer(r"(?<=\S) {2,}", lines[0]))]
    if len(starts) < 3 or len(lines) < 2 or lines[0].startswith("%"):
        return None
    rows = []
    for line in lines:
        if any(line[max(start - 2, 0) : start].strip() for start in starts):
            return None
        ends = [*starts[1:], len(line)]
        rows.append([line[a:b].rstrip() for a, b in zip(starts, ends, strict=True)])
    return rows


def fold(rows: Sequence[Sequence[str]], width: int | None) -> list[str]:
    """The lines of a table in at most `width` columns, if given: wide cells are broken at spaces.

    A word longer than its column stays whole, so that it can be copied; then lines are longer.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    least = [max(len(w) for c in col for w in _SPACE.split(c)) for col in zip(*rows, strict=True)]
    while width and sum(widths) + len(GAP) * (len(widths) - 1) > width:
        wide = [k for k, w in enumerate(widths) if w > least[k]]
        if not wide:
            break
        widths[max(wide, key=lambda k: widths[k])] -= 1
    lines = []
    for row in rows:
        pieces = [broken(cell, w) for cell, w in zip(row, widths, strict=True)]
        for k in range(max(map(len, pieces))):
            parts = (p[k] if k < len(p) else "" for p in pieces)
            line = GAP.join(f"{part:{w}}" for part, w in zip(parts, widths, strict=True))
            lines.append(line.rstrip())
    return lines


def broken(text: str, width: int) -> list[str]:
    """A text in lines of at most `width` columns, broken at spaces; at least one line."""
    lines = [""]
    for word in _SPACE.split(text):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and len(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def excerpt(source: str, marks: str, width: int) -> tuple[str, str]:
    """A source line and the marks below it, cut on both sides to the columns around the marks."""
    run = _MARKS.search(marks)
    if max(len(source), len(marks)) <= width or run is None:
        return source, marks
    skip = max(0, min(run.start() - _BEFORE, len(marks) - width)) if len(marks) > width else 0
    if skip:
        source, marks = " …" + source[skip + 2 :], "  " + marks[skip + 2 :]
    if len(source) > width:
        source = source[: width - 1] + "…"
    return source, marks[:width]
