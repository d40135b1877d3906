"""What the first steps of a loop that data end need no step for is computed before the loop.

    bound T until done
    %tok  = merge %given when t < P, %best[t-1] when t >= P : [t] i32
    %y    = ...  %tok ... %k[0:t+1]                         : [t] f32[8]
    ->
    %tok.early  = copy %given                    : [start] i32
    %y.early    = ... %tok.early ...             : [start] f32[8]
    %k.copy     = with_checks %k.early[t], ...   : [t | t < P] f32[8]
    %k          = merge %k.copy when t < P, %k.late when t >= P : [t] f32[8]
    %y.late     = ... %k[0:t+1] ...              : [t | t >= P] f32[8]

Steps before ``P`` read no results of other steps, as with a prompt that a model goes on with. Were
their number known, the loop would be split (``domain/split.py``); but which of them there are the
data decide. So they get a dimension of their own, which has all of them, and the steps that there
are take what later steps read from it. What is computed for a step that is not there is read by
nobody. Where it reads positions that are data, which count only in steps that there are, these are
checked in the loop, as before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tempoc.base.cost_model import MODEL
from tempoc.base.graphs import reachable
from tempoc.base.names import fresh_name
from tempoc.ops.control.cond import Cond
from tempoc.ops.control.control import Copy, Merge, WithChecks
from tempoc.ops.control.until import Until
from tempoc.ops.definition.types import DType
from tempoc.ops.indexing.lookups import Lookup, searched
from tempoc.ops.indexing.pick import Pick
from tempoc.ops.tensor.arithmetic import Remainder
from tempoc.ops.tensor.elementwise import Cast
from tempoc.ops.tensor.source import IndexValue
from tempoc.passes.analysis.full_extent import full_extent_nodes
from tempoc.passes.analysis.loop_carried import (
    loop_members,
    recurrences,
    splittable_nodes,
    thresholds,
)
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.domain.cut_point import Cut, part_of
from tempoc.passes.domain.index_set_split import OutputPort, split_nodes
from tempoc.passes.domain.retime import direct_read
from tempoc.passes.domain.split import computes, need_no_others, without_crowds
from tempoc.passes.vectorization.memory_guard import point_bytes_of
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.new_dimension import with_dimension
from tempoc.sdg.graph.query import (
    OperandUse,
    expressions,
    node_expressions,
    users,
)
from tempoc.sdg.graph.rewrite import drop_dead, node_at
from tempoc.sdg.statements.build import is_computed, is_identity
from tempoc.sdg.verification.verify import is_right
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import (
    Bound,
    Dim,
    Domain,
    Universe,
    conjuncts,
    entries_at,
)
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import substitute, symbols


class Prologue(GraphPass):
    """Computes before loops that data end what their first steps need no other step for."""

    __slots__ = ()
    name: ClassVar[str] = "prologue"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with a dimension for such steps, which the context declares."""
        for dim in graph.universe.dims:
            bound = graph.universe.bound(dim.bound)
            if bound.until and not bound.outer:
                graph = _with_prologue(graph, dim.name, bound, context)
        return graph


def _with_prologue(graph: Graph, dim: str, bound: Bound, context: PassContext) -> Graph:
    """The graph with the first steps along a dimension apart, if that is of use."""
    given = _of_given_length(graph, bound)
    space = Space(given.universe, limits=context.space.frame.limits).symbolic
    splittable = splittable_nodes(given)
    points = without_crowds(thresholds(given, dim, given.nodes, space), ())
    for cycle in recurrences(given, dim, space):
        loop = [n for n in loop_members(given, dim, cycle, splittable) if n in splittable]
        for at in (p for p in thresholds(given, dim, cycle, space) if p in points):
            cut = Cut(dim=dim, at=at)
            split = split_nodes(given, loop, cut, space).graph
            split = _with_own_reads(split, cut, {*graph.universe.lengths}, space)
            steps = _EarlySteps.of(split, cut, graph.universe, space)
            heads = [n for n in split.nodes if n in steps.names and computes(split.nodes[n])]
            after = steps.graph() if heads else None
            if after is not None:
                context.declare(after.universe)
                names = [n.removesuffix(".early") for n in heads]
                message = (
                    f"{show(cut.on('early'))} is computed before the loop, wherever that ends: "
                    f"there {need_no_others(names, dim)}"
                )
                context.remarks.add(Prologue.name, message, split.nodes[heads[0]].span)
                return drop_dead(after)
    return graph


def _of_given_length(graph: Graph, bound: Bound) -> Graph:
    """The graph as it would be if a length were given."""
    known = replace(bound, until="", value=None)
    bounds = tuple(known if b == bound else b for b in graph.universe.bounds)
    return replace(graph, universe=replace(graph.universe, bounds=bounds))


def _with_own_reads(graph: Graph, cut: Cut, lengths: set[str], space: Space) -> Graph:
    """The graph in which early nodes read nothing of late ones if they need not.

    They read the branches of a merge that they can meet, and have cheap nodes of their own.
    """
    nodes = dict(graph.nodes)
    along = [n for n in nodes.values() if cut.dim in n.domain.dims and not isinstance(n.op, Merge)]
    worklist = [n for n in along if space.implies(n.domain, cut.on("early"))]
    own: dict[str, str] = {}
    for node in worklist:  # grows meanwhile
        inputs: list[Edge] = []
        for read in node.inputs:
            edge = _early_read(graph, node.domain, read, cut, space)
            source = graph.nodes[edge.source]
            part = _early_part(node.domain, edge, source, cut, lengths, space)
            if part is not None:
                if source.name not in own:
                    own[source.name] = fresh_name(f"{source.name}.early", nodes)
                    part = replace(part, name=own[source.name])
                    nodes[part.name] = part
                    worklist += [] if isinstance(part.op, Merge) else [part]
                edge = replace(edge, source=own[source.name])
            inputs.append(edge)
        nodes[node.name] = replace(node, inputs=tuple(inputs))
    return replace(graph, nodes=nodes)


def _early_part(
    domain: Domain, edge: Edge, source: Node, cut: Cut, lengths: set[str], space: Space
) -> Node | None:
    """What an early node reads in place of a source that has late points as well, if it can."""
    if isinstance(source.op, Merge):
        is_early = _is_early(domain, edge, source, cut, space)
        return _early_merge(source, cut, space) if is_early else None
    own = _early_domain(source, cut, lengths, space) if source.op.cheap else source.domain
    return replace(source, domain=own) if own != source.domain else None


def _early_domain(node: Node, cut: Cut, lengths: set[str], space: Space) -> Domain:
    """The early points of a node; also those that there are not, if it reads nothing."""
    where = node.domain.where
    if not node.inputs:
        parts = (p for p in conjuncts(where) if lengths.isdisjoint(symbols(p)))
        where = ix.conjunction(*parts)
    domain = Domain(node.domain.dims, where)
    return part_of(domain, cut, "early", space) if cut.dim in domain.dims else domain


def _early_read(graph: Graph, domain: Domain, edge: Edge, cut: Cut, space: Space) -> Edge:
    """The read of the only branch that a read of a merge can meet; else the read as it is."""
    merge = graph.nodes[edge.source]
    if not isinstance(merge.op, Merge):
        return edge
    if _is_early(domain, edge, merge, cut, space):
        for branch in merge.inputs:
            same = graph.nodes[branch.source].domain.dims == merge.domain.dims
            if branch.guard == cut.on("early") and same and is_identity(branch, graph):
                return replace(edge, source=branch.source, out=branch.out)
    return direct_read(graph, domain, edge, space)


def _is_early(domain: Domain, edge: Edge, source: Node, cut: Cut, space: Space) -> bool:
    """Whether a read is of early points alone."""
    entry = source.domain.at(edge.entries).get(cut.dim)
    if entry is None or space.implies(source.domain, cut.on("early")):
        return False
    late = ix.conjunction(domain.where, cut.touches("late", entry))
    return space.is_empty(Domain(domain.dims, late))


def _early_merge(merge: Node, cut: Cut, space: Space) -> Node:
    """The early part of a merge, with the branches that are taken there."""
    assert isinstance(merge.op, Merge)
    domain = part_of(merge.domain, cut, "early", space)
    taken = [
        (edge, target)
        for edge, target in zip(merge.inputs, merge.op.targets, strict=True)
        if not space.is_empty(Domain(domain.dims, ix.conjunction(domain.where, edge.guard)))
    ]
    op = Merge(targets=tuple(target for _, target in taken))
    return replace(merge, op=op, domain=domain, inputs=tuple(edge for edge, _ in taken))


def _with_all_steps(universe: Universe, dim: str, new: Dim, space: Space) -> Space:
    """The space in which a dimension has all its first steps, which ``new`` has, and no others."""
    dims = tuple(replace(d, bound=new.bound) if d.name == dim else d for d in universe.dims)
    return Space(replace(universe, dims=dims), limits=space.frame.limits)


@dataclass(slots=True, kw_only=True)
class _EarlySteps:
    """The nodes of the first steps along a dimension that read nothing else of the loop.

    ``split`` is the graph with those steps apart, and ``space`` has its bounds; ``universe`` is
    that of the program with the dimension ``new`` of these steps.
    """

    split: Graph
    cut: Cut
    universe: Universe
    space: Space
    new: Dim
    names: set[str]
    uses: Mapping[str, tuple[OperandUse, ...]]
    copies: dict[OutputPort, Node] = field(default_factory=dict)

    @classmethod
    def of(cls, split: Graph, cut: Cut, universe: Universe, space: Space) -> _EarlySteps:
        """Those of a graph that is split."""
        some = space.implies(Domain(()), ix.compare(">=", cut.at, ix.ONE))
        size = cut.at if some else ix.maximum(cut.at, ix.ONE)
        place = next(k for k, d in enumerate(universe.dims) if d.name == cut.dim)
        universe, new = with_dimension(split, universe, "start", size, place)
        all_steps = _with_all_steps(universe, cut.dim, new, space)
        nodes = split.nodes
        others = {n for cycle in recurrences(split, cut.dim, space) for n in cycle}
        others |= {o.source for o in split.outputs}
        names = {
            n.name
            for n in nodes.values()
            if cut.dim in n.domain.dims
            and n.name not in others
            and _may_move(n, {*universe.lengths})
            and space.implies(n.domain, cut.on("early"))
            and is_right(split, n, all_steps)
        }
        ended = {d.name for d in universe.dims if universe.is_ended(d.name)} | {*universe.lengths}
        full, uses = full_extent_nodes(split, cut.dim), users(split)

        def stays(node: Node) -> bool:
            outside = (nodes[name].domain for name in {*node.sources} - names)
            if any(not ended.isdisjoint((*d.dims, *symbols(d.where))) for d in outside):
                return True
            readers = {use.reader for use in uses.get(node.name, ())} - names
            stored = space.is_fixed_by(node.domain, cut.dim) or readers <= full
            return not stored and point_bytes_of(split, node, space) > MODEL.point_bytes

        while late := {name for name in names if stays(nodes[name])}:
            names -= late
        return cls(
            split=split, cut=cut, universe=universe, space=space, new=new, names=names, uses=uses
        )

    @property
    def nodes(self) -> Mapping[str, Node]:
        return self.split.nodes

    def graph(self) -> Graph | None:
        """The graph; ``None`` if what is checked is not checked in all of the loop's steps."""
        space = Space(self.universe, limits=self.space.frame.limits)
        checked = {
            n: fresh_name(f"{n}.ahead", self.nodes) for n in self.names if self.nodes[n].op.checks
        }
        nodes: dict[str, Node] = {}
        for name, node in self.nodes.items():
            if name in self.names:
                moved = (self._moved(n, checked, space) for n in self._unchecked(node))
                nodes |= {n.name: n for n in moved}
            if name not in self.names and (checked or isinstance(node.op, Merge)):
                nodes[name] = self._of_copies(node)
            elif name not in self.names or name in checked:
                nodes[name] = node
        for name in checked:
            keepers = self._keepers(self.nodes[name])
            if not keepers:
                return None
            for port, read in keepers.items():
                node = self.copies[port]
                op = WithChecks() if isinstance(node.op, Copy) else node.op
                self.copies[port] = replace(node, op=op, inputs=(*node.inputs, read))
        nodes |= {n.name: n for n in self.copies.values()}
        return replace(self.split, universe=self.universe, nodes=nodes)

    def _unchecked(self, node: Node) -> tuple[Node, ...]:
        """A node, and what makes its positions such as need no check, whatever they are.

        Those that are there stay what they are, counted from the start.
        """
        op, (x, *others) = node.op, node.inputs or (None,)
        if isinstance(op, Pick) and op.checks:
            return (replace(node, op=replace(op, sure=True)),)
        if not isinstance(op, Lookup) or not op.checks:
            return (node,)
        assert x is not None
        builder = NodeBuilder(graph=self.split, space=self.space, node=node)
        n, _ = searched(op, builder.type_of(x).shape)
        index = builder.put("index", Cast(dtype=DType.I32), others[:1])
        place = builder.put("place", Remainder(), (index, builder.put("n", IndexValue(expr=n))))
        inputs = (x, read_of(place), *others[1:])
        return (*builder.nodes.values(), replace(node, op=replace(op, sure=True), inputs=inputs))

    def _moved(self, node: Node, checked: Mapping[str, str], space: Space) -> Node:
        """A node with the new dimension in place of that of the loop."""
        new = self.new.name
        at = {self.cut.dim: ix.Sym(new)}
        dims = tuple(new if d == self.cut.dim else d for d in node.domain.dims)
        where = space.simplify(substitute(node.domain.where, at), Domain(dims))
        moved = node_at(node, at, Domain(dims, where))
        inputs = (
            replace(e, source=checked.get(e.source, e.source), guard=substitute(e.guard, at))
            for e in moved.inputs
        )
        name = checked.get(node.name, node.name)
        return replace(moved, name=name, inputs=tuple(inputs))

    def _of_copies(self, node: Node) -> Node:
        """A node that reads copies in the loop of what is computed before."""
        inputs = (
            replace(e, source=self._copy(e).name, out=0) if e.source in self.names else e
            for e in node.inputs
        )
        return replace(node, inputs=tuple(inputs))

    def _copy(self, edge: Edge) -> Node:
        """What the loop takes in its own step of what was computed before."""
        port = edge.source, edge.out
        if port not in self.copies:
            node = self.nodes[edge.source]
            taken = {n.name for n in self.copies.values()}
            name = fresh_name(f"{edge.source}.copy", self.nodes, taken)
            types = (node.types[edge.out],)
            self.copies[port] = replace(
                node, name=name, op=Copy(), inputs=(read_of(node, edge.out),), types=types
            )
        return self.copies[port]

    def _keepers(self, node: Node) -> dict[OutputPort, Edge]:
        """The copies in the loop that need a node's own step, each with the read of it.

        What reads several steps needs the earlier ones as well, of which none of these may be
        needed by itself. Then all steps that there are count, as they do for a cycle: something
        that ends the loop keeps them. Nothing does if a copy is needed at other points as well, or
        a branch that may not be taken needs the node.
        """

        def readers(name: str) -> list[str]:
            return [u.reader for u in self.uses[name] if u.reader in self.names and own(u)]

        def own(use: OperandUse) -> bool:
            reader, source = self.nodes[use.reader], self.nodes[node.name].domain
            edge = reader.inputs[use.slot]
            entries = self.nodes[edge.source].domain.at(edge.entries)
            return all(self._is_own(d, e) for d, e in entries.items() if d in source.dims)

        made = {*reachable((node.name,), readers)}
        uses = [u for name in made for u in self.uses[name] if u.reader in self.names]
        if any(u.slot and isinstance(self.nodes[u.reader].op, Cond) for u in uses):
            return {}
        ending = frozenset[str]() if all(map(own, uses)) else frozenset(self._ending())
        at_ends = ending if made.isdisjoint(ending) else ending & made
        reads: dict[OutputPort, Edge] = {}
        for port, copy in self.copies.items():
            others = (d for d in node.domain.dims if d not in copy.domain.dims)
            entries = entries_at(node.domain.dims, {d: self._all(d) for d in others})
            inside = self.space.outside(copy.domain, entries, node.domain) is None
            if port[0] in made and not inside:
                return {}
            if port[0] in made or (port[0] in at_ends and inside):
                reads[port] = Edge(source=node.name, entries=entries)
        return {} if ending and at_ends.isdisjoint(name for name, _ in reads) else reads

    def _ending(self) -> Collection[str]:
        """The nodes whose results the end of the loop needs in their own step."""
        bound = self.universe.dim(self.cut.dim).bound
        ends = (
            n.name for n in self.nodes.values() if isinstance(n.op, Until) and n.op.bound == bound
        )

        def sources(name: str) -> list[str]:
            node = self.nodes[name]
            edges = node.inputs[:1] if isinstance(node.op, Cond) else node.inputs
            pairs = ((e.source, self.nodes[e.source].domain.at(e.entries)) for e in edges)
            return [n for n, at in pairs if all(self._is_own(d, e) for d, e in at.items())]

        return reachable(ends, sources)

    def _is_own(self, dim: str, entry: ix.Entry) -> bool:
        """Whether a read needs the reader's own step, and along others that or all points."""
        return entry == ix.Sym(dim) or (dim != self.cut.dim and entry == self._all(dim))

    def _all(self, dim: str) -> ix.Slice:
        """All points of a dimension."""
        return ix.Slice(ix.ZERO, ix.Sym(self.universe.dim(dim).bound))


def _may_move(node: Node, lengths: set[str]) -> bool:
    """Whether a node may be computed at points that the run may not reach.

    It has no effect, and neither its operands' points nor its values depend on ``lengths``; what it
    checks can be checked apart.
    """
    plain = is_computed(node) and node.op.pure and not isinstance(node.op, Until)
    if node.vector or not (plain or isinstance(node.op, Merge)):
        return False
    entries = (x for e in node.inputs for x in (e.guard, *expressions(e.entries)))
    named = (node.domain.where, *node_expressions(node), *entries)
    if any(not lengths.isdisjoint(symbols(e)) for e in named):
        return False
    return not node.op.checks or isinstance(node.op, Pick | Lookup)
