"""Gives states of which all steps are stored a copy of the last one, which the next step reads.

    %v.1 = sub %v, %a       : [t]                %v.1 = sub %v.last, %a.last : [t]
    %a.1 = add %a, %v       : [t]                %a.1 = add %a.last, %v.last : [t]
    %v = merge %v.0 when t == 0, %v.1[t-1] ...   the same, and %v.last = merge of the same branches
    output v = %v[0:T]                           output v = %v[0:T]

A step that reads its state from an array of all steps, and writes the next one there, takes as long
as a copy of the array if several computations read it: XLA lets each of them take the state from
the array itself, so that none may update it in place. A copy that only the next step reads is no
array but a value that the loop carries, as in ``lax.scan``. What only later loops need, as
derivatives of maxima, may be computed there, from the array of all steps (``fusion/fuse.py``); else
the copy is left out again (``fusion/later_loops.py``). Loops whose lengths the data decide
stay as they are: a forecast of their memory would count the copy for more steps than there are.

What a step stores beside its states and the next step reads, as a deviation that scales the next
observation, has such a copy as well, unless the read comes before the next row is made.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

from tempoc.base.cost_model import MODEL
from tempoc.base.graphs import reachable
from tempoc.base.names import fresh_name
from tempoc.ops.control.control import Copy, Merge
from tempoc.passes.analysis.full_extent import full_extent_nodes, loop_rounds
from tempoc.passes.analysis.loop_carried import recurrences
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.memory.serialize import looping_dims
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import read_of
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import OperandUse, users
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import symbols


@dataclass(frozen=True)
class _LoopReads:
    """What is known of a graph and the loops over a dimension, for all recurrences in these."""

    graph: Graph
    dim: str

    @cached_property
    def uses(self) -> Mapping[str, Sequence[OperandUse]]:
        """The consumers of each node."""
        return users(self.graph)

    @cached_property
    def lazy(self) -> Container[str]:
        """The nodes that are computed in branches."""
        return enclosing_conds(self.graph)

    @cached_property
    def full(self) -> set[str]:
        """The nodes that are stored at all steps."""
        return full_extent_nodes(self.graph, self.dim)

    @cached_property
    def rounds(self) -> Mapping[str, int]:
        """The loop in which each node runs."""
        return loop_rounds(self.graph, self.dim)

    def is_late(self, name: str) -> bool:
        """Whether only later loops need a node, so that it may be computed there."""
        names = {name: None}
        worklist = [name]
        for reader in worklist:  # grows meanwhile
            # Nearly always the first ones say no, so that not all of them are looked for.
            if not self.uses[reader] or isinstance(self.graph.nodes[reader].op, Merge):
                return False
            same = (u.reader for u in self.uses[reader])
            same = (n for n in same if self.rounds.get(n, 0) <= self.rounds.get(name, 0))
            new = [n for n in dict.fromkeys(same) if n not in names]
            names |= dict.fromkeys(new)
            worklist += new
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class CarryLast(GraphPass):
    """Lets a loop carry the last values of states of which all are stored."""

    steps: int = field(
        default=MODEL.carried_steps, metadata={"help": "how many steps back a state may be read"}
    )

    name: ClassVar[str] = "carry"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with copies of states for the loops that compute them."""
        loops = looping_dims(graph, context.space)
        fixed = [d for d in graph.universe.dims if d.bound not in graph.universe.lengths]
        for dim in (d.name for d in fixed if d.name in loops):
            reads: _LoopReads | None = None
            for cycle in _joined(graph, dim, recurrences(graph, dim, context.space)):
                if reads is None or reads.graph is not graph:
                    reads = _LoopReads(graph, dim)
                graph = self.carried(reads, cycle, context)
            graph = self.with_last_results(_LoopReads(graph, dim), context)
        return graph

    def with_last_results(self, reads: _LoopReads, context: PassContext) -> Graph:
        """The graph with copies of what steps store and the next ones read, beside their states.

        XLA copies the array unless what reads a row of it is computed before the next row is.
        """
        graph, dim = reads.graph, reads.dim
        for name, node in reads.graph.nodes.items():
            plain = is_computed(node) and len(node.types) == 1 and name not in reads.lazy
            if not plain or dim not in node.domain.dims or dim in node.vector:
                continue
            nearby = [
                u
                for u in reads.uses[name]
                if self.is_near(reads.graph, u, name, dim)
                and ix.Sym(dim) not in reads.graph.nodes[u.reader].inputs[u.slot].entries
                and reads.rounds.get(u.reader) == reads.rounds.get(name)
            ]
            if not nearby or name not in reads.full:
                continue
            before = reachable([name], lambda n: _operands_in_step(reads.graph, n, dim))
            others = [u for u in reads.uses[name] if u not in nearby]
            unordered = len(nearby) > 1 or any(u.reader not in before for u in nearby)
            if unordered and _keeps_steps(reads.graph, node, dim, others):
                graph = _with_last(graph, node, nearby)
                message = f"the last step of `{name}` along {dim} is kept apart for the next one"
                context.remarks.add(self.name, message, node.span)
        return graph

    def carried(self, reads: _LoopReads, cycle: tuple[str, ...], context: PassContext) -> Graph:
        """The graph with copies of those states of a recurrence that are stored at all steps."""
        graph, dim, uses = reads.graph, reads.dim, reads.uses
        states = [name for name in cycle if _is_state(graph, name, dim, cycle, context.space)]
        # Only states that are read near by need to know in which round anything runs.
        reach = {
            name: [u for u in uses[name] if self.is_near(graph, u, name, dim)] for name in states
        }
        if not any(reach.values()):
            return graph
        lazy, rounds = reads.lazy, reads.rounds
        near: dict[str, list[OperandUse]] = {}
        for name in states:
            if name not in lazy:
                state = graph.nodes[name]
                own = rounds[next(_writers(graph, state, dim))]
                nearby = [u for u in reach[name] if rounds.get(u.reader) == own]
                late = [u for u in nearby if u.reader not in cycle and reads.is_late(u.reader)]
                others = [u for u in uses[name] if u not in nearby or u in late]
                stored = _keeps_steps(graph, state, dim, others)
                if stored and (late or name in reads.full):
                    near[name] = nearby
        for name, nearby in near.items():
            # What reads one state alone, to compute its next step, updates the array in place.
            outside = any(u.reader not in cycle for u in nearby)
            beside = outside or _has_results(reads, nearby) or _makes_others(reads, name, nearby)
            several = len(near) > 1 or beside
            if nearby and several:
                graph = _with_last(graph, graph.nodes[name], nearby)
                message = f"the last step of `{name}` along {dim} is kept apart for the next one"
                context.remarks.add(self.name, message, graph.nodes[name].span)
        return graph

    def is_near(self, graph: Graph, use: OperandUse, name: str, dim: str) -> bool:
        """Whether a read takes a step of a state that was just made, if in the state's loop."""
        reader, state = graph.nodes[use.reader], graph.nodes[name]
        edge = reader.inputs[use.slot]
        if isinstance(reader.op, Merge) or dim in reader.vector or dim not in reader.domain.dims:
            return False
        for d, entry in zip(state.domain.dims, edge.entries, strict=True):
            if isinstance(entry, ix.Slice) and (d == dim or dim in symbols(entry)):
                return False
            if d == dim and isinstance(entry, ix.Expr):
                distance = ix.sub(ix.Sym(dim), entry)
                if not isinstance(distance, ix.Const) or abs(distance.value) > self.steps:
                    return False
        return True


def _is_state(graph: Graph, name: str, dim: str, cycle: tuple[str, ...], space: Space) -> bool:
    """Whether a node puts a start and the steps of a loop together, all of the same type.

    What is there for many steps before, as a prompt, would have to be copied whole.
    """
    node = graph.nodes[name]
    if not isinstance(node.op, Merge) or not any(_writers(graph, node, dim)):
        return False
    starts = [e for e in node.inputs if e.source not in cycle]
    starts = [e for e in starts if dim in graph.nodes[e.source].domain.dims]
    # One step alone is no prompt, nor what each step has anew at a point of another dimension.
    for edge in starts:
        points = Domain(node.domain.dims, ix.conjunction(node.domain.where, edge.guard))
        several = dim in symbols(edge.guard) and not space.is_fixed_by(points, dim)
        if several or dim in graph.nodes[edge.source].vector:
            return False
    return not any(n in node.domain.dims for t in node.types for e in t.shape for n in symbols(e))


def _joined(graph: Graph, dim: str, cycles: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The recurrences along a dimension, those as one that write parts of the same rows.

    Where the parts of a vectorized row have equations of their own, each may be a cycle.
    """
    joined: dict[int, tuple[str, ...]] = {}
    of: dict[str, int] = {}
    for number, cycle in enumerate(cycles):
        rows = [n for n in cycle if isinstance(graph.nodes[n].op, Merge)]
        shared = [n for n in rows if n in of and _is_row(graph, n, dim, (*joined[of[n]], *cycle))]
        parts = [*(joined.pop(k) for k in sorted({of[n] for n in shared})), cycle]
        joined[number] = (*dict.fromkeys(name for part in parts for name in part),)
        of |= dict.fromkeys((n for n in joined[number] if n in of or n in rows), number)
    return [*joined.values()]


def _is_row(graph: Graph, name: str, dim: str, cycle: Sequence[str]) -> bool:
    """Whether a step of a cycle writes all its points of a state at once, by whatever equation."""
    state = graph.nodes[name]
    edges = [e for e in state.inputs if e.source in cycle]
    cut = {d for e in edges for d in symbols(e.guard) if d in state.domain.dims and d != dim}
    return all(cut <= {*graph.nodes[e.source].vector} for e in edges)


def _keeps_steps(graph: Graph, state: Node, dim: str, others: list[OperandUse]) -> bool:
    """Whether the other readers, or a result, take more than steps at fixed places, as the last."""
    place = state.domain.dims.index(dim)
    entries = [o.entries[place] for o in graph.outputs if o.source == state.name]
    entries += [graph.nodes[u.reader].inputs[u.slot].entries[place] for u in others]
    return any(isinstance(e, ix.Slice) or dim in symbols(e) for e in entries)


def _has_results(reads: _LoopReads, nearby: Sequence[OperandUse]) -> bool:
    """Whether a step stores what it computes of the state element by element, beside the next one.

    XLA computes that in a loop of its own, for which it reads the state once more. So it does where
    a step stores the next state itself in another array as well, which later loops read.
    """
    graph, uses, rounds = reads.graph, reads.uses, reads.rounds

    def is_stored_apart(name: str) -> bool:
        others = [u for u in uses[name] if not isinstance(graph.nodes[u.reader].op, Merge)]
        if len(others) < len(uses[name]):
            others = [u for u in others if rounds.get(u.reader) != rounds.get(name)]
            return _keeps_steps(graph, graph.nodes[name], reads.dim, others)
        return True

    return any(
        name in reads.full and is_stored_apart(name) for name in _made_plainly(reads, nearby)
    )


def _makes_others(reads: _LoopReads, state: str, nearby: Sequence[OperandUse]) -> bool:
    """Whether the next step of another state is computed of this one element by element.

    XLA reads this one for it once more, as for a result.
    """
    nodes, uses = reads.graph.nodes, reads.uses
    made = (u.reader for name in _made_plainly(reads, nearby) for u in uses[name])
    others = (nodes[name] for name in made if name != state)
    return any(
        isinstance(node.op, Merge) and any(_writers(reads.graph, node, reads.dim))
        for node in others
    )


def _made_plainly(reads: _LoopReads, nearby: Sequence[OperandUse]) -> Iterator[str]:
    """What a step computes element by element of what these uses read, or as totals of elements.

    XLA computes those that nothing else needs in the loops over elements that read them.
    """
    graph, uses, rounds = reads.graph, reads.uses, reads.rounds

    def is_plain(name: str) -> bool:
        op = graph.nodes[name].op
        total = op.monoid is not None and not op.contraction
        fused = op.elementwise or op.moves or op.picks or total
        return fused and not isinstance(op, Merge)

    def readers(name: str) -> list[str]:
        if not is_plain(name):
            return []
        return [u.reader for u in uses[name] if rounds.get(u.reader) == rounds.get(name)]

    return (n for n in reachable((u.reader for u in nearby), readers) if is_plain(n))


def _writers(graph: Graph, state: Node, dim: str) -> Iterator[str]:
    """The nodes that compute the state step by step."""
    for edge in state.inputs:
        writer = graph.nodes[edge.source]
        if dim in writer.domain.dims and dim not in writer.vector:
            yield writer.name


def _operands_in_step(graph: Graph, name: str, dim: str) -> list[str]:
    """What a node reads of the own step."""
    nodes = graph.nodes
    return [
        e.source
        for e in nodes[name].inputs
        if dim not in nodes[e.source].domain.dims or ix.Sym(dim) in e.entries
    ]


def _with_last(graph: Graph, state: Node, uses: list[OperandUse]) -> Graph:
    """The graph in which these uses read a copy of the state, or of another tensor."""
    name = fresh_name(f"{state.name}.last", graph.nodes)
    slots = {(u.reader, u.slot) for u in uses}
    nodes: dict[str, Node] = {}
    for node in graph.nodes.values():
        inputs = tuple(
            replace(e, source=name) if (node.name, k) in slots else e
            for k, e in enumerate(node.inputs)
        )
        nodes[node.name] = node if inputs == node.inputs else replace(node, inputs=inputs)
        if node.name == state.name and isinstance(node.op, Merge):
            nodes[name] = replace(node, name=name)
        elif node.name == state.name:
            nodes[name] = replace(node, name=name, op=Copy(), inputs=(read_of(node),))
    return replace(graph, nodes=nodes)
