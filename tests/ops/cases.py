"""What is tried of every operator: dense and ragged operands, sizes 0 to odd, several dtypes."""

from __future__ import annotations

from tempoc.ops.control.associative_scan import AssociativeScan
from tempoc.ops.control.cond import Cond
from tempoc.ops.control.control import After, Copy, Ensure, Select, StopGradient, WithChecks
from tempoc.ops.control.data_length import DataLength
from tempoc.ops.control.fold import Fold
from tempoc.ops.control.recurrence import Recurrence
from tempoc.ops.definition.types import DType
from tempoc.ops.indexing.search import ArgMax, ArgMin, ArgSort, Sort, TopK
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
from tempoc.ops.tensor.reduction import All, Any, LogSumExp, Max, Mean, Min, Prod, Sum, Var
from tempoc.ops.tensor.scan import CumLogSumExp, CumMax, CumMin, CumProd, CumSum
from tempoc.ops.tensor.source import Arange, Eye, Full, IndexValue, Literal
from tempoc.ops.tensor.window import Window
from tempoc.symbolic.parse import parse
from tests.ops.harness import Arg, Case, shape

BYTES = (DType.I8, DType.U8)
B, Z, U, H, F = DType.BOOL, DType.I32, DType.U32, DType.BF16, DType.F32

SOURCE = [
    *(Case(Literal(value=v, dtype=d)) for v, d in ((2.5, F), (2.5, H), (-3, Z), (True, B), (7, U))),
    *(Case(Literal(value=float(v), dtype=F, weak=True)) for v in ("inf", "-inf", "nan", "1e-8")),
    *(
        Case(IndexValue(expr=parse(e)))
        for e in (
            "t",
            "T",
            "T - t",
            "2*t + 1",
            "t//2",
            "(T-t)%3",
            "min(t + 2, T)",
            "max(t-2, 0, 1)",
        )
    ),
    *(
        Case(IndexValue(expr=parse(e)))
        for e in ("t >= 1", "t == 0 or t > 2", "t > 0 and T > 3", "T > 3", "T > 1 and T < 4")
    ),
    Case(Full(shape=shape(3, "t + 1"), value=2.5, dtype=F)),
    Case(Full(shape=shape(0), value=1, dtype=Z)),
    Case(Full(shape=(), value=True, dtype=B)),
    Case(Eye(n=parse("3"), m=parse("t + 2"))),
    Case(Eye(n=parse("t"), m=parse("t"), dtype=Z)),
    Case(Arange(stop=parse("5"))),
    Case(Arange(stop=parse("t"), dtype=F)),
    *(Case(Arange(stop=parse(n), dtype=d)) for n in ("300", "T + 127") for d in BYTES),
    Case(Arange(stop=parse("T"), start=parse("t"))),
    Case(Arange(stop=parse("t + 4"), start=parse("t"), step=3)),
    Case(Arange(stop=parse("-1"), start=parse("t"), step=-2, dtype=F)),
]

SHAPES = [(), (0,), (1,), (5,), ("t", 2), (2, "T - t")]
_EVERY = [Abs(), Sign(), Relu(), Negative(), Floor(), Ceil(), RoundToEven()]
_REAL = [
    Exp(), Exp2(), Log1p(), Expm1(), Sin(), Cos(), Tan(), Tanh(), Sigmoid(), Silu(), Erf(), Erfc(),
    Gelu(), Softplus(),
]  # fmt: skip
ELEMENTWISE = [
    *(Case(op, (Arg(F, (3, "t + 1"), special=True),)) for op in [*_EVERY, IsNan(), IsInf()]),
    *(Case(op, (Arg(d, (5,)),)) for op in _EVERY for d in (Z, H)),
    *(Case(op, (Arg(Z, (4,)),)) for op in (IsNan(), IsInf(), Exp(), Sqrt())),
    *(Case(Not(), (Arg(B, s),)) for s in SHAPES),
    *(Case(op, (Arg(F, ("t", 2), special=True),), rtol=1e-5, atol=1e-5) for op in _REAL[:-1]),
    *(Case(op, (Arg(F, (7,)),), rtol=1e-5, atol=1e-6) for op in _REAL),
    *(Case(op, (Arg(H, (5,)),)) for op in _REAL),
    *(Case(op, (Arg(F, (4, "t"), low=0, high=9),)) for op in (Log(), Sqrt())),
    *(Case(op, (Arg(F, (4, "t"), low=0.1, high=9),)) for op in (Rsqrt(), Log1p())),
    *(Case(Exp(), (Arg(F, s),), rtol=1e-5) for s in SHAPES),
    *(
        Case(Cast(dtype=d), (Arg(s, ("t", 3)),))
        for d in (B, Z, U, H, F, *BYTES)
        for s in (B, Z, U, *BYTES)
    ),
    *(Case(Cast(dtype=d), (Arg(Z, (4,), values=[300, -300, 128, -129]),)) for d in BYTES),
    *(
        Case(Cast(dtype=d), (Arg(s, (6,), values=[200, -200, 2.9, -2.9, 1e4, float("nan")]),))
        for d in BYTES
        for s in (F, H)
    ),
    *(
        Case(op, (Arg(d, (5,), low=-128, high=127),))
        for op in [*_EVERY, BitwiseNot(), Exp()]
        for d in BYTES
    ),
    *(Case(Cast(dtype=d), (Arg(F, (3, "t"), low=-9, high=9),)) for d in (B, Z, H, F, *BYTES)),
    Case(Cast(dtype=Z), (Arg(F, (6,), values=[2.9, -2.9, 1e20, -1e20, float("nan"), 0.5]),)),
    Case(Cast(dtype=U), (Arg(F, (3,), values=[2.9, 4e9, -1.0]),)),
]

_PAIRS = [
    (Arg(F, (3, "t + 1"), special=True), Arg(F, ("t + 1",))),
    (Arg(F, ("t", 1)), Arg(F, (1, "T - t"))),
    (Arg(F, (5,)), Arg(F)),
    (Arg(Z, (0,)), Arg(Z, (1,))),
    (Arg(Z, (9,), low=-5, high=5), Arg(Z, (9,), low=-3, high=3)),
]
_BINARY = [Add(), Subtract(), Multiply(), Minimum(), Maximum()]
_COMPARE = [Less(), LessEqual(), Greater(), GreaterEqual(), Equal(), NotEqual()]
ARITHMETIC = [
    *(Case(op, p) for op in [*_BINARY, *_COMPARE, FloorDivide(), Remainder()] for p in _PAIRS),
    *(Case(op, (Arg(a, (4,)), Arg(b, (4,)))) for op in (*_BINARY, Less())
      for a, b in ((Z, F), (B, Z), (H, F), (H, H), (U, Z), (H, Z))),
    *(Case(op, (Arg(Z, (4,)), Arg(F, (), weak=True))) for op in _BINARY),
    *(Case(Add(), (Arg(H, (4,)), Arg(F, (), weak=True, values=v))) for v in (0.5, 3.0)),
    *(Case(Divide(), p, rtol=1e-6) for p in _PAIRS),
    Case(Divide(), (Arg(B, (4,)), Arg(B, (4,)))),
    *(Case(op, (Arg(F, (5,), special=True), Arg(F, (3, 1), values=v)))
      for op in (FloorDivide(), Remainder(), Divide()) for v in (0.0, 2.0, -2.0, 0.3)),
    *(Case(op, (Arg(Z, ("t", 3)), Arg(Z, (3,), values=[0, 2, -3]))) for op in
      (FloorDivide(), Remainder())),
    Case(FloorDivide(), (Arg(U, (4,), high=9), Arg(U, (4,), low=1, high=4))),
    *(Case(op, (Arg(Z, a, low=0, high=9), Arg(Z, b, low=1, high=4)))
      for op in (FloorDivide(natural=True), Remainder(natural=True))
      for a, b in (((5, "t + 1"), ("t + 1",)), (("t",), ()), ((), (3,)), ((2, "t"), (2, "t")))),
    Case(Power(), (Arg(F, ("t",), low=0.1), Arg(F, ("t",))), rtol=1e-5),
    Case(Power(), (Arg(F, (5,)), Arg(Z, (), values=2, weak=True)), rtol=1e-5),
    Case(Power(), (Arg(F, (5,)), Arg(F, (), values=3.0, weak=True)), rtol=1e-5),
    Case(Power(), (Arg(Z, (90,), low=-4, high=4), Arg(Z, (90,), low=-3, high=4))),
    Case(Power(), (Arg(Z, (9,), low=-4, high=4), Arg(Z, (), values=-1, weak=True))),
    Case(Power(), (Arg(Z, (90,), low=-4, high=4), Arg(Z, (90,), low=-90, high=9000))),
    Case(Power(), (Arg(U, (4,), low=1, high=9), Arg(U, (4,), values=[31, 32, 64, 2**31]))),
    Case(Power(), (Arg(Z, (9,), low=-4, high=4), Arg(Z, (), values=70, weak=True))),
    Case(Power(), (Arg(F, (), values=0.99, weak=True), Arg(Z, (4,), low=0, high=30)), rtol=1e-5),
    Case(Clip(), (Arg(F, ("t", 4), special=True), Arg(F, values=-1.0), Arg(F, (4,), low=0))),
    Case(Clip(), (Arg(Z, (5,)), Arg(Z, (), weak=True, values=-1), Arg(Z, (), weak=True, values=1))),
    *(Case(op, (Arg(B, ("t", 3)), Arg(B, (3,)))) for op in (And(), Or())),
    *(Case(op, (Arg(a, (9,), low=-100, high=127), Arg(b, (9,), low=-100, high=100)))
      for op in [*_BINARY, *_COMPARE, FloorDivide(), Remainder(), Divide()]
      for a, b in (BYTES, BYTES[:1] * 2, BYTES[1:] * 2, (DType.I8, F), (DType.U8, U))),
    *(Case(Power(), (Arg(d, (90,), low=-4, high=4), Arg(d, (90,), low=-3, high=90)))
      for d in BYTES),
    *(Case(op, (Arg(d, (3, "t"), low=-100, high=100), Arg(d, ("t",), low=-100, high=100)))
      for op in (BitwiseAnd(), BitwiseOr(), BitwiseXor()) for d in (Z, U, *BYTES)),
    *(Case(op, (Arg(d, (40,), low=-100, high=100), Arg(d, (40,), low=-2, high=70)))
      for op in (LeftShift(), RightShift()) for d in (Z, U, *BYTES)),
    Case(RightShift(), (Arg(DType.U8, ("t",), high=255), Arg(Z, (), values=4, weak=True))),
]  # fmt: skip

CONTROL = [
    Case(StopGradient(), (Arg(F, (2, "t")),)),
    *(Case(After(), (Arg(F, (2, "t")), Arg(Z), Arg(F, ("T - t",))), extra=e) for e in (0, 2)),
    *(Case(WithChecks(), (Arg(F, (2, "t")), Arg(Z), Arg(F, ("T - t",))), extra=e) for e in (0, 2)),
    *(
        Case(Cond(), (Arg(B, values=v), Arg(d, s), Arg(d, s)), extra=k)
        for v in (True, False)
        for d, s, k in ((F, (), 0), (Z, (3, "t + 1"), 0), (F, ("t",), 2))
    ),
    *(Case(Copy(), (Arg(F, s),), extra=e) for s in SHAPES for e in (0, 2)),
    Case(Select(), (Arg(B, ("t",)), Arg(F, ("t",)), Arg(F, (), values=0.0, weak=True))),
    Case(Select(), (Arg(B, (3, 1)), Arg(Z, ("T - t",)), Arg(F, (3, "T - t")))),
    Case(Select(), (Arg(B), Arg(H, (0,)), Arg(Z, (1,)))),
    Case(Ensure(shape=shape("t + 1", 3)), (Arg(F, ("1 + t", 3)),)),
    *(
        Case(DataLength(most=parse(n)), (Arg(d, values=v),))
        for n, d, v in (("3", Z, 3), ("T", Z, 0), ("T + 1", DType.U32, 1), ("200", DType.U8, 200))
    ),
]

_NUMBERS = [Sum(), Prod(), Mean(), Var(), LogSumExp()]
_AXES = [None, (0,), (-1,), (0, 1), ()]
REDUCTION = [
    *(Case(type(op)(axes=a, keepdims=k), (Arg(F, ("t", 3)),), rtol=1e-5, atol=1e-5)
      for op in _NUMBERS for a in _AXES for k in (False, True)[: 1 + (a == (0,))]),
    *(Case(type(op)(axes=(1,)), (Arg(F, (2, "T - t", 1), special=True),), rtol=1e-5, atol=1e-5)
      for op in _NUMBERS),
    *(Case(op, (Arg(d, (3, "t")),), rtol=1e-5, atol=1e-5) for op in _NUMBERS
      for d in (Z, B, H, *BYTES)),
    *(Case(op, (Arg(F, s),), rtol=1e-5, atol=1e-5) for op in _NUMBERS for s in ((), (0,), (2, 0))),
    *(Case(op, (Arg(U, (5,)),)) for op in (Sum(), Prod())),
    *(Case(c(axes=a, keepdims=k), (Arg(d, (3, "t + 1")),))
      for c in (Max, Min) for a in (None, (1,), (-2,))
      for k, d in ((False, F), (True, Z), (False, B))),
    *(Case(c(axes=(0,)), (Arg(F, ("T - t", 2), special=True),)) for c in (Max, Min)),
    *(Case(c(axes=(0,)), (Arg(d, ("t + 1", 2)),)) for c in (Max, Min) for d in (H, U, *BYTES)),
    *(Case(c(axes=a), (Arg(B, ("t", 3)),)) for c in (Any, All) for a in (None, (0,), (1,))),
    Case(LogSumExp(axes=(0,)), (Arg(F, ("t + 1",), values=float("-inf")),)),
    Case(LogSumExp(axes=(0,)), (Arg(F, (4,), values=[1e4, 1e4, -1e4, 0]),)),
    Case(LogSumExp(axes=(0,)), (Arg(F, (2,), values=[float("inf"), 0]),)),
]  # fmt: skip

SEARCH = [
    *(Case(c(axis=a, keepdims=k), (Arg(F, (3, "t + 1")),))
      for c in (ArgMax, ArgMin) for a in (None, 0, 1) for k in (False, True)[: 1 + (a != 0)]),
    *(Case(c(axis=a), (Arg(d, ("t + 1", "T - t")),))
      for c in (ArgMax, ArgMin) for a in (None, 0, -1) for d in (Z, B, H)),
    *(Case(c(axis=0), (Arg(F, ("t + 1", 2), special=True),)) for c in (ArgMax, ArgMin)),
    *(Case(c(axis=0), (Arg(F, ("t + 1",), values=v),)) for c in (ArgMax, ArgMin)
      for v in (float("inf"), float("-inf"))),
    *(Case(c(axis=a), (Arg(d, ("t", 3), special=s),)) for c in (Sort, ArgSort) for a in (0, 1)
      for d, s in ((F, True), (Z, False), (B, False), (H, False), *((b, False) for b in BYTES))),
    *(Case(c(), (Arg(d, ("t",), values=v),)) for c in (Sort, ArgSort)
      for d, v in ((F, float("inf")), (Z, 2147483647))),
    *(Case(c(), (Arg(F, (0,)),)) for c in (Sort, ArgSort)),
    *(Case(ArgSort(count=n), (Arg(d, (3, "t + 2"), special=s),)) for n in (1, 2)
      for d, s in ((F, False), (F, True), (Z, False), (H, False), *((b, False) for b in BYTES))),
    *(Case(ArgSort(count=4), (Arg(F, (5,), values=[v, float("inf"), -0.0, 0.0, -v]),))
      for v in (float("nan"), float("-inf"))),
    *(Case(ArgSort(count=2), (Arg(Z, (3,), values=[v, -v - 1, v]),)) for v in (5, 2147483647)),
    *(Case(TopK(k=2), (Arg(d, (3, "t + 2"), special=s),))
      for d, s in ((F, False), (Z, False), (H, False), *((b, False) for b in BYTES))),
    Case(TopK(k=2), (Arg(F, (5,), values=[1.0, 3.0, 3.0, 2.0, 3.0]),)),
    Case(TopK(k=1), (Arg(F, ("t + 1",), values=float("-inf")),)),
    Case(TopK(k=0), (Arg(F, ("t",)),)),
    Case(TopK(k=3), (Arg(F, (3,), values=[float("nan"), 1.0, float("inf")]),)),
]  # fmt: skip

_STEPS = ((Multiply(), (0, 2), (F,)), (Multiply(), (2, 1), (F,)), (Add(), (5, 3), (F,)))
_ZERO = Literal(value=0.0, dtype=F)
_SHIFT = ((Add(), (0, 1), (F,)), (_ZERO, (), (F,)), (Multiply(), (2, 4), (F,)),
          (Add(), (3, 5), (F,)))  # fmt: skip
_AROUND = tuple(
    tuple(parse(e) for e in text.split(","))
    for text in ("1,0,0", "3,0,2", "5,4,0", "4,1,1", "11,10,0", "23,5,30", "T,T-1,0", "2,3,T")
)
_LINEAR = ((Multiply(), (1, 0), (F,)), (Add(), (3, 2), (F,)))
_COUPLED = ((Add(), (0, 1), (F,)), (Subtract(), (0, 2), (F,)), (Maximum(), (4, 3), (F,)))
_FOLD = ((Add(), (0, 1), (F,)), (Multiply(), (1, 2), (F,)))
SCAN = [
    *(Case(AssociativeScan(steps=_STEPS, results=(4, 6), leaves=2, axis=k), (Arg(F, s), Arg(F, s)),
           rtol=1e-4, atol=1e-5, extra=x)
      for k, s, x in ((0, (5, 3), 0), (-1, (3, "t + 1"), 2), (0, ("t", 2), 0), (0, (0,), 0))),
    *(Case(Fold(steps=_FOLD, carried=(3,), outputs=(0, 4), elements=1, reverse=back),
           (Arg(F, (2,)), Arg(F, s), Arg(F)), extra=x)
      for back in (False, True) for s, x in (((4, 2), 0), (("t", 2), 2), ((0, 2), 0))),
    *(Case(Recurrence(steps=_LINEAR, carried=(4,), starts=(k, 0), count=parse(n), reverse=back),
           (Arg(F, (2,), low=-1, high=1), Arg(F, ("T", 2), low=-1, high=1), Arg(F, ("T", 2))))
      for back in (False, True) for k, n in ((0, "T"), (1, "T-1"), (0, "0"))),
    *(Case(Recurrence(steps=_LINEAR, carried=(4,), starts=(0, 0), count=parse("T-1"), reverse=back),
           (Arg(F, (2,)), Arg(F, ("T-1", 2), low=-1, high=1), Arg(F, ("T-1", 2))))
      for back in (False, True)),
    *(Case(Recurrence(steps=_COUPLED, carried=(6, 5), starts=(2,), count=parse("3"), reverse=back),
           (Arg(F, (), special=True), Arg(F), Arg(F, (7,), special=True), Arg(F)))
      for back in (False, True)),
    Case(Recurrence(steps=((And(), (0, 1), (B,)),), carried=(2,), starts=(0,), count=parse("T")),
         (Arg(B, (3,)), Arg(B, ("T", 3)))),
    Case(AssociativeScan(steps=_SHIFT, results=(6,), leaves=1, axis=1), (Arg(F, (2, "t")), Arg(F)),
         rtol=1e-4, atol=1e-5),
    Case(AssociativeScan(steps=((Maximum(), (0, 1), (Z,)),), results=(2,), leaves=1),
         (Arg(Z, ("t", "T - t")),)),
    *(Case(c(axis=a, reverse=r), (Arg(F, ("t", 3)),), rtol=1e-5, atol=1e-5)
      for c in (CumSum, CumProd, CumMax, CumMin, CumLogSumExp) for a in (0, -1)
      for r in (False, True)),
    *(Case(c(axis=1, reverse=r), (Arg(d, (2, "T - t")),))
      for c in (CumSum, CumProd, CumMax, CumMin) for r in (False, True) for d in (Z, B, H, *BYTES)),
    *(Case(CumLogSumExp(axis=1, reverse=r), (Arg(H, (2, "T - t")),), rtol=1e-3, atol=1e-3)
      for r in (False, True)),
    *(Case(c(), (Arg(F, (0,)),)) for c in (CumSum, CumProd, CumMax, CumMin, CumLogSumExp)),
    *(Case(c(reverse=r), (Arg(F, ("t + 1",), special=True),))
      for c in (CumSum, CumMax, CumMin, CumLogSumExp) for r in (False, True)),
    *(Case(CumLogSumExp(reverse=r), (Arg(F, ("t + 1",), values=v),)) for r in (False, True)
      for v in (float("inf"), float("-inf"))),
    *(Case(Window(reduce=c, size=n, before=b, after=a), (Arg(F, (e, 2)),), rtol=1e-5, atol=1e-5)
      for c in ("sum", "prod", "max", "min") for n, b, a in _AROUND for e in (5, "t + 1", 0)),
    *(Case(Window(reduce="sum", size=n, before=b, after=a), (Arg(d, (e, 2)), Arg(d)),
           rtol=1e-5, atol=1e-4)
      for n, b, a in _AROUND[:5] for e in (5, "t + 1") for d in (F, Z)),
    *(Case(Window(reduce=c, size=n, before=b, after=a, axis=1), (Arg(d, (2, "T")),))
      for c in ("sum", "prod", "max", "min") for n, b, a in _AROUND for d in (Z, H)),
    *(Case(Window(reduce=c, size=n, before=b, after=a), (Arg(B, ("t",)),))
      for c in ("sum", "max", "min", "any", "all") for n, b, a in _AROUND),
    *(Case(Window(reduce=c, size=n, before=b, after=a), (Arg(F, ("T",), special=True),))
      for c in ("sum", "max", "min") for n, b, a in _AROUND),
]  # fmt: skip
