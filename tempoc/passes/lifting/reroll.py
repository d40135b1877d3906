"""Steps that a program writes out one after the other, as `for k in range(20)`, become a loop.

    %u1 = f(%u0), %u2 = f(%u1), .. %u20 = f(%u19)      with pads or slices of %u in f
    ->
    %u.each = merge %u0 when r == 0, %u.step[r-1] when r >= 1   : [r]   (r < 21)
    %u.step = f(%u.each)                                        : [r | r < 20]
    %u20    = copy %u.each[20]

Where each step reads its neighbours, XLA computes what stands behind many steps again for each of
them, so that the time grows with the square of their number, and so does that of compiling. Steps
without that are better written out: they are computed in one pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from tempoc.base.cost_model import MODEL
from tempoc.base.names import fresh_name
from tempoc.ops.control.control import Copy, Merge
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.domain.skewing import declared
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import users
from tempoc.sdg.graph.rewrite import drop_dead, replace_nodes
from tempoc.sdg.graph.stencils import reads_neighbours
from tempoc.sdg.statements.build import identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain

Repeated = tuple[tuple[str, ...], dict[str, str]]
"""The values of all steps, and the nodes of the second step by those of the first."""


class Reroll(GraphPass):
    """Makes loops of repeated steps that read their neighbours."""

    __slots__ = ()
    name: ClassVar[str] = "reroll"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with a dimension for each number of repeated steps."""
        while repeated := next(_repeated(graph), None):
            values, body = repeated
            first = graph.nodes[values[1]]
            message = f"`{first.name}`: {len(values) - 1} equal steps become a loop"
            context.remarks.add(self.name, message, first.span)
            graph = _rolled(graph, values, body, context)
        return graph


# ---------------------------------------------------------------- finding


def _repeated(graph: Graph) -> Iterator[Repeated]:
    """Chains of values, each of which is computed of the one before in the same way."""
    if not reads_neighbours(graph, graph.nodes):
        return
    uses = {name: {u.reader for u in read} for name, read in users(graph).items()}
    given = {o.source for o in graph.outputs}
    for group in _alike(graph):
        rest = group
        while len(rest) > MODEL.rolled_steps:
            chain, body = _chain(graph, rest, uses, given)
            if len(chain) > MODEL.rolled_steps and reads_neighbours(graph, body):
                yield chain, body
            rest = rest[max(1, len(chain) - 1) :]


def _alike(graph: Graph) -> list[tuple[str, ...]]:
    """Nodes that differ in nothing but what they read, in order."""
    groups: dict[object, list[str]] = {}
    for node in graph.nodes.values():
        plain = node.op.elementwise and node.inputs and len(node.types) == 1
        if plain and node.types[0].shape and not node.vector:
            key = node.op, node.types, node.domain, node.spans[:1]
            groups.setdefault(key, []).append(node.name)
    return [tuple(g) for g in groups.values() if len(g) > MODEL.rolled_steps]


def _chain(
    graph: Graph, group: tuple[str, ...], uses: dict[str, set[str]], given: set[str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The longest chain from the first of a group on, and the nodes of its second step.

    Nothing else may read what is in a step, or the value of any but the last one.
    """
    chain, first = [group[0]], dict[str, str]()
    pairs = zip(group, group[1:], group[2:], strict=False)
    for before, value, after in pairs:
        body = {before: value}
        same = _is_same(graph, value, after, body)
        inner = [n for n in body if n not in (before, value) and body[n] != n]
        if not same or not all(uses[n] <= {*inner, value} for n in inner):
            break
        own = uses[value] <= {body[n] for n in (*inner, value)} and value not in given
        if not own or not inner or given & {*inner}:
            break
        first = first or {n: body[n] for n in (*inner, value)}
        chain = chain if len(chain) > 1 else [before, value]
        chain.append(after)
    return tuple(chain), first


def _is_same(graph: Graph, a: str, b: str, body: dict[str, str]) -> bool:
    """Whether two nodes are computed in the same way; notes which correspond."""
    if a in body:
        return body[a] == b
    if a == b:
        body[a] = b
        return True
    if len(body) > MODEL.rolled_nodes:
        return False
    one, other = graph.nodes[a], graph.nodes[b]
    alike = (one.op, one.types, one.domain) == (other.op, other.types, other.domain)
    if not alike or isinstance(one.op, Merge) or one.vector or not one.op.pure:
        return False
    if not one.inputs:
        return one.op.cheap
    body[a] = b
    return len(one.inputs) == len(other.inputs) and all(
        _is_read_alike(graph, x, y) and _is_same(graph, x.source, y.source, body)
        for x, y in zip(one.inputs, other.inputs, strict=True)
    )


def _is_read_alike(graph: Graph, x: Edge, y: Edge) -> bool:
    own = x.source == y.source or x.entries == identity(graph.nodes[x.source].domain)
    return own and (x.out, x.entries, x.guard) == (y.out, y.entries, y.guard)


# ---------------------------------------------------------------- the loop


def _rolled(
    graph: Graph, values: tuple[str, ...], body: dict[str, str], context: PassContext
) -> Graph:
    """The graph with the steps from the first value to the last as a loop."""
    count = len(values) - 1
    universe, dim = declared(graph, graph.universe, "repeat", ix.Const(count + 1))
    context.declare(universe)
    start, last = graph.nodes[values[0]], graph.nodes[values[-1]]
    each = fresh_name(f"{last.name}.each", graph.nodes, (), set())
    names = {n: fresh_name(f"{n}.step", graph.nodes, (), {each}) for n in body}
    step = ix.Sym(dim.name)

    def domain(node: Node, where: ix.Expr = ix.TRUE) -> Domain:
        dims = universe.sorted((*node.domain.dims, dim.name))
        return Domain(dims, ix.conjunction(node.domain.where, where))

    def at(e: ix.Expr, node: Node = start) -> tuple[ix.Expr, ...]:
        return tuple(e if d == dim.name else ix.Sym(d) for d in domain(node).dims)

    def read(edge: Edge) -> Edge:
        if edge.source == start.name:
            return replace(edge, source=each, entries=at(step))
        if edge.source not in names:
            return edge
        return replace(edge, source=names[edge.source], entries=at(step, graph.nodes[edge.source]))

    def rolled(node: Node) -> Node:
        within = domain(node, ix.compare("<", step, ix.Const(count)))
        inputs = tuple(map(read, node.inputs))
        return replace(node, name=names[node.name], domain=within, inputs=inputs)

    first = Edge(
        source=start.name, entries=identity(start.domain),
        guard=ix.compare("==", step, ix.ZERO),
    )  # fmt: skip
    others = Edge(
        source=names[values[1]], entries=at(ix.sub(step, ix.ONE)),
        guard=ix.compare(">=", step, ix.ONE),
    )  # fmt: skip
    merge = Merge(targets=(at(ix.ZERO), at(ix.add(step, ix.ONE))))
    table = replace(start, name=each, domain=domain(start), op=merge, inputs=(first, others))
    copy = replace(last, op=Copy(), inputs=(Edge(source=each, entries=at(ix.Const(count))),))
    steps = (rolled(node) for node in graph.nodes.values() if node.name in body)
    new = replace(graph, universe=universe)
    return drop_dead(replace_nodes(new, {last.name: (table, *steps, copy)}))
