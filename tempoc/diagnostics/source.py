"""Source text and positions in it.

Diagnostics refer to a `Source` by a `Span`: two character offsets. Lines and columns are computed
on demand, so spans are cheap to create, to hash and to carry through all rewriting.
"""

from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Source:
    """A text and its name as shown to the user (a path, or `<stdin>`)."""

    path: str
    text: str

    def span(self, start: int, end: int) -> "Span":
        """The span of the characters from `start` up to but without `end`."""
        return Span(self, start, end)

    def whole(self) -> "Span":
        """The span of the whole text."""
        return Span(self, 0, len(self.text))

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character, both counted from 1."""
        starts = line_starts(self.text)
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line_text(self, line: int) -> str:
        """The text of a line counted from 1, without its line break."""
        starts = line_starts(self.text)
        if not 1 <= line <= len(starts):
            return ""
        end = starts[line] if line < len(starts) else len(self.text)
        return self.text[starts[line - 1] : end].rstrip("\r\n")


@dataclass(frozen=True, slots=True)
class Span:
    """The characters `start <= offset < end` of a source."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        """Line of the first character, counted from 1."""
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        """Column of the first character, counted from 1."""
        return self.source.position(self.start)[1]

    @property
    def text(self) -> str:
        """The characters of the span."""
        return self.source.text[self.start : self.end]

    def to(self, other: "Span") -> "Span":
        """The smallest span over this one and `other`, which lies in the same source."""
        return Span(self.source, min(self.start, other.start), max(self.end, other.end))

    def encloses(self, other: "Span") -> bool:
        """Whether all characters of `other` are in this one, too."""
        return (
            self.source.path == other.source.path
            and self.start <= other.start
            and other.end <= self.end
        )

    def __str__(self) -> str:
        """`path:line:column`, as editors understand it."""
        line, column = self.source.position(self.start)
        return f"{self.source.path}:{line}:{column}"

    def __repr__(self) -> str:
        """A short form; the text of a source never belongs into a dump."""
        return f"Span({self.source.path!r}, {self.start}, {self.end})"

    def __hash__(self) -> int:
        """By path and offsets, without the text, which may be long."""
        return hash((self.source.path, self.start, self.end))


@lru_cache(maxsize=256)
def line_starts(text: str) -> tuple[int, ...]:
    r"""Offsets at which the lines of a text start; `\n` alone ends a line."""
    starts = [0]
    offset = text.find("\n")
    while offset >= 0:
        starts.append(offset + 1)
        offset = text.find("\n", offset + 1)
    return tuple(starts)
