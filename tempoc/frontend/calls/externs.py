"""`extern`: calls of Python functions with declared types.

An unbound name as an extent in a signature is a free extent: it is unified with the extent of the
operand, as for `as`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tempoc.base.python_text import is_identifier
from tempoc.diagnostics.diagnostic import Diagnostic
from tempoc.diagnostics.source import Span
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.failure import Failure
from tempoc.frontend.environment.lower_bounds import is_open
from tempoc.frontend.environment.round import Arguments, Frame, Round
from tempoc.frontend.environment.scope import Scope
from tempoc.frontend.errors import externs as extern_errors, types as type_errors
from tempoc.frontend.expressions import annotations as annotate, index_expressions as indices
from tempoc.frontend.expressions.apply_operator import identity, make, read, tensor, type_of
from tempoc.frontend.expressions.bind_arguments import bind
from tempoc.frontend.expressions.partial_types import stand_ins
from tempoc.frontend.expressions.spatial_indexing import Position, select
from tempoc.frontend.syntax import ast
from tempoc.ops.control.control import Copy
from tempoc.ops.control.externs import ExternCall, ExternHost, ExternJax, at_extents, signature_text
from tempoc.ops.definition.types import TensorType
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, entries_at
from tempoc.symbolic.walk import symbols

KINDS: dict[str, type[ExternCall]] = {"jax": ExternJax, "host": ExternHost}
ResultTree = tuple[tuple[str, val.Value], ...]
"""Named trees of types: the arguments or the results of a function."""


def problems(item: ast.ExternDecl) -> list[Diagnostic]:
    """The errors of a declaration, independent of its calls."""
    diagnostics: list[Diagnostic] = []
    module, _, function = item.path.value.partition(":")
    if not all(map(is_identifier, (*module.split("."), *function.split(".")))):
        diagnostics.append(extern_errors.bad_place(item.path.span, item.path.value))
    if item.kind == "jax" and item.over is not None:
        diagnostics.append(extern_errors.over_jax(item.over.span))
    if item.kind == "jax" and not item.results:
        diagnostics.append(extern_errors.no_results(item.span, item.name.name))
    return diagnostics


def call(
    round: Round, frame: Frame, function: val.PythonFunction, arguments: Arguments, span: Span
) -> val.Value:
    """The results of a call. Raises `Failure` or `StillUnknown`."""
    item = function.definition
    name = item.name.name
    if frame.lazy and item.kind == "host":
        raise Failure(extern_errors.in_branch(span, name))
    parameters = [p.name for p in item.args]
    shown = item.span.text.split(" from ")[0].removeprefix(f"extern {item.kind} ")
    bound = bind(name, parameters, arguments, span, shown, round.universe)
    unknown = val.unknown_in(*bound.values.values())
    if unknown is not None and not (round.partial and is_open(unknown)):
        return unknown
    declared_args, results, free = _signature(round, function)
    if unknown is not None:
        return (
            _partial_call(round, frame, results, free, tuple(bound.values.values()), span)
            or unknown
        )
    known: dict[str, ix.Expr] = {}
    operands: list[val.Ref] = []
    for parameter, declared in declared_args:
        place = bound.places.get(parameter, span)
        operands += _operands(round, frame, bound[parameter], declared, known, free, place)
    over = None if item.over is None else indices.entry_name(round, frame, item.over)
    if over is not None:
        operands = [_along(round, frame, o, over, span) for o in operands]
        bound_of = round.universe.dim(over).bound
        declared_args, results = (
            _with_leading_axis(declared_args, bound_of),
            _with_leading_axis(results, bound_of),
        )
    if item.kind == "jax":
        _check_extents(round, operands, name, span)
    op = _operator(item, declared_args, results, free)
    if isinstance(op, ExternHost):
        op = replace(op, default=frame.default)
        round.draws += 1  # the domain of a call is inferred like that of a draw
        refs = _effectful_call(round, frame, op, operands, span, over)
    else:
        refs = make(round, frame, op, tuple(operands), span, hint=name)
    dims = refs[0].draft.dims if refs else ()
    if over is not None:
        point = Position(val.Index(ix.Sym(over)), span)
        refs = tuple(_row(round, frame, ref, point) for ref in refs)
    remaining = iter(refs)
    trees = tuple(val.map_leaves(lambda *_: next(remaining), declared) for _, declared in results)
    return trees[0] if len(trees) == 1 else val.Several(trees, dims)


def _partial_call(
    round: Round,
    frame: Frame,
    results: ResultTree,
    free: tuple[str, ...],
    arguments: tuple[val.Value, ...],
    span: Span,
) -> val.Value | None:
    """The result of a call with unknown arguments; `None` if its shape depends on them."""
    for _, tree in results:
        for _, leaf in val.leaves(tree):
            assert isinstance(leaf, val.Typed)
            if any(n in free for e in leaf.type.shape for n in symbols(e)):
                return None
    dims = val.dims_of(val.Listing(arguments), round.universe)
    trees = tuple(stand_ins(round, frame, tree, dims, span) for _, tree in results)
    return trees[0] if len(trees) == 1 else val.Several(trees, dims)


def _row(round: Round, frame: Frame, ref: val.Ref, here: Position) -> val.Ref:
    row = select(round, frame, ref, (here,), here.span)
    assert isinstance(row, val.Ref)
    return row


def _operator(
    item: ast.ExternDecl, expected: ResultTree, results: ResultTree, free: tuple[str, ...]
) -> ExternCall:
    module, _, attribute = item.path.value.partition(":")
    (takes, arguments), (gives, given) = (_texts(trees) for trees in (expected, results))
    return KINDS[item.kind](
        extern=item.name.name,
        module=module,
        function=attribute,
        arguments=arguments,
        results=given,
        free=free,
        takes=takes,
        gives=gives,
    )


def _texts(trees: ResultTree) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Paths and types of all leaves."""
    names, types = [], []
    for name, tree in trees:
        for path, leaf in val.leaves(tree):
            assert isinstance(leaf, val.Typed)
            names.append(".".join((name, *path)))
            types.append(signature_text(leaf.type))
    return tuple(names), tuple(types)


def _with_leading_axis(trees: ResultTree, bound: str) -> ResultTree:
    """Types with an additional leading axis."""

    def longer(_: tuple[str, ...], leaf: val.Value) -> val.Value:
        assert isinstance(leaf, val.Typed)
        return val.Typed(TensorType(leaf.type.dtype, (ix.Sym(bound), *leaf.type.shape)))

    return tuple((name, val.map_leaves(longer, tree)) for name, tree in trees)


def _along(round: Round, frame: Frame, operand: val.Ref, dim: str, span: Span) -> val.Ref:
    """An operand at all points of a dimension, along a new first axis."""
    copy = make(round, frame, Copy(), (operand,), span)[0]
    copy.draft.dims = round.universe.ordered((*copy.draft.dims, dim))
    full_range = ix.Slice(ix.ZERO, ix.Sym(round.universe.dim(dim).bound))
    entries = entries_at(copy.draft.dims, {dim: full_range})
    return read(round, frame, copy.draft, 0, entries, span)


def _effectful_call(
    round: Round,
    frame: Frame,
    op: ExternCall,
    operands: list[val.Ref],
    span: Span,
    over: str | None,
) -> tuple[val.Ref, ...]:
    """A call with side effects: made at all points of its equation, whether used or not."""
    outputs = make(round, frame, op, tuple(operands), span, hint=op.extern)
    draft = round.drafts[-1] if not outputs else outputs[0].draft
    draft.dims = round.universe.ordered(tuple(d for d in (*draft.dims, *frame.draws) if d != over))
    draft.role = "root"
    where = round.domain(frame.where)
    box = round.space.symbolic.project(where, draft.dims).where
    draft.defined = round.space.symbolic.simplify(box, Domain(draft.dims))
    draft.turn = (*frame.turn, span.end)
    return tuple(identity(round, frame, draft, span, k) for k in range(len(outputs)))


def _check_extents(round: Round, operands: list[val.Ref], name: str, span: Span) -> None:
    """Raises `Failure` for ragged operands: a kernel is traced for one shape."""
    for operand in operands:
        for n in (n for e in operand.type.shape for n in symbols(e)):
            if round.universe.is_dim(n):
                raise Failure(extern_errors.ragged(span, name, operand.type, n))
            if n in round.universe.lengths:
                raise Failure(extern_errors.unknown_length(span, name, operand.type, n))


def _operands(
    round: Round,
    frame: Frame,
    value: val.Value,
    expected: val.Value,
    known: dict[str, ix.Expr],
    free: tuple[str, ...],
    span: Span,
) -> Iterator[val.Ref]:
    """The leaves of an argument as operands of the declared types. Raises `Failure`."""
    if not isinstance(expected, val.RecordValue):
        assert isinstance(expected, val.Typed)
        yield _operand(round, frame, value, expected.type, known, free, span)
        return
    if not isinstance(value, val.RecordValue) or sorted(value.names) != sorted(expected.names):
        raise Failure(extern_errors.not_a_record(span, expected, value))
    for name, part in expected.fields:
        inner = value.get(name)
        assert inner is not None
        yield from _operands(round, frame, inner, part, known, free, span)


def _operand(
    round: Round,
    frame: Frame,
    value: val.Value,
    expected: TensorType,
    known: dict[str, ix.Expr],
    free: tuple[str, ...],
    span: Span,
) -> val.Ref:
    """A value as an operand of the declared type. Raises `Failure`."""
    if not isinstance(value, (val.Ref, val.ConstantNumber, val.Index)):
        raise Failure(extern_errors.not_a_tensor(span, value))
    actual = type_of(value, span)
    for e, extent in zip(expected.shape, actual.shape, strict=False):
        if isinstance(e, ix.Sym) and e.name in free:
            known.setdefault(e.name, extent)
    declared = val.Typed(at_extents(expected, known))
    if any(n in free for e in declared.type.shape for n in symbols(e)):
        raise Failure(extern_errors.operand(span, actual, expected))
    try:
        fitting = annotate.check(round, frame, value, declared, span)
    except Failure as problem:
        if problem.diagnostic.code != type_errors.ANNOTATION:
            raise
        raise Failure(extern_errors.operand(span, actual, declared.type)) from None
    return tensor(round, frame, fitting, span)


# ---------------------------------------------------------------- signatures


def _signature(
    round: Round, function: val.PythonFunction
) -> tuple[ResultTree, ResultTree, tuple[str, ...]]:
    """Types of arguments and results, and the names of free extents in them."""
    item = function.definition
    free = tuple(dict.fromkeys(n for part in item.args for n in _free(function, part.type)))
    scope = Scope("loop", parent=function.scope)
    for name in free:
        scope.bind(name, val.Index(ix.Sym(name)))
    assert round.top is not None
    frame = Frame(scope=scope, path=(), prefix=item.name.name, origin=round.top.origin)

    def trees(fields: tuple[ast.TypeField, ...]) -> ResultTree:
        if item.kind == "jax":
            _check_fixed(round, frame, fields)
        return tuple((f.name, annotate.type_tree(round, frame, f.type)) for f in fields)

    return trees(item.args), trees(item.results), free


def _free(function: val.PythonFunction, e: ast.TypeExpr) -> Iterator[str]:
    """Unbound names that are extents."""
    if isinstance(e, ast.RecordType):
        for f in e.fields:
            yield from _free(function, f.type)
        return
    for extent in e.extents:
        if isinstance(extent, ast.Name) and function.scope.find(extent.name) is None:
            yield extent.name


def _check_fixed(round: Round, frame: Frame, fields: Iterable[ast.TypeField]) -> None:
    """Raises `Failure` if an extent varies with the point."""
    for f in fields:
        if isinstance(f.type, ast.RecordType):
            _check_fixed(round, frame, f.type.fields)
            continue
        for x in f.type.extents:
            for n in symbols(indices.extent(round.evaluate(frame, x), x.span)):
                if round.universe.is_dim(n):
                    raise Failure(extern_errors.dim_extent(x.span, n))
                if n in round.universe.lengths:
                    raise Failure(extern_errors.length_extent(x.span, n))
