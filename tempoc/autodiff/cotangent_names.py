"""Short names for cotangents: after the tensor of the source, not after the last derivation step.

%g.d.y.transpose = transpose %a : [t] f32[3]
%g.d.w           = copy %g.d.y.transpose[t] : [t] f32[3]   ->   %dw = transpose %a : [t] f32[3]
%dw              = copy %g.d.w[t]           : [t] f32[3]
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from tempoc.ops.control.control import Copy
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.rewrite import redirect
from tempoc.sdg.statements.build import identity


def take_copy_names(graph: Graph, new_names: Collection[str], named: Collection[str]) -> Graph:
    """New nodes (``new_names``) take the shorter names of their copies, which are removed.

    Copies are themselves new nodes, or tensors of the source (``named``); those win, since they
    have the best names and source positions.
    """
    to: dict[str, str] = {}
    for name in (*named, *new_names):
        copy, copied = name, _copied(graph, name)
        while copied in new_names and copied not in to and name.count(".") < copied.count("."):
            to[copied] = copy
            copy, copied = copied, _copied(graph, copied)
    return _renamed(graph, to, named) if to else graph


def _copied(graph: Graph, name: str) -> str:
    """The node that a node copies, if both have one domain and type; else empty."""
    node = graph.nodes.get(name)
    if node is None or not isinstance(node.op, Copy):
        return ""
    (edge,) = node.inputs
    source = graph.nodes[edge.source]
    alike = (source.domain, source.types, source.vector) == (node.domain, node.types, node.vector)
    return source.name if alike and edge.entries == identity(node.domain) else ""


def _renamed(graph: Graph, to: Mapping[str, str], named: Collection[str]) -> Graph:
    """The graph in which each copied node has the name of its last copy."""
    last = dict(to)
    for name in last:
        while last[name] in to:
            last[name] = to[last[name]]
    nodes: dict[str, Node] = {}
    redirected = redirect(graph, {(old, 0): (new, 0) for old, new in last.items()})
    copies = {*to.values()}
    for name, node in redirected.nodes.items():
        if name not in copies:
            new = last.get(name, name)
            sources = (graph.nodes[new], node) if new in named else (node, graph.nodes[new])
            spans = dict.fromkeys(s for n in sources for s in n.spans)
            nodes[new] = replace(node, name=new, spans=tuple(spans))
    return replace(redirected, nodes=nodes)
