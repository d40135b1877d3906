"""Selections: what a mask leaves of a vector, its different elements, as many as data say."""

from __future__ import annotations

from tests.fuzz.expressions import expression
from tests.fuzz.families.sequences import over, place
from tests.fuzz.sketch import Scope, Sketch, Tensor

CHOSEN = "def chosen(v: f32[rows], mask: bool[rows], most) -> f32[some] {}"
BODIES = (
    "= filter(v, mask, most) as f32[some]",
    "{\n  at = nonzero(mask, most) as i32[some]\n  return take(v, at, 0)\n}",
    "{\n  some = length(sum(i32(mask)), most)\n  return take(v, nonzero(mask, most)[0:some], 0)"
    " as f32[some]\n}",
)


def selection(sketch: Sketch) -> None:
    """A part of a vector over a dimension, named, and numbers made of it."""
    along, dims = place(sketch)
    scope, n = Scope(dims), sketch.pick((0, 0, sketch.width))
    shape = (n,) if n else ()
    x = over(sketch, along, dims, shape)
    entry = sketch.slice(along, scope, full=False)
    v, z, k = (sketch.fresh(prefix) for prefix in "vzk")
    most = "16" if any(d.until for d in sketch.dims.values()) or sketch.chance(0.3) else ""
    most = most or sketch.bound(along)
    lines = [f"{sketch.at(v, dims)} = {sketch.read(x, scope, {along: entry})}"]
    limit = sketch.pick(("0.1", "-0.3", "2.0", f"0.3 * {expression(sketch, scope, (), 1)}"))
    mask = f"{f'sum({v}, axis = 1)' if n else v} > {limit}"
    kind = sketch.pick(("filter", "filter", "nonzero", "unique", "function", "length"))
    sketch.note(f"selection: {kind}")
    if kind == "function" and n:
        kind = "filter"
    text = {
        "filter": f"filter({v}, {mask}, most = {most})",
        "nonzero": f"take({v}, nonzero({mask}, {most}), 0)",
        "unique": f"0.5 * unique(round(2.0 * {f'sum({v}, axis = 1)' if n else v}), {most})",
        "function": f"chosen({v}, {mask}, {most})",
        "length": f"({v} + 0.0)[0:length(sum(i32({mask})), most = {most})]",
    }[kind]
    if kind == "function":
        sketch.functions.setdefault("chosen", CHOSEN.format(sketch.pick(BODIES)))
    shape = () if kind == "unique" else shape
    rest = f", {n}" if shape else ""
    if kind == "length":  # which is clipped to the extent of the vector
        lines.append(f"{sketch.at(z, dims)} = {text}")
        k = f"size({z}, 0)"
    else:
        lines.append(f"{sketch.at(z, dims)} = {text} as f32[{k}{rest}]")
    sketch.lines += lines
    for _ in range(sketch.pick((1, 1, 2))):
        name = sketch.fresh("o")
        padding = f"[[0, {most} - {k}], [0, 0]]" if shape else f"[[0, {most} - {k}]]"
        forms = [
            f"tanh(sum({z}, axis = 0))",
            f"sum({z} * {z}, axis = 0) / (1 + {k})",
            f"sum({z}, axis = 0) * f32({k} > 1)",
            f"max(pad({z}, {padding}), axis = 0)",
            f"where({k} > 2, 1.0, 0.5) * sum(cumsum({z}, axis = 0), axis = 0)",
        ]
        sketch.define(Tensor(name, dims, "f32", shape), f"{sketch.at(name, dims)} = "
                      f"{sketch.pick(forms)}")  # fmt: skip
