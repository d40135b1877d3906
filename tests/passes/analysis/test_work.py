"""`Op.work`: the scalar operations of operators, by hand."""

from __future__ import annotations

import pytest

from tempoc.ops.control.control import Copy
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.indexing.scatter import ScatterAdd
from tempoc.ops.indexing.search import ArgMax, Sort
from tempoc.ops.tensor.arithmetic import Add
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.ops.tensor.convolution import Conv
from tempoc.ops.tensor.elementwise import Tanh
from tempoc.ops.tensor.movement import Transpose
from tempoc.ops.tensor.reduction import Mean, Sum, Var
from tempoc.ops.tensor.scan import CumSum
from tempoc.ops.tensor.window import Window
from tempoc.symbolic.expr import Const, Sym
from tempoc.symbolic.text import show
from tests.ops.harness import Sampled


def tensor(*shape: int | str, dtype: DType = DType.F32) -> TensorType:
    return TensorType(dtype, tuple(Sym(n) if isinstance(n, str) else Const(n) for n in shape))


INDICES = tensor(3, dtype=DType.I32)
CASES: list[tuple[Op, tuple[TensorType, ...], str]] = [
    (Add(), (tensor(3, "n"), tensor("n")), "3*n"),
    (Tanh(), (tensor(4),), "4"),
    (Copy(), (tensor(4),), "0"),
    (Transpose(), (tensor(4, 5),), "0"),
    (Sum(axes=(0,)), (tensor("n", 5),), "5*n"),
    (Mean(), (tensor(6),), "6"),
    (Var(), (tensor(6),), "24"),
    (CumSum(axis=0, reverse=False), (tensor(6, 2),), "12"),
    (Window(reduce="sum", size=Const(3), before=Const(0), after=Const(0)), (tensor(9),), "21"),
    (ArgMax(axis=0), (tensor(6, 2),), "12"),
    (Sort(axis=0), (tensor(6, 2),), "12"),
    (ScatterAdd(axis=0, n=Const(9)), (tensor(3, 2), INDICES), "6"),
    (MatMul(), (tensor(2, 3, 4), tensor(4, 5)), "240"),
    (MatMul(), (tensor("n"), tensor("n")), "2*n"),
    (Einsum(spec="ij,jk->ik"), (tensor(2, 3), tensor(3, 4)), "48"),
    (Einsum(spec="...i,...i->...i"), (tensor(7, 2), tensor(2)), "14"),
    (Einsum(spec="ij->ji"), (tensor(2, 3),), "0"),
    (Einsum(spec="ij->i"), (tensor(2, 3),), "6"),
    # 4 x 4 windows of 3 x 3 x 2 numbers, 5 channels, a multiplication and an addition
    (Conv(), (tensor(6, 6, 2), tensor(3, 3, 2, 5)), str(4 * 4 * 5 * 3 * 3 * 2 * 2)),
]


@pytest.mark.parametrize(("op", "args", "work"), CASES)
def test_work(op: Op, args: tuple[TensorType, ...], work: str) -> None:
    assert show(op.work(args, op.infer(args, Sampled()))) == work
