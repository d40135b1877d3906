"""Layers that settle between both of their neighbours, step by step, and weights that learn.

As in predictive coding: each layer is predicted from one side and corrected from the other in the
steps of an update; what they have come to changes the weights of the next update.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.fuzz.sketch import Dim, Sketch, Tensor

STEPPED = ("i >= 1", "k >= 1", "k < K-1", "i < I-1", "i % 2 == 0", "k % 2 == 1", "l == k")
GUARDS = (
    *("l == L-1", "l == 0", "l >= 1", "l < L-1", "l % 2 == 0"),
    *("l >= 1 and k >= 1", "l < L-1 and k < K-1", *STEPPED),
)
"""Conditions on a layer, a step, an update; those on the last two hold for some of each layer."""


class Relaxation:
    """A program in the making: layers ``l``, updates ``i``, steps ``k``."""

    def __init__(self, sketch: Sketch) -> None:
        self.sketch, self.pick = sketch, sketch.pick
        layers = Dim("l", "L", self.pick("234"))
        others = [Dim("i", "I"), Dim("k", "K")]
        dims = [layers, *others] if sketch.chance(0.7) else [*others, layers]
        sketch.dims = {d.name: d for d in dims}
        sketch.width = self.pick((1, 2, 3))

    def write(self) -> None:
        """The whole program."""
        n, sketch = self.sketch.width, self.sketch
        sketch.note("layers between neighbours")
        data = self.pick((self.at("u", "i"), self.at("u", "ik")))
        sketch.head += [
            f"input x: f32[{n}]",
            f"input {data}: f32[{n}]",
            f"param W0[l]: f32[{n}, {n}]",
        ]
        sketch.lines += [f"{self.at('W', 'li', i='0')} = W0", *self.starts()]
        before, after = self.pick((("l-1", "l+1"), ("l+1", "l-1")))
        self.prediction(before)
        self.correction(after)
        step, otherwise = self.at("a", k="k+1"), self.pick(("a", "0.5 * a + e"))
        moved = self.pick(("a + 0.2 * (b - e)", "tanh(a - b)", "0.9 * a + 0.1 * p"))
        guard = self.pick([g for g in GUARDS if g != "k < K-1"])  # there is no step after it
        self.branches(step, moved, guard, otherwise)
        self.learning()
        self.results()

    def at(self, name: str, over: str = "lik", **entries: str) -> str:
        dims = self.sketch.ordered(tuple(over))
        return self.sketch.at(name, dims, entries)

    def changed(self, text: str) -> str:
        """Some function of a vector."""
        weighted = f"{self.at('W', 'li')} @ {{}}"
        form = self.pick(("tanh({})", "sin({})", "0.5 * {}", "{} * 0.3 + 0.1", weighted))
        is_sum = any(f" {operator} " in text for operator in "+-*")
        return form.format(text if not is_sum or form.endswith("({})") else f"({text})")

    def branches(self, target: str, first: str, guard: str, *others: str) -> None:
        """An equation under a condition, and those for all other points."""
        lines = [f"{target} = {first} when {guard}", *(f"{target} = {e}" for e in others)]
        self.sketch.lines += lines

    def define(self, name: str, over: str, *lines: str) -> None:
        self.sketch.lines += lines
        shape = (self.sketch.width,) * (2 if name == "W" else 1 if name != "energy" else 0)
        tensor = Tensor(name, self.sketch.ordered(tuple(over)), "f32", shape)
        self.sketch.define(tensor)

    def starts(self) -> list[str]:
        """Where the steps begin: the same for all updates, or where the last one has ended."""
        start = self.at("a", k="0")
        if self.sketch.chance(0.5):
            return [f"{start} = {self.pick(('x', 'x * (l + 1.0)', self.changed('x')))}"]
        back = self.changed(self.at("a", i="i-1", k="K-1"))
        return [f"{start} = {back} when i >= 1", f"{start} = x"]

    def prediction(self, before: str) -> None:
        """What a layer should be by its neighbour, and by how much it is not."""
        p, e = self.at("p"), self.at("e")
        given = self.pick(("x", "u", "x + u"))
        other = [f"{self.changed('a')} when {self.pick(STEPPED)}"] * self.sketch.chance(0.5)
        self.branches(p, self.changed(self.at("a", l=before)), _inside(before), *other, given)
        if self.sketch.chance(0.7):
            error = self.changed(self.pick(("p", "p - a", "u - p")))
            self.sketch.lines.append(f"{e} = {error} when {self.pick(GUARDS)}")
        self.define("p", "lik")
        self.define("e", "lik", f"{e} = a - p")

    def correction(self, after: str) -> None:
        """What the errors of the other neighbour say."""
        there: Mapping[str, str] = {n: self.at(n, l=after) for n in "epb"}
        form = self.pick((there["e"], f"{there['p']} * e", f"{there['b']} + e"))
        end = self.pick((f"zeros([{self.sketch.width}])", "e", "u"))
        self.branches(self.at("b"), self.changed(form), _inside(after), end)
        self.define("b", "lik")
        self.define("a", "lik")

    def learning(self) -> None:
        """Weights of the next update."""
        e, a, b = (self.at(n, k="K-1") for n in "eab")
        new = self.pick(
            (
                f'W + 0.1 * einsum("i,j->ij", {e}, {a})',
                "W - 0.1 * sum((expand_dims(e, 1) * p)[k = 0:K], axis = 0)",
                f"0.9 * W + 0.1 * {b}",
            )
        )
        guard = self.pick(("l >= 1", "l < L-1", "i % 2 == 0", "i >= 1"))
        self.branches(self.at("W", "li", i="i+1"), new, guard, "W")
        self.define("W", "li")

    def results(self) -> None:
        """What is read of all layers, of the last one, of all steps; a gradient."""
        forms = {
            "energy": ("ik", "sum(sum((e ** 2)[l = 0:L], axis = 0))"),
            "most": ("ik", "max(p[l = 0:L], axis = 0)"),
            "top": ("ik", self.at("a", l="L-1")),
            "total": ("li", "sum(b[k = 0:K], axis = 0)"),
            "moved": ("li", f"{self.at('a', k='K-1')} - {self.at('e', k='0')}"),
        }
        for name in self.sketch.some([*forms], 0.4):
            over, text = forms[name]
            self.define(name, over, f"{self.at(name, over)} = {text}")
        if self.sketch.chance(0.3):
            loss = "loss = sum((e ** 2 + p)[l = 0:L, k = K-1])"
            self.define("slope", "", loss, "slope = grad(loss, x)")
        self.sketch.random.shuffle(self.sketch.outputs)


def _inside(neighbour: str) -> str:
    """Where a layer has this neighbour."""
    return "l >= 1" if neighbour == "l-1" else "l < L-1"


def relaxation(sketch: Sketch) -> None:
    """A program of layers that settle."""
    Relaxation(sketch).write()
