"""All operators by name.

A node is built from a class and keyword fields, ``Sum(axes=(0,))``; operands are the node's edges.
Axes are spatial and may be negative. ``E`` stands for an index expression.

=========  ==========================================================================================
family     classes and their fields
=========  ==========================================================================================
source     Literal(value, dtype, weak) IndexValue(expr: E) Input(dtype, shape)
           Param(template, dtype, shape, has_default) Full(shape, value, dtype) Eye(n: E, m: E, dtype)
           Arange(stop: E, start: E, step: int, dtype)
control    Merge(targets) Copy() Select() Ensure(shape)            Select(c, a, b) is ``where``
unary      Negative Abs Sign Relu Floor Ceil Round Exp Exp2 Log Log1p Expm1 Sqrt Rsqrt Sin Cos Tan
           Tanh Sigmoid Silu Erf Gelu Softplus IsNan IsInf Not      no fields; Cast(dtype)
binary     Add Subtract Multiply Divide FloorDivide Remainder Power Minimum Maximum Less LessEqual
           Greater GreaterEqual Equal NotEqual And Or                no fields; Clip() of x, low, high
reduction  Sum Prod Max Min Any All Mean Var LogSumExp (axes: tuple or None for all, keepdims)
search     ArgMax ArgMin (axis: int or None, keepdims) Sort(axis) ArgSort(axis)
           TopK(k), two results
scan       CumSum CumProd CumMax (axis, reverse)
movement   Transpose(axes or None) ExpandDims(axis) Squeeze(axes) BroadcastTo(shape)
           Pad(widths: a pair (E, E) for each axis, value) Flip(axes or None)
           Reshape(shape; Const(-1) may stand once)
joining    Concat(axis) Stack(axis) of all operands; Split(sections, axis), that many results
indexing   SpatialIndex(entries), made by ``indexing.spatial_index`` Take(axis) of x, indices
           TakeAlong(axis) of x, indices OneHot(n: E, dtype)
contract   MatMul() Einsum(spec) Conv(stride, padding) of x, w
=========  ==========================================================================================

Types come from ``infer``; values, also in double precision, from ``evaluation.evaluate``; kernels
from ``emit`` with an ``emission.KernelEmitter``.
"""
