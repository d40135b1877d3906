"""Index expressions over ranges of dimensions, as tensors with an axis for each range.

Where many points of a tensor are read at once, an index expression becomes an `i32` tensor of its
values: `t // 2` for `t` in `4:8` is `[2, 2, 3, 3]`. Conditions become `bool` tensors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from tempoc.ops.catalog import SYMBOLS
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType
from tempoc.ops.gradients.calculus import Calculus, Term
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.ops.tensor.source import Arange, IndexValue
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import children, symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexTensors:
    """Builds tensors of index values; axis `k` runs over the `k`-th slice of `over`."""

    calculus: Calculus
    over: dict[str, ix.Slice]

    def value(self, e: ix.Expr) -> Term:
        """The expression at all points; an axis that it does not vary along has extent 1.

        One that varies along none has no axis.
        """
        c = self.calculus
        if not any(n in self.over for n in symbols(e)):
            if isinstance(e, ix.Const):
                return c.number(e.value, DType.I32)
            return c.op(IndexValue(expr=e))
        match e:
            case ix.Sym(name=name):
                return self.axis(name)
            case ix.IndexSum(terms=terms, const=k):
                parts = [self.times(factor, self.value(x)) for factor, x in terms]
                parts += [c.number(k, DType.I32)] if k else []
                return self.joined(binary.Add(), parts)
            case ix.FloorDiv(arg=a, divisor=k):
                return c.op(binary.FloorDivide(), self.value(a), c.number(k, DType.I32))
            case ix.Mod(arg=a, divisor=k):
                return c.op(binary.Remainder(), self.value(a), c.number(k, DType.I32))
            case ix.Relation(op=op, left=a, right=b):
                return c.op(SYMBOLS[op](), self.value(a), self.value(b))
            case ix.Negation(arg=a):
                return c.op(unary.Not(), self.value(a))
            case ix.IndexProduct():
                return self.over_children(binary.Multiply(), e)
            case ix.IndexMin():
                return self.over_children(binary.Minimum(), e)
            case ix.IndexMax():
                return self.over_children(binary.Maximum(), e)
            case ix.Conjunction():
                return self.over_children(binary.And(), e)
            case _:
                assert isinstance(e, ix.Disjunction)
                return self.over_children(binary.Or(), e)

    def axis(self, name: str) -> Term:
        """The values of a dimension, along its axis."""
        place = list(self.over).index(name)
        axes = [k for k in range(len(self.over)) if k != place]
        over = self.over[name]
        numbers = Arange(start=over.lo, stop=over.hi, step=over.step)
        return self.calculus.expand(self.calculus.op(numbers), axes)

    def times(self, factor: int, x: Term) -> Term:
        """A multiple."""
        c = self.calculus
        return x if factor == 1 else c.op(binary.Multiply(), c.number(factor, DType.I32), x)

    def over_children(self, op: Op, e: ix.Expr) -> Term:
        """The operands of an expression combined by an associative operator."""
        return self.joined(op, [self.value(x) for x in children(e)])

    def joined(self, op: Op, parts: list[Term]) -> Term:
        """All parts combined by an associative operator."""
        return reduce(lambda a, b: self.calculus.op(op, a, b), parts)
