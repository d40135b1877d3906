"""Groups of later loops read states of which all steps are stored, not the copy of the last step.

    group a        %v.1 = sin %v.last : [t]                     (the same)
    group g        %lt = lt %x, %v.last[t-1] : [t]      ->      %lt = lt %x, %v[t-1] : [t]
    group g        %d = where %lt, %d[t+1], %zero : [t]         (the same)

What could run in the loop of a state, beside it, is given the copy that this loop carries
(``memory/carry.py``). Joined with a group of a later loop, as parts of derivatives are, it would
make the copy one of all steps, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tempoc.ops.control.control import Merge
from tempoc.passes.analysis.full_extent import loop_rounds
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import users


def reads_of_later_loops(graph: Graph, homes: Mapping[str, str]) -> Graph:
    """The graph in which these groups (by node) of later loops read no copies of last steps."""
    copies = [*_copies(graph)]
    uses = users(graph) if copies else {}
    rounds = {dim: loop_rounds(graph, dim) for _, copy in copies for dim in copy.domain.dims}
    moved: dict[tuple[str, int], str] = {}
    for state, copy in copies:
        for dim in copy.domain.dims:
            latest: dict[str, int] = {}
            for name, number in rounds[dim].items():
                home = homes.get(name, name)
                latest[home] = max(latest.get(home, 0), number)
            own = max(rounds[dim].get(e.source, 0) for e in copy.inputs)
            for use in uses[copy.name]:
                if latest.get(homes.get(use.reader, use.reader), 0) > own:
                    moved[use.reader, use.slot] = state.name
    nodes = dict(graph.nodes)
    for (reader, slot), source in moved.items():
        edges = [*nodes[reader].inputs]
        edges[slot] = replace(edges[slot], source=source)
        nodes[reader] = replace(nodes[reader], inputs=tuple(edges))
    return replace(graph, nodes=nodes) if moved else graph


def _copies(graph: Graph) -> Iterator[tuple[Node, Node]]:
    """States and their copies: nodes that put the same branches together, the second of two."""
    known: dict[object, Node] = {}
    for node in graph.nodes.values():
        if isinstance(node.op, Merge):
            branches = (node.op, node.inputs, node.domain, node.types)
            if known.setdefault(branches, node) is not node:
                yield known[branches], node
