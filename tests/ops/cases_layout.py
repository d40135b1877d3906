"""What is tried of operators that move, pick and contract; see ``cases.py``."""

from __future__ import annotations

from tempoc.frontend.expressions.numpy_indexing import IndexEntry, SliceRange, spatial_index
from tempoc.ops.control.unpacked_product import UnpackedProduct
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType
from tempoc.ops.indexing.indexing import (
    IndexPart,
    InRange,
    OneHot,
    SpatialIndex,
    Take,
    TakeAlong,
)
from tempoc.ops.indexing.pick import Pick
from tempoc.ops.indexing.picked_product import PickedProduct
from tempoc.ops.indexing.put import Put, PutIntoSum
from tempoc.ops.indexing.scatter import AddAt, ScatterAdd, ScatterMax, ScatterMin
from tempoc.ops.indexing.scatter_products import ScatterProducts
from tempoc.ops.indexing.search import SearchSorted
from tempoc.ops.linear.attention import Attention
from tempoc.ops.linear.cholesky_rows import CholeskyRows
from tempoc.ops.linear.factor import Cholesky, Det, LogDet
from tempoc.ops.linear.fourier import Fft, Ifft, Irfft, Rfft
from tempoc.ops.linear.ldl_rows import LdlRows
from tempoc.ops.linear.long_convolution import LongConvolution
from tempoc.ops.linear.lu_rows import LuRows
from tempoc.ops.linear.solve import Solve, TriangularSolve
from tempoc.ops.tensor.arithmetic import FloorDivide, Multiply, Remainder
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.ops.tensor.convolution import Conv, ConvTranspose
from tempoc.ops.tensor.elementwise import Cast
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
from tempoc.ops.tensor.reshape import Reshape, resolved
from tempoc.ops.tensor.source import Literal
from tempoc.symbolic import expr as ix
from tempoc.symbolic.expr import Expr
from tempoc.symbolic.parse import parse
from tests.ops.harness import Arg, Case, Sampled, shape

B, Z, H, F = DType.BOOL, DType.I32, DType.BF16, DType.F32


def getitem(extents: tuple[str | int, ...], written: str, *idx: Arg, least: int = 0) -> Case:
    """A case from the text of an index: ``t; 1:; *`` with ``*`` for the integer tensor."""
    parts = [_written(w.strip()) for w in written.split(";")] if written else []
    op = spatial_index(shape(*extents), parts, Sampled(least))
    return Case(op, (Arg(F, extents), *idx), least=least, label=f"[{written}]")


def _written(text: str) -> IndexEntry:
    if text == "*":
        return "tensor"
    if ":" not in text:
        return parse(text)
    lo, hi, *step = text.split(":")
    return SliceRange(
        lo=_optional(lo), hi=_optional(hi), step=int(step[0]) if step and step[0] else 1
    )


def _whole(extent: str, step: int = 1) -> IndexPart:
    return ix.ZERO, parse(extent), step


def _optional(text: str) -> Expr | None:
    return parse(text) if text.strip() else None


def _pad(*widths: tuple[str, str], value: float = 0) -> Op:
    pairs = tuple((parse(a), parse(b)) for a, b in widths)
    return Pad(widths=pairs, value=value)


MOVEMENT = [
    *(Case(Transpose(axes=a), (Arg(F, ("t", 2, "T - t")),)) for a in (None, (1, 0, 2), (-1, 0, 1))),
    Case(Transpose(), (Arg(F),)),
    *(Case(ExpandDims(axis=a), (Arg(F, ("t", 3)),)) for a in (0, 1, 2, -1)),
    Case(ExpandDims(axis=0), (Arg(Z),)),
    *(Case(Squeeze(axes=a), (Arg(F, (1, "t", 1)),)) for a in ((0,), (-1,), (0, 2))),
    Case(Squeeze(axes=(0,)), (Arg(F, ("min(t + 1, 1)", 2)),)),
    *(Case(BroadcastTo(shape=shape(2, "t + 1", 3)), (Arg(F, s),))
      for s in ((), (3,), ("t + 1", 1), ("t + 1", 3), (1, 1, 3), (2, "t + 1", 3))),
    *(Case(Flip(axes=a), (Arg(F, ("t", 2, "T - t")),)) for a in (None, (0,), (-1,), (1,))),
    Case(Flip(), (Arg(F, (0,)),)),
    Case(_pad(("1", "2")), (Arg(F, (3,)),)),
    Case(_pad(("1", "2"), ("0", "0")), (Arg(F, (3, "t")),)),
    Case(_pad(("1", "2"), value=7), (Arg(Z, ("t",)),)),
    Case(_pad(("t", "T - t"), ("0", "1"), value=-1), (Arg(F, (3, "t")),)),
    Case(_pad(("t", "T - t")), (Arg(F, (3,)),)),
    Case(_pad(("T - t", "t"), value=2.5), (Arg(F, ("t",)),)),
    Case(_pad(("0", "0"), ("0", "0")), (Arg(F, (2, "t")),)),
    Case(_pad(("2", "0")), (Arg(F, (0,)),)),
    Case(_pad(("0", "T - t"), ("0", "0"), value=-1), (Arg(F, ("t", 2)),)),
    Case(_pad(("1", "T - t"), ("t", "0")), (Arg(F, ("t", "T - t")),)),
    Case(_pad(("T", "0"), value=3), (Arg(F, ("t",)),)),
    Case(_pad(("1", "t")), (Arg(F, (2,)),)),
    # What is beyond the operand is unspecified: tests/passes/fusion/test_columns.py reads the rest.
    *(Case(Widen(shape=shape(*s)), (Arg(F, s),)) for s in (("t", 2), ("T",), (2, "T - t"))),
]  # fmt: skip

JOINING = [
    Case(Concat(), (Arg(F, (2,)), Arg(F, (0,)), Arg(F, (3,)))),
    Case(Concat(), (Arg(F, (2, 3)), Arg(F, ("t", 3)))),
    *(Case(Concat(axis=a), (Arg(F, ("t", 2)), Arg(F, ("t", 2)))) for a in (0, 1, -1, -2)),
    Case(Concat(), (Arg(F, ("t", 2)), Arg(F, (1, 2)), Arg(Z, ("T - t", 2)), Arg(F, (2, 2)))),
    Case(Concat(axis=1), (Arg(F, ("t", "T - t")), Arg(F, ("t", "t")), Arg(F, ("t", 2)))),
    Case(Concat(), (Arg(F, ("t",)),)),
    Case(Concat(), (Arg(H, (2,)), Arg(F, (1,)))),
    *(Case(Stack(axis=a), (Arg(F, ("t", 2)), Arg(Z, ("t", 2)))) for a in (0, 1, -1)),
    Case(Stack(), (Arg(F), Arg(F), Arg(F))),
    *(Case(Split(sections=n, axis=a), (Arg(F, (4, 6)),)) for n, a in ((2, 0), (3, 1), (1, -1))),
    Case(Split(sections=2, axis=0), (Arg(F, ("2*t", 3)),)),
    Case(Split(sections=2, axis=-1), (Arg(F, (3, "2*t + 2")),)),
    Case(Split(sections=3, axis=1), (Arg(F, ("t", 6)),)),
    Case(Split(sections=2, axis=0), (Arg(F, ("2*T", 2)),)),
]

RESHAPE = [
    *(Case(Reshape(shape=shape(*to)), (Arg(F, (4, 6)),)) for to in ((-1,), (2, -1, 3))),
    *(Case(Reshape(shape=resolved(shape(*have), shape(*to))), (Arg(F, have),))
      for have, to in [
        ((6,), (2, 3)), ((2, 3), (-1,)), ((), (1, 1)), ((0, 3), (3, -1)), ((4, 6), (3, 2, 4)),
        (("t", 6), ("t", 2, 3)), (("t", 2, 3), ("t", -1)), (("t", 4), ("4*t",)),
        (("4*t",), ("t", 4)),
        (("4*t",), (4, "t")), ((3, "t"), ("3*t",)), ((3, "t"), ("t", -1)), (("t",), (1, "t", 1)),
        ((1, "t", 1), ("t",)), ((2, "t", "T - t"), (2, "t*T - t*t")), (("T", 4), (-1, 2)),
        (("t", "T - t"), ("T - t", "t")), (("2*t", 3), ("t", 6)), (("t", 6), ("2*t", 3)),
        (("T", "t"), ("T*t",)), (("t + 1", 2, 3), (2, "3*t + 3")), ((2, 3, "t"), (6, "t")),
    ]),
]  # fmt: skip

INDEXING = [
    *(getitem((5, 3), w) for w in ("", "2", "-1", ":; 0", "1:3", "-3:", ":-1", "::2", "::-1",
                                   "4:0:-2", "2:100", "3:1", "-1; -2", ":; ::-1", "-2::-1")),
    *(getitem(("t + 2", 3), w) for w in ("t", "0", "-1", "-2:", ":-1", ":t", "t:", "::2", "::-1",
                                         "1:t + 1", "t; 1", ":; 1", "1:; 1:", "t::-1")),
    *(getitem(("T", 2), w) for w in ("t", "t:", ":t", ":t + 1", "t:t + 1", "::3", "t::2", "T - 1",
                                     "T - t - 1", "t:t + 3", "max(t - 2, 0):t + 1", "-1")),
    getitem((), ""),
    getitem((5,), "*", Arg(Z, (4,), low=-5, high=4)),
    getitem((5,), "*", Arg(Z, ("t", 2), low=-5, high=4)),
    getitem((5,), "*", Arg(Z, (), low=-5, high=4)),
    getitem((5, 3), "*", Arg(Z, ("t",), low=-5, high=4)),
    getitem((5, 3), ":; *", Arg(Z, ("t",), low=-3, high=2)),
    getitem((5, 3), "1; *", Arg(Z, ("t",), low=-3, high=2)),
    getitem((5, 3, 2), "1; :; *", Arg(Z, ("t",), low=-2, high=1)),
    getitem((5, 3, 2), "*; :; 1", Arg(Z, (2, 2), low=-5, high=4)),
    getitem((5, 3, 2), ":; *; 1", Arg(Z, (2, 2), low=-3, high=2)),
    getitem((5, 3, 2), ":; *; ::-1", Arg(Z, (2, 2), low=-3, high=2)),
    *(Case(SpatialIndex(entries=e, sure=True), (Arg(F, x), Arg(Z, s, low=0, high=most)))
      for x, e, s, most in (
        ((4, 3, 2), ("tensor", "tensor", _whole("2")), ("t",), 11),
        ((2, 4, 3, "t"), (ix.ONE, "tensor", "tensor", _whole("t")), (2,), 11),
        ((4, "t", 3, 2), (_whole("4"), _whole("t"), "tensor", "tensor"), (), 5),
        ((4, 5, 3, 2, 2), (_whole("2", 2), "tensor", "tensor", "tensor", ix.ONE), (3,), 29))),
    getitem(("t + 1", 3), "*", Arg(Z, (4,), low=-1, high=0)),
    getitem(("t + 1", 3), "*; 1:", Arg(Z, ("T - t",), low=-1, high=0)),
    *(Case(Take(axis=a), (Arg(F, (3, "t + 1")), Arg(Z, s, low=-1, high=0)))
      for a in (0, 1, -1) for s in ((), (4,), ("t", 2))),
    *(Case(Take(), (Arg(F, (300,)), Arg(d, (3, "t"), low=-128, high=127)))
      for d in (DType.I8, DType.U8)),
    *(Case(MatMul(), (Arg(d, (3, "t"), high=9), Arg(d, ("t", 2), high=100)))
      for d in (DType.I8, DType.U8)),
    Case(ScatterAdd(axis=0, n=parse("200")), (Arg(DType.U8, (4,), high=99), Arg(DType.I8, (4,)))),
    Case(Take(), (Arg(F, (6,)), Arg(DType.U32, (3,), high=5))),
    *(Case(TakeAlong(axis=a), (Arg(F, (3, "t + 1")), Arg(Z, s, low=-1, high=0)))
      for a, s in ((0, (2, "t + 1")), (1, (3, 2)), (-1, (1, "t")), (1, (3, "t + 1")))),
    Case(TakeAlong(axis=0), (Arg(F, (3, 1)), Arg(Z, (2, 4), low=-3, high=2))),
    *(Case(OneHot(n=parse(n), dtype=d), (Arg(Z, s, low=-1, high=4),))
      for n, d, s in (("4", F, ()), ("t", F, (3,)), ("t + 1", Z, ("t",)), ("3", B, (2, "t")))),
    *(Case(InRange(n=parse("t + 2")), (Arg(d, s, low=low, high=1),))
      for d, s, low in ((Z, (), -2), (Z, (4,), -2), (Z, (2, "t"), -2), (DType.U32, ("t",), 0))),
    Case(ScatterAdd(axis=0, n=parse("3"), sure=True), (Arg(F, ("t", 2)), Arg(Z, ("t",), high=2))),
    Case(ScatterAdd(axis=0, n=parse("3")), (Arg(F, (4, 2)), Arg(Z, (4,), low=0, high=2))),
    Case(ScatterAdd(axis=1, n=parse("t + 1")), (Arg(F, (2,)), Arg(Z, values=0))),
    *(Case(c(axis=0, n=parse(n)), (Arg(d, (4, "t")), Arg(Z, (4,), low=-2, high=1)))
      for c in (ScatterMax, ScatterMin) for d, n in ((F, "3"), (H, "t + 2"), (Z, "2"), (B, "2"))),
    *(Case(c(axis=0, n=parse("4")), (Arg(F, ("t", 2), special=True), Arg(Z, ("t",), low=0)))
      for c in (ScatterMax, ScatterMin)),
    *(Case(Put(axis=a), (Arg(F, (3, "t + 1")), Arg(Z, low=-1, high=0), Arg(d, s)))
      for a, d, s in ((0, F, ("t + 1",)), (1, F, (3,)), (-1, Z, ()), (0, F, (1,)))),
    Case(Put(sure=True), (Arg(Z, ("t + 1",)), Arg(Z, values=0), Arg(F, ()))),
    *(Case(PutIntoSum(axis=a), (Arg(F, (3, "t + 1")), Arg(F, s), Arg(Z, values=0), Arg(F, s)))
      for a, s in ((0, ("t + 1",)), (1, (3,)))),
    Case(PutIntoSum(), (Arg(F, (3, 2)), Arg(F, (2,), values=0), Arg(Z, values=2), Arg(F, (2,)))),
    Case(AddAt(), (Arg(F, (3, 2)), Arg(Z, ("t",), low=-3, high=2), Arg(F, ("t", 2)))),
    Case(AddAt(axis=1, sure=True), (Arg(Z, (2, 3)), Arg(Z, values=1), Arg(Z, (2,)))),
    Case(AddAt(), (Arg(F, ("t + 1",)), Arg(Z, (2, 4), low=0, high=0), Arg(F, (2, 4)))),
    *(Case(SearchSorted(side=s), (Arg(d, (n,), values=v), Arg(e, x, special=d is F)))
      for s in ("left", "right") for d, e, n, v, x in (
        (F, F, 5, [-2, -1, -0.0, 0, 2], (3, "t")), (Z, Z, "t", 1, (7,)), (F, F, "t + 1", 1, (9,)),
        (F, F, "t", float("inf"), (4,)), (F, F, "t", float("nan"), (4,)), (F, F, 0, 0, (3,)),
        (Z, F, 4, [-2, 0, 0, 1], ()), (H, H, 3, [-1, 0, 1], (5,)))),
    Case(SearchSorted(), (Arg(F, (3,), values=[-0.0, 0.0, float("nan")]),
                          Arg(F, (4,), values=[0.0, -0.0, float("nan"), float("inf")]))),
    *(Case(Pick(lo=parse(lo), hi=parse(hi), step=k, axis=a), (Arg(F, x), Arg(d, values=v)))
      for lo, hi, k, a, x, d, v in (
        ("0", "T", 1, 0, ("T", 2), Z, 0), ("2", "t + 3", 1, 1, (3, "t + 1"), Z, 2),
        ("1", "2*t + 4", 3, -1, ("(2*t + 5)//3",), DType.U32, 1),
        ("0", "9", 2, 0, (5, "t"), Z, 6))),
    *(Case(PickedProduct(lo=parse("0"), hi=parse(n), turned=turned),
           (Arg(F, (n, *m)), Arg(d, values=1), Arg(F, v)), least=2)
      for n, m, turned, v, d in (("3", (4, "t"), False, ("t",), Z), ("t", (3, 2), True, (3,), Z),
                                 ("2", ("t + 1", 3), True, ("t + 1",), DType.U32))),
    *(Case(ScatterProducts(n=parse(n)),
           (Arg(F, (rows, i), special=s), Arg(F, (rows, 3), special=s), Arg(Z, (rows,), 0, 1)))
      for n, rows, i, s in (("2", 17, "t", True), ("3", "t", 2, False), ("2", "t + 16", 2, True))),
    Case(Pick(lo=parse("2"), hi=parse("t + 3"), sure=True),
         (Arg(F, ("t + 1", 3)), Arg(Z, values=2))),
]  # fmt: skip

_MATMUL = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
    ((5, 2, 3), (5, 3, 4)), ((2, 3), (5, 3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((3,), (5, 3, 2)),
    ((5, 2, 3), (3,)), ((0,), (0,)), ((2, 0), (0, 3)), (("t",), ("t",)), (("t", 3), (3,)),
    (("t",), ("t", 3)), ((2, "t"), ("t", 3)), (("T - t", "t"), ("t", "t + 1")),
    (("t", 2, "t"), ("t", "t", 1)), ((1, 2, "t"), ("t + 1", "t", 1)), (("t + 1", 3), (3, "t")),
]  # fmt: skip
_EINSUM: list[tuple[str, list[tuple[str | int, ...]]]] = [
    ("ij,jk", [(2, "t"), ("t", 3)]), ("ij,jk->ki", [("t", 3), (3, 2)]), ("i,i->", [("t",), ("t",)]),
    ("ij->", [("t", "T - t")]), ("ij->j", [("t", "T - t")]), ("ii->i", [("t", "t")]),
    ("ii", [("t", "t")]), ("i,j->ij", [("t",), ("T - t",)]),
    ("kgd,skd->kgs", [(2, 3, 4), ("t", 2, 4)]),
    ("kgs,skd->kgd", [(2, 3, "t"), ("t", 2, 4)]), ("...i,ij->...j", [(2, "t", 3), (3, 4)]),
    ("...ij,...jk", [(5, 2, "t"), ("t", 3)]), ("ij,jk,kl->il", [(2, "t"), ("t", 3), (3, "T - t")]),
    ("ji", [("t", 2)]), ("ij,j->i", [(2, 1), ("t",)]), ("i,->i", [("t",), ()]),
]  # fmt: skip
_CONV: list[tuple[tuple[str | int, ...], tuple[str | int, ...]]] = [
    ((7, 2), (3, 2, 4)), ((5, 6, 2), (2, 3, 2, 3)), ((2, 3, 7, 2), (4, 2, 1)),
    (("t", 7, 2), (3, 2, 4)),
    (("t", 2), (3, 2, 4)), ((2, "t + 3", 5, 1), (2, 3, 1, 2)), ((7, "t"), (3, "t", 2)),
    ((2, 1), (4, 1, 1)),
    ((8, 2), ("t + 1", 2, 3)), (("T + 2", 2), (3, 2, 2)), ((3, 4, 4, 1), (2, 2, 2, 1, 2)),
]  # fmt: skip
_NEAR = {"rtol": 1e-5, "atol": 1e-5}
LINEAR = [
    # Factors by equations have rows: bounds are at least 1.
    *(Case(op, (Arg(d, s),), least=least, rtol=2e-3, atol=2e-3)
      for ops, least in (((Cholesky(), Det(), LogDet()), 0),
                         ((CholeskyRows(), LdlRows(), LuRows()), 1))
      for op in ops
      for d, s in ((F, (3, 3)), (H, (2, 2)), (F, ("t", "t")), (F, (2, "t + 1", "t + 1")),
                   (F, (least, least)), (F, ("t", 3, 3)))),
    Case(Cholesky(), (Arg(F, (2, 3, 3), values=[[[4, 2, 1], [2, 5, 3], [1, 3, 6]],
                                                [[1, 2, 0], [2, 1, 0], [0, 0, 1]]]),)),
    Case(Cholesky(), (Arg(Z, (2, 2), values=[[4, 1], [3, 9]]),)),
    Case(CholeskyRows(), (Arg(F, (2, 3, 3), values=[[[4, 9, 9], [2, 5, 9], [1, 3, 6]],
                                                    [[4, 9, 9], [2, 1, 9], [2, 5, 6]]]),)),
    Case(LdlRows(), (Arg(F, (2, 3, 3), values=[[[4, 9, 9], [2, -3, 9], [1, 3, 6]],
                                               [[2, 1, 3], [4, 8, 1], [1, 5, 0]]]),)),
    Case(LuRows(), (Arg(F, (2, 3, 3), values=[[[4, 9, 9], [2, 5, 9], [1, 3, 6]],
                                              [[2, 1, 3], [4, 2, 1], [1, 5, 0]]]),)),
    Case(LogDet(), (Arg(F, (2, 2), values=0),)),
    *(Case(op, (Arg(F, a), Arg(d, b)), rtol=2e-3, atol=2e-3)
      for op in (Solve(), TriangularSolve(), TriangularSolve(lower=True),
                 TriangularSolve(lower=True, unit=True))
      for d, a, b in (
        (F, (3, 3), (3,)), (Z, (3, 3), (3, 2)), (F, (2, 3, 3), (3,)), (F, (3, 3), (2, 3, 1)),
        (F, ("t", "t"), ("t",)), (F, ("t + 1", "t + 1"), ("t + 1", "T - t")),
        (F, (2, 1, "t", "t"), ("t + 1", "t", 2)), (F, (0, 0), (0, 2)), (H, (1, 1), (1, "t")))),
    Case(TriangularSolve(lower=True), (Arg(F, (2, 2), values=[[1, float("nan")], [2, 0]]),
                                       Arg(F, (2,), values=[1, 5]))),
]  # fmt: skip
_I8, _U8 = DType.I8, DType.U8
_CAST = (Cast(dtype=F), (0,), (F,))
_SCALED = (_CAST, (Multiply(), (3, 1), (F,)), (MatMul(), (4, 2), (F,)))
_HALVES = (
    (Literal(value=16, dtype=_U8), (), (_U8,)),
    (Remainder(), (0, 2), (_U8,)),
    (FloorDivide(), (0, 2), (_U8,)),
    (Stack(axis=2), (3, 4), (_U8,)),
    (Reshape(shape=shape(3, 4)), (5,), (_U8,)),
    (Cast(dtype=F), (6,), (F,)),
    (MatMul(), (7, 1), (F,)),
)
_BYTES = Arg(_I8, (3, 4), low=-128, high=127)
_PACKED = (
    (1, (_CAST, (MatMul(), (2, 1), (F,))), (_BYTES, Arg(F, (4,)))),
    (1, (_CAST, (MatMul(), (2, 1), (F,))), (_BYTES, Arg(F, (4, 2)))),
    (1, (_CAST, (MatMul(), (1, 2), (F,))), (_BYTES, Arg(F, (3,)))),
    (1, (_CAST, (Einsum(spec="ij,bj->bi"), (2, 1), (F,))), (_BYTES, Arg(F, (2, 4)))),
    (2, _SCALED, (_BYTES, Arg(F, (3, 1)), Arg(F, (4,)))),
    (1, _HALVES, (Arg(_U8, (3, 2), high=255), Arg(F, (4,)))),
    # Larger than a block: 1031 is a prime.
    (1, (_CAST, (MatMul(), (2, 1), (F,))), (Arg(_I8, (1031, 1024)), Arg(F, (1024,)))),
    (1, (_CAST, (MatMul(), (1, 2), (F,))), (Arg(_I8, (1024, 1031)), Arg(F, (1024,)))),
    (2, _SCALED, (Arg(_I8, (1031, 1024)), Arg(F, (1031, 1)), Arg(F, (1024, 1)))),
)
UNPACKED = [
    Case(UnpackedProduct(steps=steps, packed=n), args, rtol=1e-4, atol=1e-3)
    for n, steps, args in _PACKED
]

FOURIER = [
    *(Case(op, (Arg(d, s),), rtol=1e-4, atol=1e-4) for op in (Fft(), Ifft())
      for d, s in ((F, (5, 2)), (F, (3, 4, 2)), (Z, (1, 2)), (H, (4, 2)), (F, ("t + 1", 2)),
                   (F, ("t", 3, 2)), (F, (2, "T", 2)))),
    *(Case(Rfft(), (Arg(d, s),), rtol=1e-4, atol=1e-4)
      for d, s in ((F, (5,)), (F, (2, 6)), (Z, (1,)), (F, ("t + 1",)), (F, (3, "T - t")),
                   (F, ("t", 4)))),
    *(Case(Irfft(n=parse(n)), (Arg(F, (*s, 2)),), rtol=1e-4, atol=1e-4)
      for n, s in (("5", (3,)), ("6", (2, 4)), ("1", (1,)), ("t + 1", ("(t + 1)//2 + 1",)),
                   ("2", ("t", 2)), ("T", ("T//2 + 1",)), ("2 + min(t, 1)", (2,)))),

    *(Case(LongConvolution(spec=e, start=parse(k), count=parse(n)), (Arg(d, a), Arg(d, b)), **_NEAR)
      for d, e, k, n, a, b in (
          (F, ",->", "0", "5", (5,), (5,)), (F, "bc,c->bc", "2", "3", (3, 2, 2), (4, 2)),
          (F, "bc,bc->c", "-2", "9", (2, 3, 2), (4, 3, 2)), (F, ",->", "0", "T", ("T",), ("T",)),
          (F, ",b->b", "0", "2", (0,), (3, 2)), (F, ",->", "100", "160", (131,), (150,)))),
    *(Case(LongConvolution(spec=e, start=parse(k), count=parse(n), step=s),
           (Arg(F, a), Arg(F, b)), **_NEAR)
      for e, k, n, s, a, b in (
          (",->", "3", "4", 3, (4,), (13,)), ("b,->b", "-7", "T + 4", 4, (20, 2), (3,)),
          (",->", "90", "130", 2, (131,), (150,)))),
    *(Case(LongConvolution(spec=e, start=parse(k), count=parse(n), step=s, flipped=True),
           (Arg(F, a), Arg(F, b)), **_NEAR)
      for e, k, n, s, a, b in (
          ("bc,c->bc", "-2", "T + 4", 3, (3, 2, 2), (4, 2)),
          (",->", "T - 1", "T", 1, ("T",), ("T",)), (",->", "90", "140", 2, (131,), (150,)),
          (",->", "140", "140", 1, (131,), (150,)), (",->", "0", "129", 1, (150,), (131,)))),
]  # fmt: skip

ATTENTION = [
    Case(Attention(scale=0.5, causal=c, window=parse(w)), tuple(Arg(d, s) for s in x), **_NEAR)
    for d, c, w, *x in (
        (F, False, "0", (3, 4), (5, 4), (5, 2)), (F, True, "0", (5, 2, 4), (5, 2, 4), (5, 2, 3)),
        (F, True, "2", (5, 2, 3, 4), (5, 2, 4), (5, 2, 4)), (H, True, "0", (1, 2), (1, 2), (1, 2)),
        (F, False, "0", (0, 2), (3, 2), (3, 2)), (F, False, "0", (3, 2), (0, 2), (0, 2)),
        (F, False, "0", (2, 3), ("t", 3), ("t", 1)))
]  # fmt: skip

CONTRACTION = [
    *(Case(MatMul(), (Arg(F, a), Arg(F, b)), **_NEAR) for a, b in _MATMUL),
    *(Case(MatMul(), (Arg(F, a), Arg(F, b)), **_NEAR, extra=2) for a, b in _MATMUL[12:]),
    *(Case(MatMul(), (Arg(x, (2, "t")), Arg(y, ("t", 3))), **_NEAR)
      for x, y in ((Z, Z), (Z, F), (H, H), (H, F))),
    *(Case(Einsum(spec=s), tuple(Arg(F, x) for x in xs), **_NEAR) for s, xs in _EINSUM),
    *(Case(Einsum(spec="ij,jk"), (Arg(d, (2, "t")), Arg(d, ("t", 3)))) for d in (Z, H)),
    *(Case(Conv(stride=s, padding=p), (Arg(F, x), Arg(F, w)), **_NEAR)
      for x, w in _CONV for s, p in ((1, "valid"), (2, "same"), (2, "valid"))),
    *(Case(c(stride=s, padding=p, rhs_dilation=r), (Arg(F, x), Arg(F, w)), **_NEAR)
      for c, s, r in ((ConvTranspose, 1, 1), (ConvTranspose, 2, 1), (ConvTranspose, 3, 2),
                      (Conv, 1, 2), (Conv, 2, 3))
      for p in ("valid", "same")
      for x, w in (((7, 2), (2, 2, 3)), ((2, 4, 5, 1), (3, 2, 1, 2)), (("t + 1", 2), (2, 2, 1)),
                   (("t", "T", 1), (3, 1, 1, 2)), ((6, 1), ("t + 1", 1, 2)), ((0, 1), (2, 1, 1)))),
    *(Case(Conv(feature_group_count=g, padding="same"), (Arg(F, x), Arg(F, w)), **_NEAR)
      for g, x, w in ((2, (5, 4), (2, 2, 6)), (3, (2, "t + 1", 4, 3), (3, 2, 1, 3)),
                      (4, ("t", 4), (2, 1, 8)))),
    Case(Conv(), (Arg(H, (5, 2)), Arg(H, (2, 2, 3)))),
]  # fmt: skip
