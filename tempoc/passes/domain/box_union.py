"""A branch whose points are a few boxes becomes a branch for each box.

    %u.1 = copy %zero : [t, i, j | i == 0 or j == 0] f32
    %u   = merge %u.1 when i == 0 or j == 0, ... : [t, i, j] f32
    ->
    %u.1  = copy %zero : [t, i, j | i == 0] f32
    %u.1b = copy %zero : [t, i, j | j == 0 and i != 0] f32
    %u    = merge %u.1 when i == 0, %u.1b when j == 0 and i != 0, ... : [t, i, j] f32

A union of boxes, such as the rim of a grid, would be computed point by point; each box can be
vectorized. What only the branch reads, at its own points, is computed for each box as well; of a
number that several merges share each merge makes its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from tempoc.base.effort import EFFORT
from tempoc.base.names import Names
from tempoc.ops.control.control import Copy, Merge
from tempoc.ops.tensor.source import Literal
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import OperandUse, users
from tempoc.sdg.graph.rewrite import replace_nodes
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import identity, is_computed, is_identity
from tempoc.sdg.statements.vectorized import vector_ranges
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, conjuncts
from tempoc.symbolic.walk import symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxedBranch:
    """A branch of a merge that became one for each box."""

    merge: str
    branch: str
    boxes: int


def with_boxes(graph: Graph, space: Space) -> tuple[Graph, tuple[BoxedBranch, ...]]:
    """The graph with a branch for each box of a union of boxes, and which branches these were."""
    boxed: list[BoxedBranch] = []
    for name in [n.name for n in graph.nodes.values() if isinstance(n.op, Merge)]:
        for edge in graph.nodes[name].inputs:
            boxes = _boxes_of(graph, name, edge, space)
            if len(boxes) > 1:
                graph = _divided(graph, name, edge, boxes)
                boxed.append(BoxedBranch(merge=name, branch=edge.source, boxes=len(boxes)))
    return graph, tuple(boxed)


def _boxes_of(graph: Graph, merge: str, edge: Edge, space: Space) -> Sequence[Domain]:
    """The boxes of a branch that are not empty for all bounds; none if it stays as it is."""
    node, whole = graph.nodes[edge.source], graph.nodes[merge]
    own = [k for k, e in enumerate(whole.inputs) if e.source == node.name]
    if len(own) != 1 or not is_computed(node) or not is_identity(edge, graph):
        return ()
    assert isinstance(whole.op, Merge)
    if whole.op.targets[own[0]] != identity(whole.domain) or node.domain.dims != whole.domain.dims:
        return ()
    parts = conjuncts(node.domain.where)
    unions = [p for p in parts if isinstance(p, ix.Disjunction)]
    dims = tuple(d for d in node.domain.dims if any(d in symbols(u) for u in unions))
    if len(dims) < 2 or vector_ranges(node.domain, dims, space) is not None:
        return ()
    rest = ix.conjunction(*(p for p in parts if p not in unions))
    domains: list[Domain] = []
    for pieces in product(*(_disjoint(u.args) for u in unions)):
        box = ix.conjunction(*(part for piece in pieces for part in piece))
        where = space.simplify(ix.conjunction(rest, box), Domain(node.domain.dims))
        domain = Domain(node.domain.dims, where)
        if space.is_empty(domain):
            continue
        if len(domains) == EFFORT.boxes or vector_ranges(domain, dims, space) is None:
            return ()
        domains.append(domain)
    return domains


def _disjoint(alternatives: Sequence[ix.Expr]) -> Iterator[tuple[ix.Expr, ...]]:
    """Conditions, each as its parts, of which one holds where one of the alternatives holds."""
    for k, alternative in enumerate(alternatives):
        pieces: list[tuple[ix.Expr, ...]] = [conjuncts(alternative)]
        for earlier in alternatives[:k]:
            apart = [*_differences(conjuncts(earlier))]
            pieces = [(*piece, *other) for piece in pieces for other in apart]
        yield from pieces


def _differences(parts: Sequence[ix.Expr]) -> Iterator[tuple[ix.Expr, ...]]:
    """Where not all parts hold: the first that does not, after those that do."""
    for k, part in enumerate(parts):
        yield (*parts[:k], ix.negation(part))


def _divided(graph: Graph, merge: str, edge: Edge, boxes: Sequence[Domain]) -> Graph:
    """The graph with nodes of their own for each box, and the merge of all."""
    branch = graph.nodes[edge.source]
    shared = _is_shared_constant(graph, branch)
    cone = [branch.name] if shared else _own_nodes(graph, branch)
    if not cone:
        return graph
    names = Names(graph.nodes)
    copies: dict[str, list[Node]] = {name: [branch] if shared else [] for name in cone}
    results: list[Edge] = []
    for k, box in enumerate(boxes):
        renamed = {n: names.fresh(f"{n}.box") if k or shared else n for n in cone}
        for name in cone:
            copies[name].append(_in_box(graph.nodes[name], box, renamed))
        results.append(replace(edge, source=renamed[edge.source], guard=box.where))
    whole = graph.nodes[merge]
    assert isinstance(whole.op, Merge)
    targets: list[tuple[ix.Expr, ...]] = []
    inputs: list[Edge] = []
    for target, read in zip(whole.op.targets, whole.inputs, strict=True):
        new = results if read is edge else [read]
        inputs += new
        targets += [target] * len(new)
    op = replace(whole.op, targets=tuple(targets))
    return replace_nodes(graph, {**copies, merge: [replace(whole, op=op, inputs=tuple(inputs))]})


def _is_shared_constant(graph: Graph, branch: Node) -> bool:
    """Whether others read a branch, too, which is a number and costs nothing to be made again."""
    literal = all(isinstance(graph.nodes[e.source].op, Literal) for e in branch.inputs)
    return isinstance(branch.op, Copy) and literal and len(users(graph)[branch.name]) > 1


def _in_box(node: Node, box: Domain, renamed: Mapping[str, str]) -> Node:
    """The node at the points of a box."""
    inputs = tuple(replace(e, source=renamed.get(e.source, e.source)) for e in node.inputs)
    return replace(node, name=renamed[node.name], domain=box, inputs=inputs)


def _own_nodes(graph: Graph, branch: Node) -> list[str]:
    """The branch, and what only it reads, with the same points; none if it has other readers."""
    readers: Mapping[str, tuple[OperandUse, ...]] = users(graph)
    fixed = {*enclosing_conds(graph), *(o.source for o in graph.outputs)}
    cone: dict[str, None] = {}
    waiting = [branch.name]
    while waiting:
        name = waiting.pop()
        node = graph.nodes[name]
        uses = readers[name]
        own = all(u.reader in cone and is_identity(_read(graph, u), graph) for u in uses)
        private = len(uses) == 1 if node is branch else own
        able = is_computed(node) and node.op.pure and name not in fixed
        if name not in cone and private and able and node.domain == branch.domain:
            cone[name] = None
            waiting += [e.source for e in node.inputs]
    return list(reversed(cone)) if branch.name in cone else []


def _read(graph: Graph, use: OperandUse) -> Edge:
    return graph.nodes[use.reader].inputs[use.slot]
