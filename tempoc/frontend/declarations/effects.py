"""`print` and `save`: nodes without results, at the points where their conditions hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from tempoc.frontend.declarations.outputs import base_name
from tempoc.frontend.declarations.saved_files import points_of_one_file
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.draft_node import Draft, DraftOrigin
from tempoc.frontend.environment.failure import Failure, StillUnknown
from tempoc.frontend.environment.round import Frame, Round
from tempoc.frontend.environment.scope import Scope
from tempoc.frontend.errors import names as name_errors
from tempoc.frontend.expressions import apply_operator as apply, index_expressions as indices
from tempoc.frontend.expressions.arithmetic import as_expr, binary_operation
from tempoc.frontend.expressions.witness import shown_point
from tempoc.frontend.syntax import ast
from tempoc.frontend.syntax.parse import children
from tempoc.ops.control.effects import EffectOp, EffectPlace, Print, Save
from tempoc.ops.definition.shapes import type_text
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.tensor.source import Param
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import symbols

_HOLE = re.compile(r"\{([^{}]*)\}")
_CONSTANT = val.ConstantNumber | val.ConstantText | val.Listing


def elaborate_effects(round: Round, top: Frame, main: ast.Module) -> None:
    """Add the effect nodes to the round, in source order."""
    saved: list[tuple[ast.String, Domain]] = []
    for item in main.items:
        if isinstance(item, ast.PrintDecl | ast.SaveDecl):
            try:
                draft = _effect(round, top, item)
                if isinstance(item, ast.SaveDecl) and draft is not None:
                    _check_overlap(round, item.path, Domain(draft.dims, draft.defined), saved)
            except Failure as problem:
                round.report(problem.diagnostic)
            except StillUnknown:
                continue


def _check_overlap(
    round: Round, path: ast.String, here: Domain, saved: list[tuple[ast.String, Domain]]
) -> None:
    """Raises `Failure` if an earlier `save` writes the same file."""
    for other, there in saved:
        paths = _plain_path(path), _plain_path(other)
        common = points_of_one_file(round.space, paths[0], here, paths[1], there)
        point = None if common is None else round.space.witness(common, ix.FALSE)
        if common is not None and point is not None:
            when = shown_point(round.universe, common.dims, (common.where,), point)
            raise Failure(name_errors.save_twice(path.span, path.value, when, other.span))
    saved.append((path, here))


@dataclass(frozen=True, slots=True, kw_only=True)
class _EffectItem:
    """What an item of an effect shows: the leaves of its value, with their names."""

    item: ast.Expression
    base: str
    value: val.Value
    refs: tuple[val.Ref, ...]
    names: tuple[str, ...]


def _effect(round: Round, top: Frame, item: ast.PrintDecl | ast.SaveDecl) -> Draft | None:
    word = "save" if isinstance(item, ast.SaveDecl) else "print"
    items = (item.value,) if isinstance(item, ast.SaveDecl) else item.items
    values = [e for e in items if not isinstance(e, ast.String)]
    base = base_name(values[0]) if values else "text"
    frame = Frame(
        scope=Scope("loop", parent=top.scope),
        path=(word, item.span.start),
        prefix=f"{word}.{base}",
        origin=DraftOrigin(span=item.span),
    )
    guard, holds = _condition(round, frame, item.guard, word)
    _check_condition(round, frame, guard, item, word)
    frame = frame.within(guard)
    shown = [s for e in values if (s := _shown(round, frame, e, word)) is not None]
    if len(shown) < len(values):
        return None
    if not values and holds is None:
        holds = apply.tensor(round, frame, val.ConstantNumber(True), item.span)
    refs = [*(r for s in shown for r in s.refs), *(() if holds is None else (holds,))]
    entry_names = [n for r in refs for e in r.entries for n in symbols(e)]
    dims = round.universe.ordered((*entry_names, *symbols(guard)))
    op: EffectOp
    if isinstance(item, ast.SaveDecl):
        _check_path(round, item.path, Domain(dims, guard))
        stored = [_stored(r, n) for s in shown for r, n in zip(s.refs, s.names, strict=True)]
        titles, places = (tuple(part) for part in zip(*stored, strict=True))
        op = Save(names=titles, places=places if any(places) else (), path=_plain_path(item.path))
    elif len(values) < len(items):
        names = tuple(n for s in shown for n in s.names)
        op = Print(names=names, texts=_texts(items, [len(s.refs) for s in shown]))
    else:
        labels = [label for s in shown for label in _labels(round, frame, s, dims)]
        titles, places, parts = (tuple(part) for part in zip(*labels, strict=True))
        op = Print(names=titles, places=places, parts=parts if any(parts) else ())
    if holds is not None:
        op = _conditional(op)
    draft = Draft(
        hint=f"{word}.{base}",
        dims=dims,
        types=(),
        origin=frame.origin,
        op=op,
        role="root",
        defined=guard,
        spans=(item.span,),
        turn=(item.span.end,),
    )
    draft.inputs = [apply.wire(r) for r in refs]
    return round.add(draft)


def _conditional(op: EffectOp) -> EffectOp:
    """The effect with a last operand that says where it happens."""
    op = replace(op, names=(*op.names, "when"), conditional=True)
    op = replace(op, places=(*op.places, ())) if op.places else op
    return replace(op, parts=(*op.parts, "")) if isinstance(op, Print) and op.parts else op


def _condition(
    round: Round, frame: Frame, e: ast.Expression | None, word: str
) -> tuple[ix.Expr, val.Ref | None]:
    """The conjuncts of a condition: those of indices, and those of data as a scalar bool.

    A conjunct is evaluated where the indices before it allow. Raises `Failure` or `StillUnknown`.
    """
    guard: ix.Expr = ix.TRUE
    holds: val.Ref | None = None
    for part in _conjuncts(e):
        value = round.evaluate(frame.within(guard), part)
        if as_expr(value) is not None:
            what = f"the condition of `{word}`"
            guard = ix.conjunction(
                guard, indices.checked_condition(round, frame, part, value, what)
            )
            continue
        if isinstance(value, val.Unknown):
            raise StillUnknown(value)
        if not isinstance(value, val.Ref) or value.type != TensorType(DType.BOOL):
            what = type_text(value.type) if isinstance(value, val.Ref) else val.describe(value)
            raise Failure(name_errors.effect_condition(part.span, word, what))
        if holds is not None:
            both = binary_operation(round, frame.within(guard), "and", holds, value, part.span)
            assert isinstance(both, val.Ref)
            value = both
        holds = value
    return guard, holds


def _check_condition(
    round: Round, frame: Frame, guard: ix.Expr, item: ast.PrintDecl | ast.SaveDecl, word: str
) -> None:
    """Constants, and bounds with a value, may turn an effect off; else it should have a point."""
    universe, names = round.universe, symbols(guard)
    dims = universe.ordered(names)
    bounds = [universe.dim(n).bound if universe.is_dim(n) else n for n in (*dims, *names)]
    if item.guard is None or not dims or any(universe.bound(b).value is not None for b in bounds):
        return
    if _names_constant(round, frame, item.guard):
        return
    if round.space.implies(Domain(dims), ix.negation(guard)):
        raise Failure(name_errors.effect_never(item.guard.span, word, dims[0], bounds[0]))


def _names_constant(round: Round, frame: Frame, e: ast.SyntaxNode) -> bool:
    """Whether an expression names a constant, to which `-D` may give another value."""
    if isinstance(e, ast.Name | ast.Field) and isinstance(round.evaluate(frame, e), _CONSTANT):
        return True
    return any(_names_constant(round, frame, part) for part in children(e))


def _conjuncts(e: ast.Expression | None) -> Iterator[ast.Expression]:
    match e:
        case None:
            return
        case ast.Binary(op="and", left=left, right=right):
            yield from _conjuncts(left)
            yield from _conjuncts(right)
        case _:
            yield e


def _shown(round: Round, frame: Frame, e: ast.Expression, word: str) -> _EffectItem | None:
    """What an item shows; `None` if that is unknown. Raises `Failure` for what cannot be shown."""
    base, value = base_name(e), round.evaluate(frame, e)
    if isinstance(value, val.Unknown):
        return None
    if not isinstance(
        value, val.Ref | val.RecordValue | val.Listing | val.ConstantNumber | val.Index
    ):
        raise Failure(name_errors.output_value(e.span, val.describe(value)))
    names: list[str] = []
    refs: list[val.Ref] = []
    for path, leaf in val.leaves(value):
        if isinstance(leaf, val.Unknown):
            return None
        refs.append(apply.tensor(round, frame, leaf, e.span))
        names.append(_name(refs[-1], ".".join((base, *path))))
        if refs[-1].type.dtype is DType.KEY:
            raise Failure(name_errors.effect_key(e.span, word))
    return _EffectItem(item=e, base=base, value=value, refs=tuple(refs), names=tuple(names))


def _labels(
    round: Round, frame: Frame, s: _EffectItem, dims: tuple[str, ...]
) -> Iterator[tuple[str, EffectPlace, str]]:
    """For each leaf its name, the point at which it is read, and which part of it is shown."""
    at = tuple(_place(r, n, dims) for r, n in zip(s.refs, s.names, strict=True))
    names, parts = s.names, ("",) * len(s.refs)
    read = _tensor_part(round, frame, s.item)
    if read is not s.item:
        base = base_name(read)
        own = tuple(_place(r, _name(r, base), dims) for r in s.refs)
        at = _places(round, frame, read, dims, len(s.refs)) or own
        names = (base,) * len(s.refs)
        part = s.item.span.text[len(read.span.text) :]
        parts = tuple(".".join((part, *path)) for path, _ in val.leaves(s.value))
    return zip(names, at, parts, strict=True)


def _texts(items: Sequence[ast.Expression], counts: Sequence[int]) -> tuple[str, ...]:
    """The texts before each value and after the last; ``counts`` are the values of each item.

    Blanks stand between all that is shown, as in Python.
    """
    left, texts, blank = iter(counts), [""], ""
    for item in items:
        if isinstance(item, ast.String):
            texts[-1] += blank + item.value
        else:
            for _ in range(next(left)):
                texts[-1] += blank
                texts.append("")
                blank = " "
        blank = " "
    return tuple(texts)


def _name(ref: val.Ref, name: str) -> str:
    """The name of a leaf; an element of a list goes by its own."""
    hint = ref.draft.hint
    return hint if ref.draft.role == "root" and hint.startswith(f"{name}.") else name


def _stored(ref: val.Ref, name: str) -> tuple[str, EffectPlace]:
    """The name in the file, and the point; a param is saved under its template, to be reloaded."""
    at = tuple(zip(ref.draft.dims, ref.entries, strict=True))
    if isinstance(ref.draft.op, Param) and ref.draft.hint == name:
        return ref.draft.op.template, at
    return name, ()


def _place(ref: val.Ref, name: str, dims: tuple[str, ...]) -> EffectPlace:
    """The point shown: that of the read for a tensor shown by its own name, else the effect's."""
    if ref.draft.hint != name:
        return tuple((d, ix.Sym(d)) for d in dims)
    return tuple(zip(ref.draft.dims, ref.entries, strict=True))


def _places(
    round: Round, frame: Frame, read: ast.Expression, dims: tuple[str, ...], count: int
) -> tuple[EffectPlace, ...]:
    """The points at which the leaves of ``read`` are read; none if it has not ``count`` leaves."""
    base, value = base_name(read), round.evaluate(frame, read)
    refs = [(leaf, ".".join((base, *path))) for path, leaf in val.leaves(value)]
    places = tuple(_place(r, n, dims) for r, n in refs if isinstance(r, val.Ref))
    return places if len(places) == count else ()


def _tensor_part(round: Round, frame: Frame, e: ast.Expression) -> ast.Expression:
    """The prefix of an expression that reads a tensor; the rest selects a part of its value."""
    chain = [e]
    while isinstance(chain[-1], ast.Access | ast.Field):
        chain.append(chain[-1].base)
    inner = [*reversed(chain)]
    varies = any(
        isinstance(leaf, val.Ref) and leaf.draft.dims
        for _, leaf in val.leaves(round.evaluate(frame, inner[0]))
    )
    last = inner.pop(0)
    if varies and inner and isinstance(inner[0], ast.Access):
        last = inner.pop(0)
    while inner and isinstance(inner[0], ast.Field):
        last = inner.pop(0)
    return last


def _check_path(round: Round, path: ast.String, domain: Domain) -> None:
    """Raises `Failure` for a path outside of the directory, or common to several points."""
    text = path.value
    pure = PurePosixPath(text.replace("\\", "/"))
    if pure.is_absolute() or ".." in pure.parts or ":" in text:
        raise Failure(name_errors.save_outside(path.span))
    if pure.suffix != ".safetensors" or text.endswith("/"):
        raise Failure(name_errors.save_suffix(path.span))
    named = _HOLE.findall(text)
    if "{" in _HOLE.sub("", text) or "}" in _HOLE.sub("", text):
        raise Failure(name_errors.save_braces(path.span))
    for name in named:
        if name not in domain.dims:
            raise Failure(name_errors.save_dim(path.span, name, domain.dims))
    for dim in domain.dims:
        if dim not in named and not _is_fixed(round, dim, domain):
            raise Failure(name_errors.save_repeats(path.span, dim))


def _plain_path(path: ast.String) -> str:
    """A path without parts that say nothing, as the first one of ``./nets/net-{i}.safetensors``."""
    return str(PurePosixPath(path.value))


def _is_fixed(round: Round, dim: str, domain: Domain) -> bool:
    """Whether a dimension has one value at all points."""
    space = round.space
    if space.is_empty(domain):
        return True
    return space.lower_bound(ix.Sym(dim), domain) == space.upper_bound(ix.Sym(dim), domain)
