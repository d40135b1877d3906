"""Retiming: what a recurrence reads some steps ahead is computed in the step that reads it.

    %g  = exp %p                             : [t] f32
    %p  = merge %p.0 when t == 0, %p.1[t-1] when t >= 1 : [t] f32
    %m.1 = sub %m, %g[t+1]                   : [t | t < T-1] f32
    ->
    %g.late = exp %p.1                       : [t | t < T-1] f32
    %m.1 = sub %m, %g.late                   : [t | t < T-1] f32

So integrators step that take the forces at the new place (leapfrog), sweeps, and momentum with
look-ahead. In a cycle like this some reads go ahead in the loop (``g[t+1]``), others back
(``p[t-1]``), so that no loop over ``t`` as it is carries the cycle. A loop does once some nodes are
*shifted*: their instance at ``t`` does the work of ``t+k``. With the least distance of each read,
the shifts are a solution of difference constraints (Leiserson and Saxe, Retiming synchronous
circuitry, Algorithmica 1991; for loops Darte and Vivien, Optimal fine and medium grain parallelism
detection, IJPP 1997). Of all solutions this takes the one with the smallest shifts.

The first ``k`` points of a shifted node are nodes of their own (``index_set_split.py``). What is
read ahead in a loop that runs backwards, as derivatives do, is shifted the other way.

Where the loop reads a shifted node at its own point as well, steps would pass it on. If it is but
light functions of what they pass on anyway, only the reads ahead get it so, from nodes of their
own, and the others compute it again:

    %m.1 = sub %g, %g.late               : [t | t < T-1] f32
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple

from tempoc.base.effort import EFFORT
from tempoc.base.names import fresh_name
from tempoc.ops.control.control import Merge
from tempoc.passes.analysis import dependence
from tempoc.passes.analysis.demand import demanded_boxes, restrict_to_box
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.domain.cut_point import Cut, CutSide, NodePart
from tempoc.passes.domain.index_set_split import split_nodes
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import OperandUse, users
from tempoc.sdg.graph.rewrite import drop_dead, node_at, rewrite_reads
from tempoc.sdg.statements.build import is_computed, is_identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, substitute_entry
from tempoc.symbolic.walk import substitute, symbols


class Retime(GraphPass):
    """Shifts what recurrences read ahead."""

    __slots__ = ()
    name: ClassVar[str] = "retime"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph in which loops carry more cycles."""
        for _ in range(EFFORT.split_rounds):
            tries = (
                _retiming(graph, names, context.space)
                for names in dependence.stuck_cycles(graph, context.space)
            )
            retiming = next((r for r in tries if r is not None), None)
            if retiming is None:
                break
            _remark(graph, retiming, context)
            graph = retiming.graph
        return graph


class _Retiming(NamedTuple):
    """The graph after some nodes were shifted along a dimension, by these many steps."""

    graph: Graph
    dim: str
    shifts: Mapping[str, int]


def _retiming(graph: Graph, stuck: Sequence[str], space: Space) -> _Retiming | None:
    """A retiming after which loops carry what is stuck; ``None`` if there is none."""
    reads = dependence.DependenceCandidates.of(graph, space).among(stuck)
    domains = [graph.nodes[n].domain.dims for n in stuck]
    for dim in (d for d in domains[0] if all(d in dims for dims in domains)):
        for direction in (1, -1):
            distances = reads.distances(dim, direction)
            shifts = None if distances is None else _shifts(stuck, distances)
            if not shifts or not all(_may_shift(graph.nodes[n]) for n in shifts):
                continue
            steps = {name: direction * k for name, k in shifts.items()}
            for start, moves in _starts(graph, stuck, dim, steps):
                # No domain depends on the value of a fixed bound.
                after = _shifted(start, dim, moves, space.symbolic)
                if start is not graph:
                    after = _as_demanded(after, steps, space.symbolic)
                left = dependence.unschedulable_nodes(after, space)
                if all(n in graph.nodes and n not in stuck for n in left):
                    return _Retiming(after, dim, shifts)
    return None


def _may_shift(node: Node) -> bool:
    return node.op.pure and not node.vector


def _shifts(
    names: Sequence[str], distances: Sequence[tuple[str, str, int]]
) -> dict[str, int] | None:
    """The steps by which nodes run ahead, the least that let no read go ahead of its source.

    ``distances`` are reader, source, and the least distance from source to reader. ``None`` if no
    shifts suffice: some cycle reads ahead on the whole.
    """
    ahead = dict.fromkeys(names, 0)
    for _ in range(len(names) + 1):
        early = [(s, ahead[r] - d) for r, s, d in distances if ahead[r] - d > ahead[s]]
        if not early:
            return {name: k for name, k in ahead.items() if k}
        for source, steps in early:
            ahead[source] = max(ahead[source], steps)
    return None


# ---------------------------------------------------------------- computing again


def _starts(
    graph: Graph, stuck: Sequence[str], dim: str, steps: Mapping[str, int]
) -> Iterator[tuple[Graph, Mapping[str, int]]]:
    """The graphs to shift nodes of, and these: where reads ahead have their own, then as it is."""
    uses, nodes = users(graph), graph.nodes
    outside = [u for n in steps for u in uses[n] if u.reader not in steps]
    ahead = [u for u in outside if _is_ahead(nodes[u.reader], u.slot, dim, steps)]
    here = [u for u in outside if u not in ahead and u.reader in stuck]
    alone = all(is_computed(nodes[u.reader]) for u in outside)
    if ahead and here and alone and _are_light(graph, uses, stuck, {*steps}):
        yield _with_copies(graph, steps, ahead)
    yield graph, steps


def _is_ahead(reader: Node, slot: int, dim: str, steps: Mapping[str, int]) -> bool:
    """Whether a node reads a shifted one at a point that comes later in the loop."""
    edge = reader.inputs[slot]
    entries = (e for e in edge.entries if isinstance(e, ix.Expr) and dim in symbols(e))
    distances = [ix.sub(e, ix.Sym(dim)) for e in entries]
    return any(isinstance(d, ix.Const) and d.value * steps[edge.source] > 0 for d in distances)


def _are_light(
    graph: Graph, uses: Mapping[str, Sequence[OperandUse]], stuck: Sequence[str], names: set[str]
) -> bool:
    """Whether nodes are light functions, at their points, of what others of the loop read there."""
    if not all(graph.nodes[n].op.light for n in names):
        return False
    edges = [e for n in names for e in graph.nodes[n].inputs if e.source not in names]
    read = [e for e in edges if not graph.nodes[e.source].op.cheap]
    return all(
        is_identity(e, graph)
        and any(
            u.reader in stuck
            and u.reader not in names
            and is_identity(graph.nodes[u.reader].inputs[u.slot], graph)
            for u in uses[e.source]
        )
        for e in read
    )


def _with_copies(
    graph: Graph, steps: Mapping[str, int], ahead: Sequence[OperandUse]
) -> tuple[Graph, Mapping[str, int]]:
    """The graph with copies of nodes, which these operands read, and their steps."""
    nodes = dict(graph.nodes)
    names: dict[str, str] = {}
    for name in steps:
        names[name] = fresh_name(f"{name}.ahead", nodes, names.values())
    for name, own in names.items():
        inputs = tuple(replace(e, source=names.get(e.source, e.source)) for e in nodes[name].inputs)
        nodes[own] = replace(nodes[name], name=own, inputs=inputs)
    for reader, slot in ahead:
        edges = [*nodes[reader].inputs]
        edges[slot] = replace(edges[slot], source=names[edges[slot].source])
        nodes[reader] = replace(nodes[reader], inputs=tuple(edges))
    return replace(graph, nodes=nodes), {names[name]: k for name, k in steps.items()}


def _as_demanded(graph: Graph, names: Container[str], space: Space) -> Graph:
    """The graph with nodes at the points alone at which others read them: not at a last one, which
    was read ahead."""
    others = {n for n in graph.nodes if n not in names}
    boxes, nodes = demanded_boxes(graph, space, others), dict(graph.nodes)
    for name in (n for n in boxes if n in names):
        domain = nodes[name].domain
        where = restrict_to_box(domain, boxes[name]).where
        domain = Domain(domain.dims, space.simplify(where, Domain(domain.dims)))
        nodes[name] = replace(nodes[name], domain=domain)
    return replace(graph, nodes=nodes)


# ---------------------------------------------------------------- shifting


def _shifted(graph: Graph, dim: str, shifts: Mapping[str, int], space: Space) -> Graph:
    """The graph with nodes shifted along a dimension; their first points become other nodes."""
    bound = ix.Sym(graph.universe.dim(dim).bound)
    for steps in sorted({*shifts.values()}):
        side: CutSide = "late" if steps > 0 else "early"
        cut = Cut(dim=dim, at=ix.Const(steps) if steps > 0 else ix.add(bound, ix.Const(steps)))
        names = [name for name, k in shifts.items() if k == steps]
        division = split_nodes(graph, names, cut, space)
        graph, parts = division.graph, (division.names.get(NodePart(n, side), n) for n in names)
        moved = [
            n
            for n in parts
            if n in graph.nodes and space.implies(graph.nodes[n].domain, cut.on(side))
        ]
        for name in moved:
            graph = shifted_node(graph, name, dim, steps, space)
        for name in moved:
            graph = _with_direct_reads(graph, name, space)
    return drop_dead(graph)


def shifted_node(graph: Graph, name: str, dim: str, steps: int, space: Space) -> Graph:
    """The graph with one node shifted: its instance at ``t`` does the work of ``t + steps``."""
    node = graph.nodes[name]
    there = {dim: ix.add(ix.Sym(dim), ix.Const(steps))}
    bound = ix.Sym(graph.universe.dim(dim).bound)
    inside = (
        ix.compare("<", there[dim], bound) if steps > 0 else ix.compare(">=", there[dim], ix.ZERO)
    )
    where = ix.conjunction(substitute(node.domain.where, there), inside)
    dims = node.domain.dims
    shifted = node_at(node, there, Domain(dims, space.simplify(where, Domain(dims))))
    graph = replace(graph, nodes={**graph.nodes, name: shifted})
    place = dims.index(dim)

    def moved(edge: Edge, reader: Node | None) -> Edge:
        if edge.source != name:
            return edge
        entries = list(edge.entries)
        entries[place] = _moved(entries[place], -steps)
        return replace(edge, entries=tuple(entries))

    graph = rewrite_reads(graph, moved)
    nodes = {k: _with_targets(n, name, there) for k, n in graph.nodes.items()}
    return replace(graph, nodes=nodes)


def _moved(entry: ix.Entry, steps: int) -> ix.Entry:
    by = ix.Const(steps)
    if isinstance(entry, ix.Slice):
        return ix.Slice(ix.add(entry.lo, by), ix.add(entry.hi, by), entry.step)
    return ix.add(entry, by)


def _with_targets(node: Node, source: str, there: Mapping[str, ix.Expr]) -> Node:
    """A merge with the targets of a branch in the coordinates of its shifted source."""
    if not isinstance(node.op, Merge) or source not in node.sources:
        return node
    targets = tuple(
        tuple(substitute(e, there) for e in target) if edge.source == source else target
        for edge, target in zip(node.inputs, node.op.targets, strict=True)
    )
    return replace(node, op=replace(node.op, targets=targets))


def _with_direct_reads(graph: Graph, name: str, space: Space) -> Graph:
    """The graph in which a node reads branches of merges directly where it reads one of them."""
    node = graph.nodes[name]
    inputs = tuple(direct_read(graph, node.domain, e, space) for e in node.inputs)
    return replace(graph, nodes={**graph.nodes, name: replace(node, inputs=inputs)})


def direct_read(graph: Graph, domain: Domain, edge: Edge, space: Space) -> Edge:
    """The read of the only branch that a read of a merge can meet; else the read as it is."""
    merge = graph.nodes[edge.source]
    points = merge.domain.at(edge.entries)
    at = {d: e for d, e in points.items() if isinstance(e, ix.Expr)}
    if not isinstance(merge.op, Merge) or len(at) < len(points):
        return edge
    for branch in merge.inputs:
        same_type = graph.nodes[branch.source].types[branch.out] == merge.types[0]
        if same_type and space.implies(domain, substitute(branch.guard, at)):
            entries = tuple(substitute_entry(e, at) for e in branch.entries)
            return replace(branch, entries=entries, guard=ix.TRUE, span=edge.span)
    return edge


def _remark(graph: Graph, retiming: _Retiming, context: PassContext) -> None:
    """Add a remark on what was shifted."""
    names = list(retiming.shifts)
    heads = [n for n in names if "." not in n] or names
    shown = ", ".join(f"`{n}`" for n in heads[:4]) + (", ..." if len(heads) > 4 else "")
    steps = max(retiming.shifts.values())
    message = (
        f"{shown} {'is' if len(heads) == 1 else 'are'} computed in the step that reads "
        f"{'it' if len(heads) == 1 else 'them'}, {steps} step{'s' if steps > 1 else ''} ahead "
        f"in {retiming.dim}"
    )
    context.remarks.add("retime", message, graph.nodes[heads[0]].span)
