"""Recurrences become scans: one node computes the states of all points.

    %a     = mul %g, %on                   : [t] f32
    %h.mul = mul %a, %h[t+1]               : [t | t < T-1] f32
    %h.0   = add %r, %h.mul                : [t | t < T-1] f32
    %h     = merge %h.0 when t < T-1, %r when t == T-1 : [t] f32
    ->
    %a      = mul %g, %on                  : [t*] f32
    %h.rows = recurrence{steps=(mul, add), reverse=true} %r[T-1], %a[0:T], %r[0:T] : [] f32[T]
    %h      = getitem{entries=(t,)} %h.rows : [t*] f32

The only loop-carried dependences of such a cycle are its own (``recognize_recurrence.py``), so all
its operands can be vectorized, and its steps consist of its own operators alone. Examples are
running sums, products, maxima and averages, discounted returns and advantages, linear recurrences
(diagonal or with matrices), recurrent networks, and the derivatives of all these, which run
backwards.

A cycle stays a loop if another loop computes its operands: the scan would have to wait for that
loop, and operands that live for one step would be stored for all points. So do large states of
functions of what such a loop makes and does not keep. It also stays a loop if its states are large:
then the loop's overhead is small in comparison, and storing the states of all points would only
take memory. The sooner so if its states are larger than what they are made of, as sums of outer
products are, or if each is read out at once (``S[t] @ q[t]``). Steps that must be done one after
the other gain nothing from a scan, which stores their states, turns around rows, one for each point
of another dimension, and leaves what the steps make besides to be made again: they stay a loop of
whatever size. So do those within each step of another loop of which the last state alone is read,
as of the small steps of an integrator. But what later loops need of all points anyway, as backward
ones do, is made by a scan, and so is what is multiplied by matrices, which is best done for all
points at once; products of vectors are sums like others. In a scan such steps also make what is
larger than its operands: an outer product that nothing else reads. Exponentials that derivatives
need the values of, too, a loop stores, where no products of matrices are made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

from tempoc.base.cost_model import MODEL
from tempoc.base.graphs import reachable
from tempoc.ops.control.control import Merge
from tempoc.ops.control.linear_recurrence import is_linear
from tempoc.ops.control.steps import OpStep
from tempoc.ops.definition.shapes import constant_elements
from tempoc.ops.definition.types import TensorType
from tempoc.ops.tensor.reduction import Reduction
from tempoc.ops.tensor.source import Input, Param
from tempoc.passes.analysis.dependence import stuck_cycles
from tempoc.passes.analysis.expansion import total_origin
from tempoc.passes.analysis.lattice import StaysNested, lattice, nested_cycles
from tempoc.passes.analysis.loop_carried import sliced_sources
from tempoc.passes.analysis.size_estimate import bytes_of
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.domain.trim import trim_domains
from tempoc.passes.recurrences.ends_apart import with_ends_apart
from tempoc.passes.recurrences.joint import (
    NodeNames,
    Recurrences,
    joint_recurrences,
    read_in_steps,
)
from tempoc.passes.recurrences.one_more_step import one_more_step, read_elsewhere
from tempoc.passes.recurrences.recognize_recurrence import (
    NotARecurrence,
    RecurrenceCycle,
    cycles,
    distance,
    recognize,
)
from tempoc.passes.recurrences.recurrence_rewrite import with_recurrence, with_results
from tempoc.passes.recurrences.repeated_products import makes_products_again
from tempoc.passes.recurrences.stored_results import stored_results
from tempoc.passes.recurrences.surroundings import CycleSurroundings
from tempoc.passes.vectorization.vectorize import Vectorize
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import (
    components,
    has_run_lengths,
    multiplies_matrices,
    operand_type,
    users,
)
from tempoc.sdg.graph.rewrite import drop_dead
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurrenceToScan(GraphPass):
    """Replaces recurrences by scans."""

    limit: int = field(
        default=MODEL.carried_elements, metadata={"help": "most elements of the states at a point"}
    )
    launched: bool = field(
        default=False, metadata={"help": "whether a step costs a launch, as it does on GPUs"}
    )

    name: ClassVar[str] = "scans"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with scans; what has lengths that the data decide stays a loop."""
        before = graph
        for dim in graph.universe.dims:
            is_scan = partial(self.is_scan, dim.name, context)
            graph = with_ends_apart(graph, dim.name, context.space, is_scan)
        after = self.with_scans(graph, context)
        return before if after is None else after

    def is_scan(self, dim: str, context: PassContext, graph: Graph, cycle: NodeNames) -> bool:
        """Whether a cycle, judged by itself, is one that becomes a scan."""
        if has_run_lengths(graph, cycle, dim):
            return False
        around = CycleSurroundings(graph=graph, dim=dim)
        try:
            recurrence = self.small_recurrence(around, cycle, context)
        except NotARecurrence:
            return False
        if _is_made_again(around, cycle, recurrence):
            return False
        return not _only_takes_memory(around, cycle, recurrence)

    def with_scans(self, graph: Graph, context: PassContext) -> Graph | None:
        """The graph with scans; ``None`` if there are none."""
        recurrences: dict[NodeNames, RecurrenceCycle] = {}
        for dim in graph.universe.dims:
            for cycle, recurrence in self.recurrences_along(graph, dim.name, context).items():
                others = [r.dim for r in recurrences.values() if {*r.states} & {*recurrence.states}]
                if others:
                    _remark_missed(graph, dim.name, cycle, f"it is one along {others[0]}", context)
                else:
                    recurrences[cycle] = recurrence
        parts: dict[NodeNames, Recurrences] = {}
        for dim in graph.universe.dims:
            along = {c: r for c, r in recurrences.items() if r.dim == dim.name}
            parts |= joint_recurrences(graph, along, context.space)
        recurrences = _joined(graph, recurrences, parts, context)
        while recurrences:
            rewritten, nodes = _with_recurrences(graph, recurrences, context)
            made = {c: r for c, r in recurrences.items() if c in nodes}
            rewritten, rejected = _vectorized(graph, rewritten, made, nodes, context)
            apart = [c for c in parts if c in recurrences and (c not in nodes or c in rejected)]
            recurrences = {c: r for c, r in made.items() if c not in rejected}
            for cycle, why in rejected.items():
                if cycle not in apart:
                    _remark_missed(graph, made[cycle].dim, cycle, why, context)
            for cycle in apart:
                recurrences |= parts[cycle]
            if not rejected and not apart:
                for cycle, node in nodes.items():
                    _remark_scan(recurrences[cycle], node, context)
                if graph.universe.lengths:
                    return rewritten
                # What steps compute beside their state may be read of the last one alone.
                beside = {n for cycle in nodes for n in cycle}
                return trim_domains(rewritten, context.space.symbolic, beside)[0]
        return None

    def recurrences_along(
        self, graph: Graph, dim: str, context: PassContext
    ) -> dict[NodeNames, RecurrenceCycle]:
        """The recurrences along a dimension, each cycle judged by itself."""
        recurrences: dict[NodeNames, RecurrenceCycle] = {}
        loops: set[str] = set()
        steps: dict[NodeNames, RecurrenceCycle] = {}
        around = CycleSurroundings(graph=graph, dim=dim)
        for cycle in cycles(graph, dim):
            if has_run_lengths(graph, cycle, dim):
                loops.update(cycle)
                continue
            try:
                recurrences[cycle] = self.small_recurrence(around, cycle, context)
            except NotARecurrence as reason:
                _remark_missed(graph, dim, cycle, str(reason), context)
                loops.update(cycle)
        numbers = _component_numbers(graph) if recurrences else {}
        sliced = sliced_sources(graph, dim) if recurrences else set()
        for cycle, recurrence in tuple(recurrences.items()):
            moving = [e.source for e in recurrence.operands if recurrence.varies(e)]
            from_loops = [s for s in moving if s in loops and s not in sliced]
            if len(graph.nodes[cycle[0]].domain.dims) == 1 and _depends_on_states(
                recurrence, numbers
            ):
                _remark_missed(graph, dim, cycle, "what it reads needs it in turn", context)
                del recurrences[cycle]
            elif (self.launched or _is_costly(graph, cycle)) and _is_row_of_lattice(
                graph, cycle, recurrence, numbers, context
            ):
                _remark_missed(graph, dim, cycle, "its diagonals are computed at once", context)
                del recurrences[cycle]
            elif from_loops:
                _remark_missed(graph, dim, cycle, _made_by_a_loop(from_loops[0]), context)
                del recurrences[cycle]
            elif _is_made_again(around, cycle, recurrence):
                message = "others would make again what its steps make"
                _remark_missed(graph, dim, cycle, message, context)
                del recurrences[cycle]
            elif _only_takes_memory(around, cycle, recurrence):
                _remark_missed(
                    graph, dim, cycle, "its states would be stored at all points", context
                )
                steps[cycle] = recurrences.pop(cycle)
        for cycle, name in read_in_steps(graph, recurrences, steps).items():
            _remark_missed(graph, dim, cycle, f"`{name}`, which reads it, is a loop", context)
            del recurrences[cycle]
        return recurrences

    def small_recurrence(
        self, around: CycleSurroundings, cycle: NodeNames, context: PassContext
    ) -> RecurrenceCycle:
        """The recurrence of a cycle whose states are not too large; raises ``NotARecurrence``."""
        graph, dim = around.graph, around.dim
        recurrence = recognize(graph, dim, cycle, context.space)
        size = 0
        for state in recurrence.states:
            count = constant_elements(graph.nodes[state].types[0].shape)
            if count is None:
                raise NotARecurrence("how large a state is is not known")
            size += count
        if size > self.limit:
            raise NotARecurrence(f"a state has {size} elements")
        moving = [e for e in recurrence.operands if recurrence.varies(e)]
        if moving and size >= MODEL.made_elements:
            origin = total_origin(graph, moving, around.origins)
            if origin is not None and MODEL.is_much_of_little(size, origin):
                raise NotARecurrence(f"a state has {size} elements, made of {origin}")
            if made := _made_in_steps(around, recurrence, cycle):
                return recognize(graph, dim, cycle, context.space, made)
        return recurrence


def _made_in_steps(
    around: CycleSurroundings, recurrence: RecurrenceCycle, cycle: NodeNames
) -> NodeNames:
    """The operands that are larger than what they are made of, as outer products are, and that
    nothing else reads: made in the steps, they are stored for one only.

    Of a linear recurrence none, as steps of sums and products alone need not be done one by one.
    """
    graph = around.graph
    if is_linear(*_step_types(graph, recurrence)):
        return ()
    expanding, readers = around.expanding, around.readers
    shown = {o.source for o in graph.outputs}
    dims = graph.nodes[recurrence.states[0]].domain.dims
    inside, pending = dict.fromkeys(cycle), [e.source for e in recurrence.operands]
    for name in pending:  # grows meanwhile
        node = graph.nodes[name]
        if name in inside or name not in expanding or name in shown or node.domain.dims != dims:
            continue
        reads = [(u.reader, graph.nodes[u.reader].inputs[u.slot]) for u in readers[name]]
        within = all(
            reader in inside
            and distance(graph, graph.nodes[reader], edge, recurrence.dim) is not None
            for reader, edge in reads
        )
        if within and all(isinstance(x, ix.Expr) for e in node.inputs for x in e.entries):
            inside[name] = None
            pending += node.sources
    return tuple(inside)[len(cycle) :]


def _step_types(
    graph: Graph, recurrence: RecurrenceCycle
) -> tuple[Sequence[OpStep], list[TensorType], list[TensorType]]:
    """The steps, and the types of states and operands."""
    first = [graph.nodes[s].types[0] for s in recurrence.states]
    return recurrence.steps, first, [operand_type(graph, e) for e in recurrence.operands]


def _only_takes_memory(
    around: CycleSurroundings, cycle: NodeNames, recurrence: RecurrenceCycle
) -> bool:
    """Whether a scan would do step after step, as a loop does, and store large states for it, or
    rows of them that it turns around, which no later loop needs, or all where the last is read.

    2026-11-27, CPU, times of loops to scans, with 1, 8, 64 and 512 rows. A filter of 8 numbers that
    learns 0.22, 0.25, 0.03; of 32 0.35, 0.27, 0.18; states of 8 that are summed 1.0, 0.8, 0.75; one
    number that is an output 1.2, 1.2, 0.7, 0.5; 64 times a matrix 1.5, 0.8, 0.4, 0.7. One row and
    errors that are outputs: of 16 weights that learn 0.5, of 5 quantiles 0.7, of one number 0.6.
    """
    graph, states = around.graph, {*recurrence.states}
    steps, first, others = _step_types(graph, recurrence)
    if _only_last_is_read(around, cycle) and not is_linear(steps, first, others):
        return True
    read_out = _is_read_out(around, cycle, recurrence)
    rows = any(d != recurrence.dim for n in cycle for d in graph.nodes[n].vector)
    size = sum(bytes_of(t, {}) for t in first)
    huge = read_out or size > MODEL.point_bytes
    if is_linear(steps, first, others):
        return False
    if not huge and not rows and any(multiplies_matrices(graph, graph.nodes[n]) for n in cycle):
        return False  # a product of one state takes most of a step, however it is repeated
    if (huge or not rows) and states & around.full_extent:
        return False
    readers, along = around.readers, around.along
    after = {*reachable(states, lambda n: [u.reader for u in readers[n] if u.reader in along])}
    if not huge:
        if after & around.full_extent_inside:
            return False
        after |= {u.reader for n in after for u in readers[n]}
    return read_out or not any(graph.nodes[n].op.contraction for n in after - {*cycle})


def _is_made_again(
    around: CycleSurroundings, cycle: NodeNames, recurrence: RecurrenceCycle
) -> bool:
    """Whether steps compute functions, such as exponentials, that others read at all points, too.

    Without products a scan gives states only: the others would compute those anew. A loop stores
    them, if they are not much larger than a state. Most products of matrices are computed faster
    for all points at once (``repeated_products.py`` says which are not), and what is made of states
    better from all of them.
    """
    graph = around.graph
    products = any(multiplies_matrices(graph, graph.nodes[n]) for n in cycle)
    if is_linear(*_step_types(graph, recurrence)):
        return False
    if products:
        return makes_products_again(around, cycle, recurrence)
    readers, inside = around.readers, {*cycle}
    merges = [graph.nodes[s] for s in recurrence.states]
    states = {*recurrence.states, *(e.source for m in merges for e in m.inputs)}
    again = [
        node
        for node in (graph.nodes[n] for n in cycle if n not in states)
        if node.op.transcendental and any(u.reader not in inside for u in readers[node.name])
    ]
    sizes = [constant_elements(n.types[0].shape) for n in again]
    if not again or None in sizes:
        return False
    size = sum(constant_elements(m.types[0].shape) or 0 for m in merges)
    return MODEL.is_stored_beside(sum(s or 0 for s in sizes), size)


def _only_last_is_read(around: CycleSurroundings, cycle: NodeNames) -> bool:
    """Whether a recurrence within steps of another loop, as the small steps of an integrator are,
    is read at single points alone, such as the last."""
    graph, dim, readers = around.graph, around.dim, around.readers
    nodes = [graph.nodes[name] for name in cycle]
    if not all({*n.domain.dims} - {*n.vector, dim} for n in nodes):
        return False
    reads = [(u.reader, graph.nodes[u.reader].inputs[u.slot]) for n in cycle for u in readers[n]]
    outside = [e for reader, e in reads if reader not in cycle]
    outside += [o.edge for o in graph.outputs if o.source in cycle]
    at = [e.entries[graph.nodes[e.source].domain.dims.index(dim)] for e in outside]
    return not any(isinstance(x, ix.Slice) or dim in symbols(x) for x in at)


def _is_read_out(around: CycleSurroundings, cycle: NodeNames, recurrence: RecurrenceCycle) -> bool:
    """Whether each point of large states is reduced to little as soon as it is there, by operands
    of its own: ``S[t] @ q[t]``. With a matrix for all points it had better be one product."""
    graph = around.graph
    size = sum(constant_elements(graph.nodes[s].types[0].shape) or 0 for s in recurrence.states)
    if size < MODEL.made_elements:
        return False
    readers, some = around.readers, False
    for use in (use for state in recurrence.states for use in readers[state]):
        node = graph.nodes[use.reader]
        if use.reader in cycle or not recurrence.varies(node.inputs[use.slot]):
            continue
        # An effect, such as `print`, makes nothing: it takes the point as it is.
        made = constant_elements(node.types[0].shape) if node.types else None
        little = made is not None and made * MODEL.made_factor <= size
        own = all(
            recurrence.varies(e) and not any(isinstance(x, ix.Slice) for x in e.entries)
            for e in node.inputs
        )
        if not (own and little and (node.op.contraction or isinstance(node.op, Reduction))):
            return False
        some = True
    return some


def _component_numbers(graph: Graph) -> dict[str, int]:
    """The number of each node's strongly connected component, whatever the points read."""
    return {name: k for k, part in enumerate(components(graph)) for name in part}


def _depends_on_states(recurrence: RecurrenceCycle, numbers: Mapping[str, int]) -> bool:
    """Whether an operand of the recurrence depends on one of its states."""
    states = {numbers[s] for s in recurrence.states}
    return any(numbers[e.source] in states for e in recurrence.operands)


def _is_costly(graph: Graph, cycle: NodeNames) -> bool:
    """Whether steps take more than a few operations, so that a CPU is faster by diagonals as well.

    CPU time to the JAX of a person, 2026-11-27, by rows and by diagonals: soft-DTW of 60 and 70
    points with its gradient 1.9 and 0.8; Smith and Waterman's maxima 0.9 and 2.1. On an H200 the
    latter took 29 by rows, 96 launches in each of 128 steps.
    """
    ops = (graph.nodes[n].op for n in cycle)
    return any(op.heavy and not (op.monoid is not None and op.monoid.exact) for op in ops)


def _is_row_of_lattice(
    graph: Graph,
    cycle: NodeNames,
    recurrence: RecurrenceCycle,
    numbers: Mapping[str, int],
    context: PassContext,
) -> bool:
    """Whether steps are the cells of a table that needs its neighbours along another dimension as
    well, so that many of them can be computed at once."""
    if not _depends_on_states(recurrence, numbers):
        return False
    if is_linear(*_step_types(graph, recurrence)):
        return False
    for names, dims in nested_cycles(graph):
        if {*cycle} <= {*names}:
            try:
                lattice(graph, names, dims, context.space.symbolic)
            except StaysNested:
                return False
            return True
    return False


def _joined(
    graph: Graph,
    recurrences: Recurrences,
    parts: Mapping[NodeNames, Recurrences],
    context: PassContext,
) -> dict[NodeNames, RecurrenceCycle]:
    """The recurrences, some joint ones in the place of their parts."""
    gone = {c for inside in parts.values() for c in inside}
    joint = {c: next(iter(inside.values())).dim for c, inside in parts.items()}
    return {c: r for c, r in recurrences.items() if c not in gone} | {
        c: recognize(graph, dim, c, context.space, uneven=True) for c, dim in joint.items()
    }


def _made_by_a_loop(name: str) -> str:
    return f"`{name}`, which it reads, is made by a loop"


def _with_recurrences(
    graph: Graph, recurrences: Mapping[NodeNames, RecurrenceCycle], context: PassContext
) -> tuple[Graph, dict[NodeNames, Node]]:
    """The graph with all recurrences that can be built and have consumers, and their nodes."""
    nodes: dict[NodeNames, Node] = {}
    plain = {k: replace(n, vector=()) if n.vector else n for k, n in graph.nodes.items()}
    rewritten = replace(graph, nodes=plain)
    uses = users(graph)
    for cycle, recurrence in recurrences.items():
        read = [*read_elsewhere(graph, cycle, recurrence.dim, uses)]
        longer = one_more_step(rewritten, cycle, recurrence, read, context.space)
        most, offsets = (longer.recurrence, longer.offsets) if longer else (recurrence, {})
        beside = stored_results(rewritten, most, read, offsets, context.space)
        if offsets or beside:
            try:
                rewritten, nodes[cycle] = with_results(
                    rewritten, most, offsets, beside, context.space
                )
                continue
            except NotARecurrence:
                pass  # then they are computed of the states
        try:
            rewritten, nodes[cycle] = with_recurrence(rewritten, recurrence, context.space)
        except NotARecurrence as reason:
            _remark_missed(graph, recurrence.dim, cycle, str(reason), context)
    rewritten = drop_dead(rewritten)
    return rewritten, {cycle: node for cycle, node in nodes.items() if node.name in rewritten.nodes}


def _vectorized(
    graph: Graph,
    rewritten: Graph,
    recurrences: Mapping[NodeNames, RecurrenceCycle],
    nodes: Mapping[NodeNames, Node],
    context: PassContext,
) -> tuple[Graph, dict[NodeNames, str]]:
    """The graph, vectorized, and the cycles that must stay loops, each with the reason."""
    # All along a dimension at once: each takes another round, in which everything is rewritten.
    # Scans within the steps of a training loop may do when weights are no scans along its steps.
    stuck = {name for names in stuck_cycles(rewritten, context.space) for name in names}
    if stuck and nodes:  # else the program itself has no order, as the scheduler says
        rejected = [c for c, node in nodes.items() if node.name in stuck] or list(nodes)
        along = {recurrences[c].dim for c in rejected}
        outermost = next(d.name for d in graph.universe.dims if d.name in along)
        rejected = [c for c in rejected if recurrences[c].dim == outermost]
        return rewritten, dict.fromkeys(rejected, "what it reads needs it in turn")
    inside = PassContext(context.space)
    vectorized = Vectorize().run(rewritten, inside)
    context.vectorized += inside.vectorized
    reasons = {}
    for cycle, recurrence in recurrences.items():
        node = vectorized.nodes[nodes[cycle].name]
        from_loops = [
            e.source
            for e in node.inputs
            if any(isinstance(x, ix.Slice) for x in e.entries)
            and not _is_vectorized(graph, vectorized, e.source, recurrence.dim)
        ]
        from_loops += _stored_for_scan(graph, vectorized, recurrence, node)
        if from_loops:
            reasons[cycle] = _made_by_a_loop(from_loops[0])
    return vectorized, reasons


def _stored_for_scan(
    before: Graph, graph: Graph, recurrence: RecurrenceCycle, scan: Node
) -> list[str]:
    """What a loop makes, and would store for all points so that operands of a scan can be computed.

    The loop could compute them, and large states, step by step: a running mean of weights in
    training, of which 100 steps had to be kept for it. It runs like the scan, forwards.
    """
    dim = recurrence.dim
    sizes = [constant_elements(before.nodes[s].types[0].shape) or 0 for s in recurrence.states]
    if sum(sizes) < MODEL.made_elements or not recurrence.forward:
        return []
    sliced = [e.source for e in scan.inputs if any(isinstance(x, ix.Slice) for x in e.entries)]
    operands = [graph.nodes[s] for s in sliced if dim in graph.nodes[s].vector]
    stored = CycleSurroundings(graph=before, dim=dim).full_extent
    return [
        e.source
        for e in (e for node in operands for e in node.inputs)
        if e.source in before.nodes
        and e.source not in stored
        and not _is_vectorized(before, graph, e.source, dim)
        and _runs_forward(before, e.source, dim)
    ]


def _runs_forward(graph: Graph, name: str, dim: str) -> bool:
    """Whether a loop along a dimension makes a node, no step of which reads a later one."""
    part = next(part for part in components(graph) if name in part)
    for node in (graph.nodes[n] for n in part if len(part) > 1):
        for edge in (e for e in node.inputs if e.source in part):
            at = graph.nodes[edge.source].domain.at(edge.entries)
            entry = at.get(dim)
            shift = ix.sub(entry, ix.Sym(dim)) if isinstance(entry, ix.Expr) else None
            if isinstance(entry, ix.Slice) or (isinstance(shift, ix.Const) and shift.value > 0):
                return False
    return len(part) > 1


def _is_vectorized(before: Graph, graph: Graph, name: str, dim: str) -> bool:
    """Whether a tensor is stored for all points anyway, or computed at all of them at once."""
    node = graph.nodes[name]
    if isinstance(node.op, Input | Param) or dim not in node.domain.dims or dim in node.vector:
        return True
    if isinstance(node.op, Merge):
        return all(_is_vectorized(before, graph, e.source, dim) for e in node.inputs)
    return name in sliced_sources(before, dim)


def _remark_scan(recurrence: RecurrenceCycle, node: Node, context: PassContext) -> None:
    states = ", ".join(f"`{s}`" for s in recurrence.states)
    direction = recurrence.dim if recurrence.forward else f"{recurrence.dim} backwards"
    scan = "is a scan" if len(recurrence.states) == 1 else "are one scan"
    context.remarks.add("scans", f"{states} {scan} along {direction}", node.span)


def _remark_missed(
    graph: Graph, dim: str, cycle: NodeNames, why: str, context: PassContext
) -> None:
    state = next(n for n in cycle if isinstance(graph.nodes[n].op, Merge))
    message = f"`{state}` is no scan along {dim}: {why}"
    context.remarks.add("scans", message, graph.nodes[state].span)
