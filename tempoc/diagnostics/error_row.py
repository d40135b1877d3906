"""Errors that are a code and texts with holes: rows instead of functions."""

from __future__ import annotations

from dataclasses import dataclass
from string import Formatter

from tempoc.diagnostics.diagnostic import Diagnostic, error
from tempoc.diagnostics.source import Span


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """An error whose message, help and note name their values in braces, as `str.format` wants."""

    code: str
    message: str
    help: str | None = None
    note: str | None = None

    @property
    def fields(self) -> tuple[str, ...]:
        """The names in braces, in the order in which they are read."""
        texts = Formatter().parse(f"{self.message} {self.help or ''} {self.note or ''}")
        return tuple(dict.fromkeys(name for _, name, _, _ in texts if name))

    def __call__(self, *values: object) -> Diagnostic:
        """The error, at a span if the first value is one; the others are those of the fields.

        Raises `ValueError` for more or fewer values.
        """
        span = values[0] if values and isinstance(values[0], Span) else None
        names = dict(zip(self.fields, values[span is not None :], strict=True))
        help, note = (text and text.format_map(names) for text in (self.help, self.note))
        notes = () if note is None else (note,)
        return error(self.code, self.message.format_map(names), span, help, notes=notes)
