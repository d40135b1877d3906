"""Random programs over vectors: attention, recurrences, chunks, holes, layers, learning, endings.

Each tensor is written by a form of `forms.py`, which is filled with whatever there is already that
varies with no more dimensions. Sizes are small, and nothing costs much to evaluate: many programs
can be tried, each a little different.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from hypothesis import strategies as st

from tests.support.generators.forms import (
    BEHIND,
    EQUATIONS,
    FULL,
    GUARDS,
    LAYERED,
    NUMBERS,
    OTHERS,
    POINTS,
    SCORES,
    STATES,
    STEPS,
    VECTORS,
    WHOLES,
)
from tests.support.generators.programs import Draw

DIMS = ("t", "t", "b t", "t b", "i t", "t s", "b i t", "s t b")
KINDS = ("vector",) * 6 + ("number",) * 2 + ("derived", "layered", "chunked", "learned")
HEAD = """const F = {F}
def both(p, q) = {{m: p.m * q.m, s: p.s * q.m + q.s}}
def outer(a, b) = einsum("i,j->ij", a, b)
def first(v, s) = {{p: v, q: s}}
def next(r, v, s) = {{q: maximum(r.q, s), p: 0.5 * r.p + r.q * v}}
def smooth(v, dim k) {{
  h[k] = v when k == 0
  h[k] = 0.5 * h[k-1] + v
  return h
}}
input A: f32[F, F]
input c: f32[F]
input K: f32[2, F, F]
input P[l]: f32[F, F]
input f: f32
input n0: i32
input x[{all}]: f32[F]
input v[{last}]: f32[F]
input u[{all}]: f32
input z[{first}]: f32
input n[{last}]: i32"""
STOPS = ("stop[{all}] = u", "stop[{last}] = v[{last}][0]", "stop[{last}] = random.uniform([])")
LOSSES = ("sum({v} ** 2)", "tanh({s}) * {s}", "{v} @ {v}", "sum(tanh(A @ {v}) * {v})")
ERRORS = ("sum(({w} @ {v} - {v}) ** 2)", "sum(tanh({w} @ {v}) * {v})", "max({v} @ {w} + c)")
DESCENTS = ("{w} - 0.1 * {g}", "optim.adam({w}, {g}, {d})", "optim.momentum({w}, {g}, {d})")
CHUNKS = ("sum({}, axis = 0)", "max({}, axis = 0)", "sum(cumsum({}, axis = 0), axis = 0)")
CHAINS = ("{b}c[m] = {b}[m]", "{b}c[0] = {b}[0]; {b}c[m] = 0.5 * {b}c[m-1] + {b}[m]")
DELICATE = re.compile(r"max|min|\[0\]|\[-1\]|mean|var|log|top_k|take|%|conv|scores|scan|disc")
"""Forms that need at least one row."""
Known = Mapping[str, tuple[str, ...]]
"""Tensors and their dimensions."""


@dataclass(slots=True)
class Blend:
    """A program in the making: its lines, and the dimensions of vectors and of numbers."""

    dims: tuple[str, ...]
    bounds: dict[str, str]
    lines: list[str]
    vectors: dict[str, tuple[str, ...]]
    numbers: dict[str, tuple[str, ...]]
    outputs: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join([*self.lines, "output " + ", ".join(self.outputs), ""])


class Blender:
    """Writes one tensor; `d` is the dimension along which it reads, `x` the slice."""

    def __init__(self, draw: Draw, program: Blend, name: str) -> None:
        self.draw, self.program, self.name = draw, program, name
        some = tuple(d for d in program.dims if draw(st.integers(0, 3)))
        self.dims = some or program.dims[-1:]
        self.d = self.choose(*self.dims)
        self.x = self.choose(*FULL)
        self.behind = self.choose(*BEHIND)
        self.state = ""
        self.table = ""

    def choose(self, *options: str) -> str:
        return str(self.draw(st.sampled_from(options)))

    # ------------------------------------------------------------ accesses

    def access(self, name: str, dims: tuple[str, ...], at: str | None = None) -> str:
        """A tensor at the equation's point, or elsewhere along `d`; dimensions it lacks are 0."""
        entries = [d if d in self.dims else "0" for d in dims]
        if at is not None:
            entries = [at if d == self.d else e for d, e in zip(dims, entries, strict=True)]
        return f"{name}[{', '.join(entries)}]" if dims else name

    def operand(self, known: Known, at: str | None = None) -> str:
        name = self.choose(*(n for n, dims in known.items() if {*dims} <= {*self.dims}))
        return self.access(name, known[name], at)

    def along(self, known: Known, at: str) -> str:
        """Some tensor that varies with `d`, elsewhere."""
        name = self.choose(*(n for n, dims in known.items() if self.d in dims))
        return self.access(name, known[name], at)

    def two(self) -> str:
        """Rows along two dimensions; with one dimension there is one row of rows."""
        dims, here, entries = self.program.dims, self.d, []
        name = self.choose(*(n for n, own in self.program.vectors.items() if own == dims))
        for d in dims:
            self.d = d
            own = d in self.dims
            part = self.text(self.choose(*FULL)) if own else self.text("0:{T}")
            entries.append(part if d in (dims[0], dims[-1]) else d if own else "0")
        self.d = here
        rows = f"{name}[{', '.join(entries)}]"
        return rows if len(dims) > 1 else f"expand_dims({rows}, 0)"

    # ------------------------------------------------------------ forms

    def text(self, form: str) -> str:
        """A form in which everything is drawn."""
        return re.sub(r"\{\{|\}\}|\{([^{}]+)\}", self.hole, form)

    def hole(self, found: re.Match[str]) -> str:
        """What stands in the place of a name in braces; two braces are one."""
        if found[1] is None:
            return found[0][0]
        what, _, at = found[1].partition(":")
        place = self.place(at) if at else None
        if what == "now":
            return self.access(self.name, self.dims, place)
        if what.startswith("y."):
            return self.access(self.name + what[2:], self.dims, place)
        if what == "step":
            self.state = self.access(self.name, self.dims, place)
        if what == "state":
            self.state = self.access(f"{self.name}h", self.dims, f"{self.d}-1")
        return self.read(what, place)

    def read(self, what: str, place: str | None) -> str:
        """What the equation reads."""
        vectors, numbers = self.program.vectors, self.program.numbers
        match what:
            case "v" | "s":
                return self.operand(vectors if what == "v" else numbers, place)
            case "V" | "S":
                return self.along(vectors if what == "V" else numbers, self.text(self.x))
            case "rows":
                return self.along(vectors, self.text("0:{T}"))
            case "at":
                return self.along(vectors, self.text(self.choose(*POINTS)))
            case "chosen":
                j = self.operand({"n": self.program.dims[-1:], "n0": ()})
                low, high = self.choose("0 {T}", "0 {d}+1", "{d} {T}").split()
                return self.along(
                    vectors, self.text(f"{low} + {j} % ({high} - {low}) in {low}:{high}")
                )
            case "past":
                return self.access(self.name, self.dims, self.text(self.behind))
            case "two":
                self.table = self.table or self.two()
                return self.table
            case _:
                return self.word(what)

    def word(self, what: str) -> str:
        """A part that reads nothing itself."""
        outer = "outer({v}, {v})", "expand_dims({v}, 1) * {v}"
        match what:
            case "d":
                return self.d
            case "T":
                return self.program.bounds[self.d]
            case "e":
                return self.choose(*self.dims)
            case "p":
                return self.state
            case "whole":
                return f"({self.text(self.choose(*WHOLES))})"
            case "vector":
                return self.form(VECTORS)
            case _:
                forms = {"g": GUARDS, "o": outer, "scores": SCORES, "step": STEPS, "state": STATES}
                return self.text(self.choose(*forms[what]))

    def form(self, forms: tuple[str, ...]) -> str:
        """One of some forms; slices may be empty where nothing minds."""
        form = self.choose(*forms)
        if not DELICATE.search(form):
            self.x = self.choose(*FULL, *OTHERS)
        return self.text(form)

    def place(self, at: str) -> str:
        """A place along `d`: a step from here, a word, or an entry."""
        if at[0] in "+-":
            return f"{self.d}{at}"
        if at == "far":
            return self.text(self.choose(*POINTS))
        return self.text(re.sub(r"\b([dT])\b", r"{\1}", at))

    # ------------------------------------------------------------ kinds of tensors

    def put(self, text: str, known: dict[str, tuple[str, ...]], dims: tuple[str, ...]) -> None:
        self.program.lines += text.split("\n")
        known[self.name] = dims
        self.program.outputs.append(self.name)

    def vector(self) -> None:
        self.put(self.text(self.choose(*EQUATIONS)), self.program.vectors, self.dims)

    def number(self) -> None:
        before = self.choose("", "{now} = {s} when {g}; ", "{now:0} = {s:0}; ")
        step = "0.5 * {now:-1} + " if ":0" in before else ""
        text = self.text(f"{before}{{now}} = {step}") + self.form(NUMBERS)
        self.put(text, self.program.numbers, self.dims)

    def printed(self) -> str:
        """A line that prints some points of a tensor."""
        known = {**self.program.vectors, **self.program.numbers}
        name = self.choose(*(n for n, dims in known.items() if dims))
        self.dims = known[name]
        self.d = self.choose(*self.dims)
        return self.text(f"print {name}[{', '.join(self.dims)}] when {{g}}")

    def layered(self) -> None:
        """As many layers as `l` says, each of which may read slices of the one before."""
        own, h = ", ".join(self.dims), f"{self.name}h"
        part = ", ".join(self.text(self.x) if d == self.d else d for d in self.dims)
        form = self.choose(*LAYERED)
        form = form.replace("{h}", f"{h}[l-1, {own}]").replace("{H}", f"{h}[l-1, {part}]")
        lines = [f"{h}[0, {own}] = {self.text('{v}')}", f"{h}[l, {own}] = {form}"]
        lines.append(f"{self.name}[{own}] = {h}[L-1, {own}]")
        self.put("\n".join(lines), self.program.vectors, self.dims)

    def chunked(self) -> None:
        """Two points at a time, with a state from one chunk to the next."""
        self.d, self.dims = self.program.dims[0], self.program.dims[:1]
        b, vectors = f"{self.name}b", self.program.vectors
        rows = self.along(vectors, self.text("2*m:min(2*m+2, {T})"))
        lines = [f"{b}[m] = {self.choose(*CHUNKS).format(rows)}", self.choose(*CHAINS).format(b=b)]
        lines.append(f"{self.name}[{self.d}] = {b}c[{self.d}//2] + {self.text('{v}')}")
        self.put("\n".join(lines), vectors, self.dims)

    def derived(self) -> None:
        """The derivative of numbers, or of their mean, by anything."""
        loss = f"{self.name}l"
        lines = [f"{self.access(loss, self.dims)} = {self.text(self.choose(*LOSSES))}"]
        if self.choose("points", "mean") == "mean":
            whole = ", ".join(f"{d} = 0:{self.program.bounds[d]}" for d in self.dims)
            lines.append(f"{loss}s = mean({loss}[{whole}])")
            loss += "s"
        numbers = self.choose("numbers", "vectors", "vectors") == "numbers"
        known = self.program.numbers if numbers else self.program.vectors
        x = self.choose(*known)
        lines.append(f"{self.name} = tanh(grad({loss}, {x}))")
        self.put("\n".join(lines), known, known[x])

    def learned(self) -> None:
        """A matrix that descends along a dimension; the result is made of its last value."""
        d, w, total = self.d, f"{self.name}w", f"{self.name}e"
        error = self.text(self.choose(*ERRORS).replace("{w}", f"{w}[{d}]"))
        lines = [f"{w}[0] = A", f"{self.access(total, self.dims)} = {error}"]
        if rest := [k for k in self.dims if k != d]:
            whole = ", ".join(f"{k} = 0:{self.program.bounds[k]}" for k in rest)
            lines.append(f"{self.name}m = mean({total}[{whole}])")
            total = f"{self.name}m"
        step = self.choose(*DESCENTS).format(w=f"{w}[{d}]", d=d, g=f"{self.name}g[{d}]")
        lines += [f"{self.name}g[{d}] = grad({total}, {w})", f"{w}[{d}+1] = {step}"]
        lines.append(f"{self.name} = {w}[{self.program.bounds[d]}-1] @ c")
        self.put("\n".join(lines), self.program.vectors, ())


def begin(draw: Draw, *, ends: bool) -> Blend:
    """Dimensions, of which two may share a bound, and inputs."""
    dims = tuple(str(draw(st.sampled_from(DIMS))).split())
    dims = tuple("i" if ends and d == "s" else d for d in dims)
    bounds = {d: "T" if d == "s" else d.upper() for d in dims} | {"l": "L"}
    lines = ["import nn, rl, optim, ssm", f"dim l < L = {draw(st.integers(1, 3))}"]
    values = ("", "", "", " = 2", " = 1", f" = {bounds[dims[0]]} + 1")
    for d in dims:
        fixed = d != dims[0] and "s" not in dims and not ends
        lines.append(f"dim {d} < {bounds[d]}{draw(st.sampled_from(values)) if fixed else ''}")
    lines[-1] += " until stop" if ends else ""
    lines.append(f"dim m < M = ({bounds[dims[0]]} + 1) // 2")
    places = {"all": ", ".join(dims), "first": dims[0], "last": dims[-1]}
    lines += HEAD.format(F=draw(st.sampled_from((1, 2, 3))), **places).split("\n")
    if ends:
        stop = str(draw(st.sampled_from(STOPS))).format(**places)
        lines.append(f"{stop} > {draw(st.sampled_from((-0.5, 0.2, 0.8)))}")
    vectors = {"c": (), "x": dims, "v": dims[-1:]}
    return Blend(dims, bounds, lines, vectors, {"f": (), "u": dims, "z": dims[:1]})


def blend(draw: Draw, *, ends: bool) -> Blend:
    program = begin(draw, ends=ends)
    for number in range(int(str(draw(st.integers(2, 6))))):
        getattr(Blender(draw, program, f"y{number}"), str(draw(st.sampled_from(KINDS))))()
    if draw(st.booleans()):
        program.lines.append(Blender(draw, program, "").printed())
    program.outputs = program.outputs[-int(str(draw(st.sampled_from((1, 2, 9))))) :]
    return program


@st.composite
def blends(draw: Draw) -> Blend:
    """A program with two to six tensors."""
    return blend(draw, ends=False)


@st.composite
def endings(draw: Draw) -> Blend:
    """The same with a last dimension whose length the data decide."""
    return blend(draw, ends=True)
