"""Gradients, training loops, optimizers; chance; effects."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.expressions import Expression, expression
from tests.fuzz.families.sequences import over, place
from tests.fuzz.sketch import Scope, Sketch, Tensor


def loss(sketch: Sketch, kept: tuple[str, ...] | None = None) -> Tensor:
    """A scalar made of some float tensor, summed over all dimensions but those kept."""
    x = sketch.pick(sketch.floats())
    name = sketch.fresh("l")
    keep = sketch.some(x.dims, 0.3) if kept is None else tuple(d for d in kept if d in x.dims)
    scope = Scope(x.dims)
    here = sketch.at(x.name, x.dims)
    form = sketch.pick(("{x} ** 2", "tanh({x}) * {e}", "{x} * {e}", "({x} - {e}) ** 2", "sin({x})"))
    text = form.format(x=here, e=expression(sketch, scope, x.shape, 1))
    text = f"sum({text})" if x.shape else text
    entries = {d: f"0:{sketch.bound(d)}" for d in x.dims if d not in keep}
    if entries:
        inner = sketch.fresh("l")
        sketch.lines.append(f"{sketch.at(inner, x.dims)} = {text}")
        text = f"{sketch.pick(('mean', 'sum'))}({sketch.at(inner, x.dims, entries)})"
    return sketch.define(Tensor(name, keep), f"{sketch.at(name, keep)} = {text}")


def gradient(sketch: Sketch) -> None:
    """The derivative of a scalar by an input, a param or something on the way."""
    total = loss(sketch)
    x = sketch.pick([t for t in sketch.floats() if t.name != total.name])
    name = sketch.fresh("g")
    sketch.note("grad")
    if sketch.chance(0.2):
        second = sketch.fresh("g")
        y = sketch.pick([t for t in sketch.floats() if t.name != total.name])
        square = f"sum({second} ** 2)" if x.shape else f"{second} ** 2"
        inner = sketch.fresh("l")
        sketch.note("gradient of a gradient")
        sketch.lines += [f"{second} = grad({total.name}, {x.name})", f"{inner} = {square}"]
        line = f"{name} = tanh(grad({inner}, {y.name}))"
        sketch.define(Tensor(name, y.dims, "f32", y.shape), line)
        return
    line = f"{name} = tanh(grad({total.name}, {x.name}))"
    sketch.define(Tensor(name, x.dims, "f32", x.shape), line)


def training(sketch: Sketch) -> None:
    """`w[i+1] = w - lr * grad(loss, w)`."""
    i = sketch.pick([*sketch.dims])
    n, w, e, name = sketch.width, sketch.fresh("w"), sketch.fresh("e"), sketch.fresh("loss")
    others = tuple(d for d in sketch.some([*sketch.dims], 0.5) if d != i)
    dims = sketch.ordered((i, *others))
    x = over(sketch, sketch.pick(dims), dims, (n,))
    y = expression(sketch, Scope(dims), (), 1)
    now = sketch.read(x, Scope(dims))
    forms = ("({w} @ {x} - {y}) ** 2", "({w} @ {x} - {y}) ** 2", "tanh({w} @ {x}) * {y}")
    lines = [f"{w}[0] = {expression(sketch, Scope((), {i: '0'}), (n,), 1)}"]
    lines.append(f"{sketch.at(e, dims)} = {sketch.pick(forms).format(w=f'{w}[{i}]', x=now, y=y)}")
    whole = {d: f"0:{sketch.bound(d)}" for d in others}
    lines.append(f"{name}[{i}] = mean({sketch.at(e, dims, whole)})")
    g = f"grad({name}, {w})"
    steps = [
        f"{w} - 0.1 * {g}",
        f"optim.sgd({w}, {g}, {i}, lr = 0.1)",
        f"optim.adam({w}, {g}, {i})",
    ]
    steps += [f"optim.momentum({w}, {g}, {i})", f"optim.clip_by_norm({w} - 0.2 * {g}, 1.0)"]
    step = sketch.pick(steps)
    sketch.note("training loop")
    if "optim." in step:
        sketch.need("optim")
        sketch.note("stdlib")
    lines.append(f"{w}[{i}+1] = {step}")
    sketch.lines += lines
    sketch.define(Tensor(w, (i,), "f32", (n,)))
    sketch.define(Tensor(name, (i,)))


def trained_record(sketch: Sketch) -> None:
    """A record of weights that learns."""
    i, n = sketch.pick([*sketch.dims]), sketch.width
    w, name, h = sketch.fresh("net"), sketch.fresh("loss"), sketch.fresh("h")
    x = sketch.pick(sketch.known("f32", (n,)))
    dims = sketch.ordered((i, *x.dims))
    whole = {d: f"0:{sketch.bound(d)}" for d in dims if d != i}
    start = expression(sketch, Scope((), {i: "0"}), (n, n), 1)
    sketch.note("training loop")
    sketch.note("record state")
    sketch.need("optim")
    step = sketch.pick(("{w} - 0.1 * {g}", "optim.sgd({w}, {g}, {i})", "optim.adam({w}, {g}, {i})"))
    if step.startswith("{w}"):
        step = "{{a: {w}.a - 0.1 * {g}.a, b: {w}.b - 0.1 * {g}.b}}"
        g = sketch.fresh("g")
        extra = [f"{g}[{i}] = grad({name}, {w})"]
    else:
        g, extra = f"grad({name}, {w})", []
    sketch.lines += [
        f"{w}[0] = {{a: {start}, b: zeros([{n}])}}",
        f"{sketch.at(h, dims)} = sum(tanh({w}.a @ {sketch.read(x, Scope(dims))} + {w}.b) ** 2)",
        f"{name}[{i}] = mean({sketch.at(h, dims, whole)})",
        *extra,
        f"{w}[{i}+1] = {step.format(w=w, g=g, i=i)}",
    ]
    sketch.define(Tensor(name, (i,)))


def side_by_side(sketch: Sketch) -> None:
    """Two tensors, each by its own gradient, perhaps in epochs of batches."""
    i, slow = sketch.pick([*sketch.dims]), ""
    others = [d for d in sketch.dims if d != i and not sketch.dims[d].until]
    if others and not sketch.dims[i].until and sketch.chance(0.6):
        slow = sketch.pick(others)
    n, name = sketch.width, sketch.fresh("loss")
    w, v = sketch.fresh("w"), sketch.fresh("v")
    dims = sketch.ordered((slow, i)) if slow else (i,)
    x = expression(sketch, Scope(dims), (n,), 1)
    forms = (
        "({v} @ tanh({w} * {x}) - 0.5) ** 2",
        "tanh({w} @ {x}) * ({v} @ {v})",
        "({w} - {v}) @ {x}",
    )
    step = i if not slow else f"{slow} * {sketch.bound(i)} + {i}"
    lines = [f"{sketch.at(name, dims)} = {sketch.pick(forms).format(w=w, v=v, x=x)}"]
    sketch.need("optim")
    sketch.note("side by side")
    if slow:
        sketch.note("nested steps")
    for y in (w, v):
        kind = sketch.pick(("sgd", "momentum", "adam", "lion"))
        new = sketch.fresh(f"{y}n")
        first = dict.fromkeys(dims, "0")
        lines.append(
            f"{sketch.at(y, dims, first)} = {expression(sketch, Scope((), first), (n,), 1)}"
        )
        lines.append(f"{new} = optim.{kind}({y}, grad({name}, {y}), {step}, lr = 0.05)")
        lines.append(f"{sketch.at(y, dims, {i: f'{i}+1'})} = {new}")
        if slow:
            last = sketch.at(new, dims, {i: f"{sketch.bound(i)}-1"})
            lines.append(f"{sketch.at(y, dims, {slow: f'{slow}+1', i: '0'})} = {last}")
    sketch.lines += lines
    for y in (w, v):
        sketch.define(Tensor(y, dims, "f32", (n,)))
    sketch.define(Tensor(name, dims))


def chance(sketch: Sketch) -> None:
    """Draws, at each point or along a walk."""
    t, dims = place(sketch)
    n, name = sketch.width, sketch.fresh("y")
    shape = sketch.pick(((), (n,)))
    text = str(n) if shape else ""
    x = expression(sketch, Scope(dims), shape, 1)
    forms = [f"random.normal([{text}])", f"{x} * f32(random.bernoulli(0.7))"]
    forms += [f"random.uniform([{text}]) + {x}"]
    if not shape:
        logits = expression(sketch, Scope(dims), (3,), 1)
        forms += [
            f"0.5 * f32(random.categorical({logits}))",
            f"0.1 * f32(random.permutation({t} + 2)[0])",
        ]
    sketch.note("random")
    now = sketch.at(name, dims)
    lines = [f"{now} = {sketch.pick(forms)}"]
    if sketch.chance(0.4):
        before = sketch.at(name, dims, {t: f"{t}-1"})
        lines = [f"{now} = {sketch.pick(forms)} when {t} == 0"]
        lines.append(f"{now} = 0.5 * {before} + 0.3 * {sketch.pick(forms)}")
    sketch.define(Tensor(name, dims, "f32", shape), *lines)


def effects(sketch: Sketch) -> None:
    """A line, or a file, for some points."""
    known = [t for t in sketch.tensors if t.dims]
    x = sketch.pick(known)
    guard = Expression(sketch, Scope(x.dims)).guard()
    sketch.note("print")
    shown = sketch.at(x.name, x.dims)
    if sketch.chance(0.3):
        sketch.note("print of a text")
        shown = f'"at", {", ".join(x.dims)}, "it is", {shown}, 2 * {shown}'
    if x.dtype == "f32" and sketch.chance(0.4):
        sketch.note("print when the data say so")
        element = sketch.at(x.name, x.dims)
        guard += f" and sum({element}) > 0.37" if x.shape else f" and {element} > 0.37"
    what = f"print {shown}"
    if sketch.chance(0.25):
        sketch.note("save")
        place = "-".join(f"{{{d}}}" for d in x.dims)
        what = f'save {sketch.at(x.name, x.dims)} to "{sketch.fresh("file")}-{place}.safetensors"'
    sketch.lines.append(f"{what} when {guard}")


def assumed(sketch: Sketch) -> None:
    """A fact about bounds, which holds for all runs."""
    bounds = [d.bound for d in sketch.dims.values() if not d.value]
    sketch.note("assume")
    sketch.head.append(f"assume {sketch.pick(bounds)} {sketch.pick(('<= 64', '<= 100', '>= 1'))}")


LEARNING: tuple[Callable[[Sketch], None], ...] = (
    gradient, gradient, gradient, training, trained_record, side_by_side, chance, effects, assumed,
)  # fmt: skip
