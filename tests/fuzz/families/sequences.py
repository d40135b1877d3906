"""Sequences: attention, windows, ragged axes, returns, filters, triangles, strided branches."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.expressions import Expression, expression
from tests.fuzz.sketch import Scope, Sketch, Tensor


def place(sketch: Sketch, share: float = 0.5) -> tuple[str, tuple[str, ...]]:
    """A dimension, and with it those of an equation."""
    along = sketch.pick([*sketch.dims])
    return along, sketch.ordered((along, *sketch.some([*sketch.dims], share)))


def over(sketch: Sketch, along: str, dims: tuple[str, ...], shape: tuple[int, ...]) -> Tensor:
    """A tensor that varies along a dimension; made where there is none."""
    fit = [t for t in sketch.known("f32", shape) if along in t.dims and {*t.dims} <= {*dims}]
    if fit:
        return sketch.pick(fit)
    name = sketch.fresh("a")
    text = expression(sketch, Scope(dims), shape, 2)
    return sketch.define(Tensor(name, dims, "f32", shape), f"{sketch.at(name, dims)} = {text}")


def free(sketch: Sketch) -> None:
    """An equation of any type."""
    _, dims = place(sketch)
    dtype = sketch.pick(("f32",) * 9 + ("i32", "bool", "u32", "bf16", "f16"))
    n = sketch.width
    shape = sketch.pick(((), (), (n,), (n,), (n, n), (3,), (2, n)))
    name = sketch.fresh("y")
    guard = Expression(sketch, Scope(dims)).guard()
    depth = sketch.pick((1, 2, 3, 3))
    target, scope = sketch.at(name, dims), Scope(dims)
    lines = [f"{target} = {expression(sketch, scope, shape, depth, dtype)}"]
    if sketch.chance(0.25):
        sketch.note("guarded equation")
        lines.insert(0, f"{target} = {expression(sketch, scope, shape, 1, dtype)} when {guard}")
    if sketch.chance(0.06):
        sketch.note("rare dtype")
        lines[0] = lines[0].replace(" = ", " = f32(", 1) + ")" if len(lines) == 1 else lines[0]
        dtype = "f32" if len(lines) == 1 else dtype
    sketch.define(Tensor(name, dims, dtype, shape), *lines)


def unindexed(sketch: Sketch) -> None:
    """`y = e`: the domain is that of what is read."""
    n = sketch.width
    shape = sketch.pick(((), (n,), (n,), (n, n)))
    known = [t for t in sketch.known("f32", shape) if t.dims]
    if not known:
        return free(sketch)
    a = sketch.pick(known)
    others = [t for t in sketch.tensors if t.shape == shape and {*t.dims} <= {*a.dims}]
    b = sketch.pick([t for t in others if t.dtype == "f32"])
    form = sketch.pick(
        ("tanh({a} + {b})", "{a} * {b}", "0.5 * {a} - {b}", "where({a} > {b}, {a}, {b})")
    )
    name = sketch.fresh("y")
    sketch.note("unindexed equation")
    sketch.define(Tensor(name, a.dims, "f32", shape), f"{name} = {form.format(a=a.name, b=b.name)}")
    return None


def attention(sketch: Sketch) -> None:
    t, dims = place(sketch)
    scope, n = Scope(dims), sketch.width
    q, k, v = (over(sketch, t, dims, (n,)) for _ in range(3))
    entry = sketch.slice(t, scope)
    sketch.note("attention")
    query = (
        sketch.read(q, Scope(dims)) if sketch.chance(0.7) else expression(sketch, scope, (n,), 1)
    )
    keys, values = (sketch.read(x, scope, {t: entry}) for x in (k, v))
    name, a = sketch.fresh("o"), sketch.fresh("a")
    if sketch.chance(0.5):
        sketch.need("nn")
        sketch.note("stdlib")
        lines = [f"{sketch.at(name, dims)} = nn.attention({query}, {keys}, {values})"]
        sketch.define(Tensor(name, dims, "f32", (n,)), *lines)
        return
    sketch.need("nn")
    soft = sketch.pick(("nn.softmax({})", "exp(tanh({}))", "exp({0} - logsumexp({0}))", "relu({})"))
    scores = f"({keys} @ {query}) / sqrt({n})"
    if soft.count("{") > 1 or sketch.chance(0.5):
        here = sketch.at(a, dims)
        lines = [f"{here} = {scores}", f"{sketch.at(name, dims)} = {soft.format(here)} @ {values}"]
        sketch.note("ragged tensor with a name")
    else:
        lines = [f"{sketch.at(name, dims)} = {soft.format(scores)} @ {values}"]
    sketch.define(Tensor(name, dims, "f32", (n,)), *lines)


def ragged(sketch: Sketch) -> None:
    """A tensor with an extent of its own at each point, through operators and slices of itself."""
    t, dims = place(sketch)
    scope, n = Scope(dims), sketch.width
    shape = sketch.pick(((), (n,)))
    entry = sketch.slice(t, scope)
    x, y = (over(sketch, t, dims, shape) for _ in range(2))
    part, other = (sketch.read(s, scope, {t: entry}) for s in (x, y))
    row, name = sketch.fresh("r"), sketch.fresh("y")
    whole = [
        "tanh({0})",
        "{0} * {1} + 0.5",
        "cumsum({0}, axis = 0)",
        "sort({0}, axis = 0)",
        "{0} - {1}",
    ]
    whole += ["{0} - mean({0}, axis = 0)", "where({0} > {1}, {0}, 0.5)", "flip({1}, 0)"]
    if not shape:
        whole += ["{0} * 0.9 ** arange(size({0}, 0))"]
    here = sketch.at(row, dims)
    sketch.note("ragged tensor with a name")
    lines = [f"{here} = {sketch.pick(whole).format(part, other)}"]
    if sketch.chance(0.3):
        sketch.note("as")
        kind = "f32[m]" if not shape else f"f32[m, {n}]"
        lines = [f"{here} = {sketch.pick(whole).format(part, other)} as {kind}"]
    elsewhere = sketch.pick((t, t, f"max({t}-1, 0)", f"{sketch.bound(t)}-1-{t}"))
    again = sketch.at(row, dims, {t: elsewhere})
    reads = [f"sum({again}, axis = 0)", f"max({again}, axis = 0)", f"mean({again}, axis = 0)"]
    reads += [f"sum(({again})[0:1], axis = 0)", f"sum(concat([{here}, {part}], 0), axis = 0)"]
    reads += [
        f"({again})[0]",
        f"logsumexp(tanh({again}), axis = 0)",
        f"sum(({here} * {part}), axis = 0)",
    ]
    read = sketch.pick(reads)
    lines.append(f"{sketch.at(name, dims)} = tanh({read}) + {expression(sketch, scope, shape, 1)}")
    sketch.define(Tensor(name, dims, "f32", shape), *lines)


def returns(sketch: Sketch) -> None:
    """What reinforcement learning makes of rewards."""
    t, dims = place(sketch)
    r, v = (over(sketch, t, dims, ()) for _ in range(2))
    scope, end, name = Scope(dims), sketch.bound(t), sketch.fresh("g")
    sketch.need("rl")
    sketch.note("stdlib")
    now = sketch.at(name, dims)
    rewards = sketch.read(r, scope, {t: sketch.pick((f"{t}:{end}", f"{t}:min({t}+3, {end})"))})
    done = expression(sketch, scope, (), 1, "bool")
    back = f"{sketch.at(name, dims, {t: f'{t}+1'})}"
    plain, value = sketch.at(r.name, r.dims), sketch.at(v.name, v.dims)
    last = sketch.read(v, Scope(tuple(d for d in dims if d != t), {t: f"{end}-1"}))
    forms = [
        [f"{now} = rl.discounted_sum({rewards}, {sketch.pick(('0.9', '0.5', '1'))})"],
        [f"{sketch.at(name, dims, {t: f'{end}-1'})} = {last}", f"{now} = {plain} + 0.9 * {back}"],
        [
            f"{now} = {plain} when {t} == {end}-1",
            f"{now} = {plain} + 0.9 * where({done}, 0.0, {back})",
        ],
        [f"{now} = rl.gae({plain}, {value}, {done}, 0.5, {t})"],
        [f"{now} = rl.returns({plain}, {done}, 0.25, {t}, gamma = 0.9)"],
        [f"{now} = rl.lambda_returns({plain}, {value}, {done}, 0.5, {t})"],
    ]
    sketch.define(Tensor(name, dims), *sketch.pick(forms))


def triangle(sketch: Sketch) -> None:
    """A tensor that is defined on a part of its box, and rows of it."""
    if len(sketch.dims) < 2:
        return strided(sketch)
    s = sketch.pick([*sketch.dims])
    t = sketch.pick([d for d in sketch.dims if d != s])
    dims, end = sketch.ordered((s, t)), sketch.bound(s)
    z, y = sketch.fresh("z"), sketch.fresh("y")
    guard, rows = sketch.pick(
        (
            (f"{s} <= {t}", f"0:min({t}+1, {end})"),
            (f"{s} < {t}", f"0:min({t}, {end})"),
            (f"{s} >= {t}", f"min({t}, {end}):{end}"),
            (f"{s} % 2 == 0", f"0:{end}:2"),
            (f"{s} + 2 > {t} and {s} <= {t}", f"min(max(0, {t}-1), {end}):min({t}+1, {end})"),
        )
    )
    sketch.note("triangle")
    lines = [f"{sketch.at(z, dims)} = {expression(sketch, Scope(dims))} when {guard}"]
    part = sketch.at(z, dims, {s: rows})
    form = sketch.pick(("tanh(sum({}))", "sum({} ** 2)", "sum(tanh({}))"))
    lines.append(f"{sketch.at(y, (t,))} = {form.format(part)}")
    sketch.define(Tensor(y, (t,)), *lines)
    return None


def strided(sketch: Sketch) -> None:
    """Branches that take turns."""
    t, dims = place(sketch)
    scope, n, name = Scope(dims), sketch.width, sketch.fresh("y")
    shape = sketch.pick(((), (n,)))
    now, k = sketch.at(name, dims), sketch.pick((2, 3))
    sketch.note("strided branches")
    lines = [
        f"{now} = {expression(sketch, scope, shape)} when {t} % {k} == {sketch.pick(range(k))}"
    ]
    if sketch.chance(0.5):
        before = sketch.at(name, dims, {t: f"{t}-1"})
        lines.append(
            f"{now} = 0.5 * {before} + {expression(sketch, scope, shape, 1)} when {t} >= 1"
        )
    lines.append(f"{now} = {expression(sketch, scope, shape, 1)}")
    sketch.define(Tensor(name, dims, "f32", shape), *lines)


def blocks(sketch: Sketch) -> None:
    """Sums of blocks over a derived dimension, and back."""
    derived = [d for d in sketch.dims.values() if "//" in d.value]
    if not derived:
        return free(sketch)
    n = sketch.pick(derived)
    base, k = n.value.split("+")[0].strip(" ("), int(n.value.split("//")[1])
    inner = [d for d in sketch.dims if sketch.bound(d) == base]
    if not inner:
        return free(sketch)
    t, shape = inner[0], sketch.pick(((), (sketch.width,)))
    x = over(sketch, t, (t,), shape)
    b, y = sketch.fresh("b"), sketch.fresh("y")
    sketch.note("blocks")
    rows = sketch.at(x.name, x.dims, {t: f"{k}*{n.name}:min({k}*{n.name}+{k}, {base})"})
    form = sketch.pick(("sum({}, axis = 0)", "mean({}, axis = 0)", "max({}, axis = 0)"))
    lines = [f"{b}[{n.name}] = {form.format(rows)}"]
    sketch.define(Tensor(b, (n.name,), "f32", shape), *lines)
    line = f"{y}[{t}] = {b}[{t}//{k}] - {sketch.at(x.name, x.dims)}"
    sketch.define(Tensor(y, (t,), "f32", shape), line)
    return None


def filters(sketch: Sketch) -> None:
    """Functions with a state of their own, linear recurrences, scans of records."""
    t, dims = place(sketch)
    scope, n, name = Scope(dims), sketch.width, sketch.fresh("y")
    shape = sketch.pick(((), (n,)))
    x = over(sketch, t, dims, shape)
    here = plain = sketch.at(x.name, x.dims)
    a = expression(sketch, scope, shape, 1)
    end = sketch.bound(t)
    sketch.functions["both"] = "def both(p, q) = {m: p.m * q.m, s: p.s * q.m + q.s}"
    sketch.functions["smooth"] = (
        "def smooth(v, dim d, k = 0.5) {\n  m[0] = v[d = 0]\n"
        "  m[d] = k * m[d-1] + v when d >= 1\n  return m\n}"
    )
    sketch.functions["backward"] = (
        "def backward(v, dim d) {\n  g[d] = v when d == 0\n"
        "  g[d] = 0.5 * g[d-1] + v\n  return g, tanh(g)\n}"
    )
    rows = f"{x.name}[{t} = 0:{end}]"
    scan = f"associative_scan(both, {{m: tanh({rows}), s: {rows}}}, 0).s[{t}]"
    forms = [f"smooth({here}, {t})", f"smooth({here}, {t}, k = 0.9) * {a}", scan]
    if not shape:
        sketch.need("ssm")
        forms.append(f"ssm.recur(tanh({a}), {plain}, {t})")
    sketch.note("function with a state")
    if sketch.chance(0.15):
        other = sketch.fresh("y")
        line = f"{sketch.at(name, dims)}, {sketch.at(other, dims)} = backward({here}, {t})"
        sketch.define(Tensor(name, dims, "f32", shape), line)
        sketch.define(Tensor(other, dims, "f32", shape))
        return
    sketch.define(
        Tensor(name, dims, "f32", shape), f"{sketch.at(name, dims)} = {sketch.pick(forms)}"
    )


def totals(sketch: Sketch) -> None:
    """A dimension is reduced away, in whole."""
    known = [t for t in sketch.floats() if t.dims and len(t.shape) < 2]
    x = sketch.pick(known)
    gone = sketch.some(x.dims, 0.6) or x.dims[:1]
    kept = tuple(d for d in x.dims if d not in gone)
    name = sketch.fresh("e")
    entries = {d: sketch.pick((f"0:{sketch.bound(d)}", f"0:{sketch.bound(d)}", ":")) for d in gone}
    rows = sketch.at(x.name, x.dims, entries)
    axes = range(len(gone))
    text = rows
    form = sketch.pick(("mean", "sum", "max", "logsumexp"))
    for _ in axes:
        text = f"{form}({text}, axis = 0)"
    sketch.note("reduction of a whole dimension")
    text = f"tanh({text})" if form == "sum" else text
    sketch.define(Tensor(name, kept, "f32", x.shape), f"{sketch.at(name, kept)} = {text}")


SEQUENCES: tuple[Callable[[Sketch], None], ...] = (
    free, free, free, free, unindexed, attention, attention, ragged, ragged, returns, triangle,
    strided, blocks, filters, totals,
)  # fmt: skip
