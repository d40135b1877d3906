"""Vectorizes dimensions: all their points are computed at once where none depends on another.

    %h = tanh %x : [b, t] f32[8]     ->     %h = tanh %x : [b*, t] f32[8]

A vectorized ("starred") dimension is no loop any more: the kernel maps its points (``jax.vmap``),
and buffers get an axis for it. The meaning of a node does not change.

Dimensions are tried in declaration order. First all nodes with the dimension are starred; while
some dependence cycle then has no loop that carries it, its nodes lose their star again (so a
recurrence stays a loop, and the nodes around it do not). Loops over other dimensions may carry a
cycle: of ``u[i+1, x] = u[i, x-1] + u[i, x+1]`` all ``x`` run at once, step by step in ``i``.

If some nodes keep their loop, stars must not increase memory (``memory_guard.py``). A kernel with
large intermediate arrays maps only as many points at a time as fit into ``batch``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tempoc.base.cost_model import MODEL
from tempoc.base.graphs import edges_in_cycles
from tempoc.ops.control.control import Merge
from tempoc.passes.analysis import dependence
from tempoc.passes.context import GraphPass, PassContext, VectorizedGraph
from tempoc.passes.vectorization.memory_guard import affordable_nodes
from tempoc.passes.vectorization.noise import with_noise_ahead, without_noise_ahead
from tempoc.passes.vectorization.observed_values import observed_values
from tempoc.passes.vectorization.partial_writes import drop_redundant_copies, split_partial_writes
from tempoc.pipeline.step import LoopReason, LoopRemark
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.statements.build import is_computed, written_where
from tempoc.sdg.statements.vectorized import Ranges, accessed_entries, vector_ranges
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectorize(GraphPass):
    """Stars all dimensions that need no loop."""

    batch: int = field(
        default=MODEL.array_bytes >> 20,
        metadata={"help": "MiB of an array that points make at once"},
    )
    carried: int = field(
        default=MODEL.carried_elements,
        metadata={"help": "most elements of a sum that a loop accumulates"},
    )

    name: ClassVar[str] = "vectorize"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with new stars, whatever stars it has.

        Dimensions whose bound is decided during the run stay loops, and so do the dimensions over
        which such a bound varies.
        """
        for earlier in context.vectorized:
            if earlier.graph is graph:
                context.remarks.entries.extend(earlier.remarks)
                return graph
        first_remark = len(context.remarks.entries)
        graph = self._anew(graph, context)
        context.vectorized.append(
            VectorizedGraph(graph, tuple(context.remarks.entries[first_remark:]))
        )
        return graph

    def _anew(self, graph: Graph, context: PassContext) -> Graph:
        graph = without_noise_ahead(graph)
        plain = {k: replace(n, vector=()) if n.vector else n for k, n in graph.nodes.items()}
        graph, parts = split_partial_writes(
            replace(graph, nodes=plain),
            context.space,
        )
        cycles = dependence.DependenceCandidates.of(graph, context.space).parts()
        for dim in graph.universe.dims:
            if graph.universe.is_ended(dim.name):
                message = f"{dim.name} stays a loop: the data decide how many steps it has"
                loop = LoopRemark(reason="length", dim=dim.name)
                context.remarks.add("vectorize", message, loop=loop)
            else:
                graph = _vectorize_along(graph, dim.name, cycles, context, self.carried)
        graph = drop_redundant_copies(graph, parts)
        into = _written_branches(graph)

        def fits(node: Node, vector: tuple[str, ...]) -> bool:
            return _obstacle(graph, node, vector, context.space, into) is None

        return with_noise_ahead(graph, context.space, fits)


def _vectorize_along(
    graph: Graph,
    dim: str,
    cycles: Sequence[dependence.DependenceCandidates],
    context: PassContext,
    carried: int,
) -> Graph:
    """The graph with one more dimension vectorized."""
    with_dim = [n for n in graph.nodes.values() if is_computed(n) and dim in n.domain.dims]
    into = _written_branches(graph)
    obstacles: dict[LoopReason, list[str]] = {}
    stars = []
    for node in with_dim:
        obstacle = _obstacle(graph, node, (*node.vector, dim), context.space, into)
        if obstacle is None:
            stars.append(node.name)
        elif node.op.pure:
            obstacles.setdefault(obstacle, []).append(node.name)
    for reason, names in obstacles.items():
        _remark_missed(graph, dim, names, reason, context)
    stars = _schedulable(graph, dim, stars, cycles, context)
    while observed := observed_values(graph, dim, stars).intersection(stars):
        late = [s for s in stars if s in observed]
        _remark_missed(graph, dim, late, "shown", context)
        stars = [s for s in stars if s not in observed]
        stars = _schedulable(graph, dim, stars, cycles, context)
    if len(stars) < len(with_dim):
        affordable = affordable_nodes(graph, dim, stars, context.space, carried)
        too_large = [s for s in stars if s not in affordable]
        _remark_missed(graph, dim, too_large, "kept", context)
        stars = affordable
    if stars:
        message = f"{dim}: {len(stars)} of {len(with_dim)} nodes compute all points at once"
        context.remarks.add("vectorize", message)
    return _with_vector_dim(graph, stars, dim)


def _schedulable(
    graph: Graph,
    dim: str,
    stars: list[str],
    cycles: Sequence[dependence.DependenceCandidates],
    context: PassContext,
) -> list[str]:
    """Those of the stars with which loops still carry all dependence cycles."""
    vectors = dependence.vector_dims(graph)
    vectors |= {name: graph.universe.ordered((*vectors[name], dim)) for name in stars}
    for cycle in cycles:
        without_loop: set[str] = set()
        why: LoopReason | None = None
        while inside := [s for s in stars if s in cycle.nodes and s not in without_loop]:
            unschedulable = {*cycle.unschedulable(vectors, without_loop)}
            if not unschedulable:
                break
            late = [s for s in inside if s in unschedulable]
            why = why or (_AHEAD if _is_stuck(graph, cycle) else _CYCLE)
            reason = why
            if not late:  # no plain loop carries these: what stars around would do is not known
                looping = [name for name in cycle.nodes if name not in without_loop]
                needs = cycle.dependences(vectors)
                without_loop |= _cycle_of(min(unschedulable), looping, needs)
                late, reason = [s for s in inside if s in without_loop], _AHEAD
            _remark_missed(graph, dim, late, reason, context)
            stars = [s for s in stars if s not in late]
            vectors |= {s: graph.nodes[s].vector for s in late}
    return stars


def _is_stuck(graph: Graph, cycle: dependence.DependenceCandidates) -> bool:
    """Whether no loops carry a cycle, whether or not a further dimension is one of them."""
    return bool(cycle.unschedulable(dependence.vector_dims(graph)))


def _cycle_of(name: str, names: list[str], needs: tuple[dependence.Dependence, ...]) -> set[str]:
    """All nodes in a dependence cycle with a node."""
    cycles = edges_in_cycles(names, needs, lambda d: (d.sink, d.source))
    return {n for part, _ in cycles if name in part for n in part}


_CYCLE: LoopReason = "cycle"
_AHEAD: LoopReason = "ahead"
_WHY: Mapping[LoopReason, str] = {
    _CYCLE: "each step needs what another {dim} computes",
    _AHEAD: "as it is written, it reads what no nest of loops has computed by then",
    "kept": "all {dim} at once would have to be kept for the loop, or until after it",
    "shown": "what is printed or saved of it should not wait for the end of the loop",
    "holes": "its points are no box: which {dim} they have is no interval, or varies",
    "outside": "between its first and its last {dim} something that it reads is not defined",
    "partial": "between its first and its last {dim} it does not write all points",
}


def _remark_missed(
    graph: Graph, dim: str, names: list[str], reason: LoopReason, context: PassContext
) -> None:
    """Remark which nodes keep their loop, and why."""
    if names:
        tensors = [*dict.fromkeys(n.split(".")[0] for n in names)]
        shown = ", ".join(f"`{n}`" for n in tensors[:4]) + (", ..." if len(tensors) > 4 else "")
        message = f"{dim} stays a loop for {shown}: {_WHY[reason].format(dim=dim)}"
        loop = LoopRemark(reason=reason, dim=dim, nodes=tuple(names))
        context.remarks.add("vectorize", message, graph.nodes[names[0]].span, loop)


def _with_vector_dim(graph: Graph, names: list[str], dim: str) -> Graph:
    nodes = dict(graph.nodes)
    for name in names:
        vector = graph.universe.ordered((*nodes[name].vector, dim))
        nodes[name] = replace(nodes[name], vector=vector)
    return replace(graph, nodes=nodes)


# ---------------------------------------------------------------- legality


def _written_branches(graph: Graph) -> dict[str, list[tuple[Node, int]]]:
    """For each node the branches of merges that it writes."""
    branches: dict[str, list[tuple[Node, int]]] = {name: [] for name in graph.nodes}
    for node in graph.nodes.values():
        if isinstance(node.op, Merge):
            for k, edge in enumerate(node.inputs):
                branches[edge.source].append((node, k))
    return branches


def _obstacle(
    graph: Graph,
    node: Node,
    vector: tuple[str, ...],
    space: Space,
    into: dict[str, list[tuple[Node, int]]],
) -> LoopReason | None:
    """Why a node cannot compute all points of some dimensions at once; ``None`` if it can.

    Its points must form intervals, its reads must be inside their sources at all of these, and it
    must write all of them.
    """
    if not node.op.pure:
        return "shown"
    intervals = vector_ranges(node.domain, vector, space)
    if intervals is None:
        return "holes"
    loop_domain = space.project(node.domain, dependence.loop_dims(node.domain.dims, vector))
    if not all(_is_inside(graph, e, loop_domain, intervals, space) for e in node.inputs):
        return "outside"
    writes = into[node.name]
    partial = any(_writes_partially(graph, node, m, k, vector, space) for m, k in writes)
    return "partial" if partial else None


def _is_inside(
    graph: Graph, edge: Edge, loop_domain: Domain, intervals: Ranges, space: Space
) -> bool:
    source, vector = graph.nodes[edge.source], tuple(intervals.values())
    key = ("inside", loop_domain, edge.entries, vector, source.domain)

    def prove() -> bool:
        entries = accessed_entries(edge.entries, intervals, space.universe)
        return space.outside(loop_domain, entries, source.domain) is None

    return space.known.once(key, prove)


def _writes_partially(
    graph: Graph, node: Node, merge: Node, branch: int, vector: tuple[str, ...], space: Space
) -> bool:
    """Whether the node writes only some points of its intervals into a merge."""
    where = space.simplify(written_where(merge, branch, graph), node.domain)
    return any(d in symbols(where) for d in vector)
