"""Duplicate code: nodes that compute the same at every point become one, also through cycles.

    %a = add %h, %x : [t] f32
    %b = add %h, %x : [t] f32      ->   only %a is left; what read %b reads %a

All nodes of one operator, domain and type start out as equal; classes are split as long as operands
at equal places come from different classes. What is left together is equal: two nodes that read
equal values at equal points have equal values, by induction along the order of evaluation. Starting
from "all equal" instead of "all different" finds duplicates inside cycles (two equal recurrences).
Nodes that only a branch of a `cond` needs stay apart from those that others need.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tempoc.ops.ending import Until
from tempoc.ops.source import Input, Param
from tempoc.sdg.branches import needs
from tempoc.sdg.graph import Graph, Node
from tempoc.sdg.rewrite import redirect
from tempoc.sdg.turns import turn

Key = tuple[object, ...]


def merge_duplicates(graph: Graph) -> Graph:
    """Redirect the uses of duplicates to the first of each class; the others are then dead."""
    classes = _classes(graph)
    first: dict[int, str] = {}
    to: dict[tuple[str, int], tuple[str, int]] = {}
    spans: dict[str, Node] = {}
    for name, node in graph.nodes.items():
        keeper = first.setdefault(classes[name], name)
        if keeper == name:
            continue
        for out in range(len(node.types)):
            to[name, out] = (keeper, out)
        kept = spans.get(keeper, graph.nodes[keeper])
        more = tuple(s for s in node.spans if s not in kept.spans)
        spans[keeper] = replace(kept, spans=kept.spans + more)
    if not to:
        return graph
    merged = replace(graph, nodes={**graph.nodes, **spans})
    left = redirect(merged, to)
    gone = {name for name, _ in to}
    return replace(left, nodes={n: node for n, node in left.nodes.items() if n not in gone})


def _classes(graph: Graph) -> dict[str, int]:
    """The number of each node's class; classes are numbered in node order."""
    classes = _numbered({name: _start(node) for name, node in graph.nodes.items()})
    needed = needs(graph)

    def needed_where(name: str) -> Key:
        found = [n.condition for n in needed[name]]
        held = (n.holds for n in needed[name])
        return (*((classes[e.source], e.out, e.entries) for e in found), *held)

    while True:
        keys: dict[str, Key] = {
            name: (classes[name], needed_where(name), *(classes[e.source] for e in node.inputs))
            for name, node in graph.nodes.items()
        }
        finer = _numbered(keys)
        if finer == classes:
            return classes
        classes = finer


def _start(node: Node) -> Key:
    """All that must agree besides the operands' sources."""
    own = isinstance(node.op, Input | Param | Until) or turn(node) is not None
    given = node.name if own else ""
    accesses = tuple((e.out, e.entries, e.guard) for e in node.inputs)
    # The text tells 0.0 from -0.0 and 1 from True, which are equal in Python.
    return (given, repr(node.op), node.domain, node.types, accesses)


def _numbered(keys: Mapping[str, Key]) -> dict[str, int]:
    numbers: dict[Key, int] = {}
    return {name: numbers.setdefault(key, len(numbers)) for name, key in keys.items()}
