"""All operators by name.

A node is built from a class and keyword fields, ``Sum(axes=(0,))``; operands are the node's edges.
Axes are spatial and may be negative. ``E`` stands for an index expression.

=========  ========================================================================================
family     classes and their fields
=========  ========================================================================================
source     Literal(value, dtype, weak) IndexValue(expr: E) Input(dtype, shape)
           Param(template, dtype, shape, has_default) Full(shape, value, dtype)
           Eye(n: E, m: E, dtype) Arange(stop: E, start: E, step: int, dtype)
random     Seed() RandomKey(place: int, at) of the seed; of a key: Uniform(shape, dtype)
           Normal(shape, dtype) Bernoulli(dtype) with p, Categorical() with logits,
           Gumbel(shape) Permutation(n: E) Integers(shape, low: E, high: E)
control    Merge(targets) Copy() StopGradient() Ensure(shape)  Cond() of p, a, b
           Select() of c, a, b is ``where``  After() and WithChecks() of x, whatever, for passes
effects    Print(names, places) and Save(names, path) of as many operands, no result
ending     Until(bound) of a bool, no result  DataLength(most: E) of an integer
unary      Negative Abs Sign Relu Floor Ceil Round Exp Exp2 Log Log1p Expm1 Sqrt Rsqrt Sin Cos Tan
           Tanh Sigmoid Silu Erf Erfc Gelu Softplus IsNan IsInf Not      no fields; Cast(dtype)
bits       BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift, BitwiseNot         no fields
binary     Add Subtract Multiply Divide FloorDivide Remainder Power Minimum Maximum Less LessEqual
           Greater GreaterEqual Equal NotEqual And Or              no fields; Clip() of x, low, high
reduction  Sum Prod Max Min Any All Mean Var LogSumExp (axes: tuple or None for all, keepdims)
search     ArgMax ArgMin (axis: int or None, keepdims) Sort(axis) ArgSort(axis, count or None)
           TopK(k), two results  SearchSorted(side) of a sorted vector, values
scan       CumSum CumProd CumMax CumMin CumLogSumExp (axis, reverse)
           Window(reduce, size: E, before: E, after: E, axis), for passes
           Fold(steps, carried, outputs, elements, reverse, pairs, combined), for derivatives
           AssociativeScan(steps, results, leaves, axis) of leaves and what its function reads
           Recurrence(steps, carried, starts, count: E, reverse), for passes
movement   Transpose(axes or None) ExpandDims(axis) Squeeze(axes) BroadcastTo(shape)
           Pad(widths: a pair (E, E) for each axis, value) Flip(axes or None)
           Widen(shape), for passes
           Reshape(shape; Const(-1) may stand once)
joining    Concat(axis) Stack(axis) of all operands; Split(sections, axis), that many results
indexing   SpatialIndex(entries, sure), made by ``slicing.spatial_index`` Take(axis) of x, indices
           TakeAlong(axis, sure) of x, indices OneHot(n: E, dtype)
           InRange(n: E, axis) of indices, for passes ScatterAdd(axis, n: E, sure) of x, indices
           ScatterMax and ScatterMin likewise  Put(axis, sure) of x, index, v
           AddAt(axis, sure) of x, indices, v, for passes
           ScatterProducts(n: E) of rows, rows, indices, for passes
           PickedProduct(lo: E, hi: E, turned) of a temporal slice, index, vector, for passes
           PutIntoSum(axis) of x, other, index, v, for passes
           Pick(lo: E, hi: E, step, axis) of a temporal slice, index
contract   MatMul() Einsum(spec) Conv(stride, padding, rhs_dilation, feature_group_count)
           and ConvTranspose of x, w; UnpackedProduct(steps, packed: int), for passes
linear     Cholesky Det LogDet     no fields; Solve(), TriangularSolve(lower, unit) of a, b
           CholeskyRows()  LdlRows()  LuRows()   for passes
           Attention(scale, causal, window: E) of queries, keys, values, for passes
fourier    Fft Ifft of pairs  Rfft  Irfft(n: E) of pairs
           LongConvolution(spec, start: E, count: E, step, flipped) of a, b, for passes
extern     ExternJax(extern, module, function, arguments, results, free), ExternVjp its derivative
           DispatchedCall(.., given), for passes
=========  ========================================================================================

Types come from ``infer``, values from ``evaluate`` (the caller converts them to the types), kernels
from ``emit`` with an ``emission.KernelEmitter``.
"""

from __future__ import annotations

import typing

from tempoc.ops.control.associative_scan import AssociativeScan
from tempoc.ops.control.cond import Cond
from tempoc.ops.control.control import After, Copy, Ensure, Merge, Select, StopGradient, WithChecks
from tempoc.ops.control.data_length import DataLength
from tempoc.ops.control.dispatched import DispatchedCall
from tempoc.ops.control.effects import Print, Save
from tempoc.ops.control.externs import ExternHost, ExternJax, ExternVjp
from tempoc.ops.control.fold import Fold
from tempoc.ops.control.recurrence import Recurrence
from tempoc.ops.control.unpacked_product import UnpackedProduct
from tempoc.ops.control.until import Until
from tempoc.ops.indexing.indexing import InRange, OneHot, SpatialIndex, Take, TakeAlong
from tempoc.ops.indexing.pick import Pick
from tempoc.ops.indexing.picked_product import PickedProduct
from tempoc.ops.indexing.put import Put, PutIntoSum
from tempoc.ops.indexing.scatter import AddAt, ScatterAdd, ScatterMax, ScatterMin
from tempoc.ops.indexing.scatter_products import ScatterProducts
from tempoc.ops.indexing.search import ArgMax, ArgMin, ArgSort, SearchSorted, Sort, TopK
from tempoc.ops.linear.attention import Attention
from tempoc.ops.linear.cholesky_rows import CholeskyRows
from tempoc.ops.linear.factor import Cholesky, Det, LogDet
from tempoc.ops.linear.fourier import Fft, Ifft, Irfft, Rfft
from tempoc.ops.linear.ldl_rows import LdlRows
from tempoc.ops.linear.long_convolution import LongConvolution
from tempoc.ops.linear.lu_rows import LuRows
from tempoc.ops.linear.solve import Solve, TriangularSolve
from tempoc.ops.random.draws import (
    Bernoulli,
    Categorical,
    Gumbel,
    Integers,
    Normal,
    Permutation,
    RandomKey,
    Seed,
    Uniform,
)  # fmt: skip
from tempoc.ops.tensor.arithmetic import (
    Add,
    And,
    Clip,
    Divide,
    Equal,
    FloorDivide,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    Maximum,
    Minimum,
    Multiply,
    NotEqual,
    Or,
    Power,
    Remainder,
    Subtract,
)  # fmt: skip
from tempoc.ops.tensor.bits import (
    BitwiseAnd,
    BitwiseNot,
    BitwiseOr,
    BitwiseXor,
    LeftShift,
    RightShift,
)  # fmt: skip
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.ops.tensor.convolution import Conv, ConvTranspose
from tempoc.ops.tensor.elementwise import (
    Abs,
    Cast,
    Ceil,
    Cos,
    Erf,
    Erfc,
    Exp,
    Exp2,
    Expm1,
    Floor,
    Gelu,
    IsInf,
    IsNan,
    Log,
    Log1p,
    Negative,
    Not,
    Relu,
    RoundToEven,
    Rsqrt,
    Sigmoid,
    Sign,
    Silu,
    Sin,
    Softplus,
    Sqrt,
    Tan,
    Tanh,
)  # fmt: skip
from tempoc.ops.tensor.joining import Concat, Split, Stack
from tempoc.ops.tensor.movement import (
    BroadcastTo,
    ExpandDims,
    Flip,
    Pad,
    Squeeze,
    Transpose,
    Widen,
)  # fmt: skip
from tempoc.ops.tensor.reduction import All, Any, LogSumExp, Max, Mean, Min, Prod, Sum, Var
from tempoc.ops.tensor.reshape import Reshape
from tempoc.ops.tensor.scan import CumLogSumExp, CumMax, CumMin, CumProd, CumSum
from tempoc.ops.tensor.source import Arange, Eye, Full, IndexValue, Input, Literal, Param
from tempoc.ops.tensor.window import Window

OPERATORS: tuple[type[typing.Any], ...] = (
    # source
    Literal, IndexValue, Input, Param, Full, Eye, Arange,
    # random
    Seed, RandomKey, Uniform, Integers, Normal, Bernoulli, Gumbel, Categorical, Permutation,
    # control
    Merge, Copy, Select, Ensure, StopGradient, After, WithChecks, Cond,
    # effects, endings
    Print, Save, Until, DataLength,
    # elementwise
    Negative, Abs, Sign, Relu, Floor, Ceil, RoundToEven, Exp, Exp2, Log, Log1p, Expm1, Sqrt, Rsqrt,
    Sin, Cos, Tan, Tanh, Sigmoid, Silu, Erf, Erfc, Gelu, Softplus, IsNan, IsInf, Not, Cast,
    # arithmetic
    Add, Subtract, Multiply, Divide, FloorDivide, Remainder, Power, Minimum, Maximum, Clip, Less,
    LessEqual, Greater, GreaterEqual, Equal, NotEqual, And, Or,
    # bits
    BitwiseAnd, BitwiseOr, BitwiseXor, LeftShift, RightShift, BitwiseNot,
    # reduction
    Sum, Prod, Max, Min, Any, All, Mean, Var, LogSumExp,
    # search
    ArgMax, ArgMin, Sort, ArgSort, TopK, SearchSorted,
    # scan
    CumSum, CumProd, CumMax, CumMin, CumLogSumExp, Window, AssociativeScan, Fold, Recurrence,
    # movement, joining, reshape
    Transpose, ExpandDims, Squeeze, BroadcastTo, Pad, Widen, Flip, Concat, Stack, Split, Reshape,
    # indexing
    SpatialIndex, Take, TakeAlong, OneHot, InRange, ScatterAdd, ScatterMax, ScatterMin, Put,
    AddAt, PutIntoSum, Pick, ScatterProducts, PickedProduct,
    # contraction, convolution
    MatMul, Einsum, UnpackedProduct, Conv, ConvTranspose,
    # linear algebra
    Cholesky, CholeskyRows, LdlRows, LuRows, Det, LogDet, Solve, TriangularSolve, Attention,
    # Fourier transforms
    Fft, Ifft, Rfft, Irfft, LongConvolution,
    # Python functions
    ExternJax, ExternHost, ExternVjp, DispatchedCall,
)  # fmt: skip
OPS: dict[str, type[typing.Any]] = {op.name: op for op in OPERATORS}
"""The class of each operator by its ``name``; typed loosely, since each has fields of its own."""

SYMBOLS: dict[str, type[typing.Any]] = {op.symbol: op for op in OPS.values() if op.symbol}
"""The class of each operator that has a sign in programs, which stands between two operands."""
