"""Reduce domains: no more dimensions than a value varies with, no more points than are read.

    %m = matmul %w, %x[b] : [b, t]           f32[3]
    %s = mul %m, %z       : [b, t]           f32[3]
    %r = add %s, %z[t+1]  : [b, t | t < T-1] f32[3]
    ->
    %m = matmul %w, %x    : [b]              f32[3]
    %s = mul %m[b], %z    : [b, t | t < T-1] f32[3]
    %r = add %s, %z[t+1]  : [b, t | t < T-1] f32[3]

Before that, operators that check operands, and are read only in loops that are long enough, are
computed for those loops (``sdg/statements/checked_points.py``).

First, invariant nodes lose the dimensions with which they do not vary (``loop_invariant.py``), also
through chains, recurrences and merges of equal branches (``equal_values.py``). A branch of ``cond``
stays where its condition is decided; inputs and effects stay as they are.

Then domains lose first and last points that nobody reads (``analysis/demand.py``), where that keeps
the domains of producers and consumers equal: the nodes of a group (``fuse``) need one domain. Only
ends of ranges are trimmed, so that loops stay simple. Where the data decide the length, what is
read only at the last step is computed behind the loop (``last_point.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.domain.equal_values import forward_equal_branches, merge_contained_work
from tempoc.passes.domain.last_point import compute_last_points
from tempoc.passes.domain.loop_invariant import invariant_but_conditional, reduce_invariant
from tempoc.passes.domain.trim import trim_domains
from tempoc.passes.simplify.copy_propagation import forward_copies
from tempoc.passes.simplify.shifted_copies import forward_shifted_copies
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.graph.rewrite import drop_dead
from tempoc.sdg.statements.checked_points import with_checked_points
from tempoc.sdg.text.text import show_domain


class ReduceDomain(GraphPass):
    """Reduces domains."""

    __slots__ = ()
    name: ClassVar[str] = "reduce_domain"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with smaller domains; a vectorized graph stays as it is."""
        if any(n.vector for n in graph.nodes.values()):
            context.remarks.add(self.name, "nothing is reduced after `vectorize`")
            return graph
        space = context.space.symbolic  # no domain depends on the value of a fixed bound
        before = graph
        graph, last = compute_last_points(with_checked_points(graph, space))
        graph = _without_equal_values(merge_contained_work(graph, space), space, context)
        graph, lost_dims = reduce_invariant(graph, space)
        graph = _without_equal_values(graph, space, context)
        graph, shortened = trim_domains(drop_dead(forward_shifted_copies(graph, space)), space)
        graph = _without_equal_values(graph, space, context)
        invariant = {
            n: f"the same for all {' and '.join(dims)}, computed once"
            for n, dims in lost_dims.items()
        }
        trimmed = {
            n: f"computed at {show_domain(d)} only: nobody reads the rest"
            for n, d in shortened.items()
        }
        conditional = {
            n: f"the same for all {' and '.join(dims)}, but computed only where its branch is taken"
            for n, dims in invariant_but_conditional(graph).items()
        }
        behind = dict.fromkeys(last, "computed behind the loop: only its last step is read")
        for messages in (behind, invariant, trimmed, conditional):
            self._remark(graph, messages, context)
        return before if graph == before else graph

    def _remark(self, graph: Graph, messages: Mapping[str, str], context: PassContext) -> None:
        """One remark for all nodes of a source line with the same message."""
        lines: dict[tuple[str, int, str], list[str]] = {}
        for name, message in messages.items():
            if name in graph.nodes:
                span = next(iter(graph.nodes[name].spans), None)
                place = ("", 0) if span is None else (span.source.path, span.line)
                lines.setdefault((*place, message), []).append(name)
        for (_, _, message), names in lines.items():
            span = graph.nodes[names[0]].span
            shown = ", ".join(f"`{n}`" for n in names[:3])
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            context.remarks.add(self.name, f"{shown}{more}: {message}", span)


def _without_equal_values(graph: Graph, space: Space, context: PassContext) -> Graph:
    """The graph after forwarding of equal branches and copies, without dead nodes."""
    forwarded = forward_equal_branches(graph, space)
    for name, node in forwarded.nodes.items():
        if node is not graph.nodes[name]:
            message = (
                f"all equations of `{name}` give one value: read from `{node.inputs[0].source}`"
            )
            context.remarks.add(ReduceDomain.name, message, node.spans[-1] if node.spans else None)
    return drop_dead(forward_copies(forwarded))
