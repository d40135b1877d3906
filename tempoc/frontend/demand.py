"""Where each node is needed: exactly at the points at which something reads it.

Named tensors have their domains from their equations. Everything in between is needed where its
readers read it, so a guard or the first match of an equation reaches all parts of its right side.
"""

from __future__ import annotations

from tempoc.frontend.draft import Draft, Wire
from tempoc.frontend.outputs import Result
from tempoc.frontend.round import Round
from tempoc.ops.control import Merge
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import FALSE, TRUE, Entry, Expr, Slice, Sym, conjunction


def place(round: Round, results: list[Result]) -> list[Draft]:
    """Set `where` of all nodes that the named tensors and the outputs need, in source order."""
    order = _readers_first(round, results)
    demand: dict[Draft, Expr] = {}
    for result in results:
        draft = result.ref.draft
        if draft.role == "temporary":
            sink = Domain(())
            demand[draft] = _image(round, sink, result.entries, draft)
    for draft in order:
        if draft.role == "temporary":
            draft.where = demand.get(draft, FALSE)
        if isinstance(draft.op, Merge):
            _drop_unused(round, draft, draft.op)
        for wire in draft.inputs:
            source = wire.source
            if source.role == "temporary":
                here = _image(round, sink_of(round, draft, wire), wire.entries, source)
                known = demand.get(source)
                demand[source] = here if known is None else _union(round, source, known, here)
    kept = dict.fromkeys(d for d in order if d.where != FALSE)
    return [d for d in round.drafts if d in kept]


def _readers_first(round: Round, results: list[Result]) -> list[Draft]:
    """The roots, then the temporaries that something needs, each after all of its readers."""
    roots = [d for d in round.drafts if d.role == "root"]
    done: dict[Draft, None] = {}
    for start in (*roots, *(r.ref.draft for r in results)):
        if start.role == "temporary":
            _visit(start, done)
            continue
        for wire in start.inputs:
            if wire.source.role == "temporary":
                _visit(wire.source, done)
    return [*roots, *reversed(done)]


def _visit(start: Draft, done: dict[Draft, None]) -> None:
    """Depth first, each temporary after its operands."""
    stack = [(start, False)]
    while stack:
        draft, ready = stack.pop()
        if draft in done:
            continue
        if ready:
            done[draft] = None
            continue
        stack.append((draft, True))
        for wire in draft.inputs:
            if wire.source.role == "temporary" and wire.source not in done:
                stack.append((wire.source, False))


def sink_of(round: Round, draft: Draft, wire: Wire) -> Domain:
    """The points at which an operand is read."""
    if wire.guard == TRUE:
        return Domain(draft.dims, draft.where)
    if draft.where == TRUE or draft.role == "root":
        return Domain(draft.dims, wire.guard)
    where = conjunction(draft.where, wire.guard)
    return Domain(draft.dims, round.space.symbolic.simplify(where, Domain(draft.dims)))


def _drop_unused(round: Round, draft: Draft, op: Merge) -> None:
    """Branches of an `if` that no point takes, because of what is around it."""
    if draft.role == "root":
        return
    used = [
        not round.space.symbolic.is_empty(sink_of(round, draft, w)) for w in draft.inputs
    ]
    if not all(used):
        targets = tuple(t for t, u in zip(op.targets, used, strict=True) if u)
        draft.op = Merge(targets=targets)
        draft.inputs = [w for w, u in zip(draft.inputs, used, strict=True) if u]


def _image(round: Round, sink: Domain, entries: tuple[Entry, ...], source: Draft) -> Expr:
    """The points of a source that are read from `sink`."""
    if sink.where == FALSE:
        return FALSE
    plain = all(e == Sym(d) for d, e in zip(source.dims, entries, strict=True))
    if plain:
        return round.space.symbolic.project(sink, source.dims).where
    if sink.where == TRUE and all(_whole(round, d, e) for d, e in _pairs(source, entries)):
        return TRUE
    there = round.space.symbolic
    points = there.access_map(sink, entries, Domain(source.dims)).range()
    return there.domain(points, source.dims).where


def _pairs(source: Draft, entries: tuple[Entry, ...]) -> list[tuple[str, Entry]]:
    return list(zip(source.dims, entries, strict=True))


def _whole(round: Round, dim: str, entry: Entry) -> bool:
    bound = Sym(round.universe.dim(dim).bound)
    return entry == Sym(dim) or entry == Slice(Sym(dim) - Sym(dim), bound)


def _union(round: Round, source: Draft, a: Expr, b: Expr) -> Expr:
    if a == b or FALSE in (a, b):
        return b if a == FALSE else a
    if TRUE in (a, b):
        return TRUE
    dims = source.dims
    return round.space.symbolic.union(Domain(dims, a), Domain(dims, b)).where
