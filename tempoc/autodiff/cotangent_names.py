"""Names of cotangents: what a gradient is by, not how the last step of its derivation is computed.

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


def take_copy_names(graph: Graph, made: Collection[str], asked: Collection[str]) -> Graph:
    """New nodes (``made``) take the shorter names of their copies at the same points, which go.

    Copies are new, too, or tensors of the source (``asked``), whose names and places are the best.
    """
    to: dict[str, str] = {}
    for name in (*asked, *made):
        copy, copied = name, _copied(graph, name)
        while copied in made and copied not in to and name.count(".") < copied.count("."):
            to[copied] = copy
            copy, copied = copied, _copied(graph, copied)
    return _renamed(graph, to, asked) if to else graph


def _copied(graph: Graph, name: str) -> str:
    """What the node is a copy of at all points that this has; nothing if it is none."""
    node = graph.nodes.get(name)
    if node is None or not isinstance(node.op, Copy):
        return ""
    (edge,) = node.inputs
    source = graph.nodes[edge.source]
    alike = (source.domain, source.types, source.vector) == (node.domain, node.types, node.vector)
    return source.name if alike and edge.entries == identity(node.domain) else ""


def _renamed(graph: Graph, to: Mapping[str, str], asked: Collection[str]) -> Graph:
    """The graph in which what is copied stands under the name of its last copy."""
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
            sources = (graph.nodes[new], node) if new in asked else (node, graph.nodes[new])
            spans = dict.fromkeys(s for n in sources for s in n.spans)
            nodes[new] = replace(node, name=new, spans=tuple(spans))
    return replace(redirected, nodes=nodes)
