"""Fuse nodes of one domain into groups: one statement, one kernel each.

    %s = matmul %k[0:t+1], %q : [t] f32[t+1]
    %d = div %s, %root        : [t] f32[t+1]     ->   (the same)  group d = %s, %d

Nodes are joined greedily: along reads at the same point, then along reads that include it, then
horizontally. A join must leave everything schedulable (``analysis/dependence.py``), must not close
a cycle within an instance, must not reverse a loop that could run forward, and must not make one
wait for another that it could share (``loop_starts.py``). Then groups of later loops read states,
not copies of their last steps (``later_loops.py``), nor what the steps computed, if states hold
that as well (``merged_reads.py``), or they read states from these steps (``prior_steps.py``). Light
functions of what is stored anyway move to their consumers (``delay.py``), as do functions of
positions (masks, ``positions.py``) and light functions of all pairs (``outer.py``), and cheap nodes
(constants) are copied into each group that uses them (``sink.py``). Padding that nobody sees is
left out (``columns.py``), and rows that a step stores are handed to the groups that read them in
the same step (``handed.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import ClassVar

from tempoc.base.names import COTANGENT
from tempoc.passes.analysis.dependence import Dependence, dependences
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.fusion.columns import without_padding
from tempoc.passes.fusion.delay import delay
from tempoc.passes.fusion.handed import handed_over
from tempoc.passes.fusion.later_loops import reads_of_later_loops
from tempoc.passes.fusion.merged_reads import reads_of_states
from tempoc.passes.fusion.partition import Partition, instance_order
from tempoc.passes.fusion.positions import computed_where_read
from tempoc.passes.fusion.prior_steps import reads_of_steps
from tempoc.passes.fusion.sink import sink, unsinkable_sources
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph, Group
from tempoc.sdg.graph.query import topological, users
from tempoc.sdg.graph.rewrite import drop_dead
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import is_computed
from tempoc.sdg.statements.vectorized import vector_ranges
from tempoc.symbolic.domain import Domain


@dataclass(frozen=True, slots=True, kw_only=True)
class Fuse(GraphPass):
    """Groups nodes."""

    limit: int = field(default=0, metadata={"help": "most nodes of a group; 0 for no limit"})
    horizontal: bool = field(default=True, metadata={"help": "also join what shares no read"})

    name: ClassVar[str] = "fuse"
    gives: ClassVar[tuple[str, ...]] = ("groups",)

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with groups."""
        graph = drop_dead(_canonical_domains(graph, context.space))
        unsinkable = unsinkable_sources(graph)
        units = [
            n.name
            for n in graph.nodes.values()
            if is_computed(n) and (n.name in unsinkable or not n.op.cheap)
        ]
        partition = Partition.alone(graph, units, dependences(graph, context.space))
        for a, b in self.candidates(partition, enclosing_conds(graph)):
            partition.join(a, b, self.limit)
        graph, alone = reads_of_later_loops(graph, partition.homes)
        for node in alone:
            message = f"no later loop reads `{node.name}`: its last step is not kept apart"
            context.remarks.add(self.name, message, node.span)
        graph, homes = delay(graph, partition.homes, context.space)
        graph, twice = reads_of_states(graph, homes, context.space)
        for node in twice:
            message = f"later loops read the steps of `{node.name}` where they are stored anyway"
            context.remarks.add(self.name, message, node.span)
        graph, homes, apart = reads_of_steps(graph, homes, context.space)
        for node in apart:
            message = f"later loops read `{node.name}` from its steps, which are stored anyway"
            context.remarks.add(self.name, message, node.span)
        graph, homes = computed_where_read(graph, homes)
        graph, homes = sink(graph, homes)
        graph, homes, unread = without_padding(graph, homes, context.space)
        for node in unread:
            message = f"`{node.name}` is read by columns, without what it pads"
            context.remarks.add(self.name, message, node.span)
        groups = _groups(graph, homes, context.space)
        joined = sum(len(g.members) > 1 for g in groups)
        if joined:
            members = sum(len(g.members) for g in groups)
            kernels = "1 kernel" if len(groups) == 1 else f"{len(groups)} kernels"
            context.remarks.add(self.name, f"{members} nodes are {kernels}")
        return handed_over(replace(graph, groups=groups))

    def candidates(
        self, partition: Partition, branches: Mapping[str, str]
    ) -> Iterator[tuple[str, str]]:
        """Pairs of nodes to join: branches with their ``cond``, then in order of benefit."""
        needs = partition.needs
        yield from ((a, b) for a, b in branches.items() if a in partition.homes)
        yield from ((d.source, d.sink) for d in needs if d.stays)
        yield from ((d.source, d.sink) for d in needs if d.may_stay and not d.stays)
        if self.horizontal:
            same_kind: dict[int, list[str]] = {}
            for b in partition.units:
                earlier = same_kind.setdefault(partition.kinds[b], [])
                if partition.untried(b):
                    yield from ((a, b) for a in earlier)
                earlier.append(b)


def _canonical_domains(graph: Graph, space: Space) -> Graph:
    """The graph with one expression for all domains that have the same points.

    It is the first from which the ranges of all vectorized dimensions can be read off; if there is
    none, each domain keeps its own expression.
    """
    equal_domains: dict[Domain, dict[Domain, None]] = {}
    vectors: dict[Domain, dict[tuple[str, ...], None]] = {}
    for node in graph.nodes.values():
        own = node.domain
        if own not in vectors:
            first = next((d for d in equal_domains if _is_same(d, own, space)), own)
            equal_domains.setdefault(first, {})[own] = None
        vectors.setdefault(own, {}).update({node.vector: None} if node.vector else {})
    canonical: dict[Domain, Domain] = {}
    for domains in equal_domains.values():
        vector_dims = dict.fromkeys(v for d in domains for v in vectors[d])
        best = (
            d for d in domains if all(vector_ranges(d, v, space) is not None for v in vector_dims)
        )
        chosen = next(best, None)
        canonical |= {d: d if chosen is None else chosen for d in domains}
    nodes = {
        name: replace(node, domain=own) if (own := canonical[node.domain]) != node.domain else node
        for name, node in graph.nodes.items()
    }
    return replace(graph, nodes=nodes)


def _is_same(a: Domain, b: Domain, space: Space) -> bool:
    return a.dims == b.dims and space.equal(a.where, b.where, Domain(a.dims))


def _groups(graph: Graph, homes: dict[str, str], space: Space) -> tuple[Group, ...]:
    """The groups in topological order, named after the tensors that they compute."""
    order = topological(graph)
    members_of: dict[str, list[str]] = {}
    for name in order:
        if is_computed(graph.nodes[name]):
            members_of.setdefault(homes[name], []).append(name)
    inward: dict[str, list[Dependence]] = {
        n: [] for members in members_of.values() for n in members
    }
    for d in dependences(graph, space):
        inward[d.sink].append(d)
    readers = _readers(graph)
    taken: set[str] = set()
    groups = []
    for members in members_of.values():
        sequence = instance_order(members, inward)
        # Without an order there is none for the program either: scheduling says so, and why.
        for part in [(m,) for m in members] if sequence is None else [sequence]:
            name = _name(graph, part, readers, taken)
            taken.add(name)
            groups.append(Group(name=name, members=part))
    return tuple(groups)


def _readers(graph: Graph) -> dict[str, list[str]]:
    """The consumers of each node; an output has the consumer ``""``, which is in no group."""
    readers = {name: [use.reader for use in uses] for name, uses in users(graph).items()}
    for output in graph.outputs:
        readers[output.source].append("")
    return readers


def _name(
    graph: Graph, members: tuple[str, ...], readers: Mapping[str, Sequence[str]], taken: set[str]
) -> str:
    """A name for a group: its last member that is a tensor of the source; else what the names of
    members with outside consumers share, or the last of these."""
    computed = [m for m in members if not graph.nodes[m].op.cheap] or list(members)
    tensors = [m for m in computed if "." not in m]
    inside = {*members}
    read = {m for m in computed if not inside.issuperset(readers[m])}
    best = (
        [m for m in tensors if m in read]
        or tensors
        or [m for m in computed if m in read]
        or computed
    )
    name = "" if tensors else _common_field_name(best)
    preferred = best[-1] if name in ("", *graph.nodes) else name
    number, free = 2, preferred
    while free in taken:
        free, number = f"{preferred}.{number}", number + 1
    return free


def _common_field_name(names: Sequence[str]) -> str:
    """The common prefix and suffix of field names, ``net.1`` of ``net.w.1`` and ``net.b.1``; empty
    if there is no prefix."""
    paths = [name.split(".") for name in names]
    begin = _common_prefix(paths)
    end = _common_prefix([path[len(begin) :][::-1] for path in paths])
    return ".".join([*begin, *reversed(end)]) if begin and begin[-1] != COTANGENT else ""


def _common_prefix(paths: Sequence[Sequence[str]]) -> list[str]:
    """The longest common prefix."""
    steps = zip(*paths, strict=False)
    return [parts[0] for parts in takewhile(lambda parts: len({*parts}) == 1, steps)]
