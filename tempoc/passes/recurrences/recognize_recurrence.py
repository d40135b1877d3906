"""Recognizes recurrences: cycles through merges whose dependence distance is 1 in one dimension.

    %h.mul = mul %a, %h[t-1]          : [t | t >= 1] f32        states  %h, steps  mul, add
    %h.1   = add %h.mul, %b           : [t | t >= 1] f32   ->   operands  %a, %b at t
    %h     = merge %h.0 when t == 0, %h.1 when t >= 1           for 1 <= t < T, forwards

The states of a cycle are its merges. Each step computes every state from those of the neighbouring
step and from operands outside of the cycle, by operators that are the same at every point. A node
of the cycle may be read at an offset (``%d = mul %h, %a`` read at ``t+1``); its operands are then
read at that offset too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from tempoc.base.effort import EFFORT
from tempoc.base.graphs import strongly_connected_components
from tempoc.ops.control.control import Merge
from tempoc.ops.control.steps import OpStep
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.tensor.reduction import Reduction
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import node_expressions, operand_type
from tempoc.sdg.statements.vectorized import vector_ranges
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, substitute_entry
from tempoc.symbolic.walk import symbols


class NotARecurrence(Exception):
    """A cycle is no recurrence; the message gives the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurrenceCycle:
    """A recurrence: the states of a cycle and what each step computes.

    ``branches`` has for each state the merge's branch that is loop-carried. Steps run where ``lower
    <= dim < upper``. Values are numbered: first the states, then the operands (in the states'
    coordinates at that step), then the results of the steps; ``carried`` has the numbers of the new
    states. ``even``: all states have these steps; otherwise nothing reads the last ones of some.
    ``results`` has for what steps make, a node of the cycle, the number of its first result, and at
    what offset from the states' point that is; operands come before what is made of them.
    """

    dim: str
    forward: bool
    states: tuple[str, ...]
    branches: tuple[int, ...]
    lower: ix.Expr
    upper: ix.Expr
    steps: tuple[OpStep, ...]
    carried: tuple[int, ...]
    operands: tuple[Edge, ...]
    even: bool = True
    results: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def varies(self, operand: Edge) -> bool:
        """Whether an operand differs from step to step."""
        return any(self.dim in symbols(e) for e in operand.entries)

    @property
    def first(self) -> ix.Expr:
        """The point of the initial states."""
        return ix.sub(self.lower, ix.ONE) if self.forward else self.upper

    @property
    def count(self) -> ix.Expr:
        """How many steps there are."""
        return ix.sub(self.upper, self.lower)

    @property
    def bottom(self) -> ix.Expr:
        """The least point of the states, the initial one included."""
        return self.first if self.forward else self.lower


def cycles(graph: Graph, dim: str) -> Iterator[tuple[str, ...]]:
    """The cycles along a dimension through a merge, at one point of all other dimensions."""
    names = [n.name for n in graph.nodes.values() if dim in n.domain.dims]

    def sources(name: str) -> list[str]:
        node = graph.nodes[name]
        return [e.source for e in node.inputs if distance(graph, node, e, dim) is not None]

    for part in strongly_connected_components(names, sources):
        merges = any(isinstance(graph.nodes[n].op, Merge) for n in part)
        if len(part) > 1 and merges:
            yield part


def distance(graph: Graph, node: Node, edge: Edge, dim: str) -> int | None:
    """The offset ``c`` of a read at ``dim + c`` and the own point otherwise; else ``None``."""
    source = graph.nodes[edge.source].domain
    if source.dims != node.domain.dims:
        return None
    offset = None
    for d, entry in zip(source.dims, edge.entries, strict=True):
        if isinstance(entry, ix.Slice):
            return None
        shift = ix.sub(entry, ix.Sym(d))
        if not isinstance(shift, ix.Const) or (d != dim and shift.value):
            return None
        if d == dim:
            offset = shift.value
    return offset


def recognize(
    graph: Graph,
    dim: str,
    cycle: tuple[str, ...],
    space: Space,
    made: tuple[str, ...] = (),
    *,
    uneven: bool = False,
) -> RecurrenceCycle:
    """The recurrence of a cycle; raises ``NotARecurrence``.

    ``made`` are nodes before the cycle that its steps compute as well. ``uneven``: of some states
    there may be fewer points.
    """
    if len(cycle) > EFFORT.recurrence_nodes:
        raise NotARecurrence("there are too many steps")
    cycle = (*cycle, *made)
    inside = {*cycle}
    for name in cycle:
        node = graph.nodes[name]
        _check_step(graph, node, dim)
        for edge in node.inputs:
            if edge.source in inside and distance(graph, node, edge, dim) is None:
                raise NotARecurrence(f"`{edge.source}` is read at other points than the one before")
    states = tuple(n for n in cycle if isinstance(graph.nodes[n].op, Merge))
    branches = tuple(_carried_branch(graph, s, inside) for s in states)
    intervals = _step_intervals(graph, states, branches, dim, space)
    if len(intervals) > 1 and not uneven:
        raise NotARecurrence("they start or end at different points")
    lower, upper = _longest(intervals, space)
    reasons = []
    for forward in (True, False):
        walk = _CycleWalk(graph, dim, inside, states, branches, -1 if forward else 1)
        try:
            carried = [walk.definition(s) for s in states]
        except NotARecurrence as reason:
            reasons.append(reason)
            continue
        return RecurrenceCycle(
            dim=dim, forward=forward, states=states, branches=branches, lower=lower, upper=upper,
            steps=tuple(walk.numbered_steps()), carried=tuple(walk.number(m) for m in carried),
            operands=tuple(walk.operands), even=len(intervals) == 1, results=walk.results(),
        )  # fmt: skip
    raise reasons[0]


def _check_step(graph: Graph, node: Node, dim: str) -> None:
    """Raise unless a node can be a state, or (part of) a step."""
    op = node.op
    part = isinstance(op, SpatialIndex) and not op.gathers
    computes = op.elementwise or op.moves or op.contraction or isinstance(op, Reduction)
    if not (part or computes or isinstance(op, Merge)):
        raise NotARecurrence(f"`{node.op.name}` is not done in steps")
    if any(graph.universe.is_dim(s) for t in node.types for e in t.shape for s in symbols(e)):
        raise NotARecurrence("shapes vary from point to point")
    expressions = () if isinstance(node.op, Merge) else node_expressions(node)
    if any(graph.universe.is_dim(s) for e in expressions for s in symbols(e)):
        raise NotARecurrence(f"`{node.op.name}` varies with {dim}")


def _carried_branch(graph: Graph, state: str, inside: set[str]) -> int:
    """The branch of a state that is loop-carried."""
    inputs = graph.nodes[state].inputs
    carried = [k for k, e in enumerate(inputs) if e.source in inside]
    if len(carried) != 1:
        raise NotARecurrence(f"`{state}` has {len(carried)} equations that go round")
    return carried[0]


def _step_intervals(
    graph: Graph, states: tuple[str, ...], branches: tuple[int, ...], dim: str, space: Space
) -> tuple[tuple[ix.Expr, ix.Expr], ...]:
    """The ``lower`` and ``upper`` ends of the steps of states, those that differ."""
    intervals = []
    for state, k in zip(states, branches, strict=True):
        node = graph.nodes[state]
        step_domain = Domain(
            node.domain.dims, ix.conjunction(node.domain.where, node.inputs[k].guard)
        )
        spans = vector_ranges(step_domain, (dim,), space)
        if spans is None:
            raise NotARecurrence(f"{dim} does not run from a first to a last point")
        intervals.append((spans[dim].lower, spans[dim].upper))
    return tuple(dict.fromkeys(intervals))


def _longest(
    intervals: tuple[tuple[ix.Expr, ix.Expr], ...], space: Space
) -> tuple[ix.Expr, ix.Expr]:
    """The interval that has all others, which begin, or which end, where it does."""
    for longest in intervals:
        low, high = longest
        starts = all(i[0] == low and is_at_most(i[1], high, space) for i in intervals)
        if starts or all(i[1] == high and is_at_most(low, i[0], space) for i in intervals):
            return longest
    raise NotARecurrence("they start or end at different points")


def is_at_most(a: ix.Expr, b: ix.Expr, space: Space) -> bool:
    """Whether an expression over bounds is never greater than another one."""
    return space.implies(Domain(()), ix.compare("<=", a, b))


@dataclass(frozen=True, slots=True)
class _StepValue:
    """A value that has no number yet: a state, an operand or a result of a step.

    ``place`` counts those of its kind; of the results of one operator it is the first one's.
    """

    kind: str
    place: int
    out: int = 0


@dataclass(slots=True)
class _CycleWalk:
    """Follows a cycle backwards, from its states to those of the step before.

    ``before`` is the offset of the step before: -1 or 1; ``made`` counts the results of steps.
    """

    graph: Graph
    dim: str
    inside: set[str]
    states: tuple[str, ...]
    branches: tuple[int, ...]
    before: int
    operands: list[Edge] = field(default_factory=list)
    steps: list[tuple[Op, tuple[_StepValue, ...], tuple[DType, ...]]] = field(default_factory=list)
    made: int = 0
    _memo: dict[tuple[str, int], _StepValue] = field(default_factory=dict)
    _in_progress: set[tuple[str, int]] = field(default_factory=set)

    def definition(self, state: str) -> _StepValue:
        """The value of a state at its own point."""
        return self.value(state, 0, 0)

    def value(self, name: str, out: int, at: int) -> _StepValue:
        """The value of a node of the cycle, at an offset from the states' point."""
        if (name, at) in self._in_progress or abs(at) > len(self.inside):
            raise NotARecurrence(f"`{name}` needs itself at its own point")
        if (name, at) not in self._memo:
            self._in_progress.add((name, at))
            node = self.graph.nodes[name]
            visit = self.state if name in self.states else self.step
            self._memo[name, at] = visit(node, at)
            self._in_progress.discard((name, at))
        ref = self._memo[name, at]
        return ref if name in self.states else replace(ref, out=out)

    def step(self, node: Node, at: int) -> _StepValue:
        """The first result of an operator."""
        refs = tuple(self.operand(node, e, at) for e in node.inputs)
        self.steps.append((node.op, refs, tuple(t.dtype for t in node.types)))
        self.made += len(node.types)
        return _StepValue("step", self.made - len(node.types))

    def state(self, node: Node, at: int) -> _StepValue:
        """A state of the step before, or of this one."""
        place = self.states.index(node.name)
        if at == self.before:
            return _StepValue("state", place)
        if at != 0:
            raise NotARecurrence(f"`{node.name}` is read {abs(at)} points away")
        edge = node.inputs[self.branches[place]]
        shift = distance(self.graph, node, edge, self.dim)
        assert shift is not None
        return self.value(edge.source, edge.out, shift)

    def operand(self, node: Node, edge: Edge, at: int) -> _StepValue:
        """The value of an operand of a node of the cycle."""
        if edge.source in self.inside:
            shift = distance(self.graph, node, edge, self.dim)
            assert shift is not None
            return self.value(edge.source, edge.out, at + shift)
        shifted = {self.dim: ix.add(ix.Sym(self.dim), ix.Const(at))}
        entries = tuple(substitute_entry(e, shifted) for e in edge.entries)
        moved = replace(edge, entries=entries)
        shape = operand_type(self.graph, moved).shape
        if any(self.graph.universe.is_dim(s) for e in shape for s in symbols(e)):
            raise NotARecurrence(f"`{edge.source}` is read with a length that varies")
        if moved not in self.operands:
            self.operands.append(moved)
        return _StepValue("operand", self.operands.index(moved))

    def number(self, ref: _StepValue) -> int:
        """The number of a value among all: states, operands, results of steps."""
        if ref.kind == "state":
            return ref.place
        if ref.kind == "operand":
            return len(self.states) + ref.place
        return len(self.states) + len(self.operands) + ref.place + ref.out

    def results(self) -> dict[str, tuple[int, int]]:
        """The nodes whose values steps make, each with its number and its offset."""
        made: dict[str, tuple[int, int]] = {}
        for (name, at), value in self._memo.items():
            if name not in self.states:
                made.setdefault(name, (self.number(value), at))
        return made

    def numbered_steps(self) -> Iterator[OpStep]:
        """The steps with numbered values."""
        for op, refs, dtypes in self.steps:
            yield op, tuple(self.number(r) for r in refs), dtypes
