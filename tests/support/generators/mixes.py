"""Random programs that mix everything: gradients, branching, windows, chance, chosen points.

They are those of `programs.py` with more kinds of tensors: draws, `cond`, data-dependent reads,
functions with state, scans, gradients of what there is (also of gradients), and gradient descent.
"""

from __future__ import annotations

from hypothesis import strategies as st

from tests.support.generators.programs import KINDS, Draw, Program, Writer, access, begin, bound

FUNCTIONS = """def smooth(v, dim d, k = 0.5) {
  m[0] = v[d = 0]
  m[d] = k * m[d-1] + v when d >= 1
  return m
}
def both(p, q) = 0.5 * p * q"""


class Mixer(Writer):
    """Adds tensors of all kinds; those of `Writer` and more."""

    def drawn(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """Chance, at a point, in a recurrence, or for an unindexed equation."""
        now = access(name, dims, {})
        draw = self.choose(
            "random.normal([])",
            "random.uniform([])",
            "sum(random.uniform([3]) * arange(3))",
            f"where(random.bernoulli(0.5), {self.operand(dims)}, 0.25)",
            f"random.categorical(stack([{self.operand(dims)}, 0.1, {self.operand(dims)}]))",
            f"random.permutation({d} + 2)[0]",
        )
        if self.choose("plain", "walk") == "plain":
            return [f"{now} = 0.5 * {draw} - {self.operand(dims)}"]
        before = access(name, dims, {d: f"{d}-1"})
        return [f"{now} = {draw} when {d} == 0", f"{now} = 0.5 * {before} + {draw}"]

    def decided(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """One of two computations, and in a recurrence."""
        now, before = access(name, dims, {}), access(name, dims, {d: f"{d}-1"})
        which = f"{self.operand(dims)} > 0.1"
        return [
            f"{access(name, dims, {d: '0'})} = 0.5",
            f"{now} = cond({which}, 0.5 * {before} - {self.operand(dims)}, {self.mixed(dims)})",
        ]

    def picked(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """A read at a point that the data choose, of another tensor or of its own past."""
        now, j = access(name, dims, {}), access("n", dims, {})
        if self.choose("own", "other") == "other":
            at = f"{d} = abs({j}) % {bound(d)} in 0:{bound(d)}"
            return [f"{now} = {self.with_dim(d)}[{at}] - {self.operand(dims)}"]
        past = f"{name}[{d} = abs({j}) % max({d}, 1) in 0:{d}]"
        return [
            f"{now} = {self.operand(dims)} when {d} == 0",
            f"{now} = 0.5 * {past} + {self.operand(dims)}",
        ]

    def called(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """A function with a state of its own."""
        return [f"{access(name, dims, {})} = smooth({self.mixed(dims)}, {d}) * 0.5"]

    def scanned(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """An associative function over a slice."""
        part = f"{self.with_dim(d)}[{d} = {self.choose(*self.slices(d))}]"
        scan = self.choose("associative_scan(both, {}, 0)", "cumsum({}, reverse = true)")
        return [f"{access(name, dims, {})} = sum({scan.format(part)}) + {self.operand(dims)}"]

    def derived(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """The gradient of something by some tensor, or of that gradient."""
        x = self.choose(*self.program.tensors)
        own = self.program.tensors[x]
        loss = f"{name}l"
        lines = [f"{loss} = {self.mixed(dims)} * {self.operand(dims)} + {access(x, own, {})}"]
        whole = [f"{k} = 0:{bound(k)}" for k in dims]
        if self.choose("points", "sum") == "sum":
            all_dims = f"(tanh({loss}) + 0. * ({' + '.join(dims)}))"
            lines.append(f"{loss}s = sum({all_dims}[{', '.join(whole)}])")
            loss = f"{loss}s"
        self.kept = own
        if self.choose("once", "twice") == "once":
            return [*lines, f"{name} = tanh(grad({loss}, {x}))"]
        other = self.choose(*self.program.tensors)
        self.kept = self.program.tensors[other]
        lines.append(f"{name}g = grad({loss}, {x})")
        return [*lines, f"{name} = tanh(grad({name}g ** 2, {other}))"]

    def learned(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """Gradient descent along a dimension, from a loss at each of its points."""
        now, rest = access(name, dims, {}), tuple(k for k in dims if k != d)
        loss = f"({now} * {self.operand(dims)} - {self.operand(dims)}) ** 2"
        start = access(name, dims, {d: "0"})
        return [
            f"{start} = {self.operand(rest, **{d: '0'})}",
            f"{name}l = tanh({loss})",
            f"{access(name, dims, {d: f'{d}+1'})} = {now} - 0.1 * grad({name}l, {name})",
        ]

    def paired(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """Two targets in one equation, each of which drops its own points."""
        e, other = bound(d), f"{name}o"
        later, sooner = access(name, dims, {d: f"{d}+1"}), access(other, dims, {d: f"{d}-1"})
        back = access(other, dims, {d: f"{e} - 1 - {d}"})
        return [
            f"{later}, {sooner} = {self.mixed(dims)}, 0.5 * {self.operand(dims)}",
            f"{access(name, dims, {})} = 0.5",
            f"{access(other, dims, {})} = {self.operand(dims)} - {access(name, dims, {})}",
            f"{name}s = {name} * {back}",
        ]

    def recorded(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """A record as the state of a recurrence."""
        state, now = f"{name}r", access(f"{name}r", dims, {})
        before = access(state, dims, {d: f"{d}-1"})
        a, b = self.operand(dims), self.mixed(dims)
        return [
            f"{now} = {{p: {a}, q: [0, {b}]}} when {d} == 0",
            f"{now} = {{q: [{before}.q[0] + 1, {a}], p: 0.5 * {before}.p - {before}.q[1]}}",
            f"{access(name, dims, {})} = {state}.p * f32({state}.q[0] % 3) + (-{state}).q[1]",
        ]

    def chosen(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """Conditions within conditions, and a list of calls."""
        e, x = bound(d), self.with_dim(d)
        ahead = f"{x}[{d} = {d}+1] if {d} < {e} - 1 else {self.operand(dims)}"
        inner = f"({x}[{d} = {d}-1] if {d} % 2 == 1 else ({ahead}))"
        everywhere = f"{self.operand(dims)} + 0. * ({' + '.join(dims)})"
        calls = f"[smooth({everywhere}, {d}, k = 0.1 * q) for q in range(2)]"
        return [
            f"{name}c = {calls}",
            f"{access(name, dims, {})} = {inner} + {access(f'{name}c', dims, {})}[1]"
            if self.choose("calls", "none") == "calls"
            else f"{access(name, dims, {})} = {inner}",
        ]

    def placed(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """Positions in slices: constants from the end, index expressions, integer tensors."""
        e, x = bound(d), self.with_dim(d)
        rows = self.choose(f"{x}[{d} = 0:{d}+1]", f"{x}[{d} = {d} % 2:{d}+1:2]")
        at = self.choose("-1", "0", f"abs({access('n', dims, {})}) % size({rows}, 0)")
        whole = f"({x}[{d} = 0:{e}])[{self.choose(d, f'{e} - 1 - {d}', f'{d} // 2')}]"
        target = access(name, dims, {})
        return [f"{target} = ({rows})[{at}] - {self.choose(whole, self.operand(dims))}"]

    def summed(self, name: str, dims: tuple[str, ...], d: str) -> list[str]:
        """Contractions of slices."""
        extent = self.choose(*self.slices(d))
        a, b = (f"{self.with_dim(d)}[{d} = {extent}]" for _ in range(2))
        form = self.choose(
            "{} @ {}",
            'einsum("i,i->", {}, {})',
            'sum(einsum("i,j->ij", {}, {}))',
            "sum(conv(expand_dims({}, 1), expand_dims(expand_dims(take({}, 0, 0), 0), 0) * "
            'ones([2, 1, 1]), padding = "same"))',
        )
        return [f"{access(name, dims, {})} = 0.3 * {form.format(a, b)} + {self.operand(dims)}"]


NEW = (
    "drawn",
    "decided",
    "picked",
    "called",
    "scanned",
    "derived",
    "learned",
    "paired",
    "recorded",
    "chosen",
    "placed",
    "summed",
)


@st.composite
def endings(draw: Draw) -> Program:
    """A mixture in which the first dimension ends when the data say so."""
    program: Program = draw(mixes())  # type: ignore[arg-type, assignment]
    d = program.dims[0]
    ends = (
        [f"stop = w > {draw(st.sampled_from((-0.5, 0.2, 0.8)))}"],
        [f"ran[0] = w[0]\nran[{d}] = 0.7 * ran[{d}-1] + w", f"stop[{d}] = ran > 0.3"],
        [f"stop[{d}] = random.uniform([]) < 0.3"],
    )
    program.lines[0] += " until stop"
    inputs = sum(line.startswith(("dim", "input")) for line in program.lines)
    program.lines[inputs:inputs] = draw(st.sampled_from(ends))  # type: ignore[arg-type]
    return program


@st.composite
def mixes(draw: Draw) -> Program:
    """A program with two to five tensors, half of them of the new kinds, and then a gradient."""
    program = begin(draw)
    program.lines += [f"input n[{', '.join(program.dims)}]: i32", FUNCTIONS]
    writer = Mixer(draw, program)
    kinds = st.one_of(st.sampled_from(NEW), st.sampled_from(KINDS))
    for kind in draw(st.lists(kinds, min_size=1, max_size=4)):  # type: ignore[attr-defined]
        writer.add(kind)
    writer.add("derived")
    return program
