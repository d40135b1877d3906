"""Nodes with equal values at equal points, though their equations or domains differ.

    %a = matmul %w, %x : [b]           f32[3]        %a = matmul %w, %x : [b]    f32[3]
    %c = matmul %w, %x : [b | T >= 2]  f32[3]        %q = copy %a       : [b, t] f32[3]
    %d = copy %c       : [b, t | t != 0] f32[3]  ->
    %q = merge{targets=((b, 0), (b, t))} %a when t == 0, %d when t != 0 : [b, t] f32[3]

A node whose domain is contained in that of a node with the same operator and operands is replaced
by that node. A merge all of whose branches copy one value, or the merge's own value at earlier
points (``c[t] = c[t-1]``), is a copy of that value. Reads of itself that go in a cycle stay, for
the schedule to refuse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tempoc.ops.control.control import Copy, Merge
from tempoc.passes.analysis.variance import is_external
from tempoc.passes.simplify.copy_propagation import read_original
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import operand_type
from tempoc.sdg.graph.rewrite import redirect
from tempoc.sdg.statements.branches import branch_conditions
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import symbols


def merge_contained_work(graph: Graph, space: Space) -> Graph:
    """Replace each node by one that computes the same at all of its points and more."""
    same_value: dict[object, list[Node]] = {}
    written = {e.source for n in graph.nodes.values() if not is_computed(n) for e in n.inputs}
    for node in graph.nodes.values():
        if is_computed(node) and not is_external(node) and node.op.heavy:
            reads = tuple((e.source, e.out, e.entries) for e in node.inputs)
            key = (repr(node.op), node.domain.dims, node.types, node.vector, reads)
            same_value.setdefault(key, []).append(node)
    classes = [nodes for nodes in same_value.values() if len({n.domain for n in nodes}) > 1]
    conditions = branch_conditions(graph) if classes else {}
    replacements: dict[tuple[str, int], tuple[str, int]] = {}
    for nodes in classes:
        free = [n for n in nodes if not conditions[n.name]]
        for node in (n for n in free if n.name not in written):
            for wide in free:
                if (
                    wide.domain != node.domain
                    and (wide.name, 0) not in replacements
                    and space.contains(wide.domain, node.domain)
                ):
                    replacements |= {(node.name, k): (wide.name, k) for k in range(len(node.types))}
                    break
    return redirect(graph, replacements) if replacements else graph


def forward_equal_branches(graph: Graph, space: Space) -> Graph:
    """Replace merges whose branches all copy the same value by a copy of it."""
    nodes = dict(graph.nodes)
    for node in graph.nodes.values():
        if isinstance(node.op, Merge):
            edge = _common_value(graph, node, space)
            if edge is not None:
                nodes[node.name] = replace(node, op=Copy(), inputs=(edge,))
    return graph if nodes == dict(graph.nodes) else replace(graph, nodes=nodes)


def _common_value(graph: Graph, merge: Node, space: Space) -> Edge | None:
    """The one read that gives the merge's value at each of its points, if there is one."""
    values: dict[tuple[object, ...], Edge] = {}
    own: list[Edge] = []
    for branch in merge.inputs:
        edge = read_original(graph, branch)
        if edge.source == merge.name:
            own.append(edge)
        else:
            values[edge.source, edge.out, edge.entries] = edge
    if len(values) != 1:
        return None
    (edge,) = values.values()
    if any(isinstance(e, ix.Slice) for e in edge.entries):
        return None
    if operand_type(graph, edge) != merge.types[0]:
        return None
    varying = graph.universe.ordered(tuple(n for e in edge.entries for n in symbols(e)))
    for read in own:
        at = merge.domain.at(read.entries)
        if any(at[d] != ix.Sym(d) for d in varying if d in at):
            return None
    if not _are_finite(merge.domain, own, merge.domain.dims, space):
        return None
    return replace(edge, guard=ix.TRUE)


def _are_finite(domain: Domain, own: Sequence[Edge], dims: Sequence[str], space: Space) -> bool:
    """Whether reads of a merge by itself, followed from point to point, surely come to an end.

    They do if along some dimension none goes up (or none down), and those that stay there come to
    an end along the other dimensions.
    """
    if not own:
        return True
    orders: tuple[tuple[ix.CompareOp, ix.CompareOp], ...] = (("<=", "<"), (">=", ">"))
    for dim in dims:
        others = [d for d in dims if d != dim]
        for order, strictly in orders:
            if all(_compares(domain, read, dim, order, space) for read in own):
                staying = [r for r in own if not _compares(domain, r, dim, strictly, space)]
                if len(staying) < len(own) and _are_finite(domain, staying, others, space):
                    return True
    return False


def _compares(domain: Domain, read: Edge, dim: str, order: ix.CompareOp, space: Space) -> bool:
    """Whether all points read are in this order to those that read them, along a dimension."""
    entry = read.entries[domain.dims.index(dim)]
    if isinstance(entry, ix.Slice):
        return False
    points = Domain(domain.dims, ix.conjunction(domain.where, read.guard))
    return space.implies(points, ix.compare(order, entry, ix.Sym(dim)))
