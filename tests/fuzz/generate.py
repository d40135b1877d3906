"""Programs as people write them: one for each pair of a seed and a number."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.fuzz.families.learning import LEARNING
from tests.fuzz.families.lengths import iteration
from tests.fuzz.families.models import MODELS
from tests.fuzz.families.relaxation import relaxation
from tests.fuzz.families.selections import selection
from tests.fuzz.families.sequences import SEQUENCES
from tests.fuzz.families.states import state
from tests.fuzz.sketch import Dim, Sketch, Tensor

DIMS = (
    "t", "t", "t", "b t", "b t", "t b", "i t", "i t", "e t", "t l", "t l", "l t", "t s", "i b t",
    "b t l", "t n", "b t n", "s t", "i j",
)  # fmt: skip
SIZES = (1, 2, 3, 5, 7)
MOST = 40
"""Points of all dimensions together, beyond which the evaluator would take long."""

RELAXED = 25
"""One of so many programs is of layers that settle between their neighbours."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program, what is in it, and the bounds that it runs with."""

    text: str
    features: tuple[str, ...]
    bounds: tuple[dict[str, int], ...]
    special: bool
    """Whether its data hold NaN and infinities."""


def program(seed: int, number: int) -> Program:
    """The program of a number."""
    sketch = Sketch(Random(f"{seed}:{number}"))
    if number % RELAXED == 2:
        relaxation(sketch)
    else:
        mixture(sketch)
    choose_outputs(sketch)
    special = sketch.chance(0.04)
    sizes = bounds(sketch)
    return Program(sketch.text(), tuple(sorted(sketch.features)), sizes, special)


def mixture(sketch: Sketch) -> None:
    """Parts of all other kinds, over dimensions of any kind."""
    dimensions(sketch)
    inputs(sketch)
    for _ in range(sketch.pick((1, 2, 2, 3, 3, 4, 5, 7))):
        kind = sketch.random.random()
        if kind < 0.42:
            state(sketch)
        elif kind < 0.46:
            iteration(sketch)
        elif kind < 0.48:
            selection(sketch)
        elif kind < 0.54:
            sketch.pick(MODELS)(sketch)
        elif kind < 0.82:
            sketch.pick(SEQUENCES)(sketch)
        else:
            sketch.pick(LEARNING)(sketch)
    ends(sketch)


def dimensions(sketch: Sketch) -> None:
    """Dimensions with bounds that are free, fixed, derived or shared."""
    names = sketch.pick(DIMS).split()
    for d in names:
        bound, value = d.upper(), ""
        if d == "s" and sketch.chance(0.5):
            bound = "T"
            sketch.note("shared bound")
        elif d == "l" or sketch.chance(0.1):
            value = sketch.pick("123")
            sketch.note("fixed bound")
        elif d == "n":
            value = sketch.pick(("(T + 1) // 2", "(T + 3) // 4", "(T + 2) // 3"))
        elif d == "s" and sketch.chance(0.4):
            value = sketch.pick(("T + 1", "2 * T + 1"))
        sketch.dims[d] = Dim(d, bound, value)
    if all(dim.value for dim in sketch.dims.values()):
        first = names[0]
        sketch.dims[first] = Dim(first, first.upper())
    derived = [d for d in sketch.dims.values() if "T" in d.value]
    if derived:
        sketch.note("derived bound")
        if "t" in names and sketch.dims["t"].value:
            sketch.dims["t"] = Dim("t", "T")
    if sketch.chance(0.1):
        last = sketch.pick(names)
        if not sketch.dims[last].value and not derived and sketch.bound(last) == last.upper():
            sketch.dims[last] = Dim(last, last.upper(), "", "stop")
            sketch.note("until")


def inputs(sketch: Sketch) -> None:
    """Data over all dimensions, over some, over none."""
    dims, n = tuple(sketch.dims), sketch.pick((1, 2, 2, 3))
    sketch.width = n
    given = [
        Tensor("x0", dims, "f32", (n,)),
        Tensor("u0", dims[-1:]),
        Tensor("W", (), "f32", (n, n)),
    ]
    more = [
        Tensor("f0", dims[:1], "f32", (n,)), Tensor("c0", ()), Tensor("v0", (), "f32", (n,)),
        Tensor("n0", dims[-1:], "i32"), Tensor("k0", dims[:1], "bool"), Tensor("z0", dims),
        Tensor("V", dims[-1:], "f32", (n, n)), Tensor("r0", dims[:1], "u32"),
        Tensor("m0", dims[-1:], "f32", (3, n)), Tensor("q0", dims[:1], "i32", (n,)),
        Tensor("d0", (), "f64"), Tensor("e0", dims[:1], "bf16"),
        Tensor("h0", dims[-1:], "f16", (n,)),
    ]  # fmt: skip
    for tensor in [*given, *sketch.some(more, 0.3)]:
        kind = "param" if sketch.chance(0.15) else "input"
        shape = f"[{', '.join(map(str, tensor.shape))}]" if tensor.shape else ""
        target = sketch.at(tensor.name, tensor.dims)
        sketch.head.append(f"{kind} {target}: {tensor.dtype}{shape}")
        sketch.tensors.append(tensor)


def ends(sketch: Sketch) -> None:
    """What decides the length of a dimension that ends."""
    for d in [d for d in sketch.dims.values() if d.until]:
        start = {k: "0" for k in sketch.dims if k != d.name}
        value = f"sum({sketch.at('x0', (*sketch.dims,), start)})"
        limit = sketch.pick(("0.2", "0.6", "-0.4"))
        sketch.lines.append(f"{sketch.at(d.until, (d.name,))} = {value} > {limit}")


def choose_outputs(sketch: Sketch) -> None:
    """The last tensors, or all; points and slices of them."""
    names = list(sketch.outputs)
    if not names:
        names = ["x0"]
    chosen = names[-sketch.pick((1, 2, 3, 9)) :]
    items = []
    for name in chosen:
        tensor = next(t for t in sketch.tensors if t.name == name)
        if tensor.dims and sketch.chance(0.15):
            d = sketch.pick(tensor.dims)
            end = sketch.bound(d)
            entry = sketch.pick((f"{end}-1", "0", f"0:{end}", f"{end}//2:{end}"))
            items.append(f"{name}[{d} = {entry}] as {name}_out")
            sketch.note("output of a part")
        else:
            items.append(name)
    sketch.outputs = items


def bounds(sketch: Sketch) -> tuple[dict[str, int], ...]:
    """Three choices of odd and mixed bounds; the first is of ones now and then."""
    dims = (*sketch.dims.values(), *sketch.hidden)
    known = [d.bound for d in dims if d.value]
    free = list(dict.fromkeys(d.bound for d in dims if d.bound not in known))
    chosen: list[dict[str, int]] = []
    while len(chosen) < 3:
        sizes = {b: sketch.pick(SIZES if chosen else (1, 1, 2)) for b in free}
        total = 1
        for d in dims:
            size = sizes.get(d.bound, 3 if d.value.isdigit() else sizes.get("T", 3))
            total *= size
        if total <= MOST:
            chosen.append(sizes)
    return tuple(chosen)
