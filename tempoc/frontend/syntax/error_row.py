"""Diagnostics that are a code and texts with holes: most errors of the front end are such rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from string import Formatter

from tempoc.diagnostics.diagnostic import Diagnostic, error
from tempoc.diagnostics.source import Span


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """An error whose message, help and note name their values in braces, as `str.format` wants.

    `fields` are the names, in the order in which they are read; values are given in this order.
    """

    code: str
    message: str
    help: str | None = None
    note: str | None = None
    fields: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        texts = Formatter().parse(f"{self.message} {self.help or ''} {self.note or ''}")
        names = dict.fromkeys(name for _, name, _, _ in texts if name)
        object.__setattr__(self, "fields", tuple(names))

    def __call__(self, span: Span, *values: object) -> Diagnostic:
        """The error at a span. Raises `ValueError` for more or fewer values than there are."""
        names = dict(zip(self.fields, values, strict=True))
        help, note = (text and text.format_map(names) for text in (self.help, self.note))
        notes = () if note is None else (note,)
        return error(self.code, self.message.format_map(names), span, help, notes=notes)
