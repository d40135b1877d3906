"""`input` and `param`: tensors whose values come from files."""

from __future__ import annotations

import re
from dataclasses import replace

from tempoc.diagnostics.source import Span
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.draft_node import Draft, DraftOrigin, Wire
from tempoc.frontend.environment.failure import Failure
from tempoc.frontend.environment.round import Frame, Round
from tempoc.frontend.environment.scope import Scope, TensorName
from tempoc.frontend.errors import names as name_errors
from tempoc.frontend.expressions import annotations as annotate, apply_operator as apply
from tempoc.frontend.expressions.conditional import conform
from tempoc.frontend.syntax import ast
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import TensorType
from tempoc.ops.tensor.source import Input, Param
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols

_HOLE = re.compile(r"\{([^{}]*)\}")


def elaborate_declaration(round: Round, frame: Frame, name: TensorName) -> val.Value:
    """The tensor of an `input` or `param`. Raises `Failure` or `StillUnknown`."""
    item = name.item
    assert item is not None
    dims = _dims(round, frame, item)
    inner = _frame(frame, item, dims)
    if isinstance(item, ast.InputDecl):
        types = annotate.type_tree(round, inner, item.type)
        return _input(round, inner, item, dims, types)
    template = _template(item, dims)
    default = None if item.default is None else round.evaluate(inner, item.default)
    if item.type is not None:
        types = annotate.type_tree(round, inner, item.type)
        if default is not None and not isinstance(default, val.Unknown):
            default = annotate.check(round, inner, default, types, item.default.span)  # type: ignore[union-attr]
    else:
        assert default is not None
        unknown = val.unknown_in(default)
        if unknown is not None:
            return unknown
        types = _types(default, item.span)
    return _param(round, inner, item, dims, types, template, default)


def _frame(frame: Frame, item: ast.InputDecl | ast.ParamDecl, dims: tuple[str, ...]) -> Frame:
    name = item.name.name
    origin = DraftOrigin(span=item.span, target=name)
    scope = Scope("loop", parent=frame.scope)
    return Frame(scope=scope, path=(name,), prefix=name, origin=origin, draws=dims, default=name)


def _dims(round: Round, frame: Frame, item: ast.InputDecl | ast.ParamDecl) -> tuple[str, ...]:
    names: list[str] = []
    for d in item.dims:
        binding = frame.scope.find(d.name)
        is_index = isinstance(binding, val.Index) and isinstance(binding.expr, ix.Sym)
        if not is_index or not round.universe.is_dim(d.name):
            raise Failure(name_errors.dim_name(d.span, d.name, f"`{item.name.name}`"))
        names.append(d.name)
    dims = tuple(names)
    if dims != round.universe.sorted(dims):
        span = item.dims[0].span.to(item.dims[-1].span)
        expected = round.universe.sorted(dims)
        raise Failure(name_errors.dims_order(span, item.name.name, expected))
    return dims


def _check_extents(round: Round, types: val.Value, name: str, span: Span) -> None:
    """Data cannot be ragged."""

    def leaf(_: tuple[str, ...], v: val.Value) -> val.Value:
        assert isinstance(v, val.Typed)
        for e in v.type.shape:
            for n in symbols(e):
                if round.universe.is_dim(n):
                    raise Failure(name_errors.extent_dims(span, name, n))
        return v

    val.map_leaves(leaf, types)


def _input(
    round: Round, frame: Frame, item: ast.InputDecl, dims: tuple[str, ...], types: val.Value
) -> val.Value:
    _check_extents(round, types, item.name.name, item.type.span)

    def leaf(path: tuple[str, ...], v: val.Value) -> val.Value:
        assert isinstance(v, val.Typed)
        op = Input(dtype=v.type.dtype, shape=v.type.shape)
        return _root(round, frame, item, dims, path, v.type, op, None)

    return val.map_leaves(leaf, types)


def _param(
    round: Round,
    frame: Frame,
    item: ast.ParamDecl,
    dims: tuple[str, ...],
    types: val.Value,
    template: str,
    default: val.Value | None,
) -> val.Value:
    _check_extents(round, types, item.name.name, item.span)
    if default is not None and not isinstance(default, val.Unknown):
        free = [d for d in val.dims_of(default, round.universe) if d not in dims]
        if free:
            raise Failure(name_errors.default_dims(item.span, item.name.name, free[0]))

    def leaf(path: tuple[str, ...], v: val.Value) -> val.Value:
        assert isinstance(v, val.Typed)
        op = Param(
            template=".".join((template, *path)),
            dtype=v.type.dtype,
            shape=v.type.shape,
            has_default=default is not None,
        )
        value = None if default is None else _leaf_of(default, path)
        return _root(round, frame, item, dims, path, v.type, op, value)

    return val.map_leaves(leaf, types)


def _leaf_of(value: val.Value, path: tuple[str, ...]) -> val.Value:
    for step in path:
        if isinstance(value, val.RecordValue):
            field = value.get(step)
            assert field is not None
            value = field
        elif hasattr(value, "items"):
            value = value.items[int(step)]
    return value


def _root(
    round: Round,
    frame: Frame,
    item: ast.InputDecl | ast.ParamDecl,
    dims: tuple[str, ...],
    path: tuple[str, ...],
    type: TensorType,
    op: Op,
    default: val.Value | None,
) -> val.Ref:
    draft = Draft(
        hint=".".join((item.name.name, *path)),
        dims=dims,
        types=(type,),
        origin=frame.origin,
        op=op,
        role="root",
        spans=(item.span,),
    )
    if isinstance(default, (val.Ref, val.ConstantNumber, val.Index)):
        source = Draft(
            hint=f"{draft.hint}.default",
            dims=dims,
            types=(type,),
            origin=frame.origin,
            spans=(item.span,),
        )
        conform(round, frame, default, source, item.span)
        draft.inputs = [Wire(source, 0, tuple(ix.Sym(d) for d in dims), item.span)]
        source.uses += 1
    round.add(draft)
    return apply.identity(round, frame, draft, item.name.span)


def _types(value: val.Value, span: Span) -> val.Value:
    def leaf(_: tuple[str, ...], v: val.Value) -> val.Value:
        return val.Typed(replace(apply.type_of(v, span), weak=False))

    return val.map_leaves(leaf, value)


def _template(item: ast.ParamDecl, dims: tuple[str, ...]) -> str:
    """The name in the file; dimensions that it does not mention are leading axes there.

    Raises `Failure` for a hole that is no dimension.
    """
    if item.template is None:
        return item.name.name
    text = item.template.value
    for hole in _HOLE.findall(text):
        if hole not in dims:
            raise Failure(name_errors.template_dim(item.template.span, hole, dims))
    return text
