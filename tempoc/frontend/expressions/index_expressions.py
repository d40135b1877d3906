"""Expressions in places where an index expression, a condition or a dimension belongs."""

from __future__ import annotations

from collections.abc import Iterable

from tempoc.base.source import Span
from tempoc.frontend.environment.failure import Problem, StillUnknown
from tempoc.frontend.environment.round import Frame, Round
from tempoc.frontend.environment.scope import nearest
from tempoc.frontend.environment.values import Index, Number, Ref, Unknown, Value, dims_of
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


def index(round: Round, frame: Frame, e: ast.Expr) -> Expr:
    """A temporal index. Raises `Problem` or `StillUnknown`."""
    return checked_index(round, frame, e, round.evaluate(frame, e))


def checked_index(
    round: Round, frame: Frame, e: ast.Expr, value: Value, read: str = "", dim: str = ""
) -> Expr:
    """The temporal index that the value of `e` is. Raises `Problem` or `StillUnknown`.

    `read` is what is read at this point of `dim`, if it is a point.
    """
    found = as_expr(value)
    if isinstance(value, Unknown):
        raise StillUnknown(value)
    if found is None:
        bound = round.universe.dim(dim).bound if dim else ""
        raise Problem(domain_errors.tensor_index(e.span, e.span.text, read, dim, bound))
    if is_condition(found):
        raise Problem(domain_errors.condition_index(e.span, e.span.text))
    if not is_affine(found):
        product = _product(round, frame, e)
        raise Problem(domain_errors.not_affine(product.span, product.span.text))
    if isinstance(found, Const):
        check_number(found.value, DType.I32, e.span)
    return found


def _product(round: Round, frame: Frame, e: ast.Expr) -> ast.Expr:
    """The innermost part of an expression that is not affine, to point at it."""
    parts: tuple[ast.Expr, ...] = ()
    if isinstance(e, ast.Binary):
        parts = (e.left, e.right)
    elif isinstance(e, ast.Unary):
        parts = (e.operand,)
    elif isinstance(e, ast.Call):
        parts = e.args
    for part in parts:
        found = as_expr(round.evaluate(frame, part))
        if found is not None and not is_affine(found):
            return _product(round, frame, part)
    return e


def condition(round: Round, frame: Frame, e: ast.Expr, what: str) -> Expr:
    """An index condition. Raises `Problem` or `StillUnknown`."""
    value = round.evaluate(frame, e)
    if isinstance(value, Unknown):
        raise StillUnknown(value)
    found = as_expr(value)
    if found is None or not is_condition(found):
        raise Problem(domain_errors.not_a_condition(
                e.span, what, e.span.text, number=found is not None
            ))
    if not is_affine(found):
        product = _nonaffine_side(round, frame, e)
        raise Problem(domain_errors.not_affine(product.span, product.span.text))
    return found


def _nonaffine_side(round: Round, frame: Frame, e: ast.Expr) -> ast.Expr:
    if isinstance(e, ast.Binary | ast.Compare):
        for part in (e.left, e.right):
            found = as_expr(round.evaluate(frame, part))
            if found is not None and not is_affine(found):
                side = _nonaffine_side if is_condition(found) else _product
                return side(round, frame, part)
    return e


def entry(
    round: Round, frame: Frame, e: ast.Expr | ast.Slice, dim: str, read: str = ""
) -> tuple[Entry, tuple[str, ...]]:
    """A point or slice of a dimension of what is `read`, and the dimensions that it names.

    Raises `Problem` or `StillUnknown`.
    """
    named: list[str] = []

    def part(x: ast.Expr) -> Expr:
        value = round.evaluate(frame, x)
        at = (read, dim) if x is e else ()
        found = checked_index(round, frame, x, value, *at)
        named.extend(dims_of(value, round.universe))
        return found

    if not isinstance(e, ast.Slice):
        return part(e), tuple(named)
    low = Const(0) if e.lo is None else part(e.lo)
    high = Sym(round.universe.dim(dim).bound) if e.hi is None else part(e.hi)
    step = 1 if e.step is None else positive(round, frame, e.step)
    return Slice(low, high, step), tuple(named)


def positive(round: Round, frame: Frame, e: ast.Expr) -> int:
    """The step of a slice. Raises `Problem` or `StillUnknown`."""
    value = round.evaluate(frame, e)
    if isinstance(value, Unknown):
        raise StillUnknown(value)
    found = settled(round.universe, value)
    if not isinstance(found, Const) or found.value <= 0:
        raise Problem(domain_errors.step(e.span))
    check_number(found.value, DType.I32, e.span)
    return found.value


def entry_name(round: Round, frame: Frame, name: ast.Ident) -> str:
    """The dimension that a keyword entry names. Raises `Problem`."""
    found = frame.scope.find(name.name)
    if isinstance(found, Index) and isinstance(found.expr, Sym):
        dim = found.expr.name
        if round.universe.is_dim(dim):
            return dim
    close = nearest(name.name, (d.name for d in round.universe.dims))
    raise Problem(domain_errors.not_a_dimension(name.span, name.name, close))


def integer(universe: Universe, value: Value, span: Span, what: str) -> int:
    """A compile-time integer. Raises `Problem` or `StillUnknown`."""
    if isinstance(value, Unknown):
        raise StillUnknown(value)
    found = settled(universe, value)
    if not isinstance(found, Const):
        raise Problem(type_errors.needs_number(span, what, value))
    check_number(found.value, DType.I32, span)
    return found.value


def settled(universe: Universe, value: Value) -> Expr | None:
    """The index expression that a value is, with what is known at compile time of its bounds."""
    found = as_expr(value)
    return None if found is None else universe.settled(found)


def extent(value: Value, span: Span, what: str = "an extent") -> Expr:
    """An extent: any index expression, products included. Raises `Problem` or `StillUnknown`."""
    if isinstance(value, Unknown):
        raise StillUnknown(value)
    found = as_expr(value)
    if found is None or is_condition(found):
        raise Problem(type_errors.needs_index(span, what, value))
    if isinstance(found, Const):
        check_number(found.value, DType.I32, span)
        if found.value < 0:
            raise Problem(type_errors.negative_extent(span, found))
    return found


def check_extents(round: Round, frame: Frame, extents: Iterable[Expr], span: Span) -> None:
    """Extents are nowhere negative. Raises `Problem`."""
    for e in extents:
        holds = compare(">=", e, ZERO)
        if holds == TRUE or not is_affine(e):
            continue
        here = round.domain(frame.where, e)
        point = round.space.witness(here, holds)
        if point is not None:
            when = shown_point(round.universe, here.dims, (e,), point)
            raise Problem(type_errors.negative_extent_at(span, e, evaluate(e, point), when))


def is_static(value: Value) -> bool:
    """Whether a value is an index expression or a number."""
    return isinstance(value, (Number, Index, Ref)) and as_expr(value) is not None


