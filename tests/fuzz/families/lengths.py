"""Iterations whose lengths data decide: to a fixed point, for each point of dimensions around."""

from __future__ import annotations

from tests.fuzz.expressions import expression
from tests.fuzz.families.states import State
from tests.fuzz.sketch import Dim, Scope, Sketch, Tensor


class Iteration:
    """An iteration in the making: its steps are a dimension of its own, which ends with it."""

    def __init__(self, sketch: Sketch) -> None:
        self.sketch = sketch
        names = [*sketch.dims]
        self.around = self._with_lengths(sketch.some(names, 0.6))
        self.step, self.stop = sketch.fresh("k"), sketch.fresh("stop")
        self.end = self.step.upper()
        fixed = [d for own in sketch.lengths.values() for d in own]
        self.free = [d for d in self.around if d not in fixed]
        own = self._with_lengths(sketch.some(self.around, 0.8))
        self.own = (*own, self.step)
        self.dims = (*self.around, self.step)
        self.shape = sketch.pick(((), (), (sketch.width,)))
        sketch.note("iteration with a length for each point" if own else "iteration with a length")

    def _with_lengths(self, dims: tuple[str, ...]) -> tuple[str, ...]:
        """Dimensions and those over which their lengths vary."""
        more = [d for k in dims for d in self.sketch.lengths.get(k, ())]
        return self.sketch.ordered((*dims, *more))

    def at(self, name: str, dims: tuple[str, ...] | None = None, **entries: str) -> str:
        return self.sketch.at(name, self.dims if dims is None else dims, entries)

    def last(self, name: str) -> str:
        return self.at(name, **{self.step: f"{self.end}-1"})

    def write(self) -> None:
        """The steps, what ends them, and what is read of them."""
        sketch = self.sketch
        own = Scope((*self.own,))
        sketch.dims[self.step] = Dim(self.step, self.end, "", self.stop)
        sketch.lengths[self.step] = self.own[:-1]
        known = len(sketch.tensors), len(sketch.outputs)
        x = self.states()
        if sketch.chance(0.5):
            q = sketch.fresh("q")
            text = expression(sketch, Scope(self.dims), self.shape, 2)
            sketch.define(Tensor(q, self.dims, "f32", self.shape), f"{self.at(q)} = {text}")
        self.ending(x, own)
        if sketch.chance(0.15) and len(sketch.dims) < 4:
            # Within the steps of this one another iteration, with a length for each.
            sketch.note("iteration within an iteration")
            Iteration(sketch).write()
        mine = [t for t in sketch.tensors[known[0] :] if self.step in t.dims]
        for _ in range(sketch.pick((1, 1, 2, 3))):
            self.result(sketch.pick([t for t in mine if t.dtype == "f32"]))
        # Only results are read by what follows: the steps of all points have no common length.
        sketch.tensors = [t for t in sketch.tensors if self.step not in t.dims]
        shown = {t.name for t in sketch.tensors}
        sketch.outputs = [o for o in sketch.outputs if o in shown]
        sketch.hidden.insert(0, sketch.dims.pop(self.step))

    def states(self) -> Tensor:
        """One state, or two that read each other."""
        sketch = self.sketch
        s = State(sketch, dims=self.dims)
        s.along, s.shape, k = self.step, self.shape, self.step
        start, later = s.at(**{k: "0"}), s.at(**{k: f"{k}+1"})
        if self.free and sketch.chance(0.3):
            return self.carried(s)
        lines = [f"{start} = {s.expression({k: '0'}, 1)}"]
        kind = sketch.pick(("next", "next", "before", "two", "speed"))
        if kind == "next":
            lines.append(f"{later} = {s.step(s.at())}")
        elif kind == "before":
            lines.append(f"{s.at()} = {s.step(s.at(**{k: f'{k}-1'}))}")
        elif kind == "two":
            one, two = (s.at(**{k: f"{k}-{n}"}) for n in (1, 2))
            lines = [f"{s.at()} = {s.step(f'(0.5 * {one} - 0.4 * {two})')} when {k} >= 2"]
            lines.append(f"{s.at()} = {s.expression(depth=1)}")
        else:
            v = sketch.fresh("v")
            lines.append(f"{later} = {s.at()} + 0.3 * {s.at(v)}")
            lines.append(f"{s.at(v, **{k: '0'})} = {s.expression({k: '0'}, 1)}")
            lines.append(f"{s.at(v, **{k: f'{k}+1'})} = {s.step(s.at(v))} - 0.2 * {s.at()}")
            x = s.define(*lines)
            s.also(v)
            return x
        return s.define(*lines)

    def carried(self, s: State) -> Tensor:
        """Where an iteration ends is where the next one of a dimension around it begins."""
        k, around = self.step, self.sketch.pick(self.free)
        start = s.at(**{k: "0", around: "0"})
        lines = [f"{start} = {s.expression({k: '0', around: '0'}, 1)}"]
        last, dims = self.sketch.fresh("w"), self.around
        lines.append(f"{self.sketch.at(last, dims)} = {self.last(s.name)}")
        before = self.sketch.at(last, dims, {around: f"{around}-1"})
        lines.append(f"{s.at(**{k: '0'})} = 0.7 * {before}")
        lines.append(f"{s.at(**{k: f'{k}+1'})} = {s.step(s.at())}")
        self.sketch.note("iterations hand on a state")
        x = s.define(*lines)
        s.also(last, dims)
        return x

    def ending(self, x: Tensor, scope: Scope) -> None:
        """What ends the steps."""
        sketch = self.sketch
        fixed = {d: "0" for d in self.around if d not in self.own}
        value = self.at(x.name, **fixed)
        value = f"sum({value})" if x.shape else value
        u = expression(sketch, Scope(tuple(d for d in self.own if d != self.step)), (), 1)
        kind = sketch.pick(("value", "value", "change", "count", "any"))
        limit = sketch.pick(("0.1", "0.3", "0.7"))
        if kind == "value":
            text = sketch.pick((f"abs({value}) < {limit}", f"{value} > {limit}"))
        elif kind == "change":
            before = self.at(x.name, **fixed, **{self.step: f"max({self.step}-1, 0)"})
            before = f"sum({before})" if x.shape else before
            text = f"{self.step} >= 1 and abs({value} - {before}) < {limit}"
        elif kind == "count":
            text = f"f32({self.step}) > 4.0 * abs({u})"
        else:
            text = expression(sketch, scope, (), 2, "bool")
        sketch.lines.append(f"{self.at(self.stop, self.own)} = {text}")

    def result(self, x: Tensor) -> None:
        """Something of all steps, or of the last one."""
        sketch, k = self.sketch, self.step
        dims = tuple(d for d in x.dims if d != k)
        name = sketch.fresh("o")
        whole = sketch.at(x.name, x.dims, {k: f"0:{self.end}"})
        last = sketch.at(x.name, x.dims, {k: f"{self.end}-1"})
        first = sketch.at(x.name, x.dims, {k: "0"})
        forms = [
            last,
            last,
            f"tanh({last})",
            f"{last} - {first}",
            f"where({last} > 0.1, {last}, {first})",
        ]
        forms += [
            f"0.2 * sum({whole}, axis = 0)",
            f"max({whole}, axis = 0)",
            f"min({whole}, axis = 0)",
        ]
        forms += [f"mean({whole}, axis = 0)", f"prod(tanh({whole}), axis = 0)"]
        forms += [f"f32({self.end}) * {last}", f"{last} / f32({self.end})"]
        forms += [
            f"f32(argmax({whole}, axis = 0)) + {last}",
            f"sum(cos({whole}) * {whole}, axis = 0)",
        ]
        form = sketch.pick(forms)
        inner = self.own[:-1]
        if not {*inner} <= {*dims}:
            return
        sketch.define(Tensor(name, dims, "f32", x.shape), f"{sketch.at(name, dims)} = {form}")


def iteration(sketch: Sketch) -> None:
    """One more iteration."""
    Iteration(sketch).write()
