"""Whether statements may be merged into groups: does some loop nest still run them all.

A dependence carries, for each dimension that its two ends share, the possible signs of sink minus
source. Statements are schedulable if every cycle of dependences can be carried: recursively, each
strongly connected part needs a dimension along which all its dependences point the same way (or
stay), at least one of them strictly; that one is carried by a loop over this dimension, and what is
left must be schedulable inside. This is the loop distribution test of Allen and Kennedy (Automatic
translation of Fortran programs to vector form, TOPLAS 1987), in either direction of each loop. It
is sufficient, not necessary: what fails here is not merged, but may well have a schedule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tempoc.ops.control import Merge
from tempoc.poly.space import Space
from tempoc.sdg.build import is_computed
from tempoc.sdg.graph import Edge, Graph, Node
from tempoc.sdg.query import components
from tempoc.sdg.rewrite import compose
from tempoc.sdg.turns import befores, turn
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import And, Entry, Expr, Slice, Sym, conjunction
from tempoc.symbolic.walk import substitute, symbols

Signs = frozenset[int]
ANY: Signs = frozenset((-1, 0, 1))
STAYS: Signs = frozenset((0,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """``sink`` needs ``source``; ``signs`` of sink minus source, by common dimension in order."""

    sink: str
    source: str
    signs: tuple[tuple[str, Signs], ...]

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
        found = []
        before: tuple[tuple[str, Signs], ...] = ()
        for k, (dim, signs) in enumerate(self.signs):
            for sign in (-1, 1):
                if sign in signs:
                    rest = self.signs[k + 1 :]
                    part = (*before, (dim, frozenset((sign,))), *rest)
                    found.append(Dependence(sink=self.sink, source=self.source, signs=part))
            if 0 not in signs:
                break
            before = (*before, (dim, STAYS))
        return tuple(found)


def dependences(graph: Graph, space: Space) -> tuple[Dependence, ...]:
    """All dependences between computed nodes; merges are passed through to their branches.

    What takes turns depends on what has its turn before.
    """
    found: dict[Dependence, None] = dict.fromkeys(_turns(graph))
    for node in graph.nodes.values():
        if is_computed(node):
            for edge in node.inputs:
                for dependence in _through(graph, space, node, edge):
                    found[dependence] = None
    return tuple(found)


def _turns(graph: Graph) -> Iterable[Dependence]:
    queued = [(n, t) for n in graph.nodes.values() if (t := turn(n)) is not None]
    for sink, mine in queued:
        for source, other in queued:
            if mine.queue != other.queue:
                continue
            dims, first = sink.domain.dims, other.number < mine.number
            for shared, less in befores(dims, source.domain.dims, first, graph.universe):
                signs = dict.fromkeys(shared, STAYS)
                if less:
                    signs[shared[-1]] = frozenset((1,))
                yield from _dependence(sink, source, signs)


def _through(graph: Graph, space: Space, sink: Node, edge: Edge) -> Iterable[Dependence]:
    source = graph.nodes[edge.source]
    if is_computed(source):
        signs = space.signs(sink.domain, edge.entries, source.domain)
        yield from _dependence(sink, source, signs)
        return
    for k, branch in enumerate(source.inputs):
        writer = graph.nodes[branch.source]
        entries = edge.entries
        here = sink.domain
        if isinstance(source.op, Merge):
            composed = compose(edge.entries, source.domain.dims, branch.entries)
            here = _guarded(sink.domain, source.domain, edge.entries, branch.guard)
            if space.is_empty(here):
                continue
            if composed is None:
                yield from _dependence(sink, writer, _by_target(space, sink, edge, source, k))
                continue
            entries = composed
        yield from _dependence(sink, writer, space.signs(here, entries, writer.domain))


def _by_target(space: Space, sink: Node, edge: Edge, merge: Node, branch: int) -> dict[str, Signs]:
    """Signs where the access of a branch has no entries of its own: by those of the merge.

    They hold for dimensions that the branch writes at its own index; about others nothing is said.
    """
    assert isinstance(merge.op, Merge)
    signs = space.signs(sink.domain, edge.entries, merge.domain)
    kept: dict[str, Signs] = {}
    for dim, written in zip(merge.domain.dims, merge.op.targets[branch], strict=True):
        if dim in signs and written == Sym(dim):
            kept[dim] = signs[dim]
    return kept


def _guarded(sink: Domain, merge: Domain, entries: tuple[Entry, ...], guard: Expr) -> Domain:
    """The sink's points at which a branch may be read, as far as point entries tell."""
    points = {d: e for d, e in zip(merge.dims, entries, strict=True) if not isinstance(e, Slice)}
    parts = guard.args if isinstance(guard, And) else (guard,)
    told = [p for p in parts if all(s in points or s not in merge.dims for s in symbols(p))]
    return Domain(sink.dims, conjunction(sink.where, *(substitute(p, points) for p in told)))


def _dependence(sink: Node, source: Node, signs: Mapping[str, Signs]) -> Iterable[Dependence]:
    common = [d for d in sink.domain.dims if d in source.domain.dims]
    listed = tuple((d, signs.get(d, ANY)) for d in common)
    if all(s for _, s in listed):  # no sign at all: the access reads nothing
        yield Dependence(sink=sink.name, source=source.name, signs=listed)


# ---------------------------------------------------------------- the test


def is_schedulable(
    names: Sequence[str],
    needs: Iterable[Dependence],
    dims: Mapping[str, tuple[str, ...]],
    carried: tuple[str, ...] = (),
) -> bool:
    """Whether statements of these dimensions have a loop nest, inside loops ``carried`` already."""
    known = {*names}
    inside = [d for d in needs if d.sink in known and d.source in known]
    sources: dict[str, dict[str, None]] = {name: {} for name in names}
    for d in inside:
        sources[d.sink][d.source] = None
    parts = components(names, sources.__getitem__)
    place = {name: k for k, part in enumerate(parts) for name in part}
    cycles: dict[int, list[Dependence]] = {}
    for d in inside:
        if place[d.sink] == place[d.source]:
            cycles.setdefault(place[d.sink], []).append(d)
    return all(_is_carried(parts[k], cycle, dims, carried) for k, cycle in cycles.items())


def _is_carried(
    part: tuple[str, ...],
    cycle: Sequence[Dependence],
    dims: Mapping[str, tuple[str, ...]],
    carried: tuple[str, ...],
) -> bool:
    """Whether some loop carries a strongly connected part, and what is left has loops inside."""
    shared = [d for d in dims[part[0]] if d not in carried and all(d in dims[n] for n in part)]
    for dim in shared:
        signs = [dict(d.signs).get(dim, ANY) for d in cycle]
        for forward in (1, -1):
            strict = [s == {forward} for s in signs]
            if any(strict) and all(-forward not in s for s in signs):
                rest = [d for d, gone in zip(cycle, strict, strict=True) if not gone]
                if is_schedulable(part, rest, dims, (*carried, dim)):
                    return True
    return False
