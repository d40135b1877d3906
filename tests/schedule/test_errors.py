"""Programs without an order are told why, by a cycle of values."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl
import pytest

from tempoc.base.effort import EFFORT
from tempoc.diagnostics.diagnostic import Diagnostic, DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.driver.check_order import has_order
from tempoc.poly.scheduling import problem
from tempoc.schedule import samples
from tempoc.schedule.compute import compute
from tempoc.schedule.errors import CycleStep, no_order, no_order_found
from tempoc.schedule.samples import sampled
from tempoc.symbolic import expr as ix
from tests.schedule.programs import Builder


def refused(b: Builder) -> Diagnostic:
    with pytest.raises(DiagnosticError) as caught:
        compute(b.statements, b.space)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def test_a_cycle_inside_one_step_names_all_of_it() -> None:
    b = Builder("t<T")
    b.statement("x", "t")
    b.statement("alpha", "t", "beta[t]", "x[t]")
    b.statement("beta.mul", "t", "gam[t]")
    b.statement("beta", "t", "beta.mul[t]")
    b.statement("gam", "t", "alpha[t]")
    found = refused(b)
    assert found.code == "RT400"
    assert found.message == (
        "no order of execution exists: alpha, beta and gam need each other in a cycle"
    )
    assert found.notes == (
        "cycle: alpha[0] needs beta[0], which needs gam[0], which needs alpha[0] (when T = 1)",
    )


def test_a_cycle_between_different_points() -> None:
    b = Builder("t<T")
    b.tensor("a", "t")
    b.tensor("b", "t")
    b.statement("a.0", "", writes=("a[T-1]",))
    b.statement("a.1", "t | t < T-1", "b[t+1]", writes=("a[t]",))
    b.statement("b.0", "", writes=("b[0]",))
    b.statement("b.1", "t | t >= 1", "a[t-1]", writes=("b[t]",))
    assert refused(b).notes == ("cycle: a[0] needs b[1], which needs a[0] (when T = 2)",)


def test_a_value_that_needs_itself() -> None:
    b = Builder("t<T")
    b.tensor("a", "t")
    b.statement("a", "t", "a[0:T]", writes=("a[t]",))
    found = refused(b)
    assert "a needs itself" in found.message
    assert found.notes == ("cycle: a[0] needs a[0] (when T = 1)",)


def test_a_tensor_named_d_is_no_derivative() -> None:
    b = Builder("t<T")
    b.tensor("c", "t")
    b.tensor("d", "t")
    b.statement("c.0", "", writes=("c[T-1]",))
    b.statement("c.1", "t | t < T-1", "d[t+1]", writes=("c[t]",))
    b.statement("d.0", "", writes=("d[0]",))
    b.statement("d.1", "t | t >= 1", "c[t-1]", writes=("d[t]",))
    assert "stop_gradient" not in (refused(b).help or "")


def copied_now_and_then(statements: int = 3) -> Builder:
    """`a` is `b` at every fiftieth step from 100 on, and `b` needs what `a` is a step later."""
    b = Builder("t<T")
    b.tensor("a", "t")
    b.statement("a.0", "", writes=("a[0]",))
    b.statement("a.1", "t | t >= 100 and t % 50 == 0", "b[t]", writes=("a[t]",))
    b.statement("a.2", "t | t >= 1 and (t < 100 or t % 50 > 0)", "a[t-1]", writes=("a[t]",))
    last = "a[min(t+1, T-1)]"
    for k in range(statements):
        b.statement(f"b.{k}", "t", last)
        last = f"b.{k}[t]"
    b.statement("b", "t", last)
    return b


def test_a_cycle_that_no_small_bounds_show() -> None:
    found = refused(copied_now_and_then())
    assert found.code == "RT400"
    assert found.notes == (
        "cycle: a[100] needs b[100], which needs a[101], which needs a[100] (when T = 103)",
    )


def test_a_late_cycle_of_many_statements_is_found_without_isl(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def solve(*given: object) -> isl.Schedule:
        raise AssertionError("isl was asked")

    monkeypatch.setattr(problem, "solve", solve)
    b = copied_now_and_then(80)
    names = tuple(s.name for s in b.statements.statements)
    assert not has_order(b.statements, b.space, [names])
    assert refused(b).code == "RT400"


def test_samples_stay_within_the_assumptions() -> None:
    b = copied_now_and_then()
    assert sampled(b.statements, b.space.universe) is not None
    few = replace(b.space.universe, assumptions=(ix.compare("<=", ix.Sym("T"), ix.Const(90)),))
    assert sampled(b.statements, few) is None


def test_no_sample_is_taken_of_too_many_points(monkeypatch: pytest.MonkeyPatch) -> None:
    b = copied_now_and_then()
    monkeypatch.setattr(samples, "EFFORT", EFFORT._replace(replayed_cells=60))
    assert sampled(b.statements, b.space.universe) is None


def test_every_cycle_is_reported() -> None:
    b = Builder("t<T")
    b.statement("a", "t", "b[t]")
    b.statement("b", "t", "a[t]")
    b.statement("c", "t", "a[t]")
    b.tensor("d", "t")
    b.statement("d", "t", "d[0:T]", "c[t]", writes=("d[t]",))
    with pytest.raises(DiagnosticError) as caught:
        compute(b.statements, b.space)
    assert sorted(d.message.split(": ")[1] for d in caught.value.diagnostics) == [
        "a and b need each other in a cycle", "d needs itself in a cycle"
    ]  # fmt: skip


def test_the_culprit_is_found_among_others() -> None:
    b = Builder("t<T")
    b.statement("x", "t")
    b.statement("y", "t", "x[t]", "z[t]")
    b.statement("z", "t", "y[0:t+1]")
    b.statement("w", "t", "z[t]", "x[0:T]")
    assert "y and z need each other" in refused(b).message


def test_wordings() -> None:
    source = Source("m.rt", "a = b\nb = a\n")
    spans = source.span(0, 5), source.span(6, 11)
    found = no_order([CycleStep("a", "a", spans[0]), CycleStep("b", "b", spans[1])], "")
    assert found.primary is not None and found.primary.text == "a needs b"
    assert [label.text for label in found.secondary] == ["b needs a"]
    other = no_order_found(["a", "a", "b"], spans)
    assert other.message == "no order of execution found for a and b"
