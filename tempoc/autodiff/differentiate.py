"""Reverse-mode differentiation of a graph: each `Gradient` placeholder becomes nodes.

Placeholders of one loss are expanded in one sweep, unless the derivative by one tensor passes
through another one of them. A placeholder that the loss of another one depends on is expanded
first; there is always such an order, unless a gradient needs its own derivative (RT265).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tempoc.autodiff import errors
from tempoc.autodiff.cotangent_names import take_copy_names
from tempoc.autodiff.later_steps import target, without_later_steps
from tempoc.autodiff.node_builder import GraphBuilder
from tempoc.autodiff.reverse_sweep import Sweep
from tempoc.autodiff.trim_domains import trim_to_demand
from tempoc.base.names import Names
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.ops.control.control import Copy
from tempoc.ops.control.gradient import Gradient
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.active import active_nodes, ends_of, gradients, without_stops
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import ancestors
from tempoc.sdg.statements.branches import branch_conditions
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain


def differentiate(graph: Graph, space: Space) -> Graph:
    """The graph with all gradients expanded. Raises `DiagnosticError`."""
    graph = without_later_steps(graph, space)
    while gradients(graph):
        graph = _expanded(graph, space)
    return without_stops(graph)


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientJob:
    """Placeholders of one sweep: from `losses` to `wrt` through `active` nodes."""

    losses: tuple[Edge, ...]
    wrt: tuple[str, ...]
    active: frozenset[str]
    placeholders: tuple[Node, ...]


def _expanded(graph: Graph, space: Space) -> Graph:
    pending = gradients(graph)
    active = active_nodes(graph, pending)
    jobs = [_job(node, nodes) for node, nodes in zip(pending, active, strict=True)]
    names = [n.name for n in pending]
    ready = [j for j in jobs if not any(name in j.active for name in names)]
    if not ready:
        raise DiagnosticError(errors.itself(pending[0].spans[0]))
    job = ready[0]
    for other in ready[1:]:
        job = _merged_job(job, other) or job
    for node in job.placeholders:
        _require_lengths(node, space)
    builder = GraphBuilder(
        graph=graph, space=space, nodes=dict(graph.nodes), names=Names(graph.nodes)
    )
    domains: dict[str, Domain] = {}
    for node in job.placeholders:
        by = target(node).source
        before = domains.get(by)
        domains[by] = node.domain if before is None else space.union(before, node.domain)
    sweep = Sweep(
        builder=builder,
        losses=job.losses,
        active=job.active,
        domains=domains,
        spans=job.placeholders[0].spans,
        conditions=branch_conditions(graph),
    )
    sweep.run()
    for node in job.placeholders:
        source = sweep.cotangent(target(node))
        own_point = tuple(ix.Sym(d) for d in node.domain.dims)
        edge = Edge(source=source, entries=own_point)
        builder.nodes[node.name] = replace(node, op=Copy(), inputs=(edge,))
    live = _without_dead(graph, builder)
    new_nodes = dict.fromkeys(name for name in live.nodes if name not in graph.nodes)
    return take_copy_names(live, new_nodes, [n.name for n in job.placeholders if "." not in n.name])


def _require_lengths(node: Node, space: Space) -> None:
    """RT282 for a derivative by data over steps whose number varies with dimensions they lack.

    Such data have rows for the largest length, and what is computed has none beyond its own.
    """
    dims = node.domain.dims
    for d in dims:
        for other in space.universe.outer(d):
            if other not in dims:
                bound = space.universe.dim(d).bound
                raise DiagnosticError(errors.lacks_dim(node.spans, bound, other))


def _without_dead(graph: Graph, builder: GraphBuilder) -> Graph:
    """Remove dead new nodes and trim the domains of the others; original nodes stay."""
    original = list(graph.nodes)
    live = ancestors(replace(graph, nodes=builder.nodes), original)
    nodes = {k: v for k, v in builder.nodes.items() if k in live}
    trim_to_demand(nodes, [k for k in nodes if k not in graph.nodes], builder.space)
    live = ancestors(replace(graph, nodes=nodes), original)  # branches may be gone
    return replace(graph, nodes={k: v for k, v in nodes.items() if k in live})


def _job(node: Node, active: frozenset[str]) -> GradientJob:
    assert isinstance(node.op, Gradient)
    return GradientJob(
        losses=node.inputs[: node.op.losses],
        wrt=ends_of(node)[1],
        active=active,
        placeholders=(node,),
    )


def _merged_job(a: GradientJob, b: GradientJob) -> GradientJob | None:
    """Both in one sweep, if no tensor of one is on the paths of the other."""
    same = [(e.source, e.out) for e in a.losses] == [(e.source, e.out) for e in b.losses]
    between = any(x in a.active for x in b.wrt if x not in a.wrt) or any(
        x in b.active for x in a.wrt if x not in b.wrt
    )
    if not same or between:
        return None
    return GradientJob(
        losses=a.losses,
        wrt=tuple(dict.fromkeys((*a.wrt, *b.wrt))),
        active=a.active | b.active,
        placeholders=(*a.placeholders, *b.placeholders),
    )
