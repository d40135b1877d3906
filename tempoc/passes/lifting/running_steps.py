"""Nodes whose points are computed in order, in place of others, where a loop nest can do that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tempoc.passes.analysis.dependence import unschedulable_nodes
from tempoc.passes.lifting.range_contraction import range_contractions, running_contraction
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.rewrite import replace_nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningStep:
    """The nodes that replace ``node`` and compute its points in order along ``dim``.

    ``in_loop``: the first point, too, is computed in the loop.
    """

    node: Node
    dim: str
    parts: tuple[Node, ...]
    form: str
    in_loop: bool = False


def contraction_step(
    graph: Graph, node: Node, space: Space, *, in_loop: bool = False
) -> RunningStep | None:
    """The replacement of a contraction over a range that grows; ``None`` for other nodes."""
    for product in range_contractions(graph, node, space):
        parts = running_contraction(graph, product, space, in_loop=in_loop)
        if parts is not None:
            form = "a running sum of products"
            return RunningStep(node=node, dim=product.dim, parts=parts, form=form, in_loop=in_loop)
    return None


def with_steps(
    graph: Graph,
    steps: Mapping[str, RunningStep],
    again: Callable[..., RunningStep | None],
    space: Space,
) -> tuple[Graph, tuple[str, ...]]:
    """The graph with the replacements of nodes by name, and the names of those that it lacks, as
    they would make it unschedulable.

    ``again`` makes another replacement, computed ``in_loop``, for a node with which that happens.
    The same graph if none can be made.
    """
    steps, rejected_names = dict(steps), list[str]()
    updated, unscheduled = graph, tuple(steps)
    while steps and unscheduled:
        updated = replace_nodes(graph, {name: step.parts for name, step in steps.items()})
        unscheduled = unschedulable_nodes(updated, space)
        rejected = [s for s in steps.values() if any(n.name in unscheduled for n in s.parts)]
        if unscheduled and not rejected:
            return graph, tuple(rejected_names)
        for step in rejected:
            other = None if step.in_loop else again(graph, step.node, space, in_loop=True)
            if other is not None:
                steps[step.node.name] = other
                continue
            del steps[step.node.name]
            rejected_names.append(step.node.name)
    return (updated if steps else graph), tuple(rejected_names)
