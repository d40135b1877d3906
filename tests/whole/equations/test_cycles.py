"""Systems without an order of execution are refused with the cycle, at any level."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, note, strategies as st

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tests.support.agreement import agree
from tests.support.generators.settings import generated
from tests.support.session.long import in_turns

CYCLES = {
    "a[t] = a[t] + 1.\noutput a": (["a[t] = a[t] + 1."], "a[0] needs a[0]"),
    "a[T-1] = 0.; a[t] = b[t+1]; b[0] = 0.; b[t] = a[t-1]\noutput a, b": (
        ["a[t] = b[t+1]", "b[t] = a[t-1]"],
        "a[0] needs b[1], which needs a[0] (when T = 2)",
    ),
    "a[t] = b[t] + 1.\nb[t] = c[t] * 2.\nc[t] = a[t]\noutput c": (
        ["a[t] = b[t] + 1.", "b[t] = c[t] * 2.", "c[t] = a[t]"],
        "a[0] needs b[0], which needs c[0], which needs a[0]",
    ),
    "x[t]: f32 = y[t]\ny[t] = x[t]\noutput y": (
        ["x[t]: f32 = y[t]", "y[t] = x[t]"],
        "x[0] needs y[0], which needs x[0]",
    ),
    "x[t]: f32 = z[T-1-t]\nz[t] = y[t]\ny[t] = x[T-1-t]\nw = y + 1.\noutput w": (
        ["x[t]: f32 = z[T-1-t]", "z[t] = y[t]", "y[t] = x[T-1-t]"],
        "x[0] needs z[0], which needs y[0], which needs x[0]",
    ),
    "input x[t]: f32\nm = sum(a[0:T])\na[t] = x / m\noutput a": (
        ["m = sum(a[0:T])", "a[t] = x / m"],
        "m needs a[0], which needs m",
    ),
    "def f(v, dim i) { a[i] = b[i] + v; b[i] = a[i]; return b }\ny = f(1., t)\noutput y": (
        ["a[i] = b[i] + v", "b[i] = a[i]"],
        "y.f.a[0] needs y.f.b[0], which needs y.f.a[0]",
    ),
}


@pytest.mark.parametrize(("text", "level"), in_turns(CYCLES, (2, 0, 1), "all levels"))
def test_the_equations_of_a_cycle_are_underlined(text: str, level: int, tmp_path: Path) -> None:
    file = tmp_path / "model.rt"
    file.write_text(f"dim t < T\n{text}\n")
    with pytest.raises(DiagnosticError) as caught:
        _ = Compilation.from_path(str(file), Options(level=level)).emitted
    (found,) = caught.value.diagnostics
    equations, chain = CYCLES[text]
    assert found.code == "RT400"
    assert found.primary is not None
    assert [label.span.text for label in (found.primary, *found.secondary)] == equations
    assert found.notes[0].startswith(f"cycle: {chain}")


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("equation", ["a * 0", "minimum(a, 0) * 0", "where(a > 0, 0, 0)", "a - a"])
def test_a_cycle_that_algebra_takes_away_is_one(equation: str, level: int) -> None:
    text = f"dim t < T\na[t]: i32 = b[t]\nb[t] = {equation}\noutput a\n"
    with pytest.raises(DiagnosticError) as caught:
        _ = Compilation(load_source(Source("m.rt", text)), Options(level=level)).ordered
    (found,) = caught.value.diagnostics
    assert found.code == "RT400"
    assert found.notes == ("cycle: a[0] needs b[0], which needs a[0] (when T = 1)",)


# `before` is what the weights said that all epochs start with: its derivative needs later epochs.
THROUGH_A_GRADIENT = """import nn, optim
dim i < I
dim e < E
dim b < B
input x[b]: f32[2]
net[0, 0] = nn.mlp_init([2, 3, 1])
before = nn.mlp(net[i, 0], x)[0]
ratio = exp(nn.mlp(net, x)[0] - before)
loss = mean(ratio[b = 0:B])
new = optim.adam(net, grad(loss, net), i * E + e)
net[i, e+1] = new
net[i+1, 0] = new[i, E-1]
output loss
"""


def test_a_cycle_through_a_gradient_has_a_step_for_each_equation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*arguments: object) -> None:
        raise AssertionError("isl takes minutes to find that a large program has no schedule")

    monkeypatch.setattr("tempoc.poly.scheduling.problem.solve", asked)
    file = tmp_path / "model.rt"
    file.write_text(THROUGH_A_GRADIENT)
    with pytest.raises(DiagnosticError) as caught:
        _ = Compilation.from_path(str(file), Options(level=2)).emitted
    (found,) = caught.value.diagnostics
    assert found.code == "RT400"
    assert found.notes[0].startswith(
        "cycle: grad(loss, net)[0, 0] needs ratio[0, 1, 0], which needs net[0, 1], which needs "
        "new[0, 0], which needs grad(loss, net)[0, 0]"
    )
    assert "stop_gradient" in (found.help or "")


@pytest.mark.parametrize("by", ["w", "w2"])
def test_a_gradient_that_sums_over_steps_wants_a_copy_for_each(by: str) -> None:
    """Each product of conjugate gradients reads what the product before it gave."""
    text = (
        "dim i < I\ndim k < K\nparam w0: f32[3]\nw[0] = w0\np[i, 0] = zeros([3])\n"
        "w2[i, k] = w\ng[i, k] = grad(sum(w2 ** 3), w2)\ns[i, k] = sum(g * stop_gradient(p))\n"
        f"p[i, k+1] = p + grad(s, {by})\nw[i+1] = w + p[i, K-1]\noutput w\n"
    )
    made = Compilation(load_source(Source("m.rt", text)), Options(level=2))
    if by == "w2":
        assert made.emitted
        return
    with pytest.raises(DiagnosticError) as caught:
        _ = made.emitted
    (found,) = caught.value.diagnostics
    assert found.code == "RT400" and "`w2[i, k] = w`" in (found.help or "")


def test_a_cycle_with_recurrences_that_are_no_scans() -> None:
    """Joint ones that are no scan leave nothing to choose from; then their parts are tried."""
    text = """dim i < I
dim n < N
dim m < M = N
input start[n]: f32
y[0, n] = start
q[i, n, m] = (y[i, n] - y[i%2, m]) ** 2
cost[i] = sum(q[i, 0:N, 0:M])
g = grad(cost, y)
v[i, n] = 0.8 * v[i-1, n] - 2.0 * g when i >= 1
v[i, n] = -2.0 * g
y[i+1, n] = y + v
output g
"""
    with pytest.raises(DiagnosticError, match="RT400"):
        _ = Compilation(load_source(Source("m.rt", text)), Options()).emitted


def test_a_tensor_of_a_function_is_no_derivative_by_its_name() -> None:
    text = (
        "dim t < T\ninput x[t]: f32\ndef f(a, b) {\nd = stack([a, b])\nreturn sum(d)\n}\n"
        "y[t] = f(x, z)\nz[t] = f(y, x)\noutput y\n"
    )
    with pytest.raises(DiagnosticError, match=r"RT400: .*: y and z need each other") as caught:
        _ = Compilation(load_source(Source("m.rt", text)), Options()).ordered
    assert "stop_gradient" not in (caught.value.diagnostics[0].help or "")


IDENTITIES = (
    "{}", "{}", "f32({})", "1. * {}", "-(-{})", "reshape({}, [])", "stop_gradient({})",
    "where(u > 0., {0}, {0})", "cond(u > 0., {0}, {0})", "({0} if t % 2 == 0 else {0})",
)  # fmt: skip
GUARDS = ("t == 5", "t < 7", "t >= T - 7", "t % 2 == 0")


@st.composite
def cycles_of_copies(draw: st.DrawFn) -> str:
    """Tensors that copy each other in a circle at most points, by shifts that cancel."""
    names = draw(st.sampled_from(("a", "ab", "abc")))
    shifts = [draw(st.integers(-2, 2)) for _ in names[1:]]
    parity = draw(st.integers(0, len(names) - 1))
    lines = ["dim t < T", "input x[t]: f32", "input u: f32"]
    for k, (name, by) in enumerate(zip(names, [*shifts, -sum(shifts)], strict=True)):
        guard = draw(st.sampled_from(("", *GUARDS[: 4 if k == parity else 3])))
        lines += [f"{name}[t] = x when t < {-by}"] if by < 0 else []
        lines += [f"{name}[t] = x when t + {by} >= T"] if by > 0 else []
        lines += [f"{name}[t] = x when {guard}"] if guard else []
        read = f"{names[(k + 1) % len(names)]}[t + {by}]"
        lines += [f"{name}[t]: f32 = {draw(st.sampled_from(IDENTITIES)).format(read)}"]
    return "\n".join((*lines, f"output {draw(st.sampled_from(names))}")) + "\n"


@generated(12, long=200)
@given(cycles_of_copies(), st.sampled_from((0, 2, 2, 2)))
def test_a_cycle_of_copies_has_no_value(text: str, level: int) -> None:
    note(text)
    with pytest.raises(DiagnosticError) as caught:
        _ = Compilation(load_source(Source("m.rt", text)), Options(level=level)).ordered
    assert {one.code for one in caught.value.diagnostics} <= {"RT400", "RT401"}


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("place", ["t // 2", "max(0, t - 3)", "T - 1 - t // 3"])
def test_a_cycle_of_copies_at_other_points_has_no_value(place: str, level: int) -> None:
    text = f"dim t < T\na[t]: f32 = b\nb[t] = c[{place}]\nc[t] = a[{place}]\noutput b\n"
    with pytest.raises(DiagnosticError) as caught:
        _ = Compilation(load_source(Source("m.rt", text)), Options(level=level)).ordered
    assert [one.code for one in caught.value.diagnostics] == ["RT400"]


def test_the_rest_beside_a_cycle_need_not_have_loops_that_can_be_written() -> None:
    text = """dim i < I
dim t < T
input x[i, t]: f32
a[i, t] = a[i, t+2] when t < T-2
a[i, t] = a[I-1-i, t] when t % 2 == 0
a[i, t] = a[i-1, t+1] when i >= 1 and t < T-1 and i % 2 == 0
a[i, t] = x
output a
"""
    with pytest.raises(DiagnosticError) as caught:
        _ = Compilation(load_source(Source("m.rt", text)), Options()).ordered
    assert [one.code for one in caught.value.diagnostics] == ["RT400"]


def test_copies_that_come_to_an_end_have_the_value_there() -> None:
    text = """dim i < I
dim t < T
input x: f32
a[i, t] = x when i == 0 and t == T-1
a[i, t] = b[i-1, 0] when t == T-1
a[i, t] = b[i, t+1]
b[i, t] = a
output a, b
"""
    agree(text, {"I": 1, "T": 1}, {"I": 3, "T": 4}, levels=(0, 2))
