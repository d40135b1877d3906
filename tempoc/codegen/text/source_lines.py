"""The source text of equations, for docstrings and messages."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from tempoc.base.python_text import printable
from tempoc.diagnostics.source import Span


def equation_lines(equations: Iterable[Span], program: str) -> tuple[str, ...]:
    """``file.rt:7: h[t] = tanh(a[t])`` for each equation, in source order, of a program."""
    # As keys, so that an equation of many members stands once.
    spans = dict.fromkeys(equations)
    outer = _outermost(spans)
    outermost = [s for s in spans if s in outer]

    paths = {path: PurePath(path) for path in dict.fromkeys(s.source.path for s in outermost)}

    # The program's own equations first, wherever the files lie.
    def place(span: Span) -> tuple[bool, str, int]:
        path = paths[span.source.path]
        return path.stem != program, path.name, span.line

    texts = {place(s)[1:]: _source_text(s) for s in sorted(outermost, key=place)}
    return tuple(f"{printable(name)}:{line}: {text}" for (name, line), text in texts.items())


def _outermost(spans: Iterable[Span]) -> set[Span]:
    """The spans that do not lie inside others."""
    result: set[Span] = set()
    last: Span | None = None
    for span in sorted(spans, key=lambda s: (s.source.path, s.start, -s.end)):
        if last is None or last.source.path != span.source.path or span.end > last.end:
            result.add(span)
            last = span
    return result


def _source_text(span: Span) -> str:
    """The lines of a span on one line, without comments."""
    last = span.source.position(max(span.start, span.end - 1))[0]
    lines = [span.source.line_text(n).split("#")[0] for n in range(span.line, last + 1)]
    return " ".join(" ".join(lines).split())
