"""Which tensor of the program a node computes, or is a step towards: `h[t=3]`.

Front ends name nodes after the tensors of the source. `h.1` is an equation of `h`, which the merge
`h` reads, `h.exp` an operator on the way to `h`, and so is `h.softmax.exp`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tempoc.base.graphs import reachable
from tempoc.ops.control.control import Merge
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.symbolic.walk import evaluate, symbols


class SourceTensor(NamedTuple):
    """A tensor of the program at a point; ``is_whole``: the node is it, and no step towards it."""

    label: str
    is_whole: bool


def source_tensor(graph: Graph, node: Node, values: Mapping[str, int]) -> SourceTensor:
    """The tensor to which a node belongs, at the point that bounds and dimensions say."""
    *prefix, last = node.name.split(".")
    is_equation = last.isdigit() and isinstance(_op(graph, ".".join(prefix)), Merge)
    if not prefix or not (is_equation or last.rstrip("0123456789") == node.op.name):
        return SourceTensor(_label(node.name, node.domain.dims, values), True)
    while len(prefix) > 1 and ".".join(prefix) not in graph.nodes:
        prefix.pop()
    owner = graph.nodes.get(".".join(prefix))
    dims = node.domain.dims if owner is None else owner.domain.dims
    if owner is not None and isinstance(owner.op, Merge):
        values = _target(graph, owner, owner.op, node, values)
    return SourceTensor(_label(".".join(prefix), dims, values), is_equation)


def _op(graph: Graph, name: str) -> object:
    node = graph.nodes.get(name)
    return None if node is None else node.op


def _target(
    graph: Graph, merge: Node, op: Merge, node: Node, values: Mapping[str, int]
) -> Mapping[str, int]:
    """The point of a merge that a node computes; nothing if it helps to compute several."""

    def steps(name: str) -> list[str]:
        sources = (e.source for e in graph.nodes[name].inputs)
        return [s for s in sources if s.startswith(f"{merge.name}.")]

    reached = [
        target
        for edge, target in zip(merge.inputs, op.targets, strict=True)
        if node.name in reachable([edge.source], steps)
    ]
    if len(reached) != 1 or any(n not in values for e in reached[0] for n in symbols(e)):
        return {}
    pairs = zip(merge.domain.dims, reached[0], strict=True)
    return {dim: evaluate(e, values) for dim, e in pairs}


def _label(name: str, dims: tuple[str, ...], values: Mapping[str, int]) -> str:
    inside = ", ".join(f"{d}={values[d]}" for d in dims if d in values)
    return f"{name}[{inside}]" if inside else name
