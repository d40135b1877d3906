"""Which tensors are kept whole along a dimension, because of when their readers run.

Walking along a dimension takes several rounds where something needs the end of a round before: of

    r[t] by a loop, g = sum(r[t:T]), loss = mean(g[0:T])

``r`` is of round 0, ``g`` of round 1 and ``loss`` of round 2. So is what walks the other way: after
a loop forwards comes one backwards. What a later round reads again is kept whole; what only its own
round reads, at its own point or a few points away, need not be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tempoc.ops.control.control import Merge
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.tensor.source import Input, Param
from tempoc.passes.analysis.summands import is_small_sum
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import components
from tempoc.sdg.statements.build import identity, is_computed
from tempoc.symbolic.expr import ZERO, Const, Entry, Expr, Slice, Sym, interval, sub
from tempoc.symbolic.walk import extent, substitute


def kept_whole(graph: Graph, dim: str, *, ranges: bool = True) -> set[str]:
    """The nodes, merges among them, whose values are kept at all points of a dimension.

    Besides what is given, these are tensors of which later rounds read, and those of which somebody
    reads slices of no fixed length, except to add them up, which a loop can do on the way. Without
    ``ranges`` such slices do not count.
    """
    found = {n.name for n in graph.nodes.values() if isinstance(n.op, Input | Param)}
    found |= {o.source for o in graph.outputs if _is_long(_along(graph, o.source, o.entries, dim))}
    known = {
        n.name: [[*_ways(graph, n, e, dim)] for e in n.inputs]
        for n in graph.nodes.values()
        if is_computed(n)
    }
    rounds = _rounds({name: [w for each in ways for w in each] for name, ways in known.items()})
    for node in graph.nodes.values():
        if is_computed(node):
            ways = known[node.name]
            here = rounds[node.name].number
            adds = dim not in node.domain.dims and is_small_sum(graph, node)
            if adds:  # in the loop that makes the last of what is added
                here = max((rounds[w.writer].number for each in ways for w in each), default=0)
            for edge, writers in zip(node.inputs, ways, strict=True):
                entry = _along(graph, edge.source, edge.entries, dim)
                later = any(here > rounds[w.writer].number for w in writers)
                if entry is not None and (later or (ranges and _is_long(entry) and not adds)):
                    found.add(edge.source)
    return found


class _Round(NamedTuple):
    """When something runs, counted from 0, and which way: forwards, backwards or as one likes."""

    number: int = 0
    way: int = 0


@dataclass(frozen=True, slots=True)
class _ReadPath:
    """How a node gets what another one computes: from which point, and how far away.

    ``ends``: not until that has been at its last point. ``step``: how much further along it is,
    where that is a number.
    """

    writer: str
    ends: bool
    step: int = 0


def _along(graph: Graph, source: str, entries: tuple[Entry, ...], dim: str) -> Entry | None:
    """The entry of an access for one dimension."""
    dims = graph.nodes[source].domain.dims
    return entries[dims.index(dim)] if dim in dims else None


def _is_long(entry: Entry | None) -> bool:
    """Whether a slice has no fixed limit."""
    return isinstance(entry, Slice) and interval(extent(entry))[1] is None


# ---------------------------------------------------------------- rounds


def _rounds(ways: Mapping[str, Sequence[_ReadPath]]) -> Mapping[str, _Round]:
    """In which round each computed node runs, at one point of all other dimensions."""
    found: dict[str, _Round] = {}
    for part in components(list(ways), lambda n: [w.writer for w in ways[n]]):
        members = {*part}
        inside = [w.step for n in part for w in ways[n] if w.writer in members]
        own = {1 if s < 0 else -1 for s in inside if s}
        given = [w for n in part for w in ways[n] if w.writer not in members]
        here = _after(given, found, own.pop() if len(own) == 1 else 0)
        found |= dict.fromkeys(part, here)
    return found


def _after(given: Sequence[_ReadPath], found: Mapping[str, _Round], way: int) -> _Round:
    """The first round in which all is there that is needed; it goes that way, if any."""
    rounds = [_Round(found[w.writer].number + 1) if w.ends else found[w.writer] for w in given]
    last = max((r.number for r in rounds), default=0)
    found_ways = {r.way for r in rounds if r.number == last and r.way}
    if way:
        return _Round(last + bool(found_ways - {way}), way)
    if len(found_ways) > 1:
        return _Round(last + 1)
    return _Round(last, found_ways.pop() if found_ways else 0)


def _ways(graph: Graph, node: Node, edge: Edge, dim: str) -> Iterator[_ReadPath]:
    """What computes an operand, through merges, at the node's point of all other dimensions."""
    source = graph.nodes[edge.source]
    entry = _along(graph, edge.source, edge.entries, dim)
    if not _stays(source, edge.entries, dim):
        return
    if (row := _row(graph, node, source, dim)) is not None:
        yield _ReadPath(source.name, ends=_is_far(row, dim))
    elif is_computed(source):
        yield _way(source, entry, Sym(dim), dim)
    elif isinstance(source.op, Merge):
        for target, branch in zip(source.op.targets, source.inputs, strict=True):
            if _stays(source, target, dim):
                written = _along(graph, edge.source, target, dim)
                yield _way(graph.nodes[branch.source], entry, written, dim)


def _row(graph: Graph, node: Node, source: Node, dim: str) -> Expr | None:
    """Which row a node takes of an array with one for each point of a dimension (of a scan)."""
    array = is_computed(source) and dim not in source.domain.dims
    if not array or not isinstance(node.op, SpatialIndex):
        return None
    first, shape = node.op.entries[:1], source.types[0].shape[:1]
    row = first[0] if first and isinstance(first[0], Expr) else None
    return row if shape == (Sym(graph.universe.dim(dim).bound),) else None


def _stays(source: Node, entries: tuple[Entry, ...], dim: str) -> bool:
    """Whether an access is at its own point of all dimensions but one."""
    pairs = zip(identity(source.domain), entries, strict=True)
    return all(own == e or own == Sym(dim) or isinstance(e, Slice) for own, e in pairs)


def _way(writer: Node, read: Entry | None, written: Entry | None, dim: str) -> _ReadPath:
    """The way from a writer to a read of what it writes."""
    if dim not in writer.domain.dims or read is None:
        return _ReadPath(writer.name, ends=False)
    if isinstance(read, Slice):
        return _ReadPath(writer.name, ends=_is_long(read) and _is_far(read.hi, dim))
    if read == written:
        return _ReadPath(writer.name, ends=False)
    if isinstance(written, Expr):
        step = sub(read, written)
        if isinstance(step, Const):
            return _ReadPath(writer.name, ends=False, step=step.value)
    return _ReadPath(writer.name, ends=_is_far(read, dim))


def _is_far(place: Expr, dim: str) -> bool:
    """Whether a place has no fixed limit even for a reader at the beginning of the dimension."""
    return interval(substitute(place, {dim: ZERO}))[1] is None
