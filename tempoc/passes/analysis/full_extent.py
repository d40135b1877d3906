"""Which tensors must be stored at full extent along a dimension, because of when consumers run.

A *round* is one loop over a dimension. A node that needs the last point of another node's loop runs
in a later round: in

    r[t] by a loop, g = sum(r[t:T]), loss = mean(g[0:T])

``r`` runs in round 0, ``g`` in round 1 and ``loss`` in round 2. A loop in the opposite direction is
a later round, too. What a later round reads is stored at all points; a tensor consumed only in
its own round, at a constant distance, can live in a ring buffer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from tempoc.base.cost_model import MODEL
from tempoc.base.graphs import strongly_connected_components
from tempoc.ops.control.control import Merge
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.tensor.source import Input, Param
from tempoc.passes.analysis.expansion import expanding_nodes
from tempoc.passes.analysis.summands import is_small_sum
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import of_last_nodes
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import conjuncts, own_point
from tempoc.symbolic.interned import MEMORY
from tempoc.symbolic.walk import extent, substitute, symbols


def full_extent_nodes(
    graph: Graph,
    dim: str,
    *,
    ranges: bool = True,
    late: Collection[str] = (),
    also: Collection[str] = (),
    carried: int = MODEL.carried_elements,
) -> set[str]:
    """The nodes, merges included, whose values are stored at all points of a dimension.

    These are inputs and params, tensors with a consumer in a later round, and tensors read by
    slices of unlimited length. One point that all points of a consumer read does not count, nor
    does a slice that is only summed, since a loop can accumulate the sum; with ``ranges=False`` no
    slice counts. A sum to at most ``carried`` elements is accumulated. Nodes in ``late`` wait for
    the round of their first consumer where all their operands are stored anyway; nodes that make
    large tensors of small ones always do. Those in ``also`` are stored, whoever reads them.
    """
    full = {n.name for n in graph.nodes.values() if isinstance(n.op, Input | Param)}
    full |= {*also}
    full |= {
        o.source for o in graph.outputs if is_unlimited(_entry_of(graph, o.source, o.entries, dim))
    }
    first = full | _read_in_first_rounds(graph, dim, ranges, carried)
    expanding = expanding_nodes(graph, dim)
    if not late and not expanding:
        return first
    nodes = graph.nodes.values()
    stored = first.union(
        n.name for n in nodes if dim not in n.domain.dims or picks_row(graph, n, dim)
    )
    earliest = _rounds_of(graph, dim)
    waiting = _waiting_rounds(graph, earliest, {*late, *expanding}, stored, expanding)
    return full.union(_read_in_full(graph, dim, earliest.paths, waiting, ranges, carried))


def later_rounds(graph: Graph, dim: str) -> Mapping[str, int]:
    """The rounds of nodes that run later than they could: they make large tensors of small ones."""
    expanding = expanding_nodes(graph, dim)
    if not expanding:
        return {}
    earliest = _rounds_of(graph, dim)
    waiting = _waiting_rounds(graph, earliest, expanding, set(), expanding)
    rounds = earliest.rounds
    later = (n for n in earliest.paths if n in expanding and waiting[n].number > rounds[n].number)
    return {n: waiting[n].number for n in later}


def loop_rounds(graph: Graph, dim: str) -> Mapping[str, int]:
    """The number of the loop over a dimension in which each computed node runs at the earliest."""
    rounds = _rounds_of(graph, dim).rounds
    return {name: at.number for name, at in rounds.items()}


@of_last_nodes
def _rounds_of(graph: Graph, dim: str) -> _Rounds:
    """What all computed nodes read, and the rounds in which they run at the earliest."""
    nodes = [n for n in graph.nodes.values() if is_computed(n)]
    paths = {n.name: [[*_read_paths(graph, n, e, dim)] for e in n.inputs] for n in nodes}
    reads = {name: [path for each in operands for path in each] for name, operands in paths.items()}
    consumers: dict[str, list[tuple[str, _ReadPath]]] = {}
    for name, own in reads.items():
        for w in own:
            consumers.setdefault(w.writer, []).append((name, w))
    parts = strongly_connected_components(reads, lambda n: [w.writer for w in reads[n]])
    return _Rounds(paths, consumers, parts, _loop_rounds(reads, parts))


@of_last_nodes
def _read_in_first_rounds(graph: Graph, dim: str, ranges: bool, carried: int) -> frozenset[str]:
    """What is read in later rounds, or by slices of unlimited length, if all nodes run early."""
    paths, *_, rounds = _rounds_of(graph, dim)
    return frozenset(_read_in_full(graph, dim, paths, rounds, ranges, carried))


def _read_in_full(
    graph: Graph,
    dim: str,
    paths: Mapping[str, Sequence[Sequence[_ReadPath]]],
    rounds: Mapping[str, _LoopRound],
    ranges: bool,
    carried: int,
) -> Iterator[str]:
    """What is read in later rounds, or by slices of unlimited length."""
    for name, reads in paths.items():
        node, number = graph.nodes[name], rounds[name].number
        entries = [_entry_of(graph, e.source, e.entries, dim) for e in node.inputs]
        if all(entry is None for entry in entries):
            continue
        adds = dim not in node.domain.dims and is_small_sum(graph, node, carried)
        if adds:  # accumulated in the loop that computes the last summand
            number = max((rounds[w.writer].number for each in reads for w in each), default=0)
        for edge, entry, writers in zip(node.inputs, entries, reads, strict=True):
            is_one = isinstance(entry, ix.Expr) and not any(
                map(graph.universe.is_dim, symbols(entry))
            )
            earlier = (w for w in writers if number > rounds[w.writer].number and not w.alone)
            later = not is_one and any(earlier)
            if entry is not None and (later or (ranges and is_unlimited(entry) and not adds)):
                yield edge.source


class _LoopRound(NamedTuple):
    """The number of a loop, from 0, and its direction: 1 forward, -1 backward, 0 undecided."""

    number: int = 0
    direction: int = 0


class _ReadPath(NamedTuple):
    """A read of what ``writer`` computes.

    ``ends``: the read has to wait for the last point of the writer's loop. ``step``: the point that
    is read minus the point of the reader, where that is constant; else 0. ``alone``: the writer
    writes one point only of what is read. ``last``: the last point is read, by a node that is in no
    loop over the dimension.
    """

    writer: str
    ends: bool
    step: int = 0
    alone: bool = False
    last: bool = False


class _Rounds(NamedTuple):
    """The rounds in which computed nodes run at the earliest.

    ``paths``: what each operand of each node reads. ``consumers``: the nodes that read what one
    computes, and how. ``parts``: nodes that need each other, writers before consumers.
    """

    paths: Mapping[str, Sequence[Sequence[_ReadPath]]]
    consumers: Mapping[str, Sequence[tuple[str, _ReadPath]]]
    parts: Sequence[Sequence[str]]
    rounds: Mapping[str, _LoopRound]


def _entry_of(
    graph: Graph, source: str, entries: tuple[ix.Entry, ...], dim: str
) -> ix.Entry | None:
    """The entry of an access for one dimension."""
    dims = graph.nodes[source].domain.dims
    return entries[dims.index(dim)] if dim in dims else None


def is_unlimited(entry: ix.Entry | None) -> bool:
    """Whether a slice has no constant maximal length."""
    return isinstance(entry, ix.Slice) and ix.interval(extent(entry))[1] is None


# ---------------------------------------------------------------- rounds


def _loop_rounds(
    paths: Mapping[str, Sequence[_ReadPath]], parts: Sequence[Sequence[str]]
) -> Mapping[str, _LoopRound]:
    """The round of each computed node, at one point of all other dimensions."""
    rounds: dict[str, _LoopRound] = {}
    for part in parts:
        members = {*part}
        inside = [w.step for n in part for w in paths[n] if w.writer in members]
        own = {1 if s < 0 else -1 for s in inside if s}
        outside = [w for n in part for w in paths[n] if w.writer not in members]
        earliest = _earliest_round(outside, rounds, own.pop() if len(own) == 1 else 0)
        rounds |= dict.fromkeys(part, earliest)
    return rounds


def _waiting_rounds(
    graph: Graph,
    earliest: _Rounds,
    late: Collection[str],
    full: Collection[str],
    expanding: frozenset[str],
) -> Mapping[str, _LoopRound]:
    """The rounds with nodes in ``late`` as late as their consumers allow.

    A node stays in its first round if an operand that is not stored at full extent does, unless it
    is in ``expanding``: then its operands are small.
    """
    consumers = earliest.consumers
    order = [part[0] for part in earliest.parts if len(part) == 1]
    alone = {n for n in order if all(c != n for c, _ in consumers.get(n, ()))}
    delayed = alone.intersection(late)
    while True:
        waiting = dict(earliest.rounds)
        for name in reversed(order):
            if name in delayed and name in consumers:
                waiting[name] = _latest_round([(waiting[c], w) for c, w in consumers[name]])
        early = {
            name
            for name in delayed - expanding
            for edge in graph.nodes[name].inputs
            if edge.source not in full
            and not graph.nodes[edge.source].op.cheap
            and waiting.get(edge.source, _LoopRound()).number < waiting[name].number
        }
        if not early:
            return waiting
        delayed -= early


def _latest_round(consumers: Sequence[tuple[_LoopRound, _ReadPath]]) -> _LoopRound:
    """The last round in which a node is computed in time for its consumers, each with its round.

    The last point, of which another loop starts, need not be there before a loop that runs
    backward: that loop computes it first.
    """
    numbers = [at.number - w.ends for at, w in consumers if not w.last]
    number = min(numbers, default=-1)
    inside = (at for at, w in consumers if at.number == number and not w.ends)
    directions = {at.direction for at in inside if at.direction}
    direction = directions.pop() if len(directions) == 1 else 0
    latest = min(at.number - (w.ends and not (w.last and direction < 0)) for at, w in consumers)
    return _LoopRound(latest, direction if latest == number else 0)


def _earliest_round(
    reads: Sequence[_ReadPath], rounds: Mapping[str, _LoopRound], direction: int
) -> _LoopRound:
    """The first round in which all operands are available; ``direction`` 0 means any."""
    ready = [_LoopRound(rounds[w.writer].number + 1) if w.ends else rounds[w.writer] for w in reads]
    last = max((r.number for r in ready), default=0)
    directions = {r.direction for r in ready if r.number == last and r.direction}
    if direction:
        return _LoopRound(last + bool(directions - {direction}), direction)
    if len(directions) > 1:
        return _LoopRound(last + 1)
    return _LoopRound(last, directions.pop() if directions else 0)


def _read_paths(graph: Graph, node: Node, edge: Edge, dim: str) -> Iterator[_ReadPath]:
    """The writers of an operand, through merges, at the node's point of all other dimensions."""
    source = graph.nodes[edge.source]
    entry = _entry_of(graph, edge.source, edge.entries, dim)
    elsewhere = _read_elsewhere(source.domain.dims, edge.entries, dim)
    if elsewhere and not _is_free(graph, source, elsewhere, node.domain.dims):
        return
    if (row := _scan_row(graph, node, source, dim)) is not None:
        yield _ReadPath(source.name, ends=_is_unlimited_from_start(row, dim))
    elif is_computed(source):
        ends, step = _wait(source, entry, ix.Sym(dim), dim)
        last = dim not in node.domain.dims and entry == ix.sub(
            ix.Sym(graph.universe.dim(dim).bound), ix.ONE
        )
        yield _ReadPath(source.name, ends, step, last=last)
    elif isinstance(source.op, Merge):
        for target, branch in zip(source.op.targets, source.inputs, strict=True):
            if not _read_elsewhere(source.domain.dims, target, dim):
                written = _entry_of(graph, edge.source, target, dim)
                ends, step = _wait(graph.nodes[branch.source], entry, written, dim)
                alone = _is_at_one_point(branch.guard, dim)
                yield _ReadPath(branch.source, ends, step, alone)


@lru_cache(MEMORY)
def _is_at_one_point(guard: ix.Expr, dim: str) -> bool:
    """Whether a condition says at which point of a dimension it holds."""
    equal = (p for p in conjuncts(guard) if isinstance(p, ix.Relation) and p.op == "==")
    sides = (side for p in equal for side in ((p.left, p.right), (p.right, p.left)))
    return any(a == ix.Sym(dim) and dim not in symbols(b) for a, b in sides)


def picks_row(graph: Graph, node: Node, dim: str) -> bool:
    """Whether each point of a node takes its row of a scan, which is stored for all points."""
    sources = (graph.nodes[name] for name in node.sources)
    return any(_scan_row(graph, node, source, dim) is not None for source in sources)


def _scan_row(graph: Graph, node: Node, source: Node, dim: str) -> ix.Expr | None:
    """The row that a node takes of a scan's result, which has a row for each point of ``dim``."""
    array = is_computed(source) and dim not in source.domain.dims
    if not array or not isinstance(node.op, SpatialIndex):
        return None
    first, shape = node.op.entries[:1], source.types[0].shape[:1]
    row = first[0] if first and isinstance(first[0], ix.Expr) else None
    return row if shape == (ix.Sym(graph.universe.dim(dim).bound),) else None


@lru_cache(MEMORY)
def _read_elsewhere(
    dims: tuple[str, ...], entries: tuple[ix.Entry, ...], dim: str
) -> tuple[tuple[str, ix.Expr], ...]:
    """The dimensions but one in which an access is at one point, but not its own, and where."""
    pairs = zip(dims, entries, own_point(dims), strict=True)
    return tuple((d, e) for d, e, own in pairs if isinstance(e, ix.Expr) and d != dim and e != own)


def _is_free(
    graph: Graph, source: Node, read: Sequence[tuple[str, ix.Expr]], dims: Sequence[str]
) -> bool:
    """Whether a reader may take these points of a node: of dimensions that have no loop.

    A reader with the dimensions ``dims`` has no own point of others: it may take any one point.
    """
    writers = [graph.nodes[n] for n in source.sources] if isinstance(source.op, Merge) else [source]
    return all(
        all(d in w.vector for w in writers)
        or (dims and d not in dims and not any(n in source.domain.dims for n in symbols(e)))
        for d, e in read
    )


def _wait(
    writer: Node, read: ix.Entry | None, written: ix.Entry | None, dim: str
) -> tuple[bool, int]:
    """How the read of an element that a writer stores at ``written`` waits: ``ends``, ``step``."""
    if dim not in writer.domain.dims or read is None:
        return False, 0
    if isinstance(read, ix.Slice):
        return is_unlimited(read) and _is_unlimited_from_start(read.hi, dim), 0
    if read == written:
        return False, 0
    if isinstance(written, ix.Expr):
        step = ix.sub(read, written)
        if isinstance(step, ix.Const):
            return False, step.value
    return _is_unlimited_from_start(read, dim), 0


@lru_cache(MEMORY)
def _is_unlimited_from_start(place: ix.Expr, dim: str) -> bool:
    """Whether an index is unlimited even for a reader at the first point of the dimension."""
    return ix.interval(substitute(place, {dim: ix.ZERO}))[1] is None
