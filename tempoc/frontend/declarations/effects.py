"""`print` and `save`: nodes without results, at the points where their conditions hold."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from tempoc.frontend.declarations.outputs import base_name
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.draft_node import Draft, DraftOrigin
from tempoc.frontend.environment.failure import Failure, StillUnknown
from tempoc.frontend.environment.round import Frame, Round
from tempoc.frontend.environment.scope import Scope
from tempoc.frontend.errors import names as name_errors
from tempoc.frontend.expressions import apply_operator as apply, index_expressions as indices
from tempoc.frontend.expressions.witness import shown_point
from tempoc.frontend.syntax import ast
from tempoc.ops.control.effects import EffectOp, EffectPlace, Print, Save
from tempoc.ops.definition.types import DType
from tempoc.ops.tensor.source import Param
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import symbols

_HOLE = re.compile(r"\{([^{}]*)\}")


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
    """Raises `Failure` if an earlier `save` writes the same file at a common point."""
    for other, other_domain in saved:
        if other.value == path.value:
            dims = round.universe.ordered((*here.dims, *other_domain.dims))
            both = Domain(dims, ix.conjunction(here.where, other_domain.where))
            point = round.space.witness(both, ix.FALSE)
            if point is not None:
                when = shown_point(round.universe, dims, (here.where, other_domain.where), point)
                raise Failure(name_errors.save_twice(path.span, path.value, when, other.span))
    saved.append((path, here))


def _effect(round: Round, top: Frame, item: ast.PrintDecl | ast.SaveDecl) -> Draft | None:
    word = "save" if isinstance(item, ast.SaveDecl) else "print"
    base = base_name(item.value)
    frame = Frame(
        scope=Scope("loop", parent=top.scope),
        path=(word, item.span.start),
        prefix=f"{word}.{base}",
        origin=DraftOrigin(span=item.span),
    )
    guard: ix.Expr = ix.TRUE
    if item.guard is not None:
        guard = indices.condition(round, frame, item.guard, f"the condition of `{word}`")
    frame = frame.within(guard)
    value = round.evaluate(frame, item.value)
    if isinstance(value, val.Unknown):
        return None
    if not isinstance(
        value, val.Ref | val.RecordValue | val.Listing | val.ConstantNumber | val.Index
    ):
        raise Failure(name_errors.output_value(item.value.span, val.describe(value)))
    names: list[str] = []
    refs: list[val.Ref] = []
    for path, leaf in val.leaves(value):
        if isinstance(leaf, val.Unknown):
            return None
        refs.append(apply.tensor(round, frame, leaf, item.value.span))
        names.append(_name(refs[-1], ".".join((base, *path))))
        if refs[-1].type.dtype is DType.KEY:
            raise Failure(name_errors.effect_key(item.value.span, word))
    entry_names = [n for r in refs for e in r.entries for n in symbols(e)]
    dims = round.universe.ordered((*entry_names, *symbols(guard)))
    op: EffectOp
    if isinstance(item, ast.SaveDecl):
        _check_path(round, item.path, Domain(dims, guard))
        stored = [_stored(r, n) for r, n in zip(refs, names, strict=True)]
        titles, places = (tuple(part) for part in zip(*stored, strict=True))
        op = Save(names=titles, places=places if any(places) else (), path=item.path.value)
    else:
        parts: tuple[str, ...] = ()
        read = _tensor_part(round, frame, item.value)
        at = tuple(_place(r, n, dims) for r, n in zip(refs, names, strict=True))
        if read is not item.value:
            at = _places(round, frame, read, dims, len(refs)) or at
            names = [base for _ in refs]
            part = item.value.span.text[len(read.span.text) :]
            parts = tuple(".".join((part, *path)) for path, _ in val.leaves(value))
        op = Print(names=tuple(names), places=at, parts=parts)
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
    if pure.suffix != ".safetensors":
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


def _is_fixed(round: Round, dim: str, domain: Domain) -> bool:
    """Whether a dimension has one value at all points."""
    space = round.space
    if space.is_empty(domain):
        return True
    return space.lower_bound(ix.Sym(dim), domain) == space.upper_bound(ix.Sym(dim), domain)
