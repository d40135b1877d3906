"""Evaluates expressions to values: one rule per kind of expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from tempoc.diagnostics.source import Span
from tempoc.frontend.calls.builtin_signatures import SIGNATURES
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.failure import Failure
from tempoc.frontend.environment.indexed_tensor import IndexedTensor
from tempoc.frontend.environment.lower_bounds import deferred, doubt_of
from tempoc.frontend.environment.round import Arguments, Frame, Round
from tempoc.frontend.environment.scope import CastName, Foreign, Pending, Scope, TensorName, nearest
from tempoc.frontend.equations.merge_branches import value_of
from tempoc.frontend.errors import (
    domains as domain_errors,
    names as name_errors,
    types as type_errors,
)
from tempoc.frontend.errors.library import about_method
from tempoc.frontend.expressions import (
    annotations as annotate,
    apply_operator as apply,
    conditional as choice,
    index_expressions as indices,
)
from tempoc.frontend.expressions.arithmetic import binary_operation, unary_operation
from tempoc.frontend.expressions.spatial_indexing import EvaluatedSlice, Position, select
from tempoc.frontend.expressions.temporal_access import pick, temporal
from tempoc.frontend.expressions.unroll import loop_iterations
from tempoc.frontend.syntax import ast
from tempoc.ops.tensor.movement import Transpose
from tempoc.symbolic import expr as ix

EvaluationRule = Callable[[Round, Frame, Any], val.Value]


def evaluate(round: Round, frame: Frame, e: ast.Expression) -> val.Value:
    """The value of an expression; unknown after a reported error."""
    return round.attempt(frame, lambda: RULES[type(e)](round, frame, e))


def single(round: Round, frame: Frame, e: ast.Expression) -> val.Value:
    """A value that is not several results. Raises `Failure`."""
    value = round.evaluate(frame, e)
    if isinstance(value, val.Several):
        raise Failure(type_errors.several_results(e.span, value))
    return value


def _name(round: Round, frame: Frame, e: ast.Name) -> val.Value:
    value = _named(round, frame, e)
    if doubt_of(value):
        round.doubted += 1
    return value


def _named(round: Round, frame: Frame, e: ast.Name) -> val.Value:
    binding = frame.scope.find(e.name)
    match binding:
        case None:
            close = nearest(e.name, frame.scope.visible())
            raise Failure(name_errors.unknown_name(e.span, e.name, close))
        case TensorName():
            return round.language.tensor(round, binding, e.span)
        case IndexedTensor():
            if round.eager and binding.key not in round.table:
                round.language.visit(round, binding)
            return value_of(round, binding, e.span)
        case Pending():
            return binding.resume()  # type: ignore[return-value]
        case CastName():
            return round.language.extent(round, binding, e.span)
        case Foreign(module=module):
            raise Failure(name_errors.not_importable(e.span, e.name, module))
        case _:
            return binding  # type: ignore[return-value]


def _number(round: Round, frame: Frame, e: ast.NumberExpr) -> val.Value:
    return val.ConstantNumber(e.value)


def _text(round: Round, frame: Frame, e: ast.String) -> val.Value:
    return val.ConstantText(e.value)


def _bool(round: Round, frame: Frame, e: ast.Bool) -> val.Value:
    return val.ConstantNumber(e.value)


def _list(round: Round, frame: Frame, e: ast.ListExpr) -> val.Value:
    return _held(round, val.Listing(tuple(single(round, frame, item) for item in e.items)))


def _comprehension(round: Round, frame: Frame, e: ast.ListComp) -> val.Value:
    items = []
    for inner in loop_iterations(round, frame, e.name, e.over):
        items.append(single(round, inner, e.element))
    return _held(round, val.Listing(tuple(items)))


def _held(round: Round, tree: val.Value) -> val.Value:
    """A list or a record; its elements may be shared, but what maps over them takes each leaf."""
    most = round.limits.leaves
    round.check_limit("leaves", sum(1 for _ in islice(val.leaves(tree), most + 1)))
    return tree


def _record(round: Round, frame: Frame, e: ast.RecordExpr) -> val.Value:
    fields = tuple((f.name, single(round, frame, f.value)) for f in e.fields)
    return _held(round, val.RecordValue(fields))


def _group(round: Round, frame: Frame, e: ast.GroupExpr) -> val.Value:
    return round.evaluate(frame, e.value)


def _unary(round: Round, frame: Frame, e: ast.UnaryExpr) -> val.Value:
    return unary_operation(round, frame, e.op, round.evaluate(frame, e.operand), e.span)


def _binary(round: Round, frame: Frame, e: ast.Binary | ast.ComparisonExpr) -> val.Value:
    left = round.evaluate(frame, e.left)
    return binary_operation(round, frame, e.op, left, round.evaluate(frame, e.right), e.span)


def _access(round: Round, frame: Frame, e: ast.Access) -> val.Value:
    base = e.base
    dims: tuple[str, ...] = ()
    value: val.Value | None = None
    if isinstance(base, ast.Name):
        value = round.evaluate(frame, base)
        dims = _temporal_dims(round, frame, base, value)
    if e.entries[0].name is not None:
        binding = frame.scope.find(base.name) if isinstance(base, ast.Name) else None
        return _keyword(
            round, frame, e, value, strict=isinstance(binding, (IndexedTensor, TensorName))
        )
    if not dims and _may_vary(frame, base, value):
        raise deferred(round)
    if dims:
        return _positional(round, frame, e, value or val.BAD, dims)
    value = round.evaluate(frame, base) if value is None else value
    items = tuple(_item(round, frame, entry) for entry in e.entries)
    unknown = val.unknown_in(*(i.value for i in items if isinstance(i, Position)))
    if isinstance(value, val.Unknown) or unknown is not None:
        return val.unknown_in(value, unknown or value) or val.BAD
    return select(round, frame, value, items, e.span)


def _temporal_dims(round: Round, frame: Frame, base: ast.Name, value: val.Value) -> tuple[str, ...]:
    """The dimensions that the first bracket after a name indexes."""
    binding = frame.scope.find(base.name)
    if isinstance(binding, IndexedTensor):
        return binding.plan.dims
    if isinstance(binding, TensorName):
        return val.dims_of(value, round.universe)
    return ()


def _may_vary(frame: Frame, base: ast.Expression, value: val.Value | None) -> bool:
    """Whether this is a tensor whose dimensions are not known yet."""
    binding = frame.scope.find(base.name) if isinstance(base, ast.Name) else None
    plain = isinstance(binding, TensorName) and binding.kind == "plain"
    return plain and value is not None and bool(doubt_of(value))


def _keyword(
    round: Round, frame: Frame, e: ast.Access, value: val.Value | None, *, strict: bool
) -> val.Value:
    entries: dict[str, ast.BracketEntry] = {}
    for entry in e.entries:
        assert entry.name is not None
        dim = indices.entry_name(round, frame, entry.name)
        if dim in entries:
            raise Failure(domain_errors.entry_twice(entry.span, dim))
        entries[dim] = entry
    if value is None:
        value = single(round, choice.without_condition(frame), e.base)
    return _read(round, frame, value, entries, e.span, strict=strict)


def _positional(
    round: Round, frame: Frame, e: ast.Access, value: val.Value, dims: tuple[str, ...]
) -> val.Value:
    if isinstance(value, val.Unknown):
        return replace(value, dims=value.dims.difference(dims))
    if len(e.entries) != len(dims):
        name = e.base.span.text
        texts = tuple(entry.span.text for entry in e.entries)
        bounds = {dim: round.universe.dim(dim).bound for dim in dims}
        outer = {dim: round.universe.outer(dim) for dim in dims}
        raise Failure(domain_errors.entry_count(e.span, name, bounds, texts, outer))
    entries = dict(zip(dims, e.entries, strict=True))
    return _read(round, frame, value, entries, e.span, strict=False)


def _read(
    round: Round,
    frame: Frame,
    value: val.Value,
    written: Mapping[str, ast.BracketEntry],
    span: Span,
    *,
    strict: bool,
) -> val.Value:
    """A value read at entries; data-dependent points are picked from slices. Raises `Failure`."""
    entries: dict[str, ix.Entry] = {}
    points: dict[str, val.Value] = {}
    named: list[str] = []
    name = span.text.split("[")[0]
    own = ""
    if isinstance(value, val.Ref) and value.type.ndim:
        own = f"{name}[{', '.join(val.dims_of(value, round.universe))}]"
    for dim, item in written.items():
        at = item.value
        if isinstance(at, ast.DataPoint):
            points[dim] = single(round, frame, at.index)
            at = at.within
        entries[dim], dims = indices.entry(round, frame, at, dim, name, own)
        named.extend(dims)
    result = temporal(round, frame, value, entries, span, strict=strict)
    result = pick(round, frame, result, entries, points, span) if points else result
    return apply.spread_all(round, frame, result, tuple(named), span)


def _item(round: Round, frame: Frame, entry: ast.BracketEntry) -> Position | EvaluatedSlice:
    e = entry.value
    if isinstance(e, ast.DataPoint):
        raise Failure(domain_errors.spatial_data_point(entry.span))
    if not isinstance(e, ast.SliceExpr):
        return Position(single(round, frame, e), e.span)
    parts = (None if x is None else single(round, frame, x) for x in (e.lo, e.hi, e.step))
    low, high, step = parts
    return EvaluatedSlice(low, high, step, e.span)


def _field(round: Round, frame: Frame, e: ast.Field, given: tuple[str, ...] = ()) -> val.Value:
    """A field; ``given`` are the arguments if it is called, for what is said of methods."""
    base = round.evaluate(frame, e.base)
    if isinstance(base, val.Unknown):
        return base
    if isinstance(base, val.Package):
        return _member(base, e)
    if isinstance(base, val.RecordValue):
        value = base.get(e.name)
        if value is not None:
            return value
        close = nearest(e.name, iter(base.names))
        raise Failure(type_errors.no_field(e.name_span, base, e.name, close))
    if isinstance(base, val.Listing) and any(
        isinstance(item, val.RecordValue) and item.get(e.name) is not None for item in base.items
    ):
        raise Failure(type_errors.field_of_list(e.name_span, base, e.name, _element(e.base)))
    # What `fft.rfft(x)` is asked of is no operand, but the module in which others have it.
    shown = "" if isinstance(base, val.Builtin) else e.base.span.text
    way_out = about_method(e.name, shown, given, SIGNATURES.get(e.name, ""))
    raise Failure(type_errors.no_field(e.name_span, base, e.name, None, way_out))


def _element(e: ast.Expression) -> str:
    """An element of a list, in the source: of `net[k]`, where `k` is a step, `(net)[k]`."""
    text = e.span.text
    if isinstance(e, ast.Access) and isinstance(e.base, ast.Name):
        return f"({e.base.name}){text.removeprefix(e.base.name)}"
    return f"({text})[0]" if isinstance(e, ast.Name) else f"{text}[0]"


def _member(package: val.Package, e: ast.Field) -> val.Value:
    scope: Scope = package.scope
    value = scope.names.get(e.name)
    if value is None:
        close = nearest(e.name, iter(scope.names))
        raise Failure(name_errors.unknown_member(e.name_span, package.name, e.name, close))
    if isinstance(value, Foreign):
        raise Failure(name_errors.not_importable(e.name_span, e.name, package.name))
    if isinstance(value, Pending):
        value = value.resume()
    return value  # type: ignore[return-value]


def _transpose(round: Round, frame: Frame, e: ast.TransposeExpr) -> val.Value:
    value = single(round, frame, e.base)
    return apply.elementwise(round, frame, Transpose(), (value,), e.span)


def _as(round: Round, frame: Frame, e: ast.AsType) -> val.Value:
    return annotate.assert_type(round, frame, single(round, frame, e.value), e.type, e.span)


def _if(round: Round, frame: Frame, e: ast.IfExpr) -> val.Value:
    condition = single(round, frame, e.condition)
    if isinstance(condition, val.Unknown):
        return condition
    if isinstance(condition, val.ConstantNumber) and isinstance(condition.value, bool):
        return single(round, frame, e.then if condition.value else e.orelse)
    holds = _index_condition(round, frame, e.condition, condition)
    yes, no = choice.split(round, frame, holds)
    then = single(round, yes, e.then)
    if choice.types_literals(then) and _chooses_literals(e.orelse):
        chosen = _literals_in_turn(round, frame, holds, then, e.orelse)
    else:
        sides = then, single(round, no, e.orelse)
        chosen = choice.merge_or_choose(round, frame, holds, sides, e.span)
    return apply.spread_all(round, frame, chosen, val.dims_of(condition, round.universe), e.span)


def _index_condition(
    round: Round, frame: Frame, e: ast.Expression, condition: val.Value
) -> ix.Expr:
    """The condition `e` of an `if`, of which the value is given."""
    if isinstance(condition, val.Ref) and condition.static is None:
        raise Failure(type_errors.condition_tensor(e.span))
    what = "the condition of `a if c else b`"
    return indices.checked_condition(round, frame, e, condition, what)


def _chooses_literals(e: ast.Expression) -> bool:
    """Whether `e` is `1 if c else 2 if d else 3`, with any numbers."""
    while isinstance(e, ast.IfExpr) and _is_literal(e.then):
        e = e.orelse
        if _is_literal(e):
            return True
    return False


def _is_literal(e: ast.Expression) -> bool:
    if isinstance(e, ast.UnaryExpr) and e.op == "-":
        e = e.operand
    return isinstance(e, ast.NumberExpr | ast.Bool)


def _literals_in_turn(
    round: Round, frame: Frame, holds: ix.Expr, value: val.Value, e: ast.Expression
) -> val.Value:
    """`value if holds else e`, where `e` chooses literals, each of which gets the type of `value`.

    `x if a else 1 if b else 2` is `(x if a else 1) if a or b else 2`.
    """
    while isinstance(e, ast.IfExpr):
        condition = single(round, frame, e.condition)
        if isinstance(condition, val.ConstantNumber) and isinstance(condition.value, bool):
            e = e.then if condition.value else e.orelse
            continue
        either = ix.disjunction(holds, _index_condition(round, frame, e.condition, condition))
        sides = value, single(round, frame, e.then)
        inside, _ = choice.split(round, frame, either)
        value = choice.merge_or_choose(round, inside, holds, sides, e.span)
        dims = val.dims_of(condition, round.universe)
        value = apply.spread_all(round, frame, value, dims, e.span)
        holds, e = either, e.orelse
    return choice.merge_or_choose(round, frame, holds, (value, single(round, frame, e)), e.span)


def _call(round: Round, frame: Frame, e: ast.CallExpr) -> val.Value:
    if isinstance(e.function, ast.Name) and frame.scope.find(e.function.name) is None:
        return _no_function(round, frame, e, e.function)
    if isinstance(e.function, ast.Field):
        given = tuple(a.span.text for a in (*e.args, *e.kwargs))
        function = _field(round, frame, e.function, given)
    else:
        function = single(round, frame, e.function)
    is_cond = isinstance(function, val.Builtin) and function.name == "cond"
    branch = replace(frame, lazy=True) if is_cond else frame
    args = tuple(single(round, branch if k else frame, a) for k, a in enumerate(e.args))
    keyword = tuple(
        (a.name.name, single(round, frame if a.name.name == "p" else branch, a.value))
        for a in e.kwargs
    )
    if isinstance(function, val.Unknown):
        return function
    arguments = Arguments(
        args, keyword, tuple(a.span for a in e.args), tuple(a.span for a in e.kwargs)
    )
    return round.language.call(round, frame, function, arguments, e.span)


def _no_function(round: Round, frame: Frame, e: ast.CallExpr, name: ast.Name) -> val.Value:
    """A call of an unknown function: its arguments are evaluated for their errors and types."""
    values = [single(round, frame, a) for a in (*e.args, *(a.value for a in e.kwargs))]
    types = [v.type if isinstance(v, val.Ref | val.Typed) else None for v in values[: len(e.args)]]
    close = nearest(name.name, frame.scope.visible())
    problem = Failure(name_errors.unknown_function(name.span, name.name, close, types))
    return round.attempt(frame, lambda: _raise(problem))


def _raise(problem: Failure) -> val.Value:
    raise problem


RULES: dict[type, EvaluationRule] = {
    ast.Name: _name,
    ast.NumberExpr: _number,
    ast.String: _text,
    ast.Bool: _bool,
    ast.ListExpr: _list,
    ast.ListComp: _comprehension,
    ast.RecordExpr: _record,
    ast.GroupExpr: _group,
    ast.UnaryExpr: _unary,
    ast.Binary: _binary,
    ast.ComparisonExpr: _binary,
    ast.IfExpr: _if,
    ast.Access: _access,
    ast.CallExpr: _call,
    ast.Field: _field,
    ast.TransposeExpr: _transpose,
    ast.AsType: _as,
}
