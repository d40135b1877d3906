"""What is read of isl's trees."""

from __future__ import annotations

import islpy as isl
import pytest

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.poly.scheduling.loop_nest import Piecewise, _IslTreeReader
from tempoc.schedule.compute import compute
from tempoc.symbolic.expr import TRUE, Const, Sym, compare
from tests.schedule.programs import Builder


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
