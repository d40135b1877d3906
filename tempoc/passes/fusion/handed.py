"""What a step makes and stores for later ones is handed to the other kernels of the step as it is.

    group a   %s = tanh %v       : [t] f32[8]         group a   %s = tanh %v, %s.made = copy %s
    group b   %w = mul %s, %g    : [t] f32[8]   ->    group b   %w = mul %s.made, %g
    group c   %l = add %s[t-5], %u                    (the same)

XLA reads a row that a step has put into an array from that array, element by element, and computes
where it is for each of them. A copy that nothing else reads is a value of the step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from tempoc.base.cost_model import MODEL
from tempoc.base.names import fresh_name
from tempoc.ops.control.control import Copy, Merge
from tempoc.passes.analysis.full_extent import loop_rounds
from tempoc.passes.analysis.size_estimate import bytes_of
from tempoc.passes.fusion.delay import OperandUses
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import OperandUse, users
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import identity, is_identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


def handed_over(graph: Graph) -> Graph:
    """The graph with such copies, each in the group of what it copies.

    Loops whose lengths the data decide stay as they are (see ``memory/carry.py``).
    """
    homes = {member: group.name for group in graph.groups for member in group.members}
    uses, lazy = users(graph), enclosing_conds(graph)
    stored = [
        node
        for name, node in graph.nodes.items()
        if name in homes and name not in lazy and _is_row(graph, node)
    ]
    near = {node.name: [*_near(graph, node, uses, homes)] for node in stored}
    stored = [node for node in stored if near[node.name] and _is_kept(graph, node, uses)]
    rounds = {
        dim: loop_rounds(graph, dim)
        for dim in dict.fromkeys(d for n in stored for d in n.domain.dims)
    }
    moved: dict[tuple[str, int], str] = {}
    copies: dict[str, Node] = {}
    taken = dict.fromkeys(graph.nodes)
    for node in stored:
        together = [
            use
            for use in near[node.name]
            if all(rounds[d].get(use.reader) == rounds[d].get(node.name) for d in node.domain.dims)
        ]
        if together:
            name = fresh_name(f"{node.name}.made", taken)
            taken[name] = None
            edge = Edge(source=node.name, entries=identity(node.domain))
            copies[node.name] = replace(node, name=name, op=Copy(), inputs=(edge,))
            moved |= {(use.reader, use.slot): name for use in together}
    if not moved:
        return graph
    nodes: dict[str, Node] = {}
    for name, node in graph.nodes.items():
        inputs = tuple(
            replace(e, source=moved.get((name, slot), e.source))
            for slot, e in enumerate(node.inputs)
        )
        nodes[name] = replace(node, inputs=inputs)
        if name in copies:
            nodes[copies[name].name] = copies[name]
    groups = tuple(replace(g, members=_with_copies(g.members, copies)) for g in graph.groups)
    return replace(graph, nodes=nodes, groups=groups)


def _with_copies(members: Iterable[str], copies: Mapping[str, Node]) -> tuple[str, ...]:
    """The members of a group, each copy behind what it copies."""
    both = ((m, copies[m].name) if m in copies else (m,) for m in members)
    return tuple(name for names in both for name in names)


def _is_row(graph: Graph, node: Node) -> bool:
    """Whether a node makes one small array at each point of loops with known lengths."""
    dims, universe = node.domain.dims, graph.universe
    if not dims or node.vector or isinstance(node.op, Merge) or len(node.types) != 1:
        return False
    fixed = all(universe.dim(d).bound not in universe.lengths for d in dims)
    (type_,) = node.types
    known = not any(symbols(e) for e in type_.shape)
    return fixed and known and bool(type_.shape) and bytes_of(type_, {}) <= MODEL.point_bytes


def _near(
    graph: Graph, node: Node, uses: OperandUses, homes: Mapping[str, str]
) -> Iterator[OperandUse]:
    """The reads by other groups at the same point."""
    for use in uses[node.name]:
        reader = graph.nodes[use.reader]
        edge = reader.inputs[use.slot]
        own = reader.domain.dims == node.domain.dims and not reader.vector
        other = homes.get(use.reader, homes[node.name]) != homes[node.name]
        if own and other and is_identity(edge, graph):
            yield use


def _is_kept(graph: Graph, node: Node, uses: OperandUses) -> bool:
    """Whether there is an array of several steps: a result, or what later steps read.

    The next step alone reads a value that the loop carries.
    """
    reads = [o.entries for o in graph.outputs if o.source == node.name]
    for use in uses[node.name]:
        reader = graph.nodes[use.reader]
        if not isinstance(reader.op, Merge):
            reads.append(reader.inputs[use.slot].entries)
    dims = node.domain.dims
    return any(_is_far(d, e, dims) for at in reads for d, e in zip(dims, at, strict=True))


def _is_far(dim: str, entry: ix.Entry, dims: tuple[str, ...]) -> bool:
    """Whether an entry takes several steps, or one that is not near."""
    if isinstance(entry, ix.Slice):
        return True
    distance = ix.sub(entry, ix.Sym(dim))
    if isinstance(distance, ix.Const):
        return abs(distance.value) > 1
    return not {*dims}.isdisjoint(symbols(entry))
