"""Which nodes may be vectorized along a dimension without storing more than is stored anyway.

If some nodes keep their loop, tensors between them and vectorized nodes have to be stored at full
extent: computed before the loop, or consumed after it. That is allowed

- at no cost: for tensors that have their full extent in any case (``analysis/full_extent.py``), or
  that each step of a loop around this one reads again (``analysis/repeated_reads.py``).
  Those of large points are assumed to be computed as late as possible, and with them what reads
  them at their points, masks and sums, too: where a loop back through layers, or from the last
  date, needs them one by one, nothing is gained from having all of them before it. What could
  be computed after the loop, from a tensor that is kept, stays in it where a node reads it together
  with what only a step has: that node would wait for the end, and all that it reads be stored;
- for products of which all points share a matrix, which gain from being vectorized, and the nodes
  connected with them, as long as the additional tensors are no larger than those with full extent
  anyway: so the projections of all inputs of a recurrent network are computed before it runs.
  Of a dimension with a known number of points they may also be as large as these matrices, which
  each step would read: so a model checks at once the few words that another one has proposed.
  Connected nodes that gain nothing themselves, like outer products, are left to the loop where that
  stores less;
- for connected nodes whose operands from the loop take fewer bytes than their results that later
  rounds read: the operands are stored instead of the results. So log-probabilities of actions,
  their entropy and its derivatives are computed of the logits and actions of all steps, after a
  rollout. Results that are stored nevertheless do not count: those that several later rounds read,
  and large tensors in between.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from tempoc.base.cost_model import MODEL
from tempoc.base.graphs import connected_components
from tempoc.ops.control.control import Copy, Merge
from tempoc.ops.definition.shapes import constant_elements
from tempoc.passes.analysis.expansion import sums_products
from tempoc.passes.analysis.full_extent import full_extent_nodes, picks_row
from tempoc.passes.analysis.repeated_reads import repeatedly_read
from tempoc.passes.analysis.size_estimate import estimated_sizes
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import node_operations, operand_type, topological
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate, symbols


def affordable_nodes(
    graph: Graph,
    dim: str,
    candidates: Sequence[str],
    space: Space,
    carried: int = MODEL.carried_elements,
) -> list[str]:
    """Those of the candidates that may be vectorized along a dimension.

    A sum to at most ``carried`` elements is accumulated in a loop that computes its summands.

    Nodes with a single point along the dimension are left to the loops: vectorizing gains nothing.
    So are copies with which the windows of a loop begin: one by one they fit into its ring.
    """
    along = [n for n in graph.nodes.values() if dim in n.domain.dims]
    large = (n.name for n in along if point_bytes_of(graph, n, space) > MODEL.point_bytes)
    late = _waiting(graph, dim, large)

    def stored(vectorized: Collection[str], also: Collection[str] = ()) -> set[str]:
        waiting = late.union(vectorized)
        return repeated | full_extent_nodes(graph, dim, late=waiting, also=also, carried=carried)

    repeated = repeatedly_read(graph, dim, space)
    full_extent = stored(())
    limit = _size(graph, dim, full_extent, space)
    points = constant_elements((graph.universe.settled(ix.Sym(graph.universe.dim(dim).bound)),))
    few_points = {n.name for n in graph.nodes.values() if space.is_fixed_by(n.domain, dim)}
    few_points |= {n.name for n in along if _begins_windows(n, dim, space)}
    full_extent |= few_points
    candidates = [s for s in candidates if s not in few_points]
    boundary = _LoopBoundary(graph, dim, full_extent)
    accepted = {*candidates}
    while growing := {s for s, _ in boundary.growing(accepted)}:
        accepted -= growing
    rejected = [s for s in candidates if s not in accepted]
    others: list[str] = []
    for part in connected_components(rejected, lambda name: graph.nodes[name].sources):
        compact = _compact(graph, dim, part, accepted, boundary, space)
        if any(_gains(graph, graph.nodes[s], dim) for s in compact):
            added = {tensor for _, tensor in boundary.growing(accepted.union(compact))}
            size = _size(graph, dim, added, space)
            if size <= limit or (points and size * points <= _shared(graph, dim, compact)):
                accepted.update(compact)
        elif not boundary.is_read_by_loops(part, accepted):
            others += part
    for part in _parts_by_operands(graph, others, accepted, boundary):
        if _stores_less(graph, part, accepted, boundary, stored, space):
            accepted.update(part)
    return [s for s in candidates if s in accepted]


def _waiting(graph: Graph, dim: str, large: Iterable[str]) -> set[str]:
    """Nodes with large points, and those that read them, or functions of them, at their points.

    If a small one did not wait for its consumers, what it reads could not. Rows of scans that
    several points made are laid out once, rather than read column by column.
    """
    waiting = {*large}
    for node in map(graph.nodes.__getitem__, topological(graph)):
        if is_computed(node) and dim in node.domain.dims:
            if any(_is_at_own_point(graph, e, dim) for e in node.inputs if e.source in waiting):
                waiting.add(node.name)
            if node.vector and picks_row(graph, node, dim):
                waiting.discard(node.name)
    return waiting


def _is_at_own_point(graph: Graph, edge: Edge, dim: str) -> bool:
    """Whether an operand that has a dimension is read at the reader's point along it."""
    dims = graph.nodes[edge.source].domain.dims
    return edge.entries[dims.index(dim)] == ix.Sym(dim)


class _LoopBoundary:
    """The tensors between vectorized nodes and those that loop."""

    def __init__(self, graph: Graph, dim: str, full_extent: Collection[str]) -> None:
        nodes = graph.nodes.values()
        self.full_extent = {*full_extent}
        self.free = self.full_extent | {n.name for n in nodes if n.op.cheap}
        self.free |= {n.name for n in nodes if dim not in n.domain.dims}
        self.merges = [
            (n.name, {e.source for e in n.inputs}) for n in nodes if isinstance(n.op, Merge)
        ]
        self.reads = [(n.name, e.source) for n in nodes for e in n.inputs]
        self.readers: dict[str, list[str]] = {}
        for reader, source in self.reads:
            self.readers.setdefault(source, []).append(reader)
        self.along = {n.name for n in nodes if dim in n.domain.dims}
        along = [n for n in nodes if n.name in self.along and is_computed(n)]
        self.operands = {n.name: n.sources for n in along if not isinstance(n.op, Merge)}

    def growing(self, vectorized: Collection[str]) -> Iterator[tuple[str, str]]:
        """Vectorized nodes, each with a boundary tensor that would grow to its full extent."""
        free = self.free.union(vectorized)
        free |= {name for name, sources in self.merges if sources <= free}
        behind: set[str] = set()
        for reader, source in self.reads:
            if source not in free and reader in vectorized:
                yield reader, source
            if source not in vectorized or source in self.full_extent:
                continue
            if reader not in free:
                yield source, source
            elif reader not in vectorized and self.waits(reader, free):
                behind = behind or self.behind(vectorized)
                if source in behind:
                    yield source, source

    def is_read_by_loops(self, names: Sequence[str], vectorized: Collection[str]) -> bool:
        """Whether a node of a loop reads some of these, which the loop may compute when it does."""
        inside = {*names}
        looping = self.operands.keys() - inside.union(vectorized)
        return any(source in inside and reader in looping for reader, source in self.reads)

    def waits(self, reader: str, free: Collection[str]) -> bool:
        """Whether a node reads what only a step of the loop has."""
        return any(source not in free for source in self.operands.get(reader, ()))

    def behind(self, vectorized: Collection[str]) -> set[str]:
        """The nodes that need what the loop computes, and those of the loop."""
        reached = [n for n in self.operands if n not in vectorized]
        needing = {*reached}
        while reached:
            more = [r for r in self.readers.get(reached.pop(), ()) if r not in needing]
            needing.update(more)
            reached.extend(more)
        return needing


def _begins_windows(node: Node, dim: str, space: Space) -> bool:
    """Whether a node copies a constant number of points before a cut (``domain/split.py``)."""
    if not isinstance(node.op, Copy) or not space.has_few_points(node.domain, dim):
        return False
    last = space.upper_bound(ix.Sym(dim), node.domain)
    limits = last.args if isinstance(last, ix.IndexMin) else (last,)
    return not any(isinstance(limit, ix.Const) for limit in limits)


def _gains(graph: Graph, node: Node, dim: str) -> bool:
    """Whether a node is a product of matrices of which all points share one, or a part of it.

    One that sums few terms, and makes much of little, is as soon computed as it is read.
    """
    if not sums_products(graph, node) or all(_is_own(e, dim) for e in node.inputs):
        return False
    elements = constant_elements(node.types[0].shape)
    work = constant_elements((node_operations(graph, node),))
    own = [constant_elements(operand_type(graph, e).shape) for e in node.inputs if _is_own(e, dim)]
    few = elements and work is not None and work <= MODEL.short_sum * elements
    return not few or any(n is None or n * MODEL.made_factor > (elements or 0) for n in own)


def _shared(graph: Graph, dim: str, names: Iterable[str]) -> int:
    """The elements of matrices that all points of a dimension share, of products that gain."""
    gaining = [graph.nodes[n] for n in names if _gains(graph, graph.nodes[n], dim)]
    matrices = {e for node in gaining for e in node.inputs if not _is_own(e, dim)}
    return sum(constant_elements(operand_type(graph, e).shape) or 0 for e in matrices)


def _is_own(edge: Edge, dim: str) -> bool:
    """Whether each point of a dimension reads a tensor of its own."""
    return any(not isinstance(e, ix.Slice) and dim in symbols(e) for e in edge.entries)


def _compact(
    graph: Graph,
    dim: str,
    part: Sequence[str],
    accepted: Collection[str],
    boundary: _LoopBoundary,
    space: Space,
) -> list[str]:
    """The part without nodes that gain nothing and whose boundary tensors would take most.

    Nodes are left to the loop as long as less is stored that way.
    """
    chosen, vectorized = [*part], {*accepted, *part}
    growing = [*boundary.growing(vectorized)]
    while growing:
        tensors = dict.fromkeys(t for _, t in growing)
        sizes = {t: _size(graph, dim, (t,), space) for t in tensors}
        largest = max(sizes, key=lambda t: sizes[t])
        nodes = {n for n, t in growing if t == largest}
        if sizes[largest] < MODEL.made_elements or not nodes <= {*chosen}:
            break
        fewer = vectorized - nodes
        less = [*boundary.growing(fewer)]
        after = _size(graph, dim, (t for _, t in less), space)
        gains = any(_gains(graph, graph.nodes[n], dim) for n in nodes)
        if gains or after >= sum(sizes.values()):
            break
        chosen, vectorized, growing = [n for n in chosen if n not in nodes], fewer, less
    return chosen


def _parts_by_operands(
    graph: Graph, names: Sequence[str], accepted: Collection[str], boundary: _LoopBoundary
) -> Iterator[tuple[str, ...]]:
    """Nodes that are connected, or read the same tensor of a loop."""
    own = {*names}
    read = {s: None for n in names for s in graph.nodes[n].sources}
    shared = [s for s in read if not (s in own or s in accepted or s in boundary.free)]
    sources = {n: graph.nodes[n].sources for n in names}
    for part in connected_components([*names, *shared], lambda n: sources.get(n, ())):
        yield tuple(n for n in part if n in own)


def _stores_less(
    graph: Graph,
    part: Sequence[str],
    accepted: Collection[str],
    boundary: _LoopBoundary,
    stored: Callable[[Collection[str], Collection[str]], set[str]],
    space: Space,
) -> bool:
    """Whether to store the operands of a part instead of its results takes fewer bytes.

    ``stored`` gives the tensors of full extent, if some nodes are vectorized and computed as late
    as possible, and others have their full extent.
    """
    vectorized, inside = {*accepted, *part}, {*part}
    read = {s for reader, s in boundary.reads if s in inside and reader not in inside}
    added = {tensor for _, tensor in boundary.growing(vectorized)}

    def size(names: Iterable[str]) -> int:
        return sum(point_bytes_of(graph, graph.nodes[n], space) for n in names)

    if size(added) >= size(read & boundary.full_extent):
        return False
    before, after = stored(accepted, ()), stored(vectorized, added)
    return size(boundary.along & after - before) <= size(boundary.along & before - after)


def _size(graph: Graph, dim: str, names: Iterable[str], space: Space) -> int:
    """The elements of tensors at a point of a dimension, for bounds as large as is assumed."""
    return sum(
        _elements(graph, graph.nodes[n], space)
        for n in {*names}
        if dim in graph.nodes[n].domain.dims
    )


def _elements(graph: Graph, node: Node, space: Space) -> int:
    return sum(_sizes(graph, node, space))


def point_bytes_of(graph: Graph, node: Node, space: Space) -> int:
    """The bytes of a tensor at a point of a dimension, for bounds as large as is assumed."""
    pairs = zip(_sizes(graph, node, space), node.types, strict=True)
    return sum(size * t.dtype.itemsize for size, t in pairs)


def _sizes(graph: Graph, node: Node, space: Space) -> Iterator[int]:
    """The number of elements of each result, where it is longest."""
    known = estimated_sizes(graph.universe)
    along: list[ix.Expr] = [ix.Sym(graph.universe.dim(d).bound) for d in node.vector]
    for type_ in node.types:
        shape = (space.upper_bound(e, node.domain) for e in type_.shape)
        yield evaluate(ix.product((*along, *shape)), known)
