"""Evaluates expressions that must be index expressions, conditions or dimensions."""

from __future__ import annotations

from collections.abc import Iterable

from tempoc.diagnostics.source import Span
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.failure import Failure, StillUnknown
from tempoc.frontend.environment.round import Frame, Round
from tempoc.frontend.environment.scope import nearest
from tempoc.frontend.errors import domains as domain_errors, types as type_errors
from tempoc.frontend.expressions import apply_operator as apply
from tempoc.frontend.expressions.arithmetic import as_expr
from tempoc.frontend.expressions.witness import shown_point
from tempoc.frontend.syntax import ast
from tempoc.ops.definition.types import DType
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import evaluate, is_affine, is_condition


def index(round: Round, frame: Frame, e: ast.Expression) -> ix.Expr:
    """A temporal index. Raises `Failure` or `StillUnknown`."""
    return checked_index(round, frame, e, round.evaluate(frame, e))


def checked_index(
    round: Round,
    frame: Frame,
    e: ast.Expression,
    value: val.Value,
    read: str = "",
    dim: str = "",
    own: str = "",
) -> ix.Expr:
    """The value of `e` as a temporal index. Raises `Failure` or `StillUnknown`.

    `read` is the text of the tensor read at this point of `dim`, for diagnostics; `own` reads it at
    its own point, if it has axes.
    """
    expr = as_expr(value)
    if isinstance(value, val.Unknown):
        raise StillUnknown(value)
    if expr is None:
        bound = round.universe.dim(dim).bound if dim else ""
        by = _divisor(round, frame, e)
        parts = (e.then, e.condition, e.orelse) if isinstance(e, ast.IfExpr) else ()
        choice = [part.span.text for part in parts]
        whole = not (isinstance(value, val.Ref) and value.type.dtype.is_float)
        raise Failure(
            domain_errors.tensor_index(e.span, read, dim, bound, by, choice, own, whole=whole)
        )
    if is_condition(expr):
        raise Failure(domain_errors.condition_index(e.span, e.span.text))
    if not is_affine(expr):
        product = _product(round, frame, e)
        raise Failure(domain_errors.not_affine(product.span, product.span.text))
    if isinstance(expr, ix.Const):
        apply.check_number(expr.value, DType.I32, e.span)
    return expr


def _divisor(round: Round, frame: Frame, e: ast.Expression) -> str:
    """The text of the divisor of a quotient or remainder of index expressions; else empty."""
    if not (isinstance(e, ast.Binary) and e.op in ("//", "%")):
        return ""
    sides = (as_expr(round.evaluate(frame, side)) for side in (e.left, e.right))
    return "" if None in sides else e.right.span.text


def _product(round: Round, frame: Frame, e: ast.Expression) -> ast.Expression:
    """The innermost subexpression that is not affine, for diagnostics."""
    parts: tuple[ast.Expression, ...] = ()
    if isinstance(e, ast.Binary):
        parts = (e.left, e.right)
    elif isinstance(e, ast.UnaryExpr):
        parts = (e.operand,)
    elif isinstance(e, ast.CallExpr):
        parts = e.args
    for part in parts:
        expr = as_expr(round.evaluate(frame, part))
        if expr is not None and not is_affine(expr):
            return _product(round, frame, part)
    return e


def condition(round: Round, frame: Frame, e: ast.Expression, what: str) -> ix.Expr:
    """An index condition. Raises `Failure` or `StillUnknown`."""
    return checked_condition(round, frame, e, round.evaluate(frame, e), what)


def checked_condition(
    round: Round, frame: Frame, e: ast.Expression, value: val.Value, what: str
) -> ix.Expr:
    """The value of `e` as an index condition. Raises `Failure` or `StillUnknown`."""
    if isinstance(value, val.Unknown):
        raise StillUnknown(value)
    expr = as_expr(value)
    if expr is None or not is_condition(expr):
        raise Failure(
            domain_errors.not_a_condition(e.span, what, e.span.text, number=expr is not None)
        )
    if not is_affine(expr):
        product = _nonaffine_side(round, frame, e)
        raise Failure(domain_errors.not_affine(product.span, product.span.text))
    return expr


def _nonaffine_side(round: Round, frame: Frame, e: ast.Expression) -> ast.Expression:
    if isinstance(e, ast.Binary | ast.ComparisonExpr):
        for part in (e.left, e.right):
            expr = as_expr(round.evaluate(frame, part))
            if expr is not None and not is_affine(expr):
                side = _nonaffine_side if is_condition(expr) else _product
                return side(round, frame, part)
    return e


def entry(
    round: Round,
    frame: Frame,
    e: ast.Expression | ast.SliceExpr,
    dim: str,
    read: str = "",
    own: str = "",
) -> tuple[ix.Entry, tuple[str, ...]]:
    """A point or slice of the dimension `dim` of `read`, and the dimensions that it names.

    `own` reads it at its own point, if it has axes.

    Raises `Failure` or `StillUnknown`.
    """
    named: list[str] = []

    def part(x: ast.Expression) -> ix.Expr:
        value = round.evaluate(frame, x)
        at = (read, dim, own) if x is e else ()
        expr = checked_index(round, frame, x, value, *at)
        named.extend(val.dims_of(value, round.universe))
        return expr

    if not isinstance(e, ast.SliceExpr):
        return part(e), tuple(named)
    bound = ix.Sym(round.universe.dim(dim).bound)
    low = ix.Const(0) if e.lo is None else part(e.lo)
    high = bound if e.hi is None else part(e.hi)
    if isinstance(e.hi, ast.UnaryExpr) and isinstance(high, ix.Const) and high.value < 0:
        start = ix.add(bound, low) if isinstance(low, ix.Const) and low.value < 0 else low
        meant = show(ix.Slice(start, ix.add(bound, high)))
        raise Failure(domain_errors.negative_end(e.span, e.span.text, high.value, dim, meant))
    step = 1 if e.step is None else positive(round, frame, e.step)
    return ix.Slice(low, high, step), tuple(named)


def positive(round: Round, frame: Frame, e: ast.Expression) -> int:
    """The step of a slice. Raises `Failure` or `StillUnknown`."""
    value = round.evaluate(frame, e)
    if isinstance(value, val.Unknown):
        raise StillUnknown(value)
    step = constant_bounds_expr(round.universe, value)
    if not isinstance(step, ix.Const) or step.value <= 0:
        raise Failure(domain_errors.step(e.span))
    apply.check_number(step.value, DType.I32, e.span)
    return step.value


def entry_name(round: Round, frame: Frame, name: ast.Ident) -> str:
    """The dimension that a keyword entry names. Raises `Failure`."""
    binding = frame.scope.find(name.name)
    if isinstance(binding, val.Index) and isinstance(binding.expr, ix.Sym):
        dim = binding.expr.name
        if round.universe.is_dim(dim):
            return dim
    close = nearest(name.name, (d.name for d in round.universe.dims))
    raise Failure(domain_errors.not_a_dimension(name.span, name.name, close))


def integer(universe: Universe, value: val.Value, span: Span, what: str) -> int:
    """A compile-time integer. Raises `Failure` or `StillUnknown`."""
    if isinstance(value, val.Unknown):
        raise StillUnknown(value)
    expr = constant_bounds_expr(universe, value)
    if not isinstance(expr, ix.Const):
        dim = expr.name if isinstance(expr, ix.Sym) and universe.is_dim(expr.name) else ""
        raise Failure(type_errors.needs_number(span, what, value, dim))
    apply.check_number(expr.value, DType.I32, span)
    return expr.value


def constant_bounds_expr(universe: Universe, value: val.Value) -> ix.Expr | None:
    """A value as an index expression, with constant bounds substituted; None if it is none."""
    expr = as_expr(value)
    return None if expr is None else universe.settled(expr)


def extent(value: val.Value, span: Span, what: str = "an extent") -> ix.Expr:
    """An extent: any index expression, products included. Raises `Failure` or `StillUnknown`."""
    if isinstance(value, val.Unknown):
        raise StillUnknown(value)
    expr = as_expr(value)
    if expr is None or is_condition(expr):
        raise Failure(type_errors.needs_index(span, what, value))
    if isinstance(expr, ix.Const):
        apply.check_number(expr.value, DType.I32, span)
        if expr.value < 0:
            raise Failure(type_errors.negative_extent(span, expr))
    return expr


def check_extents(round: Round, frame: Frame, extents: Iterable[ix.Expr], span: Span) -> None:
    """Raises `Failure` if an extent may be negative at a point of the frame."""
    for e in extents:
        holds = ix.compare(">=", e, ix.ZERO)
        if holds == ix.TRUE or not is_affine(e):
            continue
        domain = round.domain(frame.where, e)
        point = round.space.witness(domain, holds)
        if point is not None:
            when = shown_point(round.universe, domain.dims, (e,), point)
            raise Failure(type_errors.negative_extent_at(span, e, evaluate(e, point), when))
