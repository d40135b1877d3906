"""Diagnostics as data: code, message, labelled spans, notes, help.

Each layer makes its diagnostics in its own `errors.py` (the runner in `runtime/messages/`), one
function or row per code; no wording is defined here. Rendering is in `diagnostics/render.py`.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tempoc.diagnostics.source import Span


@dataclass(frozen=True, slots=True)
class Label:
    """A span of the source with an optional short annotation."""

    span: Span
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """An error; `message` is one sentence without a full stop.

    `primary` is None only where the cause is not in a source text (an option, a missing file).
    """

    code: str
    message: str
    primary: Label | None = None
    secondary: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: str | None = None


def error(
    code: str,
    message: str,
    span: Span | None = None,
    help: str | None = None,
    *,
    notes: Iterable[str] = (),
    label: str = "",
    secondary: Iterable[Label] = (),
) -> Diagnostic:
    """An error at a span, if there is one; `label` is the annotation there."""
    return Diagnostic(
        code=code,
        message=message,
        primary=None if span is None else Label(span, label),
        secondary=tuple(secondary),
        notes=tuple(notes),
        help=help,
    )


class DiagnosticError(Exception):
    """Something is rejected because of `diagnostics` (at least one)."""

    diagnostics: tuple[Diagnostic, ...]

    def __init__(self, *diagnostics: Diagnostic) -> None:
        """Carry the given diagnostics, in order."""
        super().__init__("; ".join(f"{d.code}: {d.message}" for d in diagnostics))
        self.diagnostics = diagnostics


class RunError(DiagnosticError):
    """A run is refused or failed; the program itself is fine."""


@dataclass(slots=True)
class Collector:
    """Collects independent diagnostics, so that all errors are reported at once."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    _known: set[Diagnostic] = field(default_factory=set)
    _places: set[tuple[str, Span]] = field(default_factory=set)

    def add(self, diagnostic: Diagnostic) -> None:
        """Add a diagnostic unless an equal one was added."""
        if diagnostic not in self._known:
            self._known.add(diagnostic)
            self.diagnostics.append(diagnostic)
            if diagnostic.primary:
                self._places.add((diagnostic.code, diagnostic.primary.span))

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Add several."""
        for diagnostic in diagnostics:
            self.add(diagnostic)

    def report(self, diagnostic: Diagnostic, sites: Sequence[Label] = ()) -> None:
        """Add a diagnostic with further labels, unless its code was added with its span."""
        place = diagnostic.primary and diagnostic.primary.span
        if place and (diagnostic.code, place) in self._places:
            return
        self.add(replace(diagnostic, secondary=(*diagnostic.secondary, *sites)))

    @contextmanager
    def catching(self) -> Iterator[None]:
        """Add the diagnostics of an error that ends the block."""
        try:
            yield
        except DiagnosticError as rejected:
            self.extend(rejected.diagnostics)

    def ordered(self) -> tuple[Diagnostic, ...]:
        """All diagnostics sorted by source position; those without a position come first."""
        return tuple(sorted(self.diagnostics, key=_place))

    def raise_errors(self, kind: type[DiagnosticError] = DiagnosticError) -> None:
        """Raise an exception of this kind with all diagnostics, if there are any."""
        if self.diagnostics:
            raise kind(*self.ordered())


def _place(diagnostic: Diagnostic) -> tuple[str, int, int]:
    if diagnostic.primary is None:
        return ("", -1, -1)
    span = diagnostic.primary.span
    # Paths may be shown from the working directory or from the root; the order is the same.
    return (os.path.abspath(span.source.path), span.start, span.end)
