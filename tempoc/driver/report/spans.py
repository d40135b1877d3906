"""Places in sources as plain data; imports little, since every command can fail."""

from __future__ import annotations

from tempoc.diagnostics.source import Span


def span_json(span: Span) -> dict[str, object]:
    """Where a span begins and ends, by lines and columns."""
    line, column = span.source.position(span.start)
    end_line, end_column = span.source.position(span.end)
    return {
        "path": span.source.path,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
    }
