"""What is read of isl's trees."""

from __future__ import annotations

import islpy as isl

from tempoc.poly.scheduling.loop_nest import _IslTreeReader
from tempoc.symbolic.expr import TRUE, Const, Sym, compare


def test_conditions_that_isl_writes_as_numbers() -> None:
    """Where it knows that a part of a guard holds, it writes 1."""
    one = isl.AstExpr.from_val(isl.Val(1))
    large = isl.AstExpr.from_id(isl.Id("T")).ge(isl.AstExpr.from_val(isl.Val(2)))
    read = _IslTreeReader(("T",), {}).condition
    assert read(one) == TRUE
    assert read(large.or_(one)) == TRUE
    assert read(large.and_(one)) == compare(">=", Sym("T"), Const(2))
