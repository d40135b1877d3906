"""Recurrences: nodes in loop-carried cycles along a dimension, and where such cycles begin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tempoc.base.graphs import reachable, strongly_connected_components
from tempoc.ops.control.control import Merge
from tempoc.ops.control.until import Until
from tempoc.ops.tensor.source import Param
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import all_reads
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import is_affine, substitute, symbols


def recurrences(graph: Graph, dim: str, space: Space) -> list[tuple[str, ...]]:
    """The dependence cycles along a dimension with all others fixed; each with its merges.

    Merges are passed through: a reader depends on the branches whose points it reads.
    """
    names = [n.name for n in graph.nodes.values() if dim in n.domain.dims]
    inner = {n for n in names if not isinstance(graph.nodes[n].op, Merge)}
    sources: dict[str, list[str]] = {name: [] for name in names}
    passed_merges: dict[str, dict[str, None]] = {name: {} for name in names}
    for name in names:
        for source, merge in _instantaneous_sources(graph, graph.nodes[name], dim, space):
            if name in inner and source in inner:
                sources[name].append(source)
                if merge:
                    passed_merges[name][merge] = None
    cycles = []
    for part in strongly_connected_components(names, sources.__getitem__):
        if len(part) > 1 or part[0] in sources[part[0]]:
            merges = {m: None for name in part for m in passed_merges[name]}
            writes = [m for m in merges if any(e.source in part for e in graph.nodes[m].inputs)]
            cycles.append((*part, *writes))
    return cycles


def _instantaneous_sources(
    graph: Graph, node: Node, dim: str, space: Space
) -> Iterator[tuple[str, str]]:
    """The writers of a node's operands at its own point of the other dimensions; and the merge."""
    for edge in node.inputs if not isinstance(node.op, Merge) else ():
        source = graph.nodes[edge.source]
        if dim not in source.domain.dims or _is_carried_elsewhere(graph, node, edge, dim):
            continue
        if not isinstance(source.op, Merge):
            yield source.name, ""
            continue
        for branch in source.inputs:
            if not _is_carried_elsewhere(graph, source, branch, dim):
                where = ix.conjunction(source.domain.where, branch.guard)
                branch_domain = Domain(source.domain.dims, where)
                if not space.access_map(node.domain, edge.entries, branch_domain).is_empty():
                    yield branch.source, source.name


def _is_carried_elsewhere(graph: Graph, reader: Node, edge: Edge, dim: str) -> bool:
    """Whether another dimension's loop carries a read: it is always at another point there."""
    for other, entry in zip(graph.nodes[edge.source].domain.dims, edge.entries, strict=True):
        moves = other != dim and other in reader.domain.dims and entry != ix.Sym(other)
        if moves and isinstance(entry, ix.Expr):
            shift = ix.sub(entry, ix.Sym(other))
            if isinstance(shift, ix.Const) and shift != ix.ZERO:
                return True
    return False


def loop_members(graph: Graph, dim: str, cycle: Iterable[str], able: set[str]) -> tuple[str, ...]:
    """The cycle with the nodes that have to run in the same loop, in node order.

    These are, transitively, consumers at the loop's own index, and operands read there that nobody
    reads by a slice; of both only those in ``able`` (which can be split).
    """
    sliced = sliced_sources(graph, dim)
    near: dict[str, list[str]] = {name: [] for name in graph.nodes}
    for node in graph.nodes.values():
        for source in (e.source for e in node.inputs if _at_own_index(graph, e, dim)):
            if source in able and source not in sliced:
                near[node.name].append(source)
            if node.name in able:
                near[source].append(node.name)
    members = reachable(cycle, near.__getitem__)
    return tuple(name for name in graph.nodes if name in members)


def _at_own_index(graph: Graph, edge: Edge, dim: str) -> bool:
    pairs = zip(graph.nodes[edge.source].domain.dims, edge.entries, strict=True)
    return (dim, ix.Sym(dim)) in pairs


def splittable_nodes(graph: Graph) -> set[str]:
    """The nodes that may be split in two: no effects, params, defaults or vectorized nodes.

    Cheap nodes, which each group rematerializes anyway (``fusion/sink.py``), need no split.
    """
    params = [n for n in graph.nodes.values() if isinstance(n.op, Param)]
    given = {e.source for n in params for e in n.inputs}
    return {
        n.name
        for n in graph.nodes.values()
        if isinstance(n.op, Merge)
        or not (
            not is_computed(n)
            or n.op.cheap
            or n.vector
            or n.name in given
            or not n.op.pure
            or isinstance(n.op, Until)
        )
    }


# ---------------------------------------------------------------- thresholds


def thresholds(graph: Graph, dim: str, names: Iterable[str], space: Space) -> tuple[ix.Expr, ...]:
    """The points at which merges of these nodes switch branches, in the order of the guards.

    Expressions over bounds, with at least two points of the dimension on either side.
    """
    points: dict[ix.Expr, None] = {}
    for name in names:
        node = graph.nodes[name]
        for edge in node.inputs if isinstance(node.op, Merge) else ():
            for comparison in _comparisons(edge.guard):
                points |= dict.fromkeys(_switch_points(graph, comparison, dim))
    last = ix.sub(ix.Sym(graph.universe.dim(dim).bound), ix.ONE)
    no_dims = Domain(())
    return tuple(
        at
        for at in points
        if not space.implies(no_dims, ix.compare("<=", at, ix.ONE))
        and not space.implies(no_dims, ix.compare(">=", at, last))
    )


def _comparisons(condition: ix.Expr) -> Iterator[ix.Relation]:
    match condition:
        case ix.Conjunction(args=args) | ix.Disjunction(args=args):
            for arg in args:
                yield from _comparisons(arg)
        case ix.Negation(arg=arg):
            yield from _comparisons(arg)
        case ix.Relation():
            yield condition


def _switch_points(graph: Graph, test: ix.Relation, dim: str) -> Iterator[ix.Expr]:
    """The points along a dimension at which a comparison becomes true or false."""
    gap = ix.sub(test.left, test.right)
    if not is_affine(gap) or dim not in symbols(gap):
        return
    offset = substitute(gap, {dim: ix.ZERO})
    scale = ix.sub(substitute(gap, {dim: ix.ONE}), offset)
    if scale not in (ix.ONE, ix.Const(-1)) or any(
        graph.universe.is_dim(n) for n in symbols(offset)
    ):
        return
    if gap != ix.add(ix.mul(scale, ix.Sym(dim)), offset):
        return
    root = (
        offset if scale == ix.Const(-1) else ix.mul(ix.Const(-1), offset)
    )  # where both sides are equal
    rising = scale == ix.ONE
    if test.op in ("==", "!=") or (test.op in ("<", ">=")) == rising:
        yield root
    if test.op in ("==", "!=") or (test.op in (">", "<=")) == rising:
        yield ix.add(root, ix.ONE)


def sliced_sources(graph: Graph, dim: str) -> set[str]:
    """The nodes that are read by a slice along a dimension."""
    sliced: set[str] = set()
    for edge in all_reads(graph):
        at = graph.nodes[edge.source].domain.at(edge.entries)
        if isinstance(at.get(dim), ix.Slice):
            sliced.add(edge.source)
    return sliced
