"""Builds the nodes of a recurrence: the operator, and the consumers of its rows.

Where the recurrence computes all points of a state but the first, the rows replace the state::

    %h      = merge %h.0 when t == 0, %h.1 when t >= 1   : [t] f32
    ->
    %h.rows = recurrence{...} %h.0, %a[0:T], %b[0:T]     : []  f32[T]
    %h      = getitem{entries=(t,)} %h.rows              : [t] f32

and consumers of all points of the state read ``%h.rows``. A state with more equations stays a
merge, and one of its branches reads the rows: the branch's node itself if the state takes all its
points, otherwise a new node, since the branch also has points that the state does not take (``%n``
at the last t)::

    %n      = tanh %x                                              : [t] f32
    %x      = merge %x.0 when t < 2, %n[t-1] when t >= 2           : [t] f32
    ->
    %x.rows = recurrence{...} %x[1]                                : [| T >= 3] f32[max(1, T-1)]
    %x.row  = getitem{entries=(t-1,)} %x.rows                      : [t | t >= 2] f32
    %x      = merge %x.0 when t < 2, %x.row when t >= 2            : [t] f32
    %n      = tanh %x                                              : [t] f32
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tempoc.base.names import fresh_name
from tempoc.ops.control.control import Copy, Merge
from tempoc.ops.control.recurrence import Recurrence
from tempoc.ops.indexing.indexing import IndexPart, SpatialIndex
from tempoc.ops.tensor.source import Full
from tempoc.passes.recurrences.recognize_recurrence import (
    NotARecurrence,
    RecurrenceCycle,
    is_at_most,
)
from tempoc.passes.simplify.copy_propagation import read_original
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import operand_type
from tempoc.sdg.graph.rewrite import replace_nodes, replace_operand, rewrite_reads
from tempoc.sdg.statements.build import identity
from tempoc.sdg.statements.vectorized import vector_ranges
from tempoc.sdg.verification.verify import DomainFacts
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, entries_at, substitute_entry
from tempoc.symbolic.walk import symbols


def with_results(
    graph: Graph,
    recurrence: RecurrenceCycle,
    offsets: Mapping[str, int],
    beside: tuple[str, ...],
    space: Space,
) -> tuple[Graph, Node]:
    """The graph with a recurrence that also makes what others read; raises ``NotARecurrence``.

    ``offsets`` say for the last results how far behind them their rows are, states in their order;
    ``beside`` are results that become further states.
    """
    rewrite = _ScanRewrite(graph, recurrence, space, beside)
    if not rewrite.is_full():
        raise NotARecurrence("a state has more equations")
    node = rewrite.node(full=True)
    return rewrite.replace_states(node, offsets), node


def with_recurrence(graph: Graph, recurrence: RecurrenceCycle, space: Space) -> tuple[Graph, Node]:
    """The graph with a recurrence in place of a cycle, and its node; raises ``NotARecurrence``."""
    rewrite = _ScanRewrite(graph, recurrence, space)
    full = rewrite.is_full()
    if not full and not recurrence.even:
        raise NotARecurrence("they start or end at different points")
    try:
        node = rewrite.node(full)
    except NotARecurrence:
        if not full or not recurrence.even:
            raise
        rewrite, full = _ScanRewrite(graph, recurrence, space), False
        node = rewrite.node(full)
    return (rewrite.replace_states(node) if full else rewrite.replace_branches(node)), node


@dataclass(slots=True)
class _ScanRewrite:
    """Replaces one cycle by a recurrence; ``new_nodes`` are those built so far.

    ``beside`` are results of steps that become further states, which no step reads, unless they
    are the next row of a state.
    """

    graph: Graph
    recurrence: RecurrenceCycle
    space: Space
    beside: tuple[str, ...] = ()
    new_nodes: dict[str, Node] = field(default_factory=dict)

    @property
    def dim(self) -> str:
        """The dimension of the recurrence."""
        return self.recurrence.dim

    @property
    def added(self) -> tuple[str, ...]:
        """The results beside the states that no state has in its rows."""
        made = self.recurrence.results
        return tuple(n for n in self.beside if made[n][0] not in self.recurrence.carried)

    # ------------------------------------------------------------ which form

    def is_full(self) -> bool:
        """Whether every state consists of its first point, given by one equation, and the steps."""
        for name, k in zip(self.recurrence.states, self.recurrence.branches, strict=True):
            node = self.graph.nodes[name]
            point = ix.Sym(self.dim)
            inside = ix.conjunction(
                ix.compare(">=", point, self.recurrence.lower),
                ix.compare("<", point, self.recurrence.upper),
            )
            spans = vector_ranges(node.domain, (self.dim,), self.space)
            if len(node.inputs) != 2 or spans is None:
                return False
            if not self.space.equal(node.inputs[k].guard, inside, node.domain):
                return False
            first, last = (v := spans[self.dim]).lower, v.upper
            begin, end = (first, last) if self.recurrence.forward else (last, first)
            if not self.equal(begin, self.ends[0]) or not self.inside(end):
                return False
        return True

    @property
    def ends(self) -> tuple[ix.Expr, ix.Expr]:
        """Of the rows the lowest point, and the one behind the highest; the first ones first."""
        top = ix.add(self.recurrence.bottom, ix.add(self.recurrence.count, ix.ONE))
        ends = (self.recurrence.bottom, top)
        return ends if self.recurrence.forward else ends[::-1]

    def inside(self, end: ix.Expr) -> bool:
        """Whether the points of a state end where the rows do, or before."""
        low, high = (end, self.ends[1]) if self.recurrence.forward else (self.ends[1], end)
        return is_at_most(low, high, self.space)

    def equal(self, a: ix.Expr, b: ix.Expr) -> bool:
        """Whether two expressions over bounds agree."""
        return self.space.equal(a, b, Domain(()))

    # ------------------------------------------------------------ the operator

    def node(self, full: bool) -> Node:
        """The node of the recurrence; ``full``: its rows replace the states."""
        states = [self.graph.nodes[s] for s in self.recurrence.states]
        around = tuple(d for d in states[0].domain.dims if d != self.dim)
        if full:
            domain = self.space.project(self.widest([s.domain for s in states]), around)
        else:
            domain = self.common([self.space.project(d, around) for d in self.step_domains()])
        first = [self.first_row(s, k, full) for s, k in self.pairs()]
        first += [self.no_row(self.graph.nodes[name]) for name in self.added]
        moving = [e for e in self.recurrence.operands if self.recurrence.varies(e)]
        fixed = [e for e in self.recurrence.operands if not self.recurrence.varies(e)]
        rows = [self.rows(e) for e in moving]
        inputs = tuple(self.available(e, domain) for e in (*first, *(e for e, _ in rows), *fixed))
        made = [self.recurrence.results[name][0] for name in self.added]
        numbers = self.numbers([*moving, *fixed])
        op = Recurrence(
            steps=tuple(
                (op, tuple(numbers(n) for n in taken), dtypes)
                for op, taken, dtypes in self.recurrence.steps
            ),
            carried=tuple(numbers(n) for n in (*self.recurrence.carried, *made)),
            starts=tuple(start for _, start in rows),
            count=self.count,
            reverse=not self.recurrence.forward,
        )
        length = ix.add(self.count, ix.ONE)
        types = tuple(
            replace(n.types[0], shape=(length, *n.types[0].shape), weak=False)
            for n in (*states, *(self.graph.nodes[name] for name in self.added))
        )
        spans = tuple(dict.fromkeys(span for s in states for span in s.spans))
        name = self.fresh_name(f"{states[0].name}.rows")
        node = Node(name=name, op=op, domain=domain, inputs=inputs, types=types, spans=spans)
        self.new_nodes[name] = node
        return node

    def numbers(self, operands: list[Edge]) -> Callable[[int], int]:
        """The numbers of values where operands have another order, and there are more states."""
        states, more = len(self.recurrence.states), len(self.added)
        places = [operands.index(e) for e in self.recurrence.operands]

        def number(old: int) -> int:
            if old < states:
                return old
            k = old - states
            return states + more + (places[k] if k < len(places) else k)

        return number

    def no_row(self, node: Node) -> Edge:
        """Zeros in the place of the row that no step makes of a result."""
        (type_,) = node.types
        op = Full(shape=type_.shape, value=0, dtype=type_.dtype)
        none = replace(
            node, name=self.fresh_name(f"{node.name}.none"), op=op, domain=Domain(()), inputs=(),
            types=op.infer((), DomainFacts(self.space, Domain(()))), vector=(),
        )  # fmt: skip
        self.new_nodes[none.name] = none
        return read_of(none)

    def widest(self, domains: list[Domain]) -> Domain:
        """A domain with the points of all others; raises ``NotARecurrence``."""
        for domain in domains:
            if all(d == domain or self.space.contains(domain, d) for d in domains):
                return domain
        raise NotARecurrence("they start or end at different points")

    def common(self, domains: list[Domain]) -> Domain:
        """The one domain that all are; raises ``NotARecurrence``.

        Elsewhere a state has no step, or another equation, while others go on.
        """
        first, *others = domains
        if any(not self.space.equal(d.where, first.where, Domain(d.dims)) for d in others):
            raise NotARecurrence("their steps are at different points of other dimensions")
        return first

    def step_domains(self) -> list[Domain]:
        """The points of the steps of each state."""
        return [
            Domain(s.domain.dims, ix.conjunction(s.domain.where, s.inputs[k].guard))
            for s, k in self.pairs()
        ]

    def pairs(self) -> list[tuple[Node, int]]:
        """The states, each with its loop-carried branch."""
        pairs = zip(self.recurrence.states, self.recurrence.branches, strict=True)
        return [(self.graph.nodes[s], k) for s, k in pairs]

    @property
    def count(self) -> ix.Expr:
        """How many steps there are, at least 0."""
        return self.space.reduce(ix.maximum(ix.ZERO, self.recurrence.count), Domain(()))

    def available(self, edge: Edge, domain: Domain) -> Edge:
        """The edge, or one to a clone of a constant that exists wherever the recurrence runs.

        Raises ``NotARecurrence`` if another source does not exist there.
        """
        source = self.new_nodes.get(edge.source) or self.graph.nodes[edge.source]
        if self.space.outside(domain, edge.entries, source.domain) is None:
            return edge
        if source.domain.dims or not source.op.cheap:
            raise NotARecurrence(f"`{edge.source}` is not there where there is no step")
        clone = replace(source, name=self.fresh_name(source.name), domain=Domain(()))
        self.new_nodes[clone.name] = clone
        return replace(edge, source=clone.name)

    def first_row(self, state: Node, branch: int, full: bool) -> Edge:
        """The first row of a state: its other equation, or else the state at the first point."""
        at = {self.dim: self.recurrence.first}
        if full:
            edge = state.inputs[1 - branch]
            entries = tuple(substitute_entry(e, at) for e in edge.entries)
            return read_original(self.graph, replace(edge, entries=entries, guard=ix.TRUE))
        return Edge(source=state.name, entries=entries_at(state.domain.dims, at))

    def rows(self, edge: Edge) -> tuple[Edge, int]:
        """A per-step operand as a slice, and the index of the first step's row in it.

        All rows that exist are read, so that the array need not be cut. Raises ``NotARecurrence``
        if the last steps, which nothing reads of some states, have none.
        """
        source = self.graph.nodes[edge.source]
        moving = [k for k, e in enumerate(edge.entries) if self.dim in symbols(e)]
        (place, *more) = moving
        entry = edge.entries[place]
        slices = any(isinstance(e, ix.Slice) for e in edge.entries)
        shift = ix.sub(entry, ix.Sym(self.dim)) if isinstance(entry, ix.Expr) else None
        if more or slices or not isinstance(shift, ix.Const) or self.dim not in symbols(entry):
            edge = self.materialized(edge)
            source, shift = self.new_nodes[edge.source], ix.ZERO
            place = source.domain.dims.index(self.dim)
        dim = source.domain.dims[place]
        assert isinstance(shift, ix.Const)
        low, high = ix.add(self.recurrence.lower, shift), ix.add(self.recurrence.upper, shift)
        spans, start = vector_ranges(source.domain, (dim,), self.space), 0
        if spans is not None:
            before = ix.sub(low, spans[dim].lower)
            if isinstance(before, ix.Const) and before.value >= 0:
                if not (self.recurrence.even or is_at_most(high, spans[dim].upper, self.space)):
                    raise NotARecurrence(f"`{edge.source}` is not there at the last step")
                low, high, start = spans[dim].lower, spans[dim].upper, before.value
        entries = (*edge.entries[:place], ix.Slice(low, high), *edge.entries[place + 1 :])
        return replace(edge, entries=entries), start

    def materialized(self, edge: Edge) -> Edge:
        """A per-step operand as a tensor of its own, with a point for each step."""
        spans = self.graph.nodes[self.recurrence.states[0]].spans
        name = self.fresh_name(f"{self.recurrence.states[0]}.operand")
        type_ = operand_type(self.graph, edge)
        node = Node(
            name=name, op=Copy(), domain=self.step_domains()[0], inputs=(edge,),
            types=(type_,), spans=spans,
        )  # fmt: skip
        self.new_nodes[name] = node
        return read_of(node)

    def fresh_name(self, name: str) -> str:
        """A name that no node has."""
        return fresh_name(name, self.graph.nodes, self.new_nodes)

    # ------------------------------------------------------------ the consumers

    def replace_states(self, node: Node, offsets: Mapping[str, int] | None = None) -> Graph:
        """The graph in which the states read the rows, and so do results of steps, if their rows
        are so many points behind them. Raises ``NotARecurrence`` where there is none."""
        changed = {
            name: self.row(node, out, self.graph.nodes[name], ix.Sym(self.dim))
            for out, name in enumerate(self.recurrence.states)
        }
        behind = [*enumerate((offsets or {}).items())]
        made = self.recurrence.results
        rows = [*self.recurrence.carried, *(made[name][0] for name in self.added)]
        behind += [(rows.index(made[name][0]), (name, -made[name][1])) for name in self.beside]
        for out, (name, offset) in behind:
            result = self.graph.nodes[name]
            if self.space.outside(result.domain, read_of(node, out).entries, node.domain):
                raise NotARecurrence(f"`{name}` has points where there is no step")
            at = ix.add(ix.Sym(self.dim), ix.Const(offset))
            changed[name] = self.row(node, out, result, at)
        return self.redirect_reads(node, self.with_nodes(changed))

    def replace_branches(self, node: Node) -> Graph:
        """The graph in which the loop-carried branches of the states read the rows."""
        changed: dict[str, Node] = {}
        for out, (state, k) in enumerate(self.pairs()):
            edge = state.inputs[k]
            branch = self.graph.nodes[edge.source]
            assert isinstance(state.op, Merge)
            target = state.op.targets[k]
            points = Domain(state.domain.dims, ix.conjunction(state.domain.where, edge.guard))
            if len(branch.types) == 1 and self.space.outside(branch.domain, target, points) is None:
                at = target[state.domain.dims.index(self.dim)]
                changed[branch.name] = self.row(node, out, branch, at)
            else:
                changed[state.name] = self.with_own_row(node, out, state, k, points)
        return self.with_nodes(changed)

    def with_own_row(self, node: Node, out: int, state: Node, k: int, points: Domain) -> Node:
        """A state that reads the rows in a new branch; the old one has other consumers."""
        assert isinstance(state.op, Merge)
        copy = replace(
            state,
            name=self.fresh_name(f"{state.name}.row"),
            domain=points,
            types=(operand_type(self.graph, state.inputs[k]),),
        )
        row = self.row(node, out, copy, ix.Sym(self.dim))
        self.new_nodes[row.name] = row
        at_points = identity(points)
        edge = replace(state.inputs[k], source=row.name, out=0, entries=at_points)
        op = replace(
            state.op, targets=(*state.op.targets[:k], at_points, *state.op.targets[k + 1 :])
        )
        return replace_operand(replace(state, op=op), k, edge)

    def row(self, node: Node, out: int, old: Node, at: ix.Expr) -> Node:
        """The node that reads the row of a point, in place of ``old``."""
        trailing = node.types[out].shape[1:]
        entries: tuple[IndexPart, ...] = (
            ix.sub(at, self.recurrence.bottom), *((ix.ZERO, n, 1) for n in trailing),
        )  # fmt: skip
        edge = read_of(node, out)
        type_ = replace(old.types[0], weak=False)
        return replace(
            old, op=SpatialIndex(entries=entries), inputs=(edge,), types=(type_,), vector=()
        )

    def with_nodes(self, changed: dict[str, Node]) -> Graph:
        """The graph with nodes replaced, and the new nodes before the first of them."""
        first = next(name for name in self.graph.nodes if name in changed)
        new = {first: [*self.new_nodes.values(), changed[first]]}
        return replace_nodes(self.graph, {name: [node] for name, node in changed.items()} | new)

    def redirect_reads(self, node: Node, graph: Graph) -> Graph:
        """The graph in which reads of all points of a state read the rows."""
        outs = {name: out for out, name in enumerate(self.recurrence.states)}

        def moved(
            source: str, entries: Sequence[ix.Entry]
        ) -> tuple[int, tuple[ix.Entry, ...]] | None:
            if source not in outs:
                return None
            dims = self.graph.nodes[source].domain.dims
            at = dict(zip(dims, entries, strict=True))
            entry = at.pop(self.dim)
            later = dims[dims.index(self.dim) + 1 :]
            top = ix.add(self.recurrence.bottom, ix.add(self.recurrence.count, ix.ONE))
            if entry != ix.Slice(self.recurrence.bottom, top) or any(
                isinstance(at[d], ix.Slice) for d in later
            ):
                return None
            return outs[source], tuple(at.values())

        def read(e: Edge, reader: Node | None) -> Edge:
            row_read = moved(e.source, e.entries)
            if row_read is None:
                return e
            changed = replace(e, source=node.name, out=row_read[0], entries=row_read[1])
            # Where nothing is read of a state, the rows need not be there.
            points = Domain(()) if reader is None else reader.domain
            missing = self.space.outside(points, changed.entries, node.domain)
            return changed if missing is None else e

        return rewrite_reads(graph, read)
