"""Programs whose ranges are lifted, compiled and run, against the reference evaluator."""

from __future__ import annotations

import pytest
from hypothesis import given, note, strategies as st

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tests.support.agreement import agree, all_equal
from tests.support.generators.settings import generated
from tests.support.session.long import sampled

PASSES = "canonicalize,algebra,canonicalize,vectorize,lift,canonicalize,vectorize,fuse"
HEAD = """dim b < B
dim t < T
input x[b, t]: f32
input n[t]: i32
input v[t]: f32[3]
"""
PROGRAMS = {
    "prefixes and suffixes": """
total = sum(x[t = 0:t+1])
best = max(x[t = t:T]) + min(x[t = 0:t+1])
average = mean(v[0:t+1], axis = 0)
before = sum(n[0:t]) + prod(n[2:t+1]) - sum(n[t+2:T])
near = logsumexp(x[t = t:T])
rows = sum(x[0:b+1, 0:t+1])
some = any(n[0:t+1] > 3) and not all(n[t:T] < 4)
output total, best, average, before, near, rows, some
""",
    "windows": """
a = sum(x[t = max(0, t-4):t+1]) + mean(x[t = max(0, t-9):t+1])
c = max(x[t = t:min(t+3, T)]) - min(x[t = max(0, t-1):min(t+12, T)])
d = prod(n[max(0, t-2):t+1]) + sum(n[max(1, t-2):min(t+20, T)])
e[b, t] = sum(x[t = t-2:t+1]) when t >= 2
e[b, t] = x
f = sum(v[max(0, t-2):t+1] * v[max(0, t-2):t+1])
output a, c, d, e, f
""",
    "discounted sums": """
gamma = 0.9
days = mean(n[0:T]) * 0.1
g = sum(gamma ** arange(T - t) * x[t = t:T])
h = sum(expand_dims(days ** (t - arange(t+1)), 1) * v[0:t+1], axis = 0)
u[t] = gamma ** t
k = sum(u[0:T-t] * x[t = t:T]) - u[0:T-t] @ x[t = t:T]
l = sum(x[t = t:min(t+5, T)] * gamma ** arange(min(5, T-t)))
m = sum(x[t = t:min(t+11, T)] * gamma ** arange(1, min(11, T-t) + 1))
w = sum(n[0:t+1] * 2 ** flip(arange(t+1)))
output g, h, k, l, m, w
""",
    "the first point by itself": """
y[b, t] = 0.5 * y[b = b-1] - 0.3 * sum(tanh(x[b = max(0, b-2):b+1]) ** 2) when b >= 1
y[b, t] = 0.3 * sum(tanh(x[b = max(0, b-2):b+1]) ** 2)
loss = sum((y * x)[b = 0:B, t = 0:T])
g = grad(loss, x)
output g
""",
    "in loops": """
h[b, 0] = x[t = 0]
h[b, t+1] = tanh(h + mean(h[t = 0:t+1] ** 2)) + x
s = sum(h[t = 0:t+1])
k[b, t] = x + 0.5 * k[t = t-1] + 0.1 * max(k[t = 0:t]) when t >= 1
k[b, 0] = x[t = 0]
q[b, t] = x + 0.5 * q[t = t+1] + 0.1 * sum(q[t = t+1:T]) when t < T - 1
q[b, t] = x
f[b, t] = x + 0.5 * f[t = t-1] + 0.1 * f32(sum(n[t:T]) + sum(n[2:t+1])) when t >= 1
f[b, 0] = x[t = 0]
a[b, t]: bool = x > 0.0 and not any(a[t = 0:t])
output h, s, k, q, f, a
""",
    "derivatives": """
y = tanh(x)
c = sum(y[t = 0:t+1])
w = sum(y[t = max(0, t-4):t+1])
m = mean(y[t = t:min(t+4, T)])
g = sum(0.9 ** arange(T - t) * y[t = t:T])
loss = sum((c * c + w * m + g * c)[b = 0:B, t = 0:T])
dx = grad(loss, x)
more = sum((dx * dx)[b = 0:B, t = 0:T])
ddx = grad(more, x)
output loss, dx, ddx
""",
    "a run that ends by itself": """
dim k < K until stop
dim j < J
stop[k] = k >= 2
y[k, j] = f32(k) + sum(w[k, 0:j+1]) + 0.1 * sum(w[k, max(0, j-2):j+1]) + sum(u[0:k+1])
w[k, j] = 0.5 * f32(j - k)
u[k] = 0.25 * f32(k)
z[j] = sum(v[0:T]) + f32(j)
s[j] = sum(z[0:j+1])
output s, y
""",
    "halves": """
k[b, t] = bf16(x)
s = sum(k[t = 0:t+1]) - mean(k[t = t:T]) + max(k[t = max(0, t-2):t+1])
output s
""",
}


@pytest.mark.parametrize("name", sampled(PROGRAMS, "more programs", of=2))
def test_compiled_programs_agree(name: str) -> None:
    text = HEAD + PROGRAMS[name]
    agree(text, *all_equal(text, 2, 8), passes=PASSES)


@pytest.mark.parametrize("name", sampled(PROGRAMS, "more programs", of=2))
def test_they_agree_after_all_passes(name: str) -> None:
    text = HEAD + PROGRAMS[name]
    agree(text, *all_equal(text, 1, 5))


@pytest.mark.parametrize("name", ["prefixes and suffixes", "windows", "in loops"])
def test_what_is_no_number_stays_where_it_is(name: str) -> None:
    text = HEAD + PROGRAMS[name]
    agree(text, *all_equal(text, 3, 8), special=True, passes=PASSES)


def lifted(text: str) -> Compilation:
    options = Options(passes=PASSES, verify_each=True)
    return Compilation(load_source(Source("m.rt", text)), options)


def test_a_scan_is_all_there_is() -> None:
    text = lifted(HEAD + "s = sum(n[t:T])\noutput s").emitted.kernels
    assert "return (lax.cumsum(n, axis=0, reverse=True),)" in text
    assert text.count("def ") == 1


MADE = """
r[b, t] = x + 0.9 * r[t = t+1] when t < T - 1
r[b, t] = x
m[b, t] = mean(r[t = t:t+4]) when t + 4 <= T
m[b, t] = r + sum(r[t = t:T])
w = max(r[t = max(0, t-2):t+1]) - r[t = T-1]
output m, w
"""


def test_ranges_over_scans_are_lifted_too() -> None:
    text = HEAD + MADE
    nodes = compiled(text).optimized.nodes.values()
    assert not [n.name for n in nodes if n.op.name in ("sum", "mean", "max")]
    assert [n.op.name for n in nodes].count("window") == 2
    agree(text, *all_equal(text, 1, 2, 8))


def compiled(text: str) -> Compilation:
    options = Options(verify_each=True)
    return Compilation(load_source(Source("m.rt", text)), options)


def test_derivatives_of_scans_are_scans() -> None:
    text = """
y = tanh(x)
c = sum(y[t = 0:t+1])
w = mean(y[t = max(0, t-4):t+1])
loss = sum((c * c * w)[b = 0:B, t = 0:T])
dx = grad(loss, x)
more = sum((dx * dx)[b = 0:B, t = 0:T])
ddx = grad(more, x)
output ddx
"""
    nodes = lifted(HEAD + text).optimized.nodes.values()
    assert not [n.name for n in nodes if n.op.name == "sum" and "t" in n.domain.dims]
    scans = [n.op for n in nodes if n.op.name == "cumsum"]
    assert {scan.reverse for scan in scans} == {False, True}


RANGES = (
    "0:{d}+1", "0:{d}", "1:{d}+1", "2:{d}", "{d}:{e}", "{d}+1:{e}", "{d}+3:{e}",
    "max(0, {d}-2):{d}+1", "{d}:min({d}+3, {e})", "max(0, {d}-9):min({d}+2, {e})",
    "max(0, {d}-3):{d}", "0:{e}-{d}", "0:{d}//2+1", "0:min({d}+2, {e})", "0:{d}+1:2",
    "max(1, {d}-2):{d}+1", "{d}//2:{d}+1",
)  # fmt: skip
REDUCED = ("sum({})", "mean({})", "prod({})", "logsumexp({})", "sum(tanh({}) ** 2)", "sum({} * w)")
FADING = ("sum(0.5 ** arange(size({0}, 0)) * {0})", "sum(w ** flip(arange(size({0}, 0))) * {0})")


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Ranges of inputs and of tensors that a loop makes, reduced, then a gradient."""
    lines = ["dim b < B", "dim t < T", "input x[b, t]: f32", "w = tanh(sum(x[0:B, 0:T]))"]
    names = ["x"]
    for k in range(draw(st.integers(1, 3))):
        d = draw(st.sampled_from(("b", "t")))
        part = draw(st.sampled_from(RANGES)).format(d=d, e=d.upper())
        form = draw(st.sampled_from((*REDUCED, *FADING)))
        value = f"0.3 * {form.format(f'{draw(st.sampled_from(names))}[{d} = {part}]')}"
        if form.startswith("mean"):
            value = f"where(isnan({value}), 0.5, {value})"
        if form.startswith("logsumexp"):
            value = f"maximum({value}, -9.0)"
        own = draw(st.sampled_from(("given", "made", "behind")))
        if own == "given":
            lines.append(f"y{k}[b, t] = {value} + x")
        else:
            step, end = ("-1", f"{d} >= 1") if own == "made" else ("+1", f"{d} < {d.upper()} - 1")
            lines.append(f"y{k}[b, t] = 0.5 * y{k}[{d} = {d}{step}] - {value} when {end}")
            lines.append(f"y{k}[b, t] = {value}")
        names.append(f"y{k}")
    if draw(st.booleans()):
        lines.append(f"l = sum((tanh({names[-1]}) * x)[b = 0:B, t = 0:T])")
        lines.append("g = grad(l, x)")
        names.append("g")
    return "\n".join([*lines, f"output {', '.join(names[1:])}", ""])


@given(text=programs())
@generated(2, long=5)
def test_generated_programs_agree(text: str) -> None:
    note(text)
    sizes = [{"B": 1, "T": 1}, {"B": 3, "T": 2}, {"B": 2, "T": 8}]
    agree(text, *sizes)
