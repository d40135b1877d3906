"""`print` and `save`: nodes without results, at the points where their conditions hold."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from tempoc.frontend import ast, indices, name_errors
from tempoc.frontend.draft import Draft, Origin
from tempoc.frontend.operate import tensor, wire
from tempoc.frontend.outputs import base_name
from tempoc.frontend.problem import Problem, StillUnknown
from tempoc.frontend.round import Frame, Round
from tempoc.frontend.scope import Scope
from tempoc.frontend.values import Index, Listing, Number, Record, Ref, Unknown, describe, leaves
from tempoc.ops.effects import Effect, Place, Print, Save
from tempoc.ops.types import DType
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import TRUE, Expr, Sym
from tempoc.symbolic.walk import symbols

_HOLE = re.compile(r"\{(\w*)\}")


def effects(round: Round, top: Frame, main: ast.Module) -> None:
    """Make the nodes, in source order."""
    for item in main.items:
        if isinstance(item, ast.Print | ast.Save):
            try:
                _effect(round, top, item)
            except Problem as problem:
                round.report(problem.diagnostic)
            except StillUnknown:
                continue


def _effect(round: Round, top: Frame, item: ast.Print | ast.Save) -> None:
    word = "save" if isinstance(item, ast.Save) else "print"
    base = base_name(item.value)
    frame = Frame(
        scope=Scope("loop", parent=top.scope),
        path=(word, item.span.start),
        prefix=f"{word}.{base}",
        origin=Origin(span=item.span),
    )
    holds: Expr = TRUE
    if item.guard is not None:
        holds = indices.condition(round, frame, item.guard, f"the condition of `{word}`")
    frame = frame.within(holds)
    value = round.evaluate(frame, item.value)
    if isinstance(value, Unknown):
        return
    if not isinstance(value, Ref | Record | Listing | Number | Index):
        raise Problem(name_errors.output_value(item.value.span, describe(value)))
    names: list[str] = []
    refs: list[Ref] = []
    for path, leaf in leaves(value):
        if isinstance(leaf, Unknown):
            return
        names.append(".".join((base, *path)))
        refs.append(tensor(round, frame, leaf, item.value.span))
        if refs[-1].type.dtype is DType.KEY:
            raise Problem(name_errors.effect_key(item.value.span, word))
    found = [n for r in refs for e in r.entries for n in symbols(e)]
    dims = round.universe.ordered((*found, *symbols(holds)))
    op: Effect
    if isinstance(item, ast.Save):
        _check_path(round, item.path, Domain(dims, holds))
        op = Save(names=tuple(names), path=item.path.value)
    else:
        here: Place = tuple((d, Sym(d)) for d in dims)
        places = (_place(r, n) for r, n in zip(refs, names, strict=True))
        op = Print(names=tuple(names), places=tuple(here if p is None else p for p in places))
    draft = Draft(
        hint=f"{word}.{base}",
        dims=dims,
        types=(),
        origin=frame.origin,
        op=op,
        role="root",
        defined=holds,
        spans=(item.span,),
        turn=(item.span.end,),
    )
    draft.inputs = [wire(r) for r in refs]
    round.add(draft)


def _place(ref: Ref, name: str) -> Place | None:
    """Where a tensor is read that goes by its own name."""
    if ref.draft.hint != name:
        return None
    return tuple(zip(ref.draft.dims, ref.entries, strict=True))


def _check_path(round: Round, path: ast.String, domain: Domain) -> None:
    """Raises `Problem` for a path that leaves the directory, or is that of several points."""
    text = path.value
    pure = PurePosixPath(text.replace("\\", "/"))
    if pure.is_absolute() or ".." in pure.parts or ":" in text:
        raise Problem(name_errors.save_outside(path.span))
    if pure.suffix != ".safetensors":
        raise Problem(name_errors.save_suffix(path.span))
    named = _HOLE.findall(text)
    for name in named:
        if name not in domain.dims:
            raise Problem(name_errors.save_dim(path.span, name, domain.dims))
    for dim in domain.dims:
        if dim not in named and not _is_fixed(round, dim, domain):
            raise Problem(name_errors.save_repeats(path.span, dim))


def _is_fixed(round: Round, dim: str, domain: Domain) -> bool:
    """Whether a dimension has one value at all points."""
    space = round.space
    if space.is_empty(domain):
        return True
    return space.lower_bound(Sym(dim), domain) == space.upper_bound(Sym(dim), domain)
