"""Diagnostics rendered as text; nothing is printed here."""

import re
from collections.abc import Sequence
from unicodedata import combining, east_asian_width

from tempoc.diagnostics.diagnostic import Diagnostic, Label
from tempoc.diagnostics.source import Span

TAB = "    "
WIDEST = 400
"""Longer lines of a source are shown around what is underlined."""
LONGEST = 2000
"""Characters of a message; longer ones repeat a name, or a number, that is far too long."""
_CUT = "..."
_HEADS = re.compile(r"^(?:(error\[\w+\])(: .*)|(note)(?=: )|(help)(?=: ))", re.MULTILINE)


def render_all(diagnostics: Sequence[Diagnostic]) -> str:
    """All diagnostics, a blank line between two; ends with a line break unless there is none."""
    return "\n".join(render(d) for d in diagnostics)


def render(diagnostic: Diagnostic) -> str:
    """One diagnostic: headline, source lines with their spans underlined, notes, help."""
    lines = [f"error[{diagnostic.code}]: {printed(_short(diagnostic.message))}"]
    if diagnostic.primary is not None:
        lines += _excerpts(diagnostic.primary, diagnostic.secondary)
    lines += [_indented("note", _short(note)) for note in diagnostic.notes]
    if diagnostic.help is not None:
        lines.append(_indented("help", _short(diagnostic.help)))
    return "\n".join(lines) + "\n"


def _short(text: str) -> str:
    """A text without its middle, if that is too long to be read."""
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]}{_CUT}{text[-half:]}"


def colored(text: str) -> str:
    """Rendered diagnostics with colours for a terminal, where there is no better way to draw."""
    return _HEADS.sub(_look, text)


def _look(match: re.Match[str]) -> str:
    pieces = zip(("1;31", "1", "1", "1;36"), match.groups(), strict=True)
    return "".join(f"\x1b[{look}m{text}\x1b[0m" for look, text in pieces if text)


def _indented(head: str, text: str) -> str:
    """`head: text`, further lines of the text aligned under its first."""
    return f"{head}: " + "\n      ".join(map(printed, text.split("\n")))


def _excerpts(primary: Label, secondary: Sequence[Label]) -> list[str]:
    """The primary span, then the secondary ones, each with its path where that changes."""
    labels = [primary, *secondary]
    width = max(len(str(label.span.line)) for label in labels)
    lines: list[str] = []
    path: str | None = None
    for label in labels:
        if path is None or label.span.source.path != path:
            lines.append(" " * width + f"--> {printed(str(label.span))}")
            lines.append(" " * width + " |")
        lines += _excerpt(label, width, "^" if label is primary else "-")
        path = label.span.source.path
    return lines


def _excerpt(label: Label, width: int, mark: str) -> list[str]:
    """The first line of a span and the underline below it."""
    span = label.span
    line = span.line
    shown, start, length = _visible(span)
    words = f" {printed(label.text)}" if label.text else ""
    return [
        f"{line:>{width}} | {shown}".rstrip(),
        " " * width + " | " + " " * start + mark * length + words,
    ]


def _visible(span: Span) -> tuple[str, int, int]:
    """The line as shown (tabs widened), and the columns of the underline's start and length.

    A span of several lines is underlined to the end of its first; an empty one gets one mark.
    """
    line, column = span.source.position(span.start)
    text = span.source.line_text(line)
    begin = min(column - 1, len(text))
    end = min(begin + max(span.end - span.start, 1), max(len(text), begin + 1))
    before, inside, after = text[:begin], text[begin:end], text[end:]
    if len(text) > WIDEST:
        before = before if begin <= WIDEST // 4 else _CUT + before[-WIDEST // 4 :]
        inside = inside[: WIDEST // 2]
        after = (inside and text[begin + len(inside) :])[: WIDEST // 4] + _CUT
    before, inside, after = (printed(p.replace("\t", TAB)) for p in (before, inside, after))
    return before + inside + after, _columns(before), max(_columns(inside), 1)


def printed(text: str) -> str:
    r"""The text with escapes (``\x1b``) for characters that could steer a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _columns(text: str) -> int:
    """How many columns of a terminal a text takes: two for wide characters, none for accents."""
    return sum((east_asian_width(c) in "WF") + (not combining(c)) for c in text)
