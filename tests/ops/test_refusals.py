"""Operands that do not fit are refused with both shapes and the numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tempoc.ops.control.cond import Cond
from tempoc.ops.control.control import Ensure, Merge, Select
from tempoc.ops.control.data_length import DataLength
from tempoc.ops.definition.operator import Op, OperandError
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.indexing.indexing import Take, TakeAlong
from tempoc.ops.indexing.pick import Pick
from tempoc.ops.indexing.put import Put
from tempoc.ops.indexing.scatter import ScatterMax
from tempoc.ops.indexing.search import ArgMax, SearchSorted, TopK
from tempoc.ops.linear.factor import Cholesky, Det
from tempoc.ops.linear.fourier import Fft, Irfft, Rfft
from tempoc.ops.linear.solve import Solve, TriangularSolve
from tempoc.ops.tensor.arithmetic import Add, And, Less
from tempoc.ops.tensor.bits import BitwiseAnd, BitwiseNot
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.ops.tensor.convolution import Conv
from tempoc.ops.tensor.elementwise import Abs, Cast, Exp, Not
from tempoc.ops.tensor.joining import Concat, Split, Stack
from tempoc.ops.tensor.movement import BroadcastTo, Pad, Squeeze, Transpose
from tempoc.ops.tensor.reduction import Any, Max, Sum
from tempoc.ops.tensor.reshape import Reshape
from tempoc.ops.tensor.source import Arange, Param
from tempoc.symbolic.parse import parse
from tests.ops.harness import Sampled, shape

F, Z, B, K = DType.F32, DType.I32, DType.BOOL, DType.KEY


def f(*extents: str | int) -> TensorType:
    return TensorType(F, shape(*extents))


LENGTH = DataLength(most=parse("3"))
PICK = Pick(lo=parse("0"), hi=parse("T"))
REFUSED: list[tuple[Op, tuple[TensorType, ...], str]] = [
    (Cond(), (f(), f(), f()), "cond takes a bool scalar, not f32"),
    (Cond(), (TensorType(B), f(2), f(3)), "the branches of cond are f32[2] and f32[3]"),
    (LENGTH, (f(),), "a length is one integer, not f32"),
    (LENGTH, (TensorType(Z, shape(2)),), "a length is one integer, not i32[2]"),
    (PICK, (f("T"), f()), "`in` takes integers as positions, not f32"),
    (PICK, (f("T"), TensorType(Z, shape(2))), "`in` takes one index, not the shape [2]"),
    (Add(), (f(31, 47), f(53)), "shapes [31, 47] and [53] do not broadcast: 47 is not 53"),
    (Add(), (f("t + 1"), f("T")), "shapes [t+1] and [T] do not broadcast: t+1 is not T"),
    (Add(), (f(2),), "add takes 2 operands, not 1"),
    (Add(), (TensorType(K), f()), "a random key does not combine with f32"),
    (Less(), (TensorType(K), TensorType(K)), "random keys do not compare"),
    (And(), (TensorType(B), f()), "and takes bool, not f32"),
    (Not(), (f(),), "not takes bool, not f32"),
    (BitwiseAnd(), (f(), TensorType(Z)), "bitwise_and takes integers, not f32"),
    (BitwiseNot(), (TensorType(B),), "bitwise_not takes integers, not bool"),
    (Abs(), (TensorType(B),), "abs takes numbers, not bool"),
    (Exp(), (TensorType(K),), "a random key is not a number"),
    (Cast(dtype=F), (TensorType(K),), "key cannot be converted to f32"),
    (MatMul(), (f(31, 47), f(53)), "shapes [31, 47] and [53] do not contract: 47 is not 53"),
    (MatMul(), (f(), f(3)), "shapes [] and [3] do not contract: a scalar has no axis"),
    (MatMul(), (TensorType(B, shape(3)), f(3)), "@ takes numbers, not bool"),
    (Einsum(spec="ij,jk"), (f(2, 3), f(4, 5)),
     'shapes [2, 3] and [4, 5] do not contract by "ij,jk": j is 3 and 4'),
    (Einsum(spec="ij"), (f(2, 3), f(4)), 'einsum "ij" has 1 operand, not 2'),
    (Einsum(spec="i"), (f(2, 3),), '"i" in einsum names 1 axis, not 2'),
    (Einsum(spec="ij->k"), (f(2, 3),), 'the result of einsum "ij->k" names k, no operand does'),
    (Einsum(spec="ijk"), (f(2, 3),), '"ijk" in einsum names 3 axes, not 2'),
    (Conv(), (f(5, 2), f(3, 4, 1)),
     "shapes [5, 2] and [3, 4, 1] do not convolve: 2 channels are not 4"),
    (Conv(feature_group_count=2), (f(5, 4), f(3, 3, 2)),
     "shapes [5, 4] and [3, 3, 2] do not convolve: 4 channels are not 2 times 3"),
    (Conv(feature_group_count=2), (f(5, 4), f(3, 2, 3)),
     "2 groups do not divide 3 filters, or the channels are not known at compile time"),
    (Conv(rhs_dilation=0), (f(5, 4), f(3, 4, 3)),
     "conv takes positive strides, dilations and groups, and padding \"valid\" or "
     '"same", not 0 and "valid"'),
    (Conv(), (f(2), f(3, 3, 2, 1)), "shapes [2] and [3, 3, 2, 1] do not convolve"),
    (Sum(axes=(2,)), (f(2, 3),), "a tensor with 2 axes has no axis 2"),
    (Sum(axes=(0,)), (f(),), "a scalar has no axis 0"),
    (Sum(axes=(0, -2)), (f(2, 3),), "axis 0 is named twice"),
    (Max(), (f("t"),), "max over axis 0 of extent t, which can be 0"),
    (ArgMax(axis=1), (f(2, "T - t - 1"),), "argmax over axis 1 of extent T-1-t, which can be 0"),
    (Any(), (f(3),), "any takes bool, not f32"),
    (TopK(k=3), (f("t + 2"),), "top_k cannot take 3 elements of t+2"),
    (SearchSorted(), (f(2, 3), f()), "searchsorted looks in a vector, not in [2, 3]"),
    (SearchSorted(), (f(2), TensorType(B)), "searchsorted takes numbers, not bool"),
    (SearchSorted(side="up"), (f(2), f()),  # type: ignore[arg-type]
     'searchsorted takes side "left" or "right", not "up"'),
    (ScatterMax(axis=0, n=parse("3")), (f(2, 3), TensorType(Z, shape(3))),
     "segment_max takes a position for each row of [2, 3], not [3]"),
    (Put(), (f(2, 3), TensorType(Z, shape(2)), f(3)), "put takes one position, not [2]"),
    (Put(axis=1), (f(2, 3), TensorType(Z), f(3)),
     "put takes [2] for axis 1 of shape [2, 3], not [3]"),
    (Put(), (f(2), f(), f()), "put takes integers as positions, not f32"),
    (Cholesky(), (f(2, 3),), "cholesky takes square matrices, not the shape [2, 3]"),
    (Det(), (TensorType(B, shape(2, 2)),), "det takes numbers, not bool"),
    (Solve(), (f(2, 2), f(3)), "shapes [2, 2] and [3] are no system: 2 is not 3"),
    (Solve(), (f(2, 2), f()), "shapes [2, 2] and [] are no system: a scalar has no rows"),
    (TriangularSolve(), (f(4, 2, 2), f(3, 2, 1)),
     "shapes [4] and [3] do not broadcast: 4 is not 3"),
    (Fft(), (f(2, 3),), "fft takes complex numbers, [.., n, 2], not the shape [2, 3]"),
    (Rfft(), (f(),), "rfft transforms an axis, a scalar has none"),
    (Rfft(), (f("t"),), "rfft over axis 0 of extent t, which can be 0"),
    (Irfft(n=parse("5")), (f(2, 2),), "irfft to 5 numbers takes 3 complex ones, not 2"),
    (Irfft(n=parse("t")), (f("t//2 + 1", 2),), "irfft to t numbers, which can be less than 1"),
    (Reshape(shape=shape(4)), (f(2, 3),),
     "shape [2, 3] does not reshape to [4]: 6 elements are not 4"),
    (Reshape(shape=shape(4, -1)), (f(2, 3),),
     "shape [2, 3] does not reshape to [4, -1]: 4 does not divide 6"),
    (Reshape(shape=shape("t", -1)), (f("t + 1", 3),),
     "shape [t+1, 3] does not reshape to [t, -1]: t does not divide 3*t+3"),
    (BroadcastTo(shape=shape(2)), (f(3),), "shapes [2] and [3] do not broadcast: 2 is not 3"),
    (BroadcastTo(shape=shape(1)), (f(3),), "shape [3] does not broadcast to [1]"),
    (Squeeze(axes=(0,)), (f("t", 2),), "axis 0 has extent t, not 1"),
    (Transpose(axes=(0, 0)), (f(2, 3),), "axes [0, 0] do not name each of 2 axes once"),
    (Concat(axis=0), (f(2, 3), f(2, 4)),
     "shapes [2, 3] and [2, 4] do not concatenate along axis 0"),
    (Stack(), (f(2), f(3)), "shapes [2] and [3] do not stack"),
    (Split(sections=2), (f("t"),), "extent t of axis 0 does not split into 2 equal parts"),
    (Pad(widths=((parse("0"), parse("t - 1")),)), (f(3),), "pad width t-1 can be negative"),
    (Take(), (f(3), f(2)), "take takes integers as positions, not f32"),
    (TakeAlong(), (f(3), TensorType(Z)), "take_along takes as many axes twice, not 1 and 0"),
    (Select(), (f(), f(), f()), "where takes a bool condition, not f32"),
    (Merge(targets=((), ())), (f(2), f(3)), "equations of one tensor give f32[2] and f32[3]"),
    (Ensure(shape=shape("t")), (f(2, 3),), "shape [2, 3] cannot be [t]: 2 is not 1 axes"),
    (Arange(stop=parse("3"), step=0), (), "arange takes no step of 0"),
    (Param(template="w", dtype=F, shape=shape(2), has_default=True), (f(3),),
     "the default is f32[3], the declaration says f32[2]"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "args", "message"), REFUSED, ids=[m for _, _, m in REFUSED])
def test_refused(op: Op, args: tuple[TensorType, ...], message: str) -> None:
    with pytest.raises(OperandError) as raised:
        op.infer(args, Sampled())
    assert raised.value.message == message


def test_a_weak_scalar_fits_every_branch() -> None:
    literal = TensorType(F, weak=True)
    (merged,) = Merge(targets=((), ())).infer((literal, f("t", 2)), Sampled())
    assert merged == f("t", 2)


def test_positions_out_of_range_are_no_numbers() -> None:
    x, wrong = np.arange(3.0), np.array([0, 3])
    with pytest.raises(OperandError, match="index 3 is out of range for axis 0 of extent 3"):
        Take().evaluate((x, wrong), {})
    with pytest.raises(OperandError, match="index -4 is out of range"):
        TakeAlong(axis=0).evaluate((x, np.array([-4])), {})


def test_a_broken_promise_is_no_number() -> None:
    with pytest.raises(OperandError, match=r"shape \[3\] is not \[2\]"):
        Ensure(shape=shape("t")).evaluate((np.zeros(3),), {"t": 2})
