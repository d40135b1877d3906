"""Arithmetic for derivative rules: terms, and operations on them.

A rule states the cotangents of an operator's operands, at one point, in terms of its operands, its
results and their cotangents. `Build` makes the nodes (the front end implements it); `Calculus`
offers arithmetic on top, in which a known constant never becomes a node without need: zeros
vanish, ones leave products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tempoc.ops.control.control import Select
from tempoc.ops.definition.operator import Op, ShapeFacts
from tempoc.ops.definition.shapes import Shape, broadcast, same, same_shape
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.tensor import arithmetic as binary, elementwise as unary
from tempoc.ops.tensor.movement import BroadcastTo, ExpandDims
from tempoc.ops.tensor.reduction import Sum
from tempoc.ops.tensor.source import Full, IndexValue, Literal
from tempoc.symbolic import expr as ix


@dataclass(frozen=True, slots=True)
class Term:
    """A tensor at the point at hand.

    `number`: what all elements are known to be; `handle` names the tensor for the `Build` that
    made it, `None` for a constant that no node holds yet.
    """

    type: TensorType
    handle: object
    number: float | None = None

    @property
    def shape(self) -> Shape:
        """The extents."""
        return self.type.shape


Terms = tuple[Term, ...]
Derivatives = tuple[Term | None, ...]


class Build(Protocol):
    """Makes nodes at the point at hand."""

    @property
    def facts(self) -> ShapeFacts:
        """What holds at the points at hand."""

    def make(self, op: Op, args: Sequence[Term]) -> tuple[Term, ...]:
        """The results of an operator; every operand has a handle."""


@dataclass(frozen=True, slots=True)
class Calculus:
    """Arithmetic of terms; extents of 1 broadcast as in NumPy."""

    build: Build

    # Making terms

    def number(self, value: float, dtype: DType, shape: Shape = ()) -> Term:
        """A constant."""
        return Term(TensorType(dtype, shape), None, value)

    def held(self, x: Term) -> Term:
        """The term, materialized as a node."""
        if x.handle is not None:
            return x
        assert x.number is not None
        if x.shape:
            op: Op = Full(shape=x.shape, value=x.number, dtype=x.type.dtype)
        else:
            op = Literal(value=x.number, dtype=x.type.dtype)
        return self.build.make(op, ())[0]

    def several(self, op: Op, *args: Term) -> tuple[Term, ...]:
        """All results of an operator."""
        return self.build.make(op, [self.held(a) for a in args])

    def op(self, op: Op, *args: Term) -> Term:
        """The first result of an operator."""
        return self.several(op, *args)[0]

    def index(self, e: ix.Expr, dtype: DType) -> Term:
        """An index expression as a number of the dtype."""
        return self.cast(self.op(IndexValue(expr=e)), dtype)

    def cast(self, x: Term, dtype: DType) -> Term:
        """The term in another dtype."""
        if x.type.dtype is dtype:
            return x
        if x.handle is None and x.number is not None:
            return self.number(x.number, dtype, x.shape)
        return self.op(unary.Cast(dtype=dtype), x)

    # Arithmetic

    def add(self, a: Term, b: Term) -> Term:
        """`a + b`."""
        if a.number == 0 and same_shape(a.shape, b.shape, self.build.facts):
            return b
        if b.number == 0 and same_shape(a.shape, b.shape, self.build.facts):
            return a
        return self.op(binary.Add(), a, b)

    def sub(self, a: Term, b: Term) -> Term:
        """`a - b`."""
        return self.op(binary.Subtract(), a, b)

    def mul(self, a: Term, b: Term) -> Term:
        """`a * b`; a constant that is nowhere stored folds."""
        shape = broadcast([a.shape, b.shape], self.build.facts)
        for x, y in ((a, b), (b, a)):
            if x.number is None:
                continue
            if x.number == 1 and y.type.dtype.is_float:
                return self.spread(y, shape)
            if y.number is not None and y.type.dtype.is_float:
                return self.number(x.number * y.number, y.type.dtype, shape)
            if not x.handle and x.shape and same_shape(y.shape, shape, self.build.facts):
                return self.op(binary.Multiply(), self.number(x.number, x.type.dtype), y)
        return self.op(binary.Multiply(), a, b)

    def scale(self, x: Term, by: float) -> Term:
        """`by * x`."""
        return self.mul(self.number(by, x.type.dtype), x)

    def div(self, a: Term, b: Term) -> Term:
        """`a / b`."""
        return self.op(binary.Divide(), a, b)

    def neg(self, x: Term) -> Term:
        """`-x`."""
        if x.handle is None and x.number is not None:
            return self.number(-x.number, x.type.dtype, x.shape)
        return self.op(unary.Negative(), x)

    def where(self, c: Term, a: Term, b: Term) -> Term:
        """`a` where `c` holds, else `b`."""
        return self.op(Select(), c, a, b)

    def masked(self, c: Term, x: Term) -> Term:
        """`x` where `c` holds, else 0."""
        return self.where(c, x, self.number(0.0, x.type.dtype))

    # Shapes

    def spread(self, x: Term, shape: Shape) -> Term:
        """The term repeated to a shape."""
        if x.shape == shape:
            return x
        if x.handle is None and x.number is not None:
            return self.number(x.number, x.type.dtype, shape)
        if same_shape(x.shape, shape, self.build.facts):
            return x
        return self.op(BroadcastTo(shape=shape), x)

    def expand(self, x: Term, axes: Sequence[int]) -> Term:
        """New axes of extent 1 at these places of the result, in ascending order."""
        for axis in axes:
            if x.handle is None and x.number is not None:
                shape = (*x.shape[:axis], ix.ONE, *x.shape[axis:])
                x = self.number(x.number, x.type.dtype, shape)
            else:
                x = self.op(ExpandDims(axis=axis), x)
        return x

    def sum(self, x: Term, axes: Sequence[int], *, keepdims: bool = False) -> Term:
        """The sum over some axes."""
        return self.op(Sum(axes=tuple(axes), keepdims=keepdims), x) if axes else x

    def fit(self, x: Term, like: Term) -> Term | None:
        """A cotangent as that of an operand that was broadcast; `None` for integers."""
        if not like.type.dtype.is_float:
            return None
        facts = self.build.facts
        extra = x.type.ndim - like.type.ndim
        if extra > 0:
            x = self.sum(x, range(extra))
        if extra < 0:
            x = self.spread(x, broadcast([x.shape, like.shape], facts))
        pairs = enumerate(zip(x.shape, like.shape, strict=True))
        wide = [
            k for k, (have, want) in pairs if want == ix.ONE != have or _grown(have, want, facts)
        ]
        x = self.sum(x, wide, keepdims=True)
        return self.cast(self.spread(x, like.shape), like.type.dtype)


def _grown(have: ix.Expr, want: ix.Expr, facts: ShapeFacts) -> bool:
    return have != ix.ONE and not same(have, want, facts)


DerivativeRule = Callable[[Any, Calculus, Terms, Terms, Terms], Derivatives]
"""From the operator, a `Calculus`, the operands, the results and the cotangents of the results
(terms at one point) the cotangent of each operand; `None` where that is zero whatever happens
(integers, conditions)."""


class Rules(dict[type[Op], DerivativeRule]):
    """The derivative rules of operators, by class."""

    def of(self, *operators: type[Op]) -> Callable[[DerivativeRule], DerivativeRule]:
        """Makes a function the rule of these operators."""

        def declare(rule: DerivativeRule) -> DerivativeRule:
            self.update(dict.fromkeys(operators, rule))
            return rule

        return declare
