"""Which nodes are between what gradients differentiate by and their losses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tempoc.base.graphs import reachable
from tempoc.ops.control.control import Copy, StopGradient
from tempoc.ops.control.gradient import Gradient
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import OperandUse

DerivativeOperands = Mapping[str, tuple[tuple[OperandUse, str], ...]]
"""Operands of nodes by name, each with the node that it reads."""


def gradients(graph: Graph) -> list[Node]:
    """The nodes that ask for derivatives."""
    return [n for n in graph.nodes.values() if isinstance(n.op, Gradient)]


def without_stops(graph: Graph) -> Graph:
    """A graph without gradients, in which what no derivative passes is a copy."""
    nodes = {
        name: replace(node, op=Copy()) if isinstance(node.op, StopGradient) else node
        for name, node in graph.nodes.items()
    }
    return replace(graph, nodes=nodes)


def active_nodes(graph: Graph, among: Sequence[Node]) -> list[frozenset[str]]:
    """For each gradient, the nodes on paths to its losses from what it differentiates by.

    Many gradients have the same losses, which lead to most of the graph: these are followed once.
    """
    readers: dict[tuple[tuple[str, ...], tuple[str, ...]], dict[str, list[str]]] = {}
    active: list[frozenset[str]] = []
    operands = derivative_operands(graph) if among else {}
    for node in among:
        losses, wrt = ends_of(node)
        # No derivative flows through a tensor without operands, such as a param, in any case.
        ends = losses, tuple(x for x in wrt if graph.nodes[x].inputs)
        if ends not in readers:
            uses = derivative_uses(operands, *ends).items()
            readers[ends] = {name: [u.reader for u in by] for name, by in uses}
        starts = (x for x in wrt if x in readers[ends])
        active.append(frozenset(reachable(starts, readers[ends].__getitem__)))
    return active


def ends_of(node: Node) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The losses of a gradient, and the tensors that are independent in it."""
    assert isinstance(node.op, Gradient)
    names = [e.source for e in node.inputs]
    losses, wrt = names[: node.op.losses], names[node.op.losses :]
    return tuple(losses), tuple(dict.fromkeys(wrt))


def independent_nodes(graph: Graph) -> frozenset[str]:
    """All nodes that gradients differentiate by.

    Before differentiation, what reads one must not compute its values anew from its operands: the
    derivative by it would lack that reader.
    """
    return frozenset(name for n in gradients(graph) for name in ends_of(n)[1])


def passed_over(graph: Graph, node: Node, parts: Iterable[Node]) -> set[str]:
    """What a node is computed from that nodes in its place do not read, up to what they read."""
    read = {e.source for part in parts for e in part.inputs}
    starts = [s for s in node.sources if s not in read]
    return {*reachable(starts, lambda n: [s for s in graph.nodes[n].sources if s not in read])}


def derivative_operands(graph: Graph) -> DerivativeOperands:
    """The operands of each node through which derivatives flow, and what they read."""
    operands: dict[str, tuple[tuple[OperandUse, str], ...]] = {}
    for node in graph.nodes.values():
        edges = enumerate(node.inputs) if node.op.differentiable else ()
        operands[node.name] = tuple(
            (OperandUse(node.name, slot), e.source)
            for slot, e in edges
            if graph.nodes[e.source].types[e.out].dtype.is_float
        )
    return operands


def derivative_uses(
    operands: DerivativeOperands, losses: tuple[str, ...], wrt: tuple[str, ...]
) -> dict[str, list[OperandUse]]:
    """The uses through which derivatives flow, of all nodes that lead to the losses.

    ``operands`` are those of the whole graph, which many gradients ask for.
    """
    uses: dict[str, list[OperandUse]] = {loss: [] for loss in losses}
    worklist = list(uses)
    for name in worklist:  # grows meanwhile
        for use, source in () if name in wrt else operands[name]:
            if source not in uses:
                uses[source] = []
                worklist.append(source)
            uses[source].append(use)
    return uses
