"""Dependences with direction vectors, and whether some loop nest runs a set of statements.

A dependence has, for each dimension that both ends have a coordinate in (``coordinates``), the
possible signs of sink minus source. Statements are schedulable if every cycle of dependences can be
carried: recursively, each strongly connected component needs a dimension along which all its
dependences have the same sign (or 0), at least one of them strictly; a loop over this dimension
carries the strict ones, and the remaining ones must be schedulable inside. This is the loop
distribution test of Allen and Kennedy (Automatic translation of Fortran programs to vector form,
TOPLAS 1987), in either direction of each loop. It is sufficient, not necessary: statements that
fail are not fused, but may well have a schedule.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tempoc.base.graphs import edges_in_cycles
from tempoc.ops.control.control import Merge
from tempoc.ops.control.until import Until
from tempoc.poly.relations import distance
from tempoc.poly.relations.distance import AccessPair, Signs
from tempoc.poly.relations.run_lengths import EndDependence, depends_on_end, end_dependences
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.effect_order import effect_position, preceding_points
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import node_expressions, of_last_nodes
from tempoc.sdg.statements.build import identity, is_computed, written_where
from tempoc.symbolic import expr as ix
from tempoc.symbolic.coordinates import coordinates
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import substitute, symbols

VectorDims = Mapping[str, tuple[str, ...]]
EndVectorDims = tuple[tuple[str, ...], tuple[str, ...]]
_DirectionVector = tuple[tuple[tuple[str, Signs], ...], bool]
_DimNames = tuple[tuple[str, ...], tuple[str, ...]]

ANY: Signs = frozenset((-1, 0, 1))
STAYS: Signs = frozenset((0,))


class Dependence(NamedTuple):
    """``sink`` needs ``source``; ``signs`` of sink minus source, by common dimension in order.

    A dimension that either end has vectorized is not common. ``apart``: both ends cannot be in one
    kernel, since a point needs other points along a vectorized dimension than its own, or reads
    what its own step writes together with what earlier steps wrote, or the runner must observe the
    source's result.
    """

    sink: str
    source: str
    signs: tuple[tuple[str, Signs], ...]
    apart: bool = False

    def dependence(self, space: Space, vectors: VectorDims) -> Dependence:
        """Itself, whatever is vectorized."""
        return self

    @property
    def may_stay(self) -> bool:
        """Whether sink and source may be at the same point of all common dimensions."""
        return all(0 in s for _, s in self.signs)

    @property
    def stays(self) -> bool:
        """Whether sink and source are always at the same point of all common dimensions."""
        return all(s == STAYS for _, s in self.signs)

    def meets(self, space: Space, dim: str) -> bool:
        """Whether both ends may be at one point of all common dimensions but this."""
        return all(0 in s for k, s in self.signs if k != dim)

    def least_distance(self, space: Space, dim: str, direction: int) -> int | None:
        """A distance along a dimension that none falls below, from the signs alone."""
        signs = dict(self.signs).get(dim, ANY)
        return None if -direction in signs else 1 - len(signs & STAYS)

    def moving(self) -> tuple[Dependence, ...]:
        """The parts of the dependence with a nonzero sign, one for each first nonzero dimension."""
        parts = []
        outer_signs: tuple[tuple[str, Signs], ...] = ()
        for k, (dim, signs) in enumerate(self.signs):
            for sign in (-1, 1):
                if sign in signs:
                    inner_signs = self.signs[k + 1 :]
                    part = (*outer_signs, (dim, frozenset((sign,))), *inner_signs)
                    parts.append(self._replace(signs=part))
            if 0 not in signs:
                break
            outer_signs = (*outer_signs, (dim, STAYS))
        return tuple(parts)


def dependences(graph: Graph, space: Space) -> tuple[Dependence, ...]:
    """All dependences between computed nodes; merges are passed through to their branches.

    An effect depends on the effects that come before it in its queue.
    """
    return DependenceCandidates.of(graph, space).dependences(vector_dims(graph))


def vector_dims(graph: Graph) -> dict[str, tuple[str, ...]]:
    """The vectorized dimensions of each node."""
    return {name: node.vector for name, node in graph.nodes.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class DependenceCandidates:
    """The dependences among some nodes, as functions of the dimensions that nodes vectorize."""

    space: Space
    nodes: Mapping[str, Node]
    reads: Sequence[_AlignedRead | Dependence]

    @classmethod
    def of(cls, graph: Graph, space: Space) -> DependenceCandidates:
        """All computed nodes of a graph."""
        return _candidates(graph, space)

    def dependences(self, vectors: VectorDims) -> tuple[Dependence, ...]:
        """All dependences if nodes vectorize these dimensions."""
        instances = (w.dependence(self.space, vectors) for w in self.reads)
        return tuple(dict.fromkeys(need for need in instances if need is not None))

    def loops(self, vectors: VectorDims) -> dict[str, tuple[str, ...]]:
        """The dimensions of the loops around each node: those that it does not vectorize."""
        dims_of = {k: loop_dims(n.domain.dims, vectors[k]) for k, n in self.nodes.items()}
        return {k: tuple(coordinates(self.space.universe, dims)) for k, dims in dims_of.items()}

    def unschedulable(self, vectors: VectorDims, without: Container[str] = ()) -> tuple[str, ...]:
        """`unschedulable_statements` if nodes vectorize these dimensions, some nodes left out.

        Runs of `vectorize` ask this of the same recurrences.
        """
        needs = self.dependences(vectors)
        dims = {name: own for name, own in self.loops(vectors).items() if name not in without}
        key = ("unschedulable", needs, *dims.items())
        return self.space.known.once(key, lambda: unschedulable_statements([*dims], needs, dims))

    def among(self, names: Iterable[str]) -> DependenceCandidates:
        """The dependences among some of the nodes."""
        nodes = {name: self.nodes[name] for name in names}
        reads = [w for w in self.reads if w.sink in nodes and w.source in nodes]
        return replace(self, nodes=nodes, reads=reads)

    def distances(self, dim: str, direction: int) -> list[tuple[str, str, int]] | None:
        """For each dependence its sink, source and least distance along a dimension of both.

        The distance is sink minus source (for direction -1: source minus sink), at one point of the
        other dimensions; a dependence that never stays there has none. ``None`` if one has no least
        distance.
        """
        distances = []
        for read in self.reads:
            if not read.meets(self.space, dim):
                continue
            least = read.least_distance(self.space, dim, direction)
            if least is None:
                return None
            distances.append((read.sink, read.source, least))
        return distances

    def parts(self) -> list[DependenceCandidates]:
        """The strongly connected components that have dependences, in the order of these."""
        return [
            DependenceCandidates(
                space=self.space, nodes={name: self.nodes[name] for name in part}, reads=own
            )
            for part, own in edges_in_cycles(self.nodes, self.reads, lambda w: (w.sink, w.source))
        ]


@of_last_nodes
def _candidates(graph: Graph, space: Space) -> DependenceCandidates:
    nodes = {n.name: n for n in graph.nodes.values() if is_computed(n)}
    aligned = [
        _AlignedRead(
            sink.name,
            name,
            passage,
            name == edge.source and edge.entries == identity(passage.writer),
        )
        for sink in nodes.values()
        for edge in sink.inputs
        for name, passage in _passages(graph, sink, edge)
    ]
    return DependenceCandidates(
        space=space,
        nodes=nodes,
        reads=[*_effect_dependences(graph), *aligned, *_run_length_dependences(graph, space)],
    )


@dataclass(slots=True)
class _AlignedRead:
    """A read, and its dependence for each choice of vectorized dimensions (memoized).

    ``plain``: what is read at a point is what the writer computes at this very point.
    """

    sink: str
    source: str
    passage: AccessPair
    plain: bool
    known: dict[EndVectorDims, Dependence | None] = field(default_factory=dict)

    def dependence(self, space: Space, vectors: VectorDims) -> Dependence | None:
        """The dependence if nodes vectorize these dimensions; `None` if nothing is read."""
        ends = vectors[self.sink], vectors[self.source]
        if ends not in self.known:
            self.known[ends] = self._compute(space, ends)
        return self.known[ends]

    def meets(self, space: Space, dim: str) -> bool:
        """Whether both ends can be at one point of all common dimensions but this."""
        need = self.dependence(space, {self.sink: (), self.source: ()})
        return need is not None and need.meets(space, dim)

    def least_distance(self, space: Space, dim: str, direction: int) -> int | None:
        """The least distance from source to sink along a dimension, of those that ``meets``."""
        ends = self.passage.reader.dims, self.passage.writer.dims
        along = _common_coordinates(space, *ends)
        if dim not in along:
            return None
        others = [pair for name, pair in along.items() if name != dim]
        key = ("distance", self.passage, dim, direction)
        return space.known.once(
            key, lambda: distance.least(space, self.passage, along[dim], others, direction)
        )

    def _compute(self, space: Space, vectors: EndVectorDims) -> Dependence | None:
        ends = (self.passage.reader.dims, vectors[0]), (self.passage.writer.dims, vectors[1])
        result = None
        if self.plain:
            result = space.known.once(("here", ends), lambda: _same_point_signs(space, *ends))
        result = result or _signs(space, self.passage, vectors)
        if result is None:
            return None
        signs, apart = result
        return Dependence(sink=self.sink, source=self.source, signs=signs, apart=apart)


def _same_point_signs(
    space: Space, reader: _DimNames, writer: _DimNames
) -> _DirectionVector | None:
    """The signs between a point and itself; `None` if coordinates differ syntactically."""
    along = _common_coordinates(space, loop_dims(*reader), loop_dims(*writer))
    same = all(e == other for e, other in along.values())
    return (tuple((d, STAYS) for d in along), False) if same else None


def _run_length_dependences(graph: Graph, space: Space) -> Iterator[Dependence]:
    """Dependences of nodes that need a data-dependent length on the `Until` that decides it."""
    universe = graph.universe
    stops = [n for n in graph.nodes.values() if isinstance(n.op, Until)]
    targets = _merge_writes(graph, space) if stops else {}
    for node in graph.nodes.values() if stops else ():
        written = (*_expressions(graph, node), *targets.get(node.name, ()))
        mentions = tuple(e for e in written if any(n in universe.lengths for n in symbols(e)))
        if not is_computed(node) or not (node.inputs or mentions):
            continue
        for stop in stops:
            assert isinstance(stop.op, Until)
            reads = tuple(e.entries for e in node.inputs)
            task = EndDependence(
                bound=stop.op.bound, domain=node.domain, reads=reads, mentions=mentions
            )
            signs = (
                _run_length_signs(space, task, stop.domain)
                if depends_on_end(universe, task)
                else None
            )
            if signs is not None:
                yield Dependence(sink=node.name, source=stop.name, signs=signs, apart=True)


def _expressions(graph: Graph, node: Node) -> Iterator[ix.Expr]:
    """The index expressions of a node, and of the cheap ones that it may compute for itself."""
    yield from node_expressions(node)
    for edge in node.inputs:
        source = graph.nodes[edge.source]
        pairs = [*zip(source.domain.dims, edge.entries, strict=True)]
        at = {dim: entry for dim, entry in pairs if isinstance(entry, ix.Expr)}
        # What is sliced, or has another length there, is stored: its own dependences count.
        if source.op.cheap and len(at) == len(pairs):
            own = node_expressions(source)
            yield from (substitute(e, at) for e in own if not graph.universe.moves(e, at))


def _run_length_signs(
    space: Space, task: EndDependence, stop: Domain
) -> tuple[tuple[str, Signs], ...] | None:
    """The signs between a node that needs a length and its `Until`; `None` if there is no pair."""

    def compute() -> tuple[tuple[str, Signs], ...] | None:
        needs = end_dependences(space.symbolic, task, stop)
        dims = task.domain.dims, stop.dims
        signs = distance.sides(space.symbolic, needs, dims, _common_coordinates(space, *dims))
        return None if signs is None else tuple(signs.items())

    return space.known.once(("waits", task, stop), compute)


def _merge_writes(graph: Graph, space: Space) -> dict[str, list[ix.Expr]]:
    """The index expressions and conditions with which each node writes into merges."""
    writes: dict[str, list[ix.Expr]] = {}
    for node in graph.nodes.values():
        if isinstance(node.op, Merge):
            for k, edge in enumerate(node.inputs):
                source = graph.nodes[edge.source]
                where = space.simplify(written_where(node, k, graph), source.domain)
                writes.setdefault(edge.source, []).extend((*node.op.targets[k], where))
    return writes


def _effect_dependences(graph: Graph) -> Iterable[Dependence]:
    """Dependences between effects of one queue, in the order of the program."""
    effects = [(n, t) for n in graph.nodes.values() if (t := effect_position(n)) is not None]
    for sink, mine in effects:
        for source, other in effects:
            if mine.queue != other.queue:
                continue
            dims, first = sink.domain.dims, other.number < mine.number
            for shared, less in preceding_points(dims, source.domain.dims, first, graph.universe):
                signs = dict.fromkeys(shared, STAYS)
                if less:
                    signs[shared[-1]] = frozenset((1,))
                listed = tuple((d, signs.get(d, ANY)) for d in dims if d in source.domain.dims)
                yield Dependence(sink=sink.name, source=source.name, signs=listed)


def _passages(graph: Graph, sink: Node, edge: Edge) -> Iterable[tuple[str, AccessPair]]:
    """The nodes that compute what an edge reads, each with the accesses from it to the sink."""
    source = graph.nodes[edge.source]
    if is_computed(source):
        yield source.name, _passage(sink, edge, source.domain, source)
    for k, branch in enumerate(source.inputs):
        writer = graph.nodes[branch.source]
        if isinstance(source.op, Merge):
            where = ix.conjunction(source.domain.where, branch.guard)
            tensor = Domain(source.domain.dims, where)
            yield writer.name, _passage(sink, edge, tensor, writer, source.op.targets[k])
        elif not is_computed(source):
            yield writer.name, _passage(sink, edge, source.domain, writer)


def _passage(
    sink: Node,
    edge: Edge,
    tensor: Domain,
    writer: Node,
    written: tuple[ix.Expr, ...] | None = None,
) -> AccessPair:
    return AccessPair(
        reader=sink.domain,
        read=edge.entries,
        tensor=tensor,
        writer=writer.domain,
        written=identity(writer.domain) if written is None else written,
    )


def _signs(space: Space, passage: AccessPair, vectors: EndVectorDims) -> _DirectionVector | None:
    """The signs along all common dimensions, and whether `apart`; `None` if there is no pair.

    `vectors` are the dimensions that reader and writer vectorize.
    """
    key = ("signs", passage, vectors)
    return space.known.once(key, lambda: _find_signs(space, passage, vectors))


def _find_signs(
    space: Space, passage: AccessPair, vectors: EndVectorDims
) -> _DirectionVector | None:
    ends = passage.reader.dims, passage.writer.dims
    reader, writer = (loop_dims(dims, vector) for dims, vector in zip(ends, vectors, strict=True))
    along = _common_coordinates(space, reader, writer)
    at_once = [d for d in ends[0] if d in ends[1] and any(d in v for v in vectors)]
    same = all(e == other for e, other in along.values())
    if same and passage.read == identity(passage.tensor) == passage.written:
        return None if _never_meet(space, passage) else (tuple((d, STAYS) for d in along), False)
    signs_by_dim = distance.signs(
        space, passage, along | {d: (ix.Sym(d), ix.Sym(d)) for d in at_once}
    )
    if signs_by_dim is None:
        return None
    signs = tuple((d, signs_by_dim[d]) for d in along)
    apart = any(signs_by_dim[d] != STAYS for d in at_once) or (
        bool(at_once) and _reads_own_and_other_steps(signs)
    )
    return signs, apart or _is_indexed_differently(passage, at_once)


def _is_indexed_differently(passage: AccessPair, at_once: Sequence[str]) -> bool:
    """Whether an index along a vectorized dimension is written and read as different expressions.

    Both may be equal, as ``x[0]`` where ``t == 0`` is ``x[t]``: a kernel does not see that.
    """
    pairs = zip(passage.read, passage.written, strict=True)
    return any(a != b and any(d in (*symbols(a), *symbols(b)) for d in at_once) for a, b in pairs)


def _reads_own_and_other_steps(signs: tuple[tuple[str, Signs], ...]) -> bool:
    """Whether a reader sees what its own step writes together with what other steps wrote."""
    return all(0 in s for _, s in signs) and any(s != STAYS for _, s in signs)


def _never_meet(space: Space, passage: AccessPair) -> bool:
    """Whether reader and writer, each at the points of the tensor, have no point in common."""
    ends = passage.reader, passage.tensor, passage.writer
    where = ix.conjunction(*(end.where for end in ends))
    dims = space.universe.sorted(tuple(d for end in ends for d in end.dims))
    return any(end.where != where for end in ends) and space.is_empty(Domain(dims, where))


def loop_dims(dims: tuple[str, ...], vector: tuple[str, ...]) -> tuple[str, ...]:
    """The dimensions of ``dims`` that are loops, if those of ``vector`` are vectorized."""
    return tuple(d for d in dims if d not in vector)


def _common_coordinates(
    space: Space, reader: tuple[str, ...], writer: tuple[str, ...]
) -> dict[str, tuple[ix.Expr, ix.Expr]]:
    """The dimensions in which both ends have a coordinate, with both coordinates."""

    def compute() -> dict[str, tuple[ix.Expr, ix.Expr]]:
        sink, source = (coordinates(space.universe, dims) for dims in (reader, writer))
        return {d: (e, source[d]) for d, e in sink.items() if d in source}

    return space.known.once(("along", reader, writer), compute)


# ---------------------------------------------------------------- the test


def is_carried(
    cycle: tuple[str, ...],
    needs: Sequence[Dependence],
    dims: Mapping[str, tuple[str, ...]],
    carried: tuple[str, ...] = (),
) -> bool:
    """Whether some loop nest runs statements that are one cycle, inside the loops ``carried``."""
    return not needs or not _unschedulable_in_component(cycle, needs, dims, carried)


@of_last_nodes
def stuck_cycles(graph: Graph, space: Space) -> tuple[tuple[str, ...], ...]:
    """Sets of computed nodes, each of a dependence cycle that no loop as it is carries."""
    vectors = vector_dims(graph)
    parts = DependenceCandidates.of(graph, space).parts()
    cycles = (part.unschedulable(vectors) for part in parts)
    return tuple(names for names in cycles if names)


def is_stuck(graph: Graph, space: Space, names: Iterable[str]) -> bool:
    """Whether some of these computed nodes depend on each other in a cycle that no loop carries."""
    part = DependenceCandidates.of(graph, space).among(names)
    return bool(part.unschedulable(vector_dims(graph)))


def unschedulable_nodes(graph: Graph, space: Space) -> tuple[str, ...]:
    """Computed nodes of a dependence cycle that no loop carries; empty if there is none."""
    return DependenceCandidates.of(graph, space).unschedulable(vector_dims(graph))


def unschedulable_statements(
    names: Sequence[str],
    needs: Iterable[Dependence],
    dims: Mapping[str, tuple[str, ...]],
    carried: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """Statements of a cycle that no loop carries, the smallest that is left; empty if none."""
    stuck_parts = (
        _unschedulable_in_component(part, cycle, dims, carried)
        for part, cycle in edges_in_cycles(names, [*needs], lambda d: (d.sink, d.source))
    )
    return next((names for names in stuck_parts if names), ())


def _unschedulable_in_component(
    part: tuple[str, ...],
    cycle: Sequence[Dependence],
    dims: Mapping[str, tuple[str, ...]],
    carried: tuple[str, ...],
) -> tuple[str, ...]:
    """The statements of a strongly connected component that have no loop nest.

    Empty if a loop carries the component and its remaining cycles. Otherwise the fewest that
    remain over all loops that can be outermost.
    """
    least = part
    shared = [d for d in dims[part[0]] if d not in carried and all(d in dims[n] for n in part)]
    by_dim = [dict(d.signs) for d in cycle] if shared else []
    for dim in shared:
        signs = [along.get(dim, ANY) for along in by_dim]
        for forward in (1, -1):
            strict = [s == {forward} for s in signs]
            if any(strict) and all(-forward not in s for s in signs):
                remaining = [
                    d for d, is_carried in zip(cycle, strict, strict=True) if not is_carried
                ]
                inner = unschedulable_statements(part, remaining, dims, (*carried, dim))
                if not inner:
                    return ()
                least = min(least, inner, key=len)
    return least
