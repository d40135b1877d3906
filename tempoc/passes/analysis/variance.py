"""Invariance analysis: with which dimensions the value of each node may vary.

A node varies with the dimensions that its operator and its types mention, and with those that
select what it reads: the entry for a dimension ``k`` of the source counts if the source varies with
``k``, or if it is a slice, whose length matters. Starting from what each node itself mentions,
dimensions are added up to the least fixpoint: so a recurrence does not vary with a dimension just
because it reads itself. Points of a node that agree in these dimensions have the same value, by
induction along the order of evaluation.

Inputs and effects vary with all of their dimensions: data may differ, and a call or a printed line
happens once for each point. Random draws vary with the indices in their keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tempoc.base.graphs import Worklist
from tempoc.ops.control.cond import Cond
from tempoc.ops.control.control import Merge
from tempoc.ops.control.until import Until
from tempoc.ops.tensor.source import GivenTensor, Param
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import (
    all_reads,
    node_expressions,
    of_last_nodes,
    topological,
    users,
)
from tempoc.sdg.statements.branches import branch_conditions
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.walk import symbols

DimsByNode = Mapping[str, tuple[str, ...]]


def is_external(node: Node) -> bool:
    """Whether a node is an input, an effect or an `Until`: observable at each of its points."""
    return isinstance(node.op, GivenTensor | Until) or not node.op.pure


def varying_dims(graph: Graph) -> dict[str, tuple[str, ...]]:
    """The dimensions with which the value of each node may vary, in declaration order."""
    return _propagate(graph, {n.name: _own_dims(graph, n) for n in graph.nodes.values()})


@of_last_nodes
def required_dims(
    graph: Graph, more: tuple[tuple[str, tuple[str, ...]], ...] = ()
) -> Mapping[str, tuple[str, ...]]:
    """The dimensions that each node must keep; ``more`` are required anyway, by node.

    These are the ones with which it varies and those along which a consumer reads a slice or which
    a branch of a merge writes. A node that only a branch of a ``cond`` needs keeps the dimensions
    of the ``cond``: it must not be computed where the branch is not taken.
    """
    start = {n.name: _own_dims(graph, n) for n in graph.nodes.values()}
    for name, dims in more:
        start[name] |= {*dims}
    for edge in all_reads(graph):
        pairs = zip(graph.nodes[edge.source].domain.dims, edge.entries, strict=True)
        start[edge.source] |= {dim for dim, entry in pairs if isinstance(entry, ix.Slice)}
    for node in graph.nodes.values():
        if isinstance(node.op, Param):
            for edge in node.inputs:
                start[edge.source] |= {*graph.nodes[edge.source].domain.dims}
    return _propagate(graph, start, fixed=True)


def mentioned_dims(universe: Universe, entries: Iterable[ix.Entry]) -> set[str]:
    """The dimensions that expressions name, and those with which lengths in them vary."""
    names = {n for e in entries for n in symbols(e)}
    return {n for n in names if universe.is_dim(n)} | {
        d for b in universe.bounds if b.outer for n in names for d in universe.outer(n)
    }


def _own_dims(graph: Graph, node: Node) -> set[str]:
    """The dimensions with which a node varies by itself, whatever it reads."""
    if is_external(node):
        return {*node.domain.dims}
    if isinstance(node.op, Merge):
        entries = [e.guard for e in node.inputs]
        entries += [e for t in node.types for e in t.shape]
    else:
        entries = list(node_expressions(node))
    return mentioned_dims(graph.universe, entries)


def _propagate(
    graph: Graph, start: Mapping[str, Iterable[str]], *, fixed: bool = False
) -> dict[str, tuple[str, ...]]:
    """The least fixpoint above ``start``: dimensions flow from operands to consumers.

    ``fixed``: also from merges to their branches, and from a ``cond`` to what it guards.
    """
    varying = {name: {*dims} for name, dims in start.items()}
    uses = users(graph)
    guarded_sources = _conditional_operands(graph) if fixed else {}
    dims = {d.name for d in graph.universe.dims}
    order = topological(graph)
    worklist = Worklist(order)
    for name in order:
        worklist.add(name)
    while (pending := worklist.take()) is not None:
        name, node = pending, graph.nodes[pending]
        varying[name] = {*graph.universe.ordered(tuple(varying[name] & dims))}
        for use in uses[name]:
            reader = graph.nodes[use.reader]
            more = _selecting_dims(graph, reader.inputs[use.slot], varying[name])
            if not more <= varying[use.reader]:
                varying[use.reader] |= more
                worklist.add(use.reader)
        branch_dims = _branch_dims(node, varying[name]) if fixed else []
        for source, more in (
            *branch_dims,
            *((s, varying[name]) for s in guarded_sources.get(name, ())),
        ):
            if not more & dims <= varying[source]:
                varying[source] |= more & dims
                worklist.add(source)
    return {name: graph.universe.sorted(tuple(dims)) for name, dims in varying.items()}


def _selecting_dims(graph: Graph, edge: Edge, varying: set[str]) -> set[str]:
    """The dimensions of a reader that select which values it reads, and how many."""
    pairs = zip(graph.nodes[edge.source].domain.dims, edge.entries, strict=True)
    return mentioned_dims(
        graph.universe, (e for d, e in pairs if d in varying or isinstance(e, ix.Slice))
    )


def _branch_dims(node: Node, required: set[str]) -> list[tuple[str, set[str]]]:
    """For each branch of a merge the dimensions in its targets along ``required`` ones."""
    if not isinstance(node.op, Merge):
        return []
    branch_dims = []
    for edge, target in zip(node.inputs, node.op.targets, strict=True):
        at = zip(node.domain.dims, target, strict=True)
        names = {n for dim, e in at if dim in required for n in symbols(e)}
        branch_dims.append((edge.source, names))
    return branch_dims


def conditional_nodes(graph: Graph) -> set[str]:
    """The nodes that only branches of a ``cond`` need."""
    if not any(isinstance(n.op, Cond) for n in graph.nodes.values()):
        return set()
    return {name for name, conditions in branch_conditions(graph).items() if conditions}


def _conditional_operands(graph: Graph) -> dict[str, list[str]]:
    """For each node its operands that are computed only where a branch of a ``cond`` is taken."""
    names = conditional_nodes(graph)
    return {
        node.name: [e.source for e in node.inputs if e.source in names]
        for node in graph.nodes.values()
    }
