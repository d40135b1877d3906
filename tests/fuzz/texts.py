"""Mutants of programs as texts: what parses is formatted to what means the same, once and for all.

`python -m tests.fuzz.texts --count N --seed S [FOLDER ...]`; programs of more folders may be named.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.frontend.format.format import format_module
from tempoc.frontend.syntax.parse import parse, rt_grammar
from tests.support.examples import ROOT

SEEDS = tuple(
    path
    for top in ("examples", "stdlib", "tests", "golden")
    for path in sorted((ROOT / top).rglob("*.rt"))
)
STATEMENTS = 5
"""A mutant is made of so many statements, or fewer."""
_STATEMENT = re.compile(r"(?<=\n)(?=[^\s})\]])")
"""Where a line begins that is not indented."""
_PIECES = re.compile(r'"""(?s:.*?)"""|"(?:[^"\\\n]|\\.)*"|#[^\n]*|[^\S\n]+|\w+|.|\n')
_SPACES = (
    " ",
    "\n",
    "\n\n\n",
    "\t",
    "\r",
    "\r\n",
    "\f",
    "; ",
    "\n  ",
    "  # note\n",
    " #\n",
    "#;\n",
)
_WORDS = (
    *(
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "=",
        "==",
        "->",
        "+",
        "-",
        "**",
        ".",
        "1",
        "t",
        "not",
    ),
    *(
        '"""doc"""',
        '"a\\"b"',
        "when t >= 1",
        "as",
        "f32",
        "in",
        "return x",
        "if",
        "else",
        "# a\r\n",
    ),
    *(
        "{ }",
        "()",
        "for k in range(2) { x = 1 }",
        "def f(x) = x",
        "def g(x) { return x }",
        "# \x0b",
    ),
)

Pieces = list[str]


def pieces_of(text: str) -> Pieces:
    """A text as words, signs, strings, comments, spaces and line breaks."""
    return _PIECES.findall(text)


def mutant(text: str, rng: random.Random) -> str:
    """Some statements of a text with one to three things changed."""
    statements = [t for t in _STATEMENT.split(text) if t]
    first = rng.randrange(max(1, len(statements) - STATEMENTS + 1))
    pieces = pieces_of("".join(statements[first : first + rng.randint(1, STATEMENTS)]))
    for _ in range(rng.randint(1, 3)):
        rng.choice(CHANGES)(pieces, rng)
    return "".join(pieces)


def _place(pieces: Pieces, rng: random.Random, room: int = 0) -> int:
    return rng.randrange(max(1, len(pieces) + room))


def _remove(pieces: Pieces, rng: random.Random) -> None:
    at = _place(pieces, rng)
    del pieces[at : at + rng.choice((1, 1, 1, 2, 5))]


def _double(pieces: Pieces, rng: random.Random) -> None:
    at = _place(pieces, rng)
    pieces[at:at] = pieces[at : at + rng.choice((1, 1, 3, 10))]


def _swap(pieces: Pieces, rng: random.Random) -> None:
    a, b = _place(pieces, rng), _place(pieces, rng)
    if pieces:
        pieces[a], pieces[b] = pieces[b], pieces[a]


def _space(pieces: Pieces, rng: random.Random) -> None:
    pieces.insert(_place(pieces, rng, 1), rng.choice(_SPACES))


def _word(pieces: Pieces, rng: random.Random) -> None:
    pieces.insert(_place(pieces, rng, 1), rng.choice(_WORDS))


def _replace(pieces: Pieces, rng: random.Random) -> None:
    """Put another piece of the text, or a word, in the place of one."""
    if pieces:
        pieces[_place(pieces, rng)] = rng.choice((rng.choice(pieces), rng.choice(_WORDS)))


def _join(pieces: Pieces, rng: random.Random) -> None:
    """Join two lines."""
    breaks = [k for k, piece in enumerate(pieces) if piece == "\n"]
    if breaks:
        pieces[rng.choice(breaks)] = rng.choice((" ", "; ", ""))


def _break(pieces: Pieces, rng: random.Random) -> None:
    """Split a line where a space is."""
    spaces = [k for k, piece in enumerate(pieces) if piece.isspace()]
    if spaces:
        pieces[rng.choice(spaces)] = rng.choice(("\n", "  # note\n", "\n# note\n", "\r\n"))


CHANGES: Sequence[Callable[[Pieces, random.Random], None]] = (
    *(_remove, _double, _swap, _word, _replace, _join, _join, _break, _break, _break),
    *(_space, _space, _space, _space),
)


def problem(text: str) -> str | None:
    """What is wrong with how a text is parsed and formatted; `None` if nothing, or if refused."""
    source = Source("m.rt", text)
    try:
        module = parse(source)
    except DiagnosticError:
        return None
    except Exception:
        return f"parse: {traceback.format_exc()}"
    try:
        once = format_module(module, source)
        again = parse(Source("m.rt", once))
        twice = format_module(again)
    except DiagnosticError as error:
        return f"what is formatted is refused: {error}"
    except Exception:
        return f"format: {traceback.format_exc()}"
    if again != module:
        return "what is formatted means something else"
    if twice != once:
        return "formatting twice is not formatting once"
    if comments(once) != comments(text):
        return f"comments differ: {comments(text)} {comments(once)}"
    return None


def comments(text: str) -> list[str]:
    """The comments of a program, in order, without what is not printed at their ends."""
    return [str(t).rstrip() for t in rt_grammar().tokens(text) if t.type == "COMMENT"]


def reduced(text: str, fails: Callable[[str], bool]) -> str:
    """A text from which nothing can be removed so that it still fails."""
    pieces, size = pieces_of(text), 32
    while size:
        at = 0
        while at < len(pieces):
            fewer = pieces[:at] + pieces[at + size :]
            if fails("".join(fewer)):
                pieces = fewer
            else:
                at += 1
        size //= 2
    return "".join(pieces)


def failures(count: int, seed: int, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Reduced mutants that fail, with what is wrong with them."""
    rng = random.Random(seed)
    for _ in range(count):
        text = mutant(rng.choice(texts), rng)
        wrong = problem(text)
        if wrong is not None:
            kind = wrong.split(":")[0]
            yield reduced(text, lambda t: (problem(t) or "").split(":")[0] == kind), wrong  # noqa: B023


def main() -> int:
    """Print failures; the exit status is 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("folders", nargs="*", type=Path)
    options = parser.parse_args()
    paths = [*SEEDS, *(p for f in options.folders for p in sorted(f.rglob("*.rt")))]
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in paths]
    seen: dict[str, str] = {}
    for text, _ in failures(options.count, options.seed, texts):
        seen.setdefault(text, problem(text) or "")
    for text, wrong in seen.items():
        print(f"{text!r}\n    {wrong[-600:]}")
    print(f"{options.count} mutants of {len(texts)} programs, {len(seen)} failures")
    return 1 if seen else 0


if __name__ == "__main__":
    sys.exit(main())
