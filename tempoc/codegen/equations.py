"""Equations of the source as they stand there, for docstrings and messages."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from tempoc.base.source import Span


def shown(found: Iterable[Span], program: str) -> tuple[str, ...]:
    """``file.rt:7: h[t] = tanh(a[t])`` for each equation, in source order, of a program."""
    # As keys, so that an equation of many members stands once.
    spans = dict.fromkeys(found)
    whole = [s for s in spans if not any(_is_part(s, other) for other in spans)]

    # The program's own equations first, wherever the files lie.
    def place(span: Span) -> tuple[bool, str, int]:
        path = PurePath(span.source.path)
        return path.stem != program, path.name, span.line

    texts = {place(s)[1:]: _source_text(s) for s in sorted(whole, key=place)}
    return tuple(f"{name}:{line}: {text}" for (name, line), text in texts.items())


def _is_part(span: Span, other: Span) -> bool:
    """Whether a span lies inside another one."""
    inside = other.start <= span.start and span.end <= other.end
    return inside and span != other and span.source.path == other.source.path


def _source_text(span: Span) -> str:
    """The lines of a span on one line, without comments."""
    last = span.source.position(max(span.start, span.end - 1))[0]
    lines = [span.source.line_text(n).split("#")[0] for n in range(span.line, last + 1)]
    return " ".join(" ".join(lines).split())
