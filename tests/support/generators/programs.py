"""Random programs that are right by construction, for hypothesis.

A program has one to three dimensions, one input over all of them and one over the first, and a few
tensors: pointwise, recurrent (forwards, backwards, with longer memory, along two dimensions),
slices reduced, shifted and clamped reads, guards and inline conditions, ragged tensors that are
kept, states that are vectors, tensors defined on a part of their points. Bounds may be shared,
derived or fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st

NAMES = ("i", "j", "k")
NARROW = ("reduced", "derived")
"""Kinds that leave the dimensions of their tensor in `kept`."""
Draw = Callable[[st.SearchStrategy], object]


@dataclass(slots=True, kw_only=True)
class Program:
    """A program in the making: its dimensions, its lines, and the dims of each tensor."""

    dims: tuple[str, ...]
    lines: list[str] = field(default_factory=list)
    tensors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join([*self.lines, "output " + ", ".join(self.outputs), ""])


def bound(dim: str) -> str:
    return dim.upper()


def access(name: str, dims: tuple[str, ...], at: dict[str, str]) -> str:
    """`name[...]` with the entries of `at`, the identity elsewhere."""
    return f"{name}[{', '.join(at.get(dim, dim) for dim in dims)}]" if dims else name


class Writer:
    """Adds one tensor at a time to a program."""

    def __init__(self, draw: Draw, program: Program) -> None:
        self.draw, self.program = draw, program
        self.kept: tuple[str, ...] = ()

    def choose(self, *options: str) -> str:
        return str(self.draw(st.sampled_from(options)))

    def operand(self, dims: tuple[str, ...], **at: str) -> str:
        """A tensor that varies with no more than `dims`, read at `at`; or a number."""
        known = [
            name for name, own in self.program.tensors.items() if set(own) <= set(dims) | set(at)
        ]
        if not known:
            return self.choose("0.5", "-1.0")
        name = self.choose(*known)
        return access(name, self.program.tensors[name], at)

    def mixed(self, dims: tuple[str, ...], **at: str) -> str:
        a, b = self.operand(dims, **at), self.operand(dims, **at)
        return self.choose(f"tanh({a} + {b})", f"0.5 * {a} - {b}", f"maximum({a}, {b} * {b})", a)

    def add(self, kind: str) -> None:
        """One more tensor of this kind."""
        name = f"y{len(self.program.outputs)}"
        dims = self.program.dims
        lines = getattr(self, kind)(name, dims, self.choose(*dims))
        self.program.lines += lines
        self.program.tensors[name] = self.kept if kind in NARROW else dims
        self.program.outputs.append(name)

    def pointwise(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        e = bound(d)
        ends = (f"max({d} - 1, 0)", f"min({d} + 2, {e} - 1)", "0", f"{e} - 1")
        far = {d: self.choose(*ends, f"{e} - 1 - {d}", f"{d} // 2")}
        return [f"{access(name, dims, {})} = {self.mixed(dims)} + {self.operand(dims, **far)}"]

    def forwards(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        before = access(name, dims, {d: f"{d}-1"})
        rest = tuple(dim for dim in dims if dim != d)
        return [
            f"{access(name, dims, {d: '0'})} = {self.mixed(rest, **{d: '0'})}",
            f"{access(name, dims, {})} = 0.6 * {before} + {self.mixed(dims)}",
        ]

    def shifted(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        rest = tuple(dim for dim in dims if dim != d)
        now, later = access(name, dims, {}), access(name, dims, {d: f"{d}+1"})
        return [
            f"{access(name, dims, {d: '0'})} = {self.mixed(rest, **{d: '0'})}",
            f"{later} = sin({now}) + {self.mixed(dims)}",
        ]

    def backwards(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        last = {d: f"{bound(d)}-1"}
        after = access(name, dims, {d: f"{d}+1"})
        rest = tuple(dim for dim in dims if dim != d)
        return [
            f"{access(name, dims, last)} = {self.mixed(rest, **last)}",
            f"{access(name, dims, {})} = 0.6 * {after} + {self.mixed(dims)}",
        ]

    def longer(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        one, two = (access(name, dims, {d: f"{d}-{lag}"}) for lag in (1, 2))
        now = access(name, dims, {})
        return [
            f"{now} = 0.4 * {one} - 0.3 * {two} + {self.operand(dims)} when {d} >= 2",
            f"{now} = {self.mixed(dims)}",
        ]

    def table(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        if len(dims) < 2:
            return self.forwards(name, dims, d)
        a, b = dims[:2]
        left, up = access(name, dims, {a: f"{a}-1"}), access(name, dims, {b: f"{b}-1"})
        return [
            f"{access(name, dims, {})} = 1.0 when {a} == 0 or {b} == 0",
            f"{access(name, dims, {})} = 0.4 * {left} + 0.4 * {up} + {self.operand(dims)}",
        ]

    def guarded(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        guard = self.choose(f"{d} % 2 == 0", f"{d} >= 2", f"{d} < {bound(d)} - 1", f"not {d} == 1")
        inline = f"({self.operand(dims)} if {d} >= 1 else {self.choose('0.5', '2.0')})"
        return [
            f"{access(name, dims, {})} = {self.mixed(dims)} when {guard}",
            f"{access(name, dims, {})} = {self.operand(dims)} * {inline}",
        ]

    def delayed(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        lag = self.choose("1", "2")
        source = self.with_dim(d)
        read = access(source, self.program.tensors[source], {d: f"{d}-{lag}"})
        return [
            f"{access(name, dims, {})} = {read} - {self.operand(dims)} when {d} >= {lag}",
            f"{access(name, dims, {})} = {self.operand(dims)}",
        ]

    def crossed(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """A read in which another dimension stands in the place of `d`."""
        other = self.choose(*dims)
        entry = f"{d} = min({other} + 1, {bound(d)} - 1)"
        return [f"{access(name, dims, {})} = {self.with_dim(d)}[{entry}] - {self.operand(dims)}"]

    def with_dim(self, d: str) -> str:
        """Some tensor that varies with `d`."""
        return self.choose(*(name for name, own in self.program.tensors.items() if d in own))

    def slices(self, d: str) -> tuple[str, ...]:
        """Slices along `d` that always have an element."""
        e = bound(d)
        windows = (f"max(0, {d}-2):{d}+1", f"{d}:min({d}+3, {e})")
        return f"0:{d}+1", f"{d}:{e}", f"{d} % 2:{d}+1:2", f"0:{e}", *windows

    def reduced(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """A slice along `d`, reduced; the whole slice loses the dimension."""
        e = bound(d)
        extent = self.choose(*self.slices(d), f"0:{d}", f"{d}+1:{e}")
        functions = ("sum", "mean", "max", "logsumexp") if extent in self.slices(d) else ("sum",)
        source = self.with_dim(d)
        own = self.program.tensors[source]
        self.kept = tuple(dim for dim in own if dim != d or extent != f"0:{e}")
        return [f"{name} = {self.choose(*functions)}({access(source, own, {d: extent})})"]

    def dotted(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """Two slices with the same extent, weighted by a scan or a position."""
        extent = self.choose(*self.slices(d))
        a, b = (f"{self.with_dim(d)}[{d} = {extent}]" for _ in range(2))
        weight = self.choose(f"cumsum({b})", f"0.5 ** arange(size({a}, 0))", f"tanh({b})", b)
        target = access(name, dims, {})
        return [f"{target} = sum({a} * {weight}) + {self.operand(dims)}"]

    def ragged(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """A tensor with an extent of its own at each point, read there and elsewhere."""
        extent = self.choose(*self.slices(d))
        part = f"{self.with_dim(d)}[{d} = {extent}]"
        whole = self.choose("tanh({})", "sort({})", "cumsum({})", "{} + 0.5 ** arange(size({}, 0))")
        row = f"{name}r"
        other = self.choose(f"max({d} - 1, 0)", f"{bound(d)} - 1 - {d}", d)
        reduce = self.choose("sum", "max", "mean", "logsumexp")
        elsewhere = f"{reduce}({access(row, dims, {d: other})})"
        both = f"sum(concat([{access(row, dims, {})}, {part}], 0))"
        return [
            f"{access(row, dims, {})} = {whole.format(part, part)}",
            f"{access(name, dims, {})} = {self.choose(elsewhere, both)} + {self.operand(dims)}",
        ]

    def attending(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """A slice of its own past or future."""
        extent = self.choose(f"0:{d}", f"max(0, {d}-2):{d}", f"0:{d}:2", f"{d}+1:{bound(d)}")
        own = access(name, dims, {d: extent})
        own = self.choose("0.5 * tanh(sum({}))", "tanh(sum(cumsum({})))").format(own)
        return [f"{access(name, dims, {})} = {own} + {self.operand(dims)}"]

    def vector(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """A state of two numbers, and a slice of it."""
        state, now = f"{name}v", f"stack([{self.operand(dims)}, {self.mixed(dims)}], 0)"
        before = access(state, dims, {d: f"{d}-1"})
        rows = access(state, dims, {d: self.choose(*self.slices(d))})
        reduced = self.choose("sum({})", "max(sum({}, axis = 0))", "sum(cumsum(reshape({}, [-1])))")
        return [
            f"{access(state, dims, {d: '0'})} = ones([2])",
            f"{access(state, dims, {})} = 0.5 * {before} + {now}",
            f"{access(name, dims, {})} = {reduced.format(rows)}",
        ]

    def partial(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """A tensor that is defined where a guard holds, and read there."""
        guard = self.choose(f"{d} % 2 == 0", f"{d} >= 2", f"{d} < {bound(d)} - 2", f"{d} != 1")
        some = access(f"{name}p", dims, {})
        return [
            f"{some} = {self.mixed(dims)} when {guard}",
            f"{access(name, dims, {})} = {some} * {self.operand(dims)} if {guard} else 0.5",
        ]

    def counted(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """Integers and truth values on the way."""
        number = f"i32({self.operand(dims)} > 0.0) * 3 + {d}"
        place = f"argmax({self.with_dim(d)}[{d} = {self.choose(*self.slices(d))}])"
        whole = f"where({self.operand(dims)} > 0.0, {number}, {self.choose(place, '2')})"
        return [f"{access(name, dims, {})} = f32({whole} % 5) * 0.5 - {self.operand(dims)}"]

    def double(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """Two axes from two dimensions at once."""
        a, b = (dims * 2)[:2]
        if a == b:
            return self.dotted(name, dims, d)
        source = self.choose(
            *(name for name, own in self.program.tensors.items() if {a, b} <= set(own))
        )
        entries = ", ".join(f"{dim} = {self.choose(*self.slices(dim))}" for dim in (a, b))
        spatial = self.choose("sum({})", "max(sum({}, axis = 0))", "sum(max({}, axis = 1))")
        target = access(name, dims, {})
        return [f"{target} = {spatial.format(f'{source}[{entries}]')} + {self.operand(dims)}"]


KINDS = (
    "pointwise",
    "forwards",
    "shifted",
    "backwards",
    "longer",
    "table",
    "guarded",
    "delayed",
    "crossed",
    "reduced",
    "dotted",
    "double",
    "ragged",
    "attending",
    "vector",
    "partial",
    "counted",
)


def begin(draw: Draw) -> Program:
    """Dimensions, of which the first has a bound of its own, and inputs."""
    dims = NAMES[: int(str(draw(st.integers(1, 3))))]
    program = Program(dims=dims, tensors={"x": dims, "w": dims[:1]})
    first = bound(dims[0])
    rest = ("", "", "", f" = {first} + 1", f" = ({first} + 1) // 2", " = 2")
    program.lines = [f"dim {dims[0]} < {first}"]
    for dim in dims[1:]:
        program.lines.append(f"dim {dim} < {bound(dim)}{draw(st.sampled_from(rest))}")
    program.lines += [f"input x[{', '.join(dims)}]: f32", f"input w[{dims[0]}]: f32"]
    return program


@st.composite
def programs(draw: Draw) -> Program:
    """A program with two to five tensors."""
    program = begin(draw)
    writer = Writer(draw, program)
    for kind in draw(st.lists(st.sampled_from(KINDS), min_size=2, max_size=5)):  # type: ignore[attr-defined]
        writer.add(kind)
    return program
