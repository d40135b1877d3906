"""Tensors of which ranges are read: who wants how much of the past, and what is kept for that.

What is wanted stands in the graph as the program says it; what is kept is the memory plan's. A
tensor that is kept in parts (``k.then``, ``k.else``) has a line for each, with what is read of it.
"""

from collections.abc import Iterator
from dataclasses import replace

from tempoc.driver.compilation import Compilation
from tempoc.memory.estimates import is_small
from tempoc.memory.plan_types import MemoryPlan
from tempoc.memory.text import element_bytes, kind, slot_counts
from tempoc.poly.relations.space import Space
from tempoc.program.nodes.buffers import Buffer
from tempoc.runtime.report.table import table
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.amounts import bytes_text
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import children, symbols

HEAD = ("read by ranges", "of", "pattern", "kept in", "slots", "size per point", "given back")
RangeOf = tuple[str, str]
"""A tensor, and a dimension along which ranges of it are read."""
RangePatterns = dict[RangeOf, dict[str, None]]


def caches_text(compilation: Compilation) -> str:
    """A table, tensors with the same other dimensions together; empty if there are none."""
    graph, plan = compilation.graph, compilation.plan
    reads_of = _patterns(graph, compilation.space)
    if any(tensor not in plan.stores for tensor, _ in reads_of):
        graph = compilation.optimized
        parts = _patterns(graph, compilation.space_of(graph))
        reads_of = dict(part for at in reads_of for part in _stored(at, reads_of, parts, plan))
        graph = replace(graph, nodes={**compilation.graph.nodes, **graph.nodes})
    rows = []
    for (tensor, dim), patterns in reads_of.items():
        store = plan.stores.get(tensor)
        pattern = " plus ".join(patterns)
        outer = tuple(d for d in graph.nodes[tensor].domain.dims if d != dim)
        name = tensor + (f" for each {', '.join(outer)}" if outer else "")
        buffer = ["-"] * 4 if store is None else _buffer(store, dim, plan)
        rows.append((outer, (name, dim, pattern, *buffer)))
    rows.sort(key=lambda row: row[0])
    return table(HEAD, [row for _, row in rows]) if rows else ""


def _patterns(graph: Graph, space: Space) -> RangePatterns:
    """The patterns in which ranges of each tensor are read along each dimension."""
    patterns: RangePatterns = {}
    for tensor, dim, pattern in ranges(graph, space):
        patterns.setdefault((tensor, dim), {})[pattern] = None
    return patterns


def _stored(
    at: RangeOf, reads_of: RangePatterns, parts: RangePatterns, plan: MemoryPlan
) -> Iterator[tuple[RangeOf, dict[str, None]]]:
    """How a tensor is read, or how the parts are that are stored in its place."""
    own = [p for p in parts if p[0] in plan.stores and p[0].rpartition(".")[0] == at[0]]
    own = [p for p in own if p[1] == at[1] and at[0] not in plan.stores]
    yield from ((p, parts[p]) for p in own) if own else [(at, reads_of[at])]


def ranges(graph: Graph, space: Space) -> Iterator[tuple[str, str, str]]:
    """Computed tensors, dimensions, and a pattern for each read of a range."""
    for node in graph.nodes.values():
        for edge in node.inputs:
            source = graph.nodes[edge.source]
            if not is_computed(source):
                continue
            for dim, entry in zip(source.domain.dims, edge.entries, strict=True):
                if isinstance(entry, ix.Slice):
                    where = space.intersect(node.domain, Domain(node.domain.dims, edge.guard))
                    yield source.name, dim, pattern(entry, dim, where, space)


def pattern(entry: ix.Slice, dim: str, where: Domain, space: Space) -> str:
    """``causal``, ``window of W``, ``chunk of C``, ``first S``, ``from here on`` or ``whole``."""
    bound = ix.Sym(space.universe.dim(dim).bound)
    moves = [any(space.universe.is_dim(n) for n in symbols(e)) for e in (entry.lo, entry.hi)]
    if not any(moves):
        if entry.lo == ix.ZERO and entry.hi == bound:
            return "whole"
        return f"first {show(entry.hi)}" if entry.lo == ix.ZERO else f"{show(entry)}"
    most = space.upper_bound(ix.sub(entry.hi, entry.lo), where)
    short = not any(space.universe.is_dim(n) for n in symbols(most))
    if short and _is_cut(entry.lo):
        return f"chunk of {show(most)}"
    last = space.upper_bound(entry.hi, where)
    if entry.lo == ix.ZERO and _is_few(last, bound.name, space):
        return f"first {show(last)}"
    if short and is_small(most, bound.name, space.universe):
        return f"window of {show(most)}"
    if entry.lo == ix.ZERO:
        return "causal"
    return "from here on" if entry.hi == bound else show(entry)


def _is_few(e: ix.Expr, bound: str, space: Space) -> bool:
    """Whether so many points are few however many there are."""
    known = not any(space.universe.is_dim(n) for n in symbols(e))
    return known and is_small(e, bound, space.universe)


def _is_cut(e: ix.Expr) -> bool:
    """Whether a position is rounded down."""
    return isinstance(e, ix.FloorDiv | ix.Mod) or any(_is_cut(c) for c in children(e))


def _buffer(store: Buffer, dim: str, plan: MemoryPlan) -> list[str]:
    """Kind, slots, bytes for a point with all that is kept beside it, and until when."""
    sizes = dict(zip(store.dims, slot_counts(store, plan.extents), strict=True))
    grows = any(a.dim == dim and a.least for a in store.axes)
    count = ("up to " if grows else "") + show(sizes.pop(dim))
    others = (ix.Const(element_bytes(store)), *store.shape, *sizes.values())
    return [kind(store), count, bytes_text(ix.product(others)), _until(store, plan)]


def _until(store: Buffer, plan: MemoryPlan) -> str:
    """When its slots are given back."""
    frees = []
    for statement, items in plan.releases.items():
        for r in items:
            if r.tensor == store.name:
                when = "" if r.where == ix.TRUE else f" when {show(r.where)}"
                frees.append(f"after {statement}{when}")
    if kind(store) in ("ring", "register"):
        frees.insert(0, "overwritten in turn")
    return "; ".join(frees) or "at the end"
