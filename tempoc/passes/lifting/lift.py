"""Reductions over ranges that move with the point become scans, windows or running values.

    %y = sum %x[0:t+1] : [t*] f32     ->     %y.scan = cumsum %x[0:T]           : []   f32[T]
                                             %y      = getitem{(t)} %y.scan     : [t*] f32

Summing the whole prefix at each point takes quadratic work; a scan takes one pass. Suffixes
(``x[t:T]``) become reverse scans, and windows (``x[max(t-2, 0):t+1]``) a sliding-window operator.
Consumers that read all points at once read the scan itself.

Where the points stay a loop because that loop computes the operand, a range that grows by one
element per point becomes a running value (``running_reduction.py``), and a window stays as it is,
unless its operand is an input. Discounted sums (``discounted_sum.py``) and contractions over such
ranges (``range_contraction.py``) always become recurrences; the pass after this one turns
recurrences into scans where it can.

Sums of products at a lag (``convolution/lagged_sum.py``) become one operator, which takes Fourier
transforms where they are long. Those with few factors stay as they are: on a CPU convolutions took
164 to 30000 us where windows took 20 to 700 us, for 3 to 500 out of 4096 to 262144 numbers, and
stencils are single fused loops.

Windows are never computed as differences of prefix sums, not even of integers, where that would be
exact: the window operator is as fast (``ops/tensor/window.py``).
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from functools import partial
from typing import ClassVar

from tempoc.ops.control.control import Merge
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.tensor.source import Input, Param
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.convolution.lagged_sum import as_convolution, as_product, lagged_sums
from tempoc.passes.lifting.discounted_sum import as_recurrence, as_windows, discounted_sums
from tempoc.passes.lifting.moving_range import Sliding
from tempoc.passes.lifting.range_operand import is_given
from tempoc.passes.lifting.range_reduction import range_reductions
from tempoc.passes.lifting.running_reduction import running_value
from tempoc.passes.lifting.running_steps import RunningStep, contraction_step, with_steps
from tempoc.passes.lifting.scan_form import scan_or_windows
from tempoc.passes.simplify.copy_propagation import forward_copies
from tempoc.pipeline.step import LoopRemark
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.rewrite import drop_dead, rewrite_reads
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import identity, is_computed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


class Lift(GraphPass):
    """Replaces reductions over moving ranges by scans, windows and running values."""

    __slots__ = ()
    name: ClassVar[str] = "lift"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with scans, windows and running values in place of moving ranges."""
        lazy = enclosing_conds(graph)
        nodes: dict[str, Node] = {}
        for node in graph.nodes.values():
            for part in [node] if node.name in lazy else _lift_node(graph, node, context):
                nodes[part.name] = part
        lifted_graph = _with_running_values(replace(graph, nodes=nodes), lazy, context)
        if lifted_graph.nodes == graph.nodes:
            return graph
        return drop_dead(_read_arrays(forward_copies(lifted_graph)))


def _lift_node(graph: Graph, node: Node, context: PassContext) -> list[Node]:
    """The nodes that replace one; it may reduce ranges along several dimensions."""
    for discounted in discounted_sums(graph, node, context.space):
        given = all(is_given(graph, e) for e in discounted.factors)
        applies = discounted.dim in node.vector or given
        replacement = as_windows(graph, discounted, context.space) if applies else None
        if replacement is not None:
            _remark(f"`{node.name}` over {discounted.dim} becomes weighted windows", node, context)
            return list(replacement)
    for target in range_reductions(graph, node, context.space):
        given = isinstance(target.range, Sliding) and is_given(graph, target.edge)
        applies = target.dim in node.vector or given
        replacement = scan_or_windows(graph, target, context.space) if applies else None
        if replacement is not None:
            kind = "windows" if isinstance(target.range, Sliding) else "a scan"
            _remark(f"`{node.name}` over {target.dim} becomes {kind}", node, context)
            nodes = {**graph.nodes, **{n.name: n for n in replacement}}
            updated = replace(graph, nodes=nodes)
            return [part for n in replacement for part in _lift_node(updated, n, context)]
    for lagged in lagged_sums(graph, node, context.space):
        sources = (graph.nodes[e.node] for part in lagged.elements for e in part)
        given = all(isinstance(n.op, Input | Param) for n in sources)
        applies = lagged.dim in node.vector or given
        replacement = as_convolution(graph, lagged, context.space) if applies else None
        if replacement is not None:
            message = f"`{node.name}` over {lagged.dim} becomes a convolution of all points, by"
            _remark(f"{message} Fourier transforms if they are many", node, context)
            return list(replacement)
        replacement = as_product(graph, lagged, context.space) if lagged.picks else None
        if replacement is not None:
            message = f"`{node.name}` over {lagged.dim} becomes a product of ranges"
            _remark(message, node, context)
            return list(replacement)
    return [node]


def _remark(message: str, node: Node, context: PassContext) -> None:
    context.remarks.add("lift", message, node.span)


# ---------------------------------------------------------------- in loops


def _loop_step(
    graph: Graph, node: Node, space: Space, *, in_loop: bool = False
) -> RunningStep | None:
    """A replacement whose points run in order: of any discounted sum, a looping reduction, or any
    contraction."""
    step = partial(RunningStep, node=node, in_loop=in_loop)
    for discounted in discounted_sums(graph, node, space):
        parts = as_recurrence(graph, discounted, space, in_loop=in_loop)
        if parts is not None:
            return step(dim=discounted.dim, parts=parts, form="a discounted running sum")
    for target in range_reductions(graph, node, space):
        vectorized = target.dim in node.vector
        parts = None if vectorized else running_value(graph, target, space, in_loop=in_loop)
        if parts is not None:
            return step(dim=target.dim, parts=parts, form="a running value")
    return contraction_step(graph, node, space, in_loop=in_loop)


def _with_running_values(graph: Graph, lazy: Container[str], context: PassContext) -> Graph:
    """The graph with running values, except those that would make it unschedulable."""
    steps: dict[str, RunningStep] = {}
    for node in graph.nodes.values():
        if node.name not in lazy:
            step = _loop_step(graph, node, context.space)
            if step is not None:
                steps[node.name] = step
            else:
                _remark_rescans(graph, node, context)
    updated, rejected = with_steps(graph, steps, _loop_step, context.space)
    for name in rejected:
        dim = steps[name].dim
        message = f"`{name}` needs points that a loop over {dim} has not reached"
        _remark(message, steps[name].node, context)
    for name, step in steps.items():
        if updated is not graph and name not in rejected:
            _remark(f"`{name}` becomes {step.form} along {step.dim}", step.node, context)
    return updated


def _remark_rescans(graph: Graph, node: Node, context: PassContext) -> None:
    """Remark which ranges are reduced anew at each point."""
    for target in range_reductions(graph, node, context.space):
        message = f"`{node.name}` goes through its range at each {target.dim}"
        loop = LoopRemark(reason="range", dim=target.dim, nodes=(node.name,))
        context.remarks.add("lift", message, node.span, loop)


# ---------------------------------------------------------------- reads of all points


def _read_arrays(graph: Graph) -> Graph:
    """The graph in which reads of all elements of a scan, one per point, read the scan itself."""
    scans = {n.name: a for n in graph.nodes.values() if (a := _array_dim(graph, n)) is not None}

    def read(edge: Edge, reader: Node | None) -> Edge:
        fixed = reader is not None and (isinstance(reader.op, Merge) or not is_computed(reader))
        return edge if fixed else _read_array(graph, edge, scans)

    return rewrite_reads(graph, read)


def _array_dim(graph: Graph, node: Node) -> str | None:
    """The dimension whose points are the elements of an array, in order, if a node is such."""
    if not isinstance(node.op, SpatialIndex) or node.op.gathers:
        return None
    (edge,) = node.inputs
    source = graph.nodes[edge.source]
    if not (node.op.entries and source.types[edge.out].shape):
        return None
    (first, *trailing), (extent, *others) = node.op.entries, source.types[edge.out].shape
    if edge.entries != identity(source.domain) or trailing != [(ix.ZERO, e, 1) for e in others]:
        return None
    for dim in node.domain.dims:
        bound = ix.Sym(graph.universe.dim(dim).bound)
        is_unrestricted = dim not in symbols(node.domain.where) and dim not in source.domain.dims
        if first == ix.Sym(dim) and extent == bound and is_unrestricted:
            return dim
    return None


def _read_array(graph: Graph, edge: Edge, scans: dict[str, str]) -> Edge:
    """The edge, redirected to the array if it reads all its elements."""
    if edge.source not in scans:
        return edge
    node, dim = graph.nodes[edge.source], scans[edge.source]
    array = node.inputs[0]
    at: dict[str, ix.Entry] = node.domain.at(edge.entries)
    slices = [d for d, e in at.items() if isinstance(e, ix.Slice)]
    full_extent = ix.Slice(ix.ZERO, ix.Sym(graph.universe.dim(dim).bound))
    if not slices or slices[-1] != dim or at[dim] != full_extent:
        return edge
    dims = graph.nodes[array.source].domain.dims
    if not {*slices} <= {*dims, dim}:
        return edge  # the node repeats its element along another dimension, the array does not
    return replace(edge, source=array.source, out=array.out, entries=tuple(at[d] for d in dims))
