"""Rewrite rules written as equations of scalars: ``a + -b = a - b if uniform``.

The left side is the pattern, the right side the replacement; both have Python's grammar, with
operators by sign or name. Letters are operands, ``i`` to ``n`` among them constants, with which the
replacement computes. A letter that occurs twice stands for the same read. The operands of a
commutative operator are tried in both orders at the root of a pattern, not within it: replacements
keep the order of what they do not change.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tempoc.ops.catalog import OPS, SYMBOLS
from tempoc.ops.definition.dtype_text import Scalar
from tempoc.ops.definition.operator import Op, OperandError
from tempoc.ops.tensor.source import Full, Literal
from tempoc.passes.simplify.rules.pattern import Kind, Match, Rewrite, RewriteRule
from tempoc.sdg.graph.graph import Edge


@dataclass(frozen=True, slots=True)
class Letter:
    """An operand."""

    name: str

    @property
    def is_constant(self) -> bool:
        """Whether it must be a constant."""
        return self.name in "ijklmn"


@dataclass(frozen=True, slots=True)
class Number:
    """A number; 0.0 and -0.0 differ."""

    value: Scalar


@dataclass(frozen=True, slots=True)
class Applied:
    """An operator without attributes, and its operands."""

    op: Op
    operands: tuple[Pattern, ...]


Pattern = Letter | Number | Applied

Condition = Callable[[Match, Mapping[Pattern, Edge]], bool]
"""What an equation requires of the node, and of the reads that its letters stand for."""

_ARITHMETIC: Mapping[str, Callable[..., float]] = {
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
}
_SIGNS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.And: "and", ast.Or: "or", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<",
    ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ScalarEquation:
    """An equation; ``flags`` are those of ``Match.producer`` for the operands of the pattern."""

    left: Applied
    right: Pattern
    condition: Condition | None
    flags: Mapping[str, bool]

    def find(self, v: Match) -> Rewrite | None:
        """The replacement, if the pattern matches with the operands in one of their orders."""
        for order in (1, -1) if self.left.op.commutative else (1,):
            bound: dict[Pattern, Edge] = {}
            pairs = zip(self.left.operands, v.node.inputs[::order], strict=True)
            if not all(_matches(v, t, e, bound, self.flags) for t, e in pairs):
                continue
            if self.condition is None or self.condition(v, bound):
                rewrite = self._replacement(v, bound)
                if rewrite is not None:
                    return rewrite
        return None

    def _replacement(self, v: Match, bound: dict[Pattern, Edge]) -> Rewrite | None:
        if self.right in bound:
            return v.same(bound[self.right])
        if isinstance(self.right, Number):
            return v.constant(self.right.value)
        assert isinstance(self.right, Applied)
        return Rewrite(tuple(_built(v, t, bound) for t in self.right.operands), self.right.op)


def _matches(
    v: Match,
    pattern: Pattern,
    edge: Edge,
    bound: dict[Pattern, Edge],
    flags: Mapping[str, bool] = MappingProxyType({}),
) -> bool:
    """Whether a read fits a part of the pattern; adds to ``bound`` what its parts stand for."""
    match pattern:
        case Number():
            value = v.number(edge)
            return value == pattern.value and _sign(value) == _sign(pattern.value)
        case Letter():
            if pattern.is_constant and v.number(edge) is None:
                return False
        case Applied():
            inner = v.producer(edge, type(pattern.op), **flags)
            pairs = zip(pattern.operands, inner.edges, strict=True) if inner else ()
            if inner is None or not all(_matches(v, part, e, bound) for part, e in pairs):
                return False
    return bound.setdefault(pattern, edge) == edge


def equations(
    name: str,
    *texts: str,
    conditions: Mapping[str, Condition],
    exact: bool = True,
    wide: bool = False,
    **flags: bool,
) -> tuple[RewriteRule, ...]:
    """A rule for each of these texts, or for the name itself, which they share.

    A text may end in ``if`` and the name of a condition; ``flags`` are those of ``ScalarEquation``.
    """
    rules = []
    for text in texts or (name,):
        equation, _, condition = text.partition(" if ")
        left, right = map(parse, equation.split(" = "))
        assert isinstance(left, Applied)
        guard = conditions[condition] if condition else None
        rules.append(
            RewriteRule(
                name=name, ops=(type(left.op),), operands=tuple(map(_producers, left.operands)),
                find=ScalarEquation(left, right, guard, flags).find,
                exact=exact, wide=wide,
            )
        )  # fmt: skip
    return tuple(rules)


def parse(text: str) -> Pattern:
    """One side of an equation."""
    return _term(ast.parse(text, mode="eval").body)


def _term(e: ast.expr) -> Pattern:
    match e:
        case ast.Name(id="inf"):
            return Number(math.inf)
        case ast.Name(id=name):
            return Letter(name)
        case ast.Constant(value=bool() | int() | float() as value):
            return Number(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            pattern = _term(operand)
            return Number(-pattern.value) if isinstance(pattern, Number) else _call("neg", operand)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _call("not", operand)
        case ast.BinOp(left=a, op=sign, right=b):
            return _call(_SIGNS[type(sign)], a, b)
        case ast.BoolOp(op=sign, values=operands):
            return _call(_SIGNS[type(sign)], *operands)
        case ast.Compare(left=a, ops=[sign], comparators=[b]):
            return _call(_SIGNS[type(sign)], a, b)
        case ast.Call(func=ast.Name(id=name), args=operands):
            return _call(name, *operands)
    raise ValueError(f"no operator: {ast.unparse(e)}")


def _call(name: str, *operands: ast.expr) -> Applied:
    return Applied((SYMBOLS.get(name) or OPS[name])(), tuple(map(_term, operands)))


def _producers(pattern: Pattern) -> tuple[Kind, ...] | None:
    """The operators that can make an operand of a pattern; ``None``: all."""
    if isinstance(pattern, Applied):
        return (type(pattern.op),)
    return (Literal, Full) if isinstance(pattern, Number) or pattern.is_constant else None


def _is_number(pattern: Pattern) -> bool:
    """Whether a part of a replacement is a number once the constants are known."""
    if isinstance(pattern, Applied):
        return pattern.op.name in _ARITHMETIC and all(map(_is_number, pattern.operands))
    return isinstance(pattern, Number) or pattern.is_constant


def _value(v: Match, pattern: Pattern, bound: Mapping[Pattern, Edge]) -> Scalar:
    """The number that a part stands for. ``OperandError`` if it nearly over- or underflows."""
    match pattern:
        case Number():
            return pattern.value
        case Letter():
            number = v.number(bound[pattern])
            assert number is not None
            return number
    numbers = [_value(v, part, bound) for part in pattern.operands]
    try:
        value = _ARITHMETIC[pattern.op.name](*numbers)
    except ZeroDivisionError:
        value = math.inf
    if pattern.op.name != "neg" and not 1e-30 < abs(value) < 1e30:
        raise OperandError("the constant has a reciprocal or product beyond the range of f32")
    return value


def _built(v: Match, pattern: Pattern, bound: Mapping[Pattern, Edge]) -> Edge:
    if pattern in bound:
        return bound[pattern]
    if _is_number(pattern):
        return v.literal(_value(v, pattern, bound))
    assert isinstance(pattern, Applied)
    return v.make(pattern.op, *(_built(v, part, bound) for part in pattern.operands))


def _sign(x: Scalar) -> float:
    return math.copysign(1, x)
