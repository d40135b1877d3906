"""What is read of isl's trees."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl
import pytest

from tempoc.base.effort import EFFORT
from tempoc.base.limits import Limits
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.poly.scheduling import loop_nest
from tempoc.poly.scheduling.loop_nest import Piecewise, _IslTreeReader, _Separation
from tempoc.poly.scheduling.problem import SchedulingProblem
from tempoc.schedule.compute import compute
from tempoc.schedule.text import show
from tempoc.schedule.tree import ScheduleTree, executed, loops
from tempoc.symbolic.expr import TRUE, Const, Sym, compare
from tests.schedule.programs import Builder
from tests.support.agreement import agree


def test_conditions_that_isl_writes_as_numbers() -> None:
    """Where it knows that a part of a guard holds, it writes 1."""
    one = isl.AstExpr.from_val(isl.Val(1))
    large = isl.AstExpr.from_id(isl.Id("T")).ge(isl.AstExpr.from_val(isl.Val(2)))
    read = _IslTreeReader(("T",), {}).condition
    assert read(one) == TRUE
    assert read(large.or_(one)) == TRUE
    assert read(large.and_(one)) == compare(">=", Sym("T"), Const(2))


def test_loops_that_index_expressions_cannot_state_are_no_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def selection(self: _IslTreeReader, e: isl.AstExpr) -> None:
        raise Piecewise(str(e))

    b = Builder("t<T")
    b.statement("x", "t")
    b.statement("y", "t", "x[t]")
    monkeypatch.setattr(_IslTreeReader, "expression", selection)
    with pytest.raises(DiagnosticError) as caught:
        compute(b.statements, b.space)
    assert [d.code for d in caught.value.diagnostics] == ["RT401"]


def seasons(n: int) -> str:
    """A recurrence with other weights in each of so many seasons, and its gradient.

    In loops of it statements have one remainder each, all others, or none.
    """
    rows = (f"s[t] = 0.{k} * s[t-1] + (w)[{k}] * x[t] when t % {n} == {k}\n" for k in range(n))
    head = f"dim t < T\ninput x[t]: f32\nparam w: f32[{n}] = ones([{n}])\ns[0] = x[0]\n"
    return f"{head}{''.join(rows)}g = grad(sum(s[0:T]), w)\noutput s, g\n"


def test_many_remainders_take_few_steps() -> None:
    loaded = load_source(Source("m.rt", seasons(12)))
    compilation = Compilation(loaded, Options(limits=Limits(isl_steps=1_000_000)))
    assert len([*executed(compilation.tree)]) > 5 * 12
    assert compilation.plan.stores
    assert not compilation.space.frame._hard, "no question about live ranges is given up"


def test_remainders_are_checked_at_the_points_of_each_statement() -> None:
    agree(seasons(EFFORT.loop_remainders + 1), {"T": 1}, {"T": 17})


def printed_by(divisors: Sequence[int], ends: Sequence[int]) -> ScheduleTree:
    """The schedule of a program that prints values every so many steps, up to some step."""
    rows = (
        f"y{k} = {k}.5 * x\nprint y{k}[t] when t % {divisor} == {k % divisor} and t < {end}\n"
        for k, (divisor, end) in enumerate(zip(divisors, ends, strict=True))
    )
    text = f"dim t < T\ninput x[t]: f32\n{''.join(rows)}"
    return Compilation(load_source(Source("m.rt", text)), Options()).tree


@pytest.mark.parametrize("factor", [1, 2])
def test_remainders_by_many_numbers_are_checked_once_each(factor: int) -> None:
    """No step is common to all, or each needs its condition all the same."""
    divisors = [factor * d for d in range(2, EFFORT.loop_remainders + 4)]
    assert show(printed_by(divisors, [3 * d for d in divisors])).count("%") == len(divisors)


def test_remainders_by_one_number_make_a_loop_with_that_step() -> None:
    assert [loop.step for loop in loops(printed_by([12] * 12, [99] * 12))] == [12]


def test_remainders_beside_the_end_of_a_dimension_are_checked_for_its_length() -> None:
    """Which points the last step alone has is known where it ends, at any of the steps."""
    text = """dim t < T until stop
dim i < I
input x[t]: f32
input a[i]: f32
h[t, i] = a * x + (h[t-1, i] if t >= 1 and (t + i) % 4 != 0 else cos(a))
c[t, 0] = h[t, 0]
c[t, i] = maximum(c[t, i-1] * 0.9, h) if i % 2 == 0 else c[t, i-1] + sin(a) * (t % 3)
stop[t] = c[t, I-1] > 1.2
o[i] = sum(c[0:T, i])
g = grad(o, a)
output o, g
"""
    agree(text, {"T": 17, "I": 1}, {"T": 5, "I": 3})


def entangled(dim: str, count: int) -> str:
    """So many recurrences along a dimension that begin at different steps and read each other."""
    rows = [f"dim {dim} < {dim.upper()}\ninput x_{dim}[{dim}]: f32\n"]
    for k in range(count):
        other = f"h{(k + 1) % count}_{dim}[{dim}-1]"
        own = f"tanh(h{k}_{dim}[{dim}-{k + 1}])"
        rows.append(f"h{k}_{dim}[{dim}] = {own} + {other} + x_{dim} when {dim} >= {k + 1}\n")
        rows.append(f"h{k}_{dim}[{dim}] = x_{dim}\n")
    return f"{''.join(rows)}output h0_{dim}\n"


def test_no_choice_of_loops_to_split_is_built_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second loop is too long when it is split; that both are was known before."""
    tried: list[tuple[int, ...]] = []

    def separation(problem: SchedulingProblem, outermost: tuple[int, ...]) -> _Separation:
        tried.append(outermost)
        return _Separation(problem, outermost)

    monkeypatch.setattr(loop_nest, "_Separation", separation)
    text = entangled("t", 2) + entangled("u", 4)
    assert Compilation(load_source(Source("m.rt", text)), Options()).tree
    assert tried == [(), (0, 1), (), (0,)]  # the first one counts
