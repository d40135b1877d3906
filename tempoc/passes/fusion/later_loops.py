"""Groups of later loops read states of which all steps are stored, not the copy of the last step.

    group a        %v.1 = sin %v.last : [t]                     (the same)
    group g        %lt = lt %x, %v.last[t-1] : [t]      ->      %lt = lt %x, %v[t-1] : [t]
    group g        %d = where %lt, %d[t+1], %zero : [t]         (the same)

What could run in the loop of a state, beside it, is given the copy that this loop carries
(``memory/carry.py``). Joined with a group of a later loop, as parts of derivatives are, it would
make the copy one of all steps, too. So it is with copies of what steps store beside their states.

Where no group of a later loop reads the state, only the last steps of it are stored: then nothing
needs the copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tempoc.ops.control.control import Copy, Merge
from tempoc.passes.analysis.full_extent import full_extent_nodes, loop_rounds
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import OperandUse, users
from tempoc.sdg.statements.build import identity, is_computed


def reads_of_later_loops(graph: Graph, homes: Mapping[str, str]) -> tuple[Graph, tuple[Node, ...]]:
    """The graph in which these groups (by node) of later loops read no copies of last steps.

    And the states of which no copy is left, as nothing needs it.
    """
    copies, nodes = [*_copies(graph)], graph.nodes
    uses = users(graph) if copies else {}
    rounds = {dim: loop_rounds(graph, dim) for _, copy in copies for dim in copy.domain.dims}
    moved: dict[OperandUse, str] = {}
    alone: dict[str, Node] = {}
    for state, copy in copies:
        late: list[OperandUse] = []
        for dim in copy.domain.dims:
            latest: dict[str, int] = {}
            for name, number in rounds[dim].items():
                home = homes.get(name, name)
                latest[home] = max(latest.get(home, 0), number)
            own = max(rounds[dim].get(e.source, 0) for e in copy.inputs)
            read_by = [u for u in uses[copy.name] if not isinstance(nodes[u.reader].op, Merge)]
            reads = ((use, homes.get(use.reader, use.reader)) for use in read_by)
            late += [use for use, home in reads if latest.get(home, 0) > own]
        if not late and isinstance(copy.op, Merge) and not _is_stored(graph, state):
            alone[copy.name] = state
            late = [*uses[copy.name]]
        moved |= dict.fromkeys(late, state.name)
    nodes = {name: node for name, node in nodes.items() if name not in alone}
    for use, source in moved.items():
        edges = [*nodes[use.reader].inputs]
        edges[use.slot] = replace(edges[use.slot], source=source)
        nodes[use.reader] = replace(nodes[use.reader], inputs=tuple(edges))
    return replace(graph, nodes=nodes) if moved or alone else graph, tuple(alone.values())


def _is_stored(graph: Graph, state: Node) -> bool:
    """Whether all steps of a state are stored for what nodes read of it, wherever they run."""
    return any(state.name in full_extent_nodes(graph, dim) for dim in state.domain.dims)


def _copies(graph: Graph) -> Iterator[tuple[Node, Node]]:
    """States and their copies: nodes that put the same branches together, the second of two.

    And what steps store beside their states, with its copies.
    """
    known: dict[object, Node] = {}
    for node in graph.nodes.values():
        if isinstance(node.op, Copy):
            (edge,), source = node.inputs, graph.nodes[node.inputs[0].source]
            same = source.domain == node.domain and source.vector == node.vector
            if same and is_computed(source) and edge.entries == identity(node.domain):
                yield source, node
        if isinstance(node.op, Merge):
            branches = (node.op, node.inputs, node.domain, node.types)
            if known.setdefault(branches, node) is not node:
                yield known[branches], node
