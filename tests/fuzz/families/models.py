"""Whole models in a few lines: cells, layers, decoders, filters, paths that are traced back."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.expressions import expression
from tests.fuzz.families.sequences import over, place
from tests.fuzz.sketch import Scope, Sketch, Tensor


def cell(sketch: Sketch) -> None:
    """A recurrent cell of the standard library."""
    t, dims = place(sketch)
    n, name, weights = sketch.width, sketch.fresh("h"), sketch.fresh("cell")
    x = over(sketch, t, dims, (n,))
    kind = sketch.pick(("gru", "lstm"))
    sketch.need("nn")
    sketch.note("stdlib")
    sketch.note("param with a default")
    sketch.head.append(f"param {weights} = nn.{kind}_init({n}, {n})")
    here = sketch.at(x.name, x.dims)
    call = f"nn.{kind}({here}, {weights}, {t})"
    target = sketch.at(name, dims)
    target += f", {sketch.at(sketch.fresh('c'), dims)}" * (kind == "lstm")
    line = f"{target} = {call}"
    sketch.define(Tensor(name, dims, "f32", (n,)), line)


def network(sketch: Sketch) -> None:
    """A list of layers that learns from a batch."""
    i, n = sketch.pick([*sketch.dims]), sketch.width
    net, name, e = sketch.fresh("net"), sketch.fresh("loss"), sketch.fresh("e")
    x = sketch.pick(sketch.known("f32", (n,)))
    dims = sketch.ordered((i, *x.dims))
    whole = {d: f"0:{sketch.bound(d)}" for d in dims if d != i}
    target = expression(sketch, Scope(dims), (), 1)
    rule = sketch.pick(("adam({}, {})", "momentum({}, {})", "rmsprop({}, {})", "lion({}, {})"))
    step = rule.format(f"{net}, grad({name}, {net})", i)
    sketch.need("nn")
    sketch.need("optim")
    sketch.note("training loop")
    sketch.note("list state")
    sketch.lines += [
        f"{net}[0] = nn.mlp_init([{n}, 2, 1])",
        f"{sketch.at(e, dims)} = (nn.mlp({net}, {sketch.at(x.name, x.dims)})[0] - {target}) ** 2",
        f"{name}[{i}] = mean({sketch.at(e, dims, whole)})",
        f"{net}[{i}+1] = optim.{step}",
    ]
    sketch.define(Tensor(name, (i,)))


def decoder(sketch: Sketch) -> None:
    """Tokens that a model says itself, from a table of embeddings."""
    t = sketch.pick([*sketch.dims])
    n, token, h, logits = sketch.width, *(sketch.fresh(p) for p in ("tok", "h", "lg"))
    table = f"reshape(sin(f32(arange({3 * n}))), [3, {n}])"
    choose = sketch.pick((f"argmax({logits}[{t}])", f"random.categorical({logits}[{t}])"))
    context = sketch.pick(
        (f"mean({h}[0:{t}+1], axis = 0)", f"nn.attention({h}, {h}[0:{t}+1], {h}[0:{t}+1])", h)
    )
    e = expression(sketch, Scope((t,)), (n,), 1)
    sketch.need("nn")
    sketch.note("decoder")
    sketch.lines += [
        f"{token}[0] = i32({sketch.pick('012')})",
        f"{token}[{t}+1] = i32({choose})",
        f"{h}[{t}] = tanh({table}[{token}] + {e})",
        f"{logits}[{t}] = {table} @ {context}",
    ]
    sketch.define(Tensor(token, (t,), "i32"))
    sketch.define(Tensor(logits, (t,), "f32", (3,)))


def traced_back(sketch: Sketch) -> None:
    """Viterbi: scores forwards, the best path backwards."""
    t, n = sketch.pick([*sketch.dims]), sketch.width
    end, score, origin, path = sketch.bound(t), *(sketch.fresh(p) for p in ("sc", "or", "path"))
    scope = Scope((t,))
    move = expression(sketch, Scope(()), (n, n), 1)
    sketch.note("path traced back")
    sketch.lines += [
        f"{score}[0] = {expression(sketch, Scope((), {t: '0'}), (n,), 1)}",
        f"{score}[{t}] = max(expand_dims({score}[{t}-1], 1) + {move}, axis = 0)"
        f" + {expression(sketch, scope, (n,), 1)}",
        f"{origin}[{t}] = argmax(expand_dims({score}[{t}-1], 1) + {move}, axis = 0) when {t} >= 1",
        f"{path}[{end}-1] = argmax({score}[{end}-1])",
        f"{path}[{t}] = {origin}[{t}+1][{path}[{t}+1]]",
    ]
    sketch.define(Tensor(score, (t,), "f32", (n,)))
    sketch.define(Tensor(path, (t,), "i32"))


def kalman(sketch: Sketch) -> None:
    """A filter of one number, forwards, and smoothed backwards."""
    t, dims = place(sketch)
    m, p, k, s = (sketch.fresh(x) for x in ("mu", "var", "gain", "sm"))
    x = over(sketch, t, dims, ())
    z = sketch.at(x.name, x.dims)
    now = {n: sketch.at(n, dims) for n in (m, p, k, s)}
    before = {n: sketch.at(n, dims, {t: f"{t}-1"}) for n in (m, p)}
    zero = {n: sketch.at(n, dims, {t: "0"}) for n in (m, p)}
    after = {n: sketch.at(n, dims, {t: f"{t}+1"}) for n in (m, s)}
    last = {n: sketch.at(n, dims, {t: f"{sketch.bound(t)}-1"}) for n in (m, s)}
    sketch.note("filter and smoother")
    sketch.lines += [
        f"{zero[m]}, {zero[p]} = 0.0, 1.0",
        f"{now[k]} = ({before[p]} + 0.1) / ({before[p]} + 0.6) when {t} >= 1",
        f"{now[m]} = {before[m]} + {now[k]} * ({z} - {before[m]})",
        f"{now[p]} = (1 - {now[k]}) * ({before[p]} + 0.1)",
        f"{last[s]} = {last[m]}",
        f"{now[s]} = {now[m]} + {now[p]} / ({now[p]} + 0.1) * ({after[s]} - {now[m]})",
    ]
    for name in (m, p, s):
        sketch.define(Tensor(name, dims))


def several_results(sketch: Sketch) -> None:
    """More than one target: the largest numbers and where they are; a split."""
    _, dims = place(sketch)
    n, a, b = sketch.width, sketch.fresh("y"), sketch.fresh("y")
    x = expression(sketch, Scope(dims), (2 * n,), 2)
    targets = f"{sketch.at(a, dims)}, {sketch.at(b, dims)}"
    sketch.note("several targets")
    if sketch.chance(0.5):
        sketch.define(Tensor(a, dims, "f32", (n,)), f"{targets} = top_k(0.9 * {x}, {n})")
        sketch.define(Tensor(b, dims, "i32", (n,)))
        return
    sketch.define(Tensor(a, dims, "f32", (n,)), f"{targets} = split({x}, 2, 0)")
    sketch.define(Tensor(b, dims, "f32", (n,)))


def stacked(sketch: Sketch) -> None:
    """Layers of attention over what was there before, with weights of their own."""
    if len(sketch.dims) < 2:
        return cell(sketch)
    t = sketch.pick([*sketch.dims])
    l = sketch.pick([d for d in sketch.dims if d != t])  # noqa: E741
    dims, n = sketch.ordered((t, l)), sketch.width
    h, y = sketch.fresh("h"), sketch.fresh("y")
    rows = sketch.slice(t, Scope(dims))
    part = sketch.at(h, dims, {t: rows})
    sketch.need("nn")
    sketch.note("layers of attention")
    whole = f"nn.attention({sketch.at(h, dims)}, {part}, {part})"
    heads = sketch.pick((whole, f"mean({part}, axis = 0)"))
    sketch.lines += [
        f"{sketch.at(h, dims, {l: '0'})} = {expression(sketch, Scope((t,), {l: '0'}), (n,), 1)}",
        f"{sketch.at(h, dims, {l: f'{l}+1'})} = {sketch.at(y, dims)}",
        f"{sketch.at(y, dims)} = {sketch.at(h, dims)} + tanh(W @ {heads})",
    ]
    sketch.define(Tensor(h, dims, "f32", (n,)))
    sketch.define(Tensor(y, dims, "f32", (n,)))
    return None


MODELS: tuple[Callable[[Sketch], None], ...] = (
    cell, network, decoder, decoder, traced_back, kalman, several_results, stacked, stacked,
)  # fmt: skip
