"""Programs that people wrote, with one or two things changed: `python -m tests.fuzz --mutants`.

A program that somebody wrote holds what no generator thinks of; next to it lie programs that nobody
tried. Most mutants are refused, some mean something else: they must agree with the evaluator, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from random import Random

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.frontend.syntax import ast
from tempoc.frontend.syntax.parse import parse
from tests.fuzz.generate import Program
from tests.fuzz.texts import SEEDS

LONGEST = 3500
"""Characters of a program that is changed; longer ones take the evaluator long."""
SIZES = (1, 2, 3, 4, 5)
ELSEWHERE = re.compile(r'\bextern\b|\bimport "|\bfrom "')
"""What needs other files, or names of its own in them."""
PIECES = re.compile(
    r'"""(?s:.*?)"""|"(?:[^"\\\n]|\\.)*"|#[^\n]*|[^\S\n]+|\w+(?:\.\w+)*|[-+*/%@<>=!]=|//|\*\*|.|\n'
)
EXCHANGED = tuple(
    tuple(line.split())
    for line in (
        "abs sign exp exp2 log log1p expm1 sqrt rsqrt sin cos tan tanh sigmoid relu gelu silu",
        "softplus erf floor ceil round tanh",
        "sum mean prod max min argmax argmin logsumexp var",
        "cumsum cumprod cummax sort argsort flip",
        "+ - *",
        "< <= > >= ==",
        "minimum maximum power",
        "zeros ones random.normal random.uniform",
        "f32 f64 i32 bf16",
        "nn.softmax nn.log_softmax tanh",
        "any all",
        "0 1 2 3",
        "0.5 1.0 0.0 2.0 inf",
        "min max",
    )
)
"""What may stand in the place of one another."""
KEYWORDS = frozenset(
    word
    for line in (
        "dim const assume import input param extern output save print def return for in when",
        "until from over as to if else and or not true false",
    )
    for word in line.split()
)

Dims = Sequence[tuple[str, str]]
"""Dimensions with their bounds."""


@cache
def originals() -> tuple[str, ...]:
    """The programs that are changed: those of the repository that need no other files."""
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in SEEDS)
    return tuple(t for t in texts if len(t) <= LONGEST and not ELSEWHERE.search(t))


def program(seed: int, number: int) -> Program:
    """The mutant of a number."""
    random = Random(f"mutant {seed}:{number}")
    text = random.choice(originals())
    for _ in range(random.choice((1, 1, 1, 2))):
        text = random.choice(CHANGES)(text, random)
    names = free_bounds(text)
    sizes = tuple({name: random.choice(SIZES) for name in names} for _ in range(3))
    return Program(text, (), sizes, special=random.random() < 0.1)


def free_bounds(text: str) -> list[str]:
    """The bounds that a run must give; none of a text that cannot be parsed."""
    try:
        items = parse(Source("m.rt", text)).items
    except DiagnosticError:
        return []
    dims = [item for item in items if isinstance(item, ast.DimDecl)]
    known = {d.bound.name for d in dims if d.default is not None}
    return [*dict.fromkeys(d.bound.name for d in dims if d.bound.name not in known)]


def dimensions(text: str) -> Dims:
    """The dimensions as they are declared."""
    return re.findall(r"^dim (\w+) < (\w+)", text, re.MULTILINE)


def exchange(text: str, random: Random) -> str:
    """A function, an operator, a number or a type for another of its kind."""
    pieces = PIECES.findall(text)
    others = {a: [b for b in row if b != a] for row in EXCHANGED for a in row}
    return _one_of(pieces, random, others.__contains__, lambda p: random.choice(others[p]))


def rename(text: str, random: Random) -> str:
    """One use of a name becomes another name of the program."""
    pieces = PIECES.findall(text)
    names = [*dict.fromkeys(p for p in pieces if p.isidentifier() and p not in KEYWORDS)]
    return _one_of(pieces, random, names.__contains__, lambda _: random.choice(names))


def read_elsewhere(text: str, random: Random) -> str:
    """One use of a dimension becomes another point or a slice."""
    if not (dims := dimensions(text)):
        return text
    d, bound = random.choice(dims)
    entries = (
        f"{d}+1", f"{d}-1", f"({bound}-1-{d})", f"({d}//2)", f"({d}%2)", f"min({d}+1,{bound}-1)",
        f"max({d}-1,0)", "0", f"{bound}-1", f"0:{d}+1", f"{d}:{bound}", f"max({d}-2,0):{d}+1",
        f"0:{bound}", f"({d}//2)*2", f"{d}:min({d}+3,{bound})", f"0:{bound}:2",
    )  # fmt: skip
    pieces = PIECES.findall(text)
    return _one_of(pieces, random, d.__eq__, lambda _: random.choice(entries))


def guard(text: str, random: Random) -> str:
    """An equation gets another guard, or loses it; the plain one may follow."""
    lines, dims = text.split("\n"), dimensions(text)
    places = [k for k, line in enumerate(lines) if re.match(r"\w+(\[.*?\])? = ", line)]
    if not places or not dims:
        return text
    k, (d, bound) = random.choice(places), random.choice(dims)
    plain = re.sub(r" when .*", "", lines[k])
    limits = (f"{d} >= 1", f"{d} % 2 == 0", f"{d} < {bound} - 1", f"{d} == 0", f"{d} >= {bound}//2")
    guarded = f"{plain} when {random.choice(limits)}"
    lines[k : k + 1] = random.choice(([plain], [guarded], [guarded], [guarded, plain]))
    return "\n".join(lines)


def swap_lines(text: str, random: Random) -> str:
    """Two lines change places."""
    lines = text.split("\n")
    a, b = random.randrange(len(lines)), random.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return "\n".join(lines)


def wrap(text: str, random: Random) -> str:
    """Something is put around a piece, or the piece goes."""
    pieces = PIECES.findall(text)
    around = ("", "-{}", "{}.T", "{}[0]", "sum({})", "{}{}", "exp({})", "[{}]", "stop_gradient({})")
    words = [p for p in pieces if re.match(r"[\w+*@-]", p)]
    change = random.choice(around)
    return _one_of(pieces, random, words.__contains__, lambda p: change.replace("{}", p))


def result(text: str, random: Random) -> str:
    """One more result: a tensor, a point of it, a sum, a gradient, a line that is printed."""
    names = re.findall(r"^(\w+)(?:\[.*?\])? = ", text, re.MULTILINE)
    if not names:
        return text
    a, b = random.choice(names), random.choice(names)
    ways = [f"output {a}", f"zz = sum({a} * {a})\noutput zz", f"print {a}"]
    ways += [f"zz = grad(sum({a}), {b})\noutput zz"] * 2
    ways += [f"output {a}[{d} = 0] as zz" for d, _ in dimensions(text)]
    return f"{text}\n{random.choice(ways)}\n"


def _one_of(
    pieces: list[str], random: Random, fits: Callable[[str], bool], change: Callable[[str], str]
) -> str:
    """The text with one of the pieces that fit changed."""
    places = [k for k, piece in enumerate(pieces) if fits(piece)]
    if places:
        k = random.choice(places)
        pieces[k] = change(pieces[k])
    return "".join(pieces)


CHANGES: Sequence[Callable[[str, Random], str]] = (
    *(exchange, exchange, exchange, rename, read_elsewhere, read_elsewhere),
    *(guard, swap_lines, wrap, result, result),
)
