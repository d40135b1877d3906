"""Whether statements may be merged into groups: does some loop nest still run them all.

A dependence carries, for each dimension along which both its ends stand (``coordinates``), the
possible signs of sink minus source. Statements are schedulable if every cycle of dependences can be
carried: recursively, each strongly connected part needs a dimension along which all its dependences
point the same way (or stay), at least one of them strictly; that one is carried by a loop over this
dimension, and what is left must be schedulable inside. This is the loop distribution test of Allen
and Kennedy (Automatic translation of Fortran programs to vector form, TOPLAS 1987), in either
direction of each loop. It is sufficient, not necessary: what fails here is not merged, but may well
have a schedule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tempoc.ops.control.control import Merge
from tempoc.ops.control.until import Until
from tempoc.poly.relations import distance
from tempoc.poly.relations.distance import Passage, Signs
from tempoc.poly.relations.run_lengths import Waits, may_wait, waits
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.effect_order import befores, turn
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import components, mentioned
from tempoc.sdg.statements.build import identity, is_computed, written_where
from tempoc.symbolic.coordinates import coordinates
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import Expr, Sym, conjunction
from tempoc.symbolic.walk import symbols

AtOnce = Mapping[str, tuple[str, ...]]
Vectors = tuple[tuple[str, ...], tuple[str, ...]]
_Found = tuple[tuple[tuple[str, Signs], ...], bool]
_DimNames = tuple[tuple[str, ...], tuple[str, ...]]

ANY: Signs = frozenset((-1, 0, 1))
STAYS: Signs = frozenset((0,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """``sink`` needs ``source``; ``signs`` of sink minus source, by common dimension in order.

    A dimension of which either computes all points at once is none of the common ones; ``apart``
    says that they are not in one kernel: that a point may need other points along such a dimension
    than its own, or what all points have put into a store just now among what was there before, or
    that the runner must see what the source found.
    """

    sink: str
    source: str
    signs: tuple[tuple[str, Signs], ...]
    apart: bool = False

    def dependence(self, space: Space, vectors: AtOnce) -> Dependence:
        """Itself, whatever is computed at once."""
        return self

    @property
    def may_stay(self) -> bool:
        """Whether sink and source may be at the same point of all common dimensions."""
        return all(0 in s for _, s in self.signs)

    @property
    def stays(self) -> bool:
        """Whether they always are."""
        return all(s == STAYS for _, s in self.signs)

    def moving(self) -> tuple[Dependence, ...]:
        """The parts of the dependence that move, one for each dimension that may move first."""
        parts = []
        outer_signs: tuple[tuple[str, Signs], ...] = ()
        for k, (dim, signs) in enumerate(self.signs):
            for sign in (-1, 1):
                if sign in signs:
                    inner_signs = self.signs[k + 1 :]
                    part = (*outer_signs, (dim, frozenset((sign,))), *inner_signs)
                    parts.append(replace(self, signs=part))
            if 0 not in signs:
                break
            outer_signs = (*outer_signs, (dim, STAYS))
        return tuple(parts)


def dependences(graph: Graph, space: Space) -> tuple[Dependence, ...]:
    """All dependences between computed nodes; merges are passed through to their branches.

    What takes turns depends on what has its turn before.
    """
    return Reads.of(graph, space).dependences(at_once(graph))


def at_once(graph: Graph) -> dict[str, tuple[str, ...]]:
    """The dimensions that each node computes at once."""
    return {name: node.vector for name, node in graph.nodes.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """What depends on what among some nodes, for all choices of what is computed at once."""

    space: Space
    nodes: Mapping[str, Node]
    ways: Sequence[_AlignedRead | Dependence]

    @classmethod
    def of(cls, graph: Graph, space: Space) -> Reads:
        """All computed nodes of a graph."""
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
        return cls(
            space=space, nodes=nodes, ways=[*_turns(graph), *aligned, *_waiting(graph, space)]
        )

    def dependences(self, vectors: AtOnce) -> tuple[Dependence, ...]:
        """All dependences where nodes compute these dimensions at once."""
        instances = (w.dependence(self.space, vectors) for w in self.ways)
        return tuple(dict.fromkeys(need for need in instances if need is not None))

    def loops(self, vectors: AtOnce) -> dict[str, tuple[str, ...]]:
        """The dimensions along which loops bring each node to its points."""
        loop_dims = {k: loops(n.domain.dims, vectors[k]) for k, n in self.nodes.items()}
        return {k: tuple(coordinates(self.space.universe, dims)) for k, dims in loop_dims.items()}

    def parts(self) -> list[Reads]:
        """What is in cycles, each part by itself, in the order in which it is mentioned."""
        sources: dict[str, list[str]] = {name: [] for name in self.nodes}
        for w in self.ways:
            sources[w.sink].append(w.source)
        parts = components(list(self.nodes), sources.__getitem__)
        part_of = {name: k for k, names in enumerate(parts) for name in names}
        reads: dict[int, list[_AlignedRead | Dependence]] = {}
        for w in self.ways:
            if part_of.get(w.source) == part_of[w.sink]:
                reads.setdefault(part_of[w.sink], []).append(w)
        nodes = {k: {name: self.nodes[name] for name in parts[k]} for k in reads}
        return [Reads(space=self.space, nodes=nodes[k], ways=own) for k, own in reads.items()]


@dataclass(slots=True)
class _AlignedRead:
    """A read, and what it means by the dimensions that reader and writer compute at once.

    ``plain``: what is read at a point is what the writer computes at this very point.
    """

    sink: str
    source: str
    passage: Passage
    plain: bool
    known: dict[Vectors, Dependence | None] = field(default_factory=dict)

    def dependence(self, space: Space, vectors: AtOnce) -> Dependence | None:
        """The dependence where nodes compute these at once; `None` if nothing is read."""
        ends = vectors[self.sink], vectors[self.source]
        if ends not in self.known:
            self.known[ends] = self._find(space, ends)
        return self.known[ends]

    def _find(self, space: Space, vectors: Vectors) -> Dependence | None:
        ends = (self.passage.reader.dims, vectors[0]), (self.passage.writer.dims, vectors[1])
        result = None
        if self.plain:
            result = space.known.once(("here", ends), lambda: _here(space, *ends))
        result = result or _signs(space, self.passage, vectors)
        if result is None:
            return None
        signs, apart = result
        return Dependence(sink=self.sink, source=self.source, signs=signs, apart=apart)


def _here(space: Space, reader: _DimNames, writer: _DimNames) -> _Found | None:
    """The signs between a point and itself; `None` if that is not plain to see."""
    along = _along(space, loops(*reader), loops(*writer))
    same = all(e == other for e, other in along.values())
    return (tuple((d, STAYS) for d in along), False) if same else None


def _waiting(graph: Graph, space: Space) -> Iterator[Dependence]:
    """Nodes that must know whether a run ends, with those that look."""
    universe = graph.universe
    stops = [n for n in graph.nodes.values() if isinstance(n.op, Until)]
    targets = _targets(graph, space) if stops else {}
    for node in graph.nodes.values() if stops else ():
        written = (*mentioned(node), *targets.get(node.name, ()))
        mentions = tuple(e for e in written if any(n in universe.lengths for n in symbols(e)))
        if not is_computed(node) or not (node.inputs or mentions):
            continue
        for stop in stops:
            assert isinstance(stop.op, Until)
            reads = tuple(e.entries for e in node.inputs)
            task = Waits(bound=stop.op.bound, domain=node.domain, reads=reads, mentions=mentions)
            signs = _waits(space, task, stop.domain) if may_wait(universe, task) else None
            if signs is not None:
                yield Dependence(sink=node.name, source=stop.name, signs=signs, apart=True)


def _waits(space: Space, task: Waits, stop: Domain) -> tuple[tuple[str, Signs], ...] | None:
    """The signs from what ends a bound to what waits for that; `None` if nothing does."""

    def find() -> tuple[tuple[str, Signs], ...] | None:
        needs = waits(space.symbolic, task, stop)
        dims = task.domain.dims, stop.dims
        found = distance.sides(space.symbolic, needs, dims, _along(space, *dims))
        return None if found is None else tuple(found.items())

    return space.known.once(("waits", task, stop), find)


def _targets(graph: Graph, space: Space) -> dict[str, list[Expr]]:
    """Where each node writes into merges, and under which condition, if it does not always hold."""
    writes: dict[str, list[Expr]] = {}
    for node in graph.nodes.values():
        if isinstance(node.op, Merge):
            for k, edge in enumerate(node.inputs):
                source = graph.nodes[edge.source]
                where = space.simplify(written_where(node, k, graph), source.domain)
                writes.setdefault(edge.source, []).extend((*node.op.targets[k], where))
    return writes


def _turns(graph: Graph) -> Iterable[Dependence]:
    effects = [(n, t) for n in graph.nodes.values() if (t := turn(n)) is not None]
    for sink, mine in effects:
        for source, other in effects:
            if mine.queue != other.queue:
                continue
            dims, first = sink.domain.dims, other.number < mine.number
            for shared, less in befores(dims, source.domain.dims, first, graph.universe):
                signs = dict.fromkeys(shared, STAYS)
                if less:
                    signs[shared[-1]] = frozenset((1,))
                listed = tuple((d, signs.get(d, ANY)) for d in dims if d in source.domain.dims)
                yield Dependence(sink=sink.name, source=source.name, signs=listed)


def _passages(graph: Graph, sink: Node, edge: Edge) -> Iterable[tuple[str, Passage]]:
    """The nodes that compute what an edge reads, each with the way from it to the sink."""
    source = graph.nodes[edge.source]
    if is_computed(source):
        yield source.name, _passage(sink, edge, source.domain, source)
    for k, branch in enumerate(source.inputs):
        writer = graph.nodes[branch.source]
        if isinstance(source.op, Merge):
            where = conjunction(source.domain.where, branch.guard)
            tensor = Domain(source.domain.dims, where)
            yield writer.name, _passage(sink, edge, tensor, writer, source.op.targets[k])
        elif not is_computed(source):
            yield writer.name, _passage(sink, edge, source.domain, writer)


def _passage(
    sink: Node,
    edge: Edge,
    tensor: Domain,
    writer: Node,
    written: tuple[Expr, ...] | None = None,
) -> Passage:
    return Passage(
        reader=sink.domain,
        read=edge.entries,
        tensor=tensor,
        writer=writer.domain,
        written=identity(writer.domain) if written is None else written,
    )


def _signs(space: Space, passage: Passage, vectors: Vectors) -> _Found | None:
    """The signs along all dimensions along which both ends stand somewhere, and whether `apart`.

    `vectors` are the dimensions that reader and writer compute at once. None: no pair.
    """
    key = ("signs", passage, vectors)
    return space.known.once(key, lambda: _find_signs(space, passage, vectors))


def _find_signs(space: Space, passage: Passage, vectors: Vectors) -> _Found | None:
    ends = passage.reader.dims, passage.writer.dims
    reader, writer = (loops(dims, vector) for dims, vector in zip(ends, vectors, strict=True))
    along = _along(space, reader, writer)
    at_once = [d for d in ends[0] if d in ends[1] and any(d in v for v in vectors)]
    same = all(e == other for e, other in along.values())
    if same and passage.read == identity(passage.tensor) == passage.written:
        return None if _is_apart(space, passage) else (tuple((d, STAYS) for d in along), False)
    signs_by_dim = distance.signs(space, passage, along | {d: (Sym(d), Sym(d)) for d in at_once})
    if signs_by_dim is None:
        return None
    signs = tuple((d, signs_by_dim[d]) for d in along)
    apart = any(signs_by_dim[d] != STAYS for d in at_once) or (bool(at_once) and _is_around(signs))
    return signs, apart or _is_respelled(passage, at_once)


def _is_respelled(passage: Passage, at_once: Sequence[str]) -> bool:
    """Whether an index along such a dimension is written in one way and read in another.

    Both may be the same, as ``x[0]`` where ``t == 0`` is ``x[t]``: a kernel does not see that.
    """
    pairs = zip(passage.read, passage.written, strict=True)
    return any(a != b and any(d in (*symbols(a), *symbols(b)) for d in at_once) for a, b in pairs)


def _is_around(signs: tuple[tuple[str, Signs], ...]) -> bool:
    """Whether a reader sees what its own step writes among what other steps have written."""
    return all(0 in s for _, s in signs) and any(s != STAYS for _, s in signs)


def _is_apart(space: Space, passage: Passage) -> bool:
    """Whether reader and writer, each at the points of the tensor, have no point in common."""
    ends = passage.reader, passage.tensor, passage.writer
    where = conjunction(*(end.where for end in ends))
    dims = space.universe.sorted(tuple(d for end in ends for d in end.dims))
    return any(end.where != where for end in ends) and space.is_empty(Domain(dims, where))


def loops(dims: tuple[str, ...], vector: tuple[str, ...]) -> tuple[str, ...]:
    """The dimensions over which something loops that computes those of ``vector`` at once."""
    return tuple(d for d in dims if d not in vector)


def _along(
    space: Space, reader: tuple[str, ...], writer: tuple[str, ...]
) -> dict[str, tuple[Expr, Expr]]:
    """The dimensions along which both ends stand somewhere, with their coordinates."""

    def found() -> dict[str, tuple[Expr, Expr]]:
        here, there = (coordinates(space.universe, dims) for dims in (reader, writer))
        return {d: (e, there[d]) for d, e in here.items() if d in there}

    return space.known.once(("along", reader, writer), found)


# ---------------------------------------------------------------- the test


def is_schedulable(
    names: Sequence[str],
    needs: Iterable[Dependence],
    dims: Mapping[str, tuple[str, ...]],
    carried: tuple[str, ...] = (),
) -> bool:
    """Whether statements of these dimensions have a loop nest, inside loops ``carried`` already."""
    return not stuck(names, needs, dims, carried)


def held_up(graph: Graph, space: Space) -> tuple[str, ...]:
    """Computed nodes in a cycle that no loop carries; empty if there is none."""
    reads, vectors = Reads.of(graph, space), at_once(graph)
    return stuck(list(reads.nodes), reads.dependences(vectors), reads.loops(vectors))


def stuck(
    names: Sequence[str],
    needs: Iterable[Dependence],
    dims: Mapping[str, tuple[str, ...]],
    carried: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """Statements in a cycle that no loop carries, the innermost such cycle found; empty if none."""
    members = {*names}
    inside = [d for d in needs if d.sink in members and d.source in members]
    sources: dict[str, dict[str, None]] = {name: {} for name in names}
    for d in inside:
        sources[d.sink][d.source] = None
    parts = components(names, sources.__getitem__)
    part_of = {name: k for k, part in enumerate(parts) for name in part}
    cycles: dict[int, list[Dependence]] = {}
    for d in inside:
        if part_of[d.sink] == part_of[d.source]:
            cycles.setdefault(part_of[d.sink], []).append(d)
    stuck_parts = (_stuck_part(parts[k], cycle, dims, carried) for k, cycle in cycles.items())
    return next((names for names in stuck_parts if names), ())


def _stuck_part(
    part: tuple[str, ...],
    cycle: Sequence[Dependence],
    dims: Mapping[str, tuple[str, ...]],
    carried: tuple[str, ...],
) -> tuple[str, ...]:
    """What is stuck of a strongly connected part: nothing if a loop carries it, and what is left.

    The least of what stays stuck inside the loops that can be had.
    """
    least = part
    shared = [d for d in dims[part[0]] if d not in carried and all(d in dims[n] for n in part)]
    for dim in shared:
        signs = [dict(d.signs).get(dim, ANY) for d in cycle]
        for forward in (1, -1):
            strict = [s == {forward} for s in signs]
            if any(strict) and all(-forward not in s for s in signs):
                remaining = [
                    d for d, carried_here in zip(cycle, strict, strict=True) if not carried_here
                ]
                inner = stuck(part, remaining, dims, (*carried, dim))
                if not inner:
                    return ()
                least = min(least, inner, key=len)
    return least
