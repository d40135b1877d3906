"""Which nodes read tensors several times: parts that overlap, as stencils do, or each element.

XLA computes what it fuses with a reader for each of its readers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import combinations

from tempoc.ops.control.control import Merge
from tempoc.ops.indexing.indexing import IndexPart, SpatialIndex
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


def reads_moving_ranges(node: Node) -> bool:
    """Whether a node reads ranges that move with its point."""
    slices = (e for edge in node.inputs for e in edge.entries if isinstance(e, ix.Slice))
    return any(d in symbols(e) for e in slices for d in node.domain.dims)


def reads_neighbours(graph: Graph, names: Iterable[str]) -> bool:
    """Whether some of these nodes take parts of one tensor that overlap and are not the same."""
    parts: dict[object, set[tuple[IndexPart, ...]]] = {}
    for name in names:
        node = graph.nodes[name]
        if isinstance(node.op, SpatialIndex) and not node.op.gathers:
            edge = node.inputs[0]
            taken = parts.setdefault((edge.source, edge.out, edge.entries), set())
            taken.add(node.op.entries)
    return any(_overlap(a, b) for taken in parts.values() for a, b in combinations(taken, 2))


def reads_elements_again(graph: Graph, names: Iterable[str]) -> bool:
    """Whether these nodes compute element by element, and read some of their results twice."""
    nodes = [graph.nodes[name] for name in names]
    plain = (n.op.elementwise or n.op.moves or not n.inputs for n in nodes)
    made = {n.name for n in nodes if n.inputs}
    reads = Counter((e.source, e.out) for n in nodes for e in n.inputs)
    merges = (n for n in graph.nodes.values() if isinstance(n.op, Merge))
    made |= {n.name for n in merges if not made.isdisjoint(n.sources)}
    return all(plain) and any(k > 1 and source in made for (source, _), k in reads.items())


def _overlap(a: tuple[IndexPart, ...], b: tuple[IndexPart, ...]) -> bool:
    return all(_overlap_on_axis(x, y) for x, y in zip(a, b, strict=True))


def _overlap_on_axis(x: IndexPart, y: IndexPart) -> bool:
    """Whether two parts of an axis have elements in common; unknown extents count as long."""
    if not (isinstance(x, tuple) and isinstance(y, tuple) and x[2] == y[2] == 1):
        return x == y
    far = ix.sub(y[0], x[0])
    if not isinstance(far, ix.Const):
        return False
    count = x[1] if far.value >= 0 else y[1]
    return not isinstance(count, ix.Const) or abs(far.value) < count.value
