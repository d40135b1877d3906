"""With which dimensions the value of each node may vary.

A node varies with the dimensions that its operator and its types mention, and with those that
choose what it reads: where the source varies with ``k``, the entry for ``k`` counts, else only if
it is a slice, which has a length. All nodes start with what they mention alone, and dimensions are
added until nothing changes (the least solution): so a recurrence does not vary with a dimension
just because it reads itself. Points of a node that agree in the dimensions found have one value, by
induction along the order of evaluation.

What is given from outside, or seen there, varies with all of its dimensions: data may differ, and a
call or a line is one for each point. Draws vary with the indices in their keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tempoc.ops.control.cond import Cond
from tempoc.ops.control.control import Merge
from tempoc.ops.control.until import Until
from tempoc.ops.random.draws import Seed
from tempoc.ops.tensor.source import Input, Param
from tempoc.passes.analysis.worklist import Waiting
from tempoc.sdg.graph.effect_order import turn
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import mentioned, topological, users
from tempoc.sdg.statements.branches import needs
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.expr import Entry, Slice
from tempoc.symbolic.walk import symbols

Dims = Mapping[str, tuple[str, ...]]


def is_outward(node: Node) -> bool:
    """Whether what happens at each point comes from outside or is seen there."""
    return isinstance(node.op, Input | Param | Seed | Until) or turn(node) is not None


def values(graph: Graph) -> dict[str, tuple[str, ...]]:
    """The dimensions with which the value of each node may vary, in declaration order."""
    return _closed(graph, {n.name: _own(graph, n) for n in graph.nodes.values()})


def needed(graph: Graph, more: Dims) -> dict[str, tuple[str, ...]]:
    """The dimensions that each node must keep, those of ``more`` among them.

    These are the ones with which it varies, those along which somebody reads a slice or writes a
    branch of a merge, and what is needed in a branch of a ``cond`` alone has those of the ``cond``:
    it is not computed where the branch is not taken.
    """
    start = {n.name: {*_own(graph, n), *more.get(n.name, ())} for n in graph.nodes.values()}
    for source, entries in _reads(graph):
        pairs = zip(graph.nodes[source].domain.dims, entries, strict=True)
        start[source] |= {dim for dim, entry in pairs if isinstance(entry, Slice)}
    for node in graph.nodes.values():
        if isinstance(node.op, Param):
            for edge in node.inputs:
                start[edge.source] |= {*graph.nodes[edge.source].domain.dims}
    return _closed(graph, start, fixed=True)


def mentions(universe: Universe, entries: Iterable[Entry]) -> set[str]:
    """The dimensions that expressions name, and those over which lengths in them vary."""
    names = {n for e in entries for n in symbols(e)}
    return {n for n in names if universe.is_dim(n)} | {
        d for b in universe.bounds if b.outer for n in names for d in universe.outer(n)
    }


def _own(graph: Graph, node: Node) -> set[str]:
    """What the node itself varies with, whatever it reads."""
    if is_outward(node):
        return {*node.domain.dims}
    if isinstance(node.op, Merge):
        entries = [e.guard for e in node.inputs]
        entries += [e for t in node.types for e in t.shape]
    else:
        entries = list(mentioned(node))
    return mentions(graph.universe, entries)


def _reads(graph: Graph) -> list[tuple[str, tuple[Entry, ...]]]:
    reads = [(o.source, o.entries) for o in graph.outputs]
    return reads + [(e.source, e.entries) for n in graph.nodes.values() for e in n.inputs]


def _closed(
    graph: Graph, start: Mapping[str, Iterable[str]], *, fixed: bool = False
) -> dict[str, tuple[str, ...]]:
    """Dimensions added from sources to readers; ``fixed``: also from merges to their branches."""
    varying = {name: {*dims} for name, dims in start.items()}
    uses = users(graph)
    guarded_sources = _served(graph) if fixed else {}
    dims = {d.name for d in graph.universe.dims}
    order = topological(graph)
    worklist = Waiting(order)
    for name in order:
        worklist.add(name)
    while (taken := worklist.take()) is not None:
        name, node = taken, graph.nodes[taken]
        varying[name] = {*graph.universe.ordered(tuple(varying[name] & dims))}
        for use in uses[name]:
            reader = graph.nodes[use.reader]
            more = _moving(graph, reader.inputs[use.slot], varying[name])
            if not more <= varying[use.reader]:
                varying[use.reader] |= more
                worklist.add(use.reader)
        branch_dims = _back(node, varying[name]) if fixed else []
        for source, more in (
            *branch_dims,
            *((s, varying[name]) for s in guarded_sources.get(name, ())),
        ):
            if not more & dims <= varying[source]:
                varying[source] |= more & dims
                worklist.add(source)
    return {name: graph.universe.sorted(tuple(dims)) for name, dims in varying.items()}


def _moving(graph: Graph, edge: Edge, varying: set[str]) -> set[str]:
    """The dimensions of a reader that choose which values it gets, and how many."""
    pairs = zip(graph.nodes[edge.source].domain.dims, edge.entries, strict=True)
    return mentions(graph.universe, (e for d, e in pairs if d in varying or isinstance(e, Slice)))


def _back(node: Node, kept: set[str]) -> list[tuple[str, set[str]]]:
    """What the dimensions of a merge make its branches keep: those that say where they write."""
    if not isinstance(node.op, Merge):
        return []
    branch_dims = []
    for edge, target in zip(node.inputs, node.op.targets, strict=True):
        at = zip(node.domain.dims, target, strict=True)
        names = {n for dim, e in at if dim in kept for n in symbols(e)}
        branch_dims.append((edge.source, names))
    return branch_dims


def conditional(graph: Graph) -> set[str]:
    """What is needed in a branch of a ``cond`` alone."""
    if not any(isinstance(n.op, Cond) for n in graph.nodes.values()):
        return set()
    return {name for name, conditions in needs(graph).items() if conditions}


def _served(graph: Graph) -> dict[str, list[str]]:
    """For each reader in or at a branch of a ``cond`` what is computed only where that is taken."""
    names = conditional(graph)
    return {
        node.name: [e.source for e in node.inputs if e.source in names]
        for node in graph.nodes.values()
    }
