"""Expressions in places where an index expression, a condition or a dimension belongs."""

from __future__ import annotations

from collections.abc import Iterable

from tempoc.base.source import Span
from tempoc.frontend.environment.failure import Failure, StillUnknown
from tempoc.frontend.environment.round import Frame, Round
from tempoc.frontend.environment.scope import nearest
from tempoc.frontend.environment.values import ConstantNumber, Index, Ref, Unknown, Value, dims_of
from tempoc.frontend.errors import domains as domain_errors
from tempoc.frontend.errors import types as type_errors
from tempoc.frontend.expressions.apply_operator import check_number
from tempoc.frontend.expressions.arithmetic import as_expr
from tempoc.frontend.expressions.witness import shown_point
from tempoc.frontend.syntax import ast
from tempoc.ops.definition.types import DType
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.expr import TRUE, ZERO, Const, Entry, Expr, Slice, Sym, compare
from tempoc.symbolic.walk import evaluate, is_affine, is_condition


def index(round: Round, frame: Frame, e: ast.Expression) -> Expr:
    """A temporal index. Raises `Failure` or `StillUnknown`."""
    return checked_index(round, frame, e, round.evaluate(frame, e))


def checked_index(
    round: Round, frame: Frame, e: ast.Expression, value: Value, read: str = "", dim: str = ""
) -> Expr:
    """The temporal index that the value of `e` is. Raises `Failure` or `StillUnknown`.

    `read` is what is read at this point of `dim`, if it is a point.
    """
    found = as_expr(value)
    if isinstance(value, Unknown):
        raise StillUnknown(value)
    if found is None:
        bound = round.universe.dim(dim).bound if dim else ""
        raise Failure(domain_errors.tensor_index(e.span, e.span.text, read, dim, bound))
    if is_condition(found):
        raise Failure(domain_errors.condition_index(e.span, e.span.text))
    if not is_affine(found):
        product = _product(round, frame, e)
        raise Failure(domain_errors.not_affine(product.span, product.span.text))
    if isinstance(found, Const):
        check_number(found.value, DType.I32, e.span)
    return found


def _product(round: Round, frame: Frame, e: ast.Expression) -> ast.Expression:
    """The innermost part of an expression that is not affine, to point at it."""
    parts: tuple[ast.Expression, ...] = ()
    if isinstance(e, ast.Binary):
        parts = (e.left, e.right)
    elif isinstance(e, ast.UnaryExpr):
        parts = (e.operand,)
    elif isinstance(e, ast.CallExpr):
        parts = e.args
    for part in parts:
        found = as_expr(round.evaluate(frame, part))
        if found is not None and not is_affine(found):
            return _product(round, frame, part)
    return e


def condition(round: Round, frame: Frame, e: ast.Expression, what: str) -> Expr:
    """An index condition. Raises `Failure` or `StillUnknown`."""
    value = round.evaluate(frame, e)
    if isinstance(value, Unknown):
        raise StillUnknown(value)
    found = as_expr(value)
    if found is None or not is_condition(found):
        raise Failure(
            domain_errors.not_a_condition(e.span, what, e.span.text, number=found is not None)
        )
    if not is_affine(found):
        product = _nonaffine_side(round, frame, e)
        raise Failure(domain_errors.not_affine(product.span, product.span.text))
    return found


def _nonaffine_side(round: Round, frame: Frame, e: ast.Expression) -> ast.Expression:
    if isinstance(e, ast.Binary | ast.ComparisonExpr):
        for part in (e.left, e.right):
            found = as_expr(round.evaluate(frame, part))
            if found is not None and not is_affine(found):
                side = _nonaffine_side if is_condition(found) else _product
                return side(round, frame, part)
    return e


def entry(
    round: Round, frame: Frame, e: ast.Expression | ast.SliceExpr, dim: str, read: str = ""
) -> tuple[Entry, tuple[str, ...]]:
    """A point or slice of a dimension of what is `read`, and the dimensions that it names.

    Raises `Failure` or `StillUnknown`.
    """
    named: list[str] = []

    def part(x: ast.Expression) -> Expr:
        value = round.evaluate(frame, x)
        at = (read, dim) if x is e else ()
        found = checked_index(round, frame, x, value, *at)
        named.extend(dims_of(value, round.universe))
        return found

    if not isinstance(e, ast.SliceExpr):
        return part(e), tuple(named)
    low = Const(0) if e.lo is None else part(e.lo)
    high = Sym(round.universe.dim(dim).bound) if e.hi is None else part(e.hi)
    step = 1 if e.step is None else positive(round, frame, e.step)
    return Slice(low, high, step), tuple(named)


def positive(round: Round, frame: Frame, e: ast.Expression) -> int:
    """The step of a slice. Raises `Failure` or `StillUnknown`."""
    value = round.evaluate(frame, e)
    if isinstance(value, Unknown):
        raise StillUnknown(value)
    found = settled(round.universe, value)
    if not isinstance(found, Const) or found.value <= 0:
        raise Failure(domain_errors.step(e.span))
    check_number(found.value, DType.I32, e.span)
    return found.value


def entry_name(round: Round, frame: Frame, name: ast.Ident) -> str:
    """The dimension that a keyword entry names. Raises `Failure`."""
    found = frame.scope.find(name.name)
    if isinstance(found, Index) and isinstance(found.expr, Sym):
        dim = found.expr.name
        if round.universe.is_dim(dim):
            return dim
    close = nearest(name.name, (d.name for d in round.universe.dims))
    raise Failure(domain_errors.not_a_dimension(name.span, name.name, close))


def integer(universe: Universe, value: Value, span: Span, what: str) -> int:
    """A compile-time integer. Raises `Failure` or `StillUnknown`."""
    if isinstance(value, Unknown):
        raise StillUnknown(value)
    found = settled(universe, value)
    if not isinstance(found, Const):
        raise Failure(type_errors.needs_number(span, what, value))
    check_number(found.value, DType.I32, span)
    return found.value


def settled(universe: Universe, value: Value) -> Expr | None:
    """The index expression that a value is, with what is known at compile time of its bounds."""
    found = as_expr(value)
    return None if found is None else universe.settled(found)


def extent(value: Value, span: Span, what: str = "an extent") -> Expr:
    """An extent: any index expression, products included. Raises `Failure` or `StillUnknown`."""
    if isinstance(value, Unknown):
        raise StillUnknown(value)
    found = as_expr(value)
    if found is None or is_condition(found):
        raise Failure(type_errors.needs_index(span, what, value))
    if isinstance(found, Const):
        check_number(found.value, DType.I32, span)
        if found.value < 0:
            raise Failure(type_errors.negative_extent(span, found))
    return found


def check_extents(round: Round, frame: Frame, extents: Iterable[Expr], span: Span) -> None:
    """Extents are nowhere negative. Raises `Failure`."""
    for e in extents:
        holds = compare(">=", e, ZERO)
        if holds == TRUE or not is_affine(e):
            continue
        here = round.domain(frame.where, e)
        point = round.space.witness(here, holds)
        if point is not None:
            when = shown_point(round.universe, here.dims, (e,), point)
            raise Failure(type_errors.negative_extent_at(span, e, evaluate(e, point), when))


def is_static(value: Value) -> bool:
    """Whether a value is an index expression or a number."""
    return isinstance(value, (ConstantNumber, Index, Ref)) and as_expr(value) is not None
