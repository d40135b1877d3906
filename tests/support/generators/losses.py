"""Random programs with a loss, smooth nearly everywhere, for checks of gradients."""

from __future__ import annotations

from hypothesis import strategies as st

HEAD = """dim t < T
input x[t]: f32
input w: f32
input k: f32[3, 1, 1]
input n[t]: i32
def scaled(p, q) = {m: p.m * q.m, s: p.s * q.m + q.s}
"""
EXPRESSIONS = (
    "{a} * sin({b})",
    "tanh({a} * w) - {b}",
    "sum({a}[max(0, t-2):t+1]) * {b}",
    "{a}[t:T] @ {b}[t:T]",
    "logsumexp({a}[0:t+1]) * w",
    "max({a}[t:T]) + prod({b}[t:min(t+3, T)])",
    "{a}[t // 2] * {b}[T-1-t]",
    "{a}[min(2*t, T-1)] + {b}[t - t % 3] * {a}",
    "{a}[min(t // 2 * 2 + 1, T-1)] - {b}",
    "sum({a}[t//2:T:2] ** 2)",
    "cumsum({a}[0:T])[t] * {b}",
    "cumprod(tanh({a}[0:t+1]))[t] - {b}",
    "associative_scan(scaled, {{m: tanh({a}[0:T]), s: {b}[0:T]}}, 0).s[t]",
    "{a}[t = minimum(n, t) in 0:t+1] * {b}",
    'einsum("i,i->", {a}[0:t+1], {b}[0:t+1] ** 2)',
    'conv(expand_dims({a}[0:T], 1), k, padding = "same")[t, 0] * {b}',
    "cond({a} > 0.1, sqrt({a}), {b} * w)",
    "cond(n > 0, cond({b} > 0.0, log({b}), {a}[t//2]), sum({a}[t:T]) * w)",
    "({a} * w if t % 3 == 1 else {b}[T-1-t])",
    "where({a} > {b}, {a} ** 2, {b})",
)
EQUATIONS = (
    "{y}[0] = {a}[0] * w\n{y}[t] = sin({y}[t-1]) * w + {b} when t >= 1",
    "{y}[T-1] = {a}[T-1]\n{y}[t] = {y}[t+1] * 0.5 + sin({b}) * {a}",
    "{y}[t] = {a} * {b} when t % 2 == 0\n{y}[t] = {y}[t-1] * {a} + w",
    "{y}[t] = {a} when t < 2\n{y}[t] = tanh({y}[t-1] * {y}[t//2]) + {b}",
    "{y}[t] = {a} when t < 2\n{y}[t] = tanh(sum({y}[t-2:t]) * w) + {b}",
    "{y}[t] = {b} when t < 3 or t % 2 == 1\n{y}[t] = tanh({y}[t-3:t] @ {a}[t-2:t+1]) - {b}",
    "{y}[0] = {b}[0]\n{y}[t] = cond({a} > 0.0, {y}[t-1] * w, tanh({b} + {y}[t-1])) when t >= 1",
)


@st.composite
def losses(draw: st.DrawFn) -> str:
    """The text of a program; `loss` is a number, inputs with a derivative are `x`, `w` and `k`."""
    known, lines = ["x"], []
    for number in range(draw(st.integers(2, 4))):
        y = f"y{number}"
        a, b = draw(st.sampled_from(known)), draw(st.sampled_from(known))
        form = draw(st.sampled_from((*EXPRESSIONS, *EQUATIONS)))
        text = form.format(a=a, b=b, y=y)
        lines.append(text if form in EQUATIONS else f"{y}[t] = {text}")
        known.append(y)
    total = " + ".join(f"sin({y}) * {k}.5" for k, y in enumerate(known))
    lines.append(f"loss = sum(({total})[t = 0:T]) + 0.0 * w * sum(k)")
    return HEAD + "\n".join(lines)
