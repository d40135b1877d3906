"""Places loops on the host or the device: device regions are nests without work for the host.

    for t in 0..T:                          for t in 0..T on device:
      for l in 0..L:             ->           for l in 0..L unrolled:
        layer[l, t]                             layer[l, t]

A *region* is an outermost loop on the device; one call runs many of its steps. Within it, a loop of
a few steps that is the same in every run is written out: its tensors (the weights of layers) are
arrays of their own, and stay so. Where that would be too much to compile, such a loop becomes one
of the device too, unless it reads weights, which would have to be stacked: then the loop around is
the host's. XLA for CPUs copies a layer of stacked weights in each step if several points are
multiplied with it, and of stacked caches what is read. A small Llama, CPU time for a token, ms::

    layers  texts  positions   written out   stacked   a call for each layer
         8      1       4096          16.5      18.9
         8      4       1024          14.4      27.1
        24      1        256             -      24.2                    17.2

Nor is a loop of many operators written out whose steps only take over what the one before has made,
as those of epochs do (``sdg/statements/handed_on.py``), or make what ends with the step around, as
words of a sentence do: no tensor gains, or little, and XLA compiles each step.

A loop of which all operators give a few numbers is not written out: XLA for CPUs makes one function
of it, while each operator of a longer step is started on its own. Nor is one whose steps compute
element by element what the next ones read several times: XLA fuses them, and computes a step again
for each of its readers. Steps of Newton's method within steps of an integrator, CPU us for a step,
written out and as a loop, with 2, 4, 8 and 16 of them: 64 points 2.7 and 0.3, 4.0 and 0.5, 3.9 and
0.5, 5.9 and 0.8; one point 0.18 and 0.13, 0.20 and 0.15, 0.27 and 0.21, 0.43 and 0.31.

A short outermost loop stays on the host if it reads weights or what other loops, written out, have
in several arrays: these then stay apart. Weights that are only copied, as state that each layer
begins with, are read once: three layers that are trained one after the other, 5 steps each, took
3.4 ms with a call for each, and take 0.6 (CPU, 2026-11-28). Files are saved and Python functions
called by the host; files of every so many steps between calls (``saved_steps.py``). A length that
each step of a loop finds out for itself is one more number of that step, unless anything outside of
the step needs it (`length_homes.py`). Small tensors that are printed are collected
(``collected_lines.py``).

JAX traces the body of a loop even if it has no step. Where an extent depends on bounds, a guard
excludes a statement without points: `max(x[0:t])` for `1 <= t < T` when `T == 1`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

from tempoc.base.cost_model import MODEL
from tempoc.diagnostics.source import Span
from tempoc.ops.control.control import After, Copy, Merge
from tempoc.ops.control.effects import Print, Save
from tempoc.ops.control.externs import ExternHost
from tempoc.ops.definition.shapes import constant_elements
from tempoc.ops.definition.types import DType
from tempoc.pipeline.step import LoopReason, LoopRemark
from tempoc.poly.relations.space import Space
from tempoc.schedule.placement.collected_lines import (
    collected_rows,
    collected_types,
    effect_node,
    fixed_bounds,
    step_count,
)
from tempoc.schedule.placement.length_homes import length_homes
from tempoc.schedule.placement.saved_steps import saved_between
from tempoc.schedule.placement.varying_accesses import accesses_of, moving_accesses
from tempoc.schedule.tree import (
    Execute,
    LoopPlace,
    ScheduleTree,
    TreeGuard,
    TreeLoop,
    TreeSequence,
    executed,
    loops,
    walk,
)
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.graph.query import operand_types
from tempoc.sdg.graph.stencils import reads_elements_again, reads_neighbours
from tempoc.sdg.statements.handed_on import InLoop, is_handed_on, outlives
from tempoc.sdg.statements.statements import Read, Statement, Statements
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, conjuncts, grows
from tempoc.symbolic.walk import symbols

Say = Callable[[str, Span | None, LoopRemark | None], None]
"""Receives the remarks: which loops run on the device, and why others do not."""


class Business(NamedTuple):
    """Why a loop runs on the host: as data, as text, and because of which nodes."""

    reason: LoopReason
    text: str
    nodes: tuple[str, ...] = ()


def place_loops(
    tree: ScheduleTree,
    statements: Statements,
    graph: Graph,
    space: Space,
    say: Say,
    hosted: Collection[str],
    chunked: Collection[str],
) -> ScheduleTree:
    """The tree with the place (host, device, unrolled) of each loop set.

    No loop over the points of a ``hosted`` tensor runs on the device, and none around a loop over
    the points of a ``chunked`` one.
    """
    homes = length_homes(tree, statements, graph)
    places = _RegionPlaces(statements, graph, space, say, homes, hosted, chunked)
    return places.with_short_loops(places.outside(tree))


class _TooMuch(Exception):
    """Unrolling a loop that reads weights would exceed ``unrolled_operators`` operators."""


@dataclass(slots=True)
class _RegionPlaces:
    statements: Statements
    graph: Graph
    space: Space
    say: Say
    homes: Mapping[str, TreeLoop]
    hosted: Collection[str] = ()
    chunked: Collection[str] = ()
    sure: ix.Expr = ix.TRUE

    def where(self, condition: ix.Expr) -> _RegionPlaces:
        """The same for a subtree under a guard; only conditions over bounds are recorded."""
        bounds = {b.name for b in self.graph.universe.bounds}
        if not bounds.issuperset(symbols(condition)):
            return self
        return replace(self, sure=ix.conjunction(self.sure, condition))

    def outside(self, tree: ScheduleTree) -> ScheduleTree:
        """Place the loops of a subtree that runs on the host."""
        match tree:
            case TreeSequence(items=items):
                return replace(tree, items=tuple(map(self.outside, items)))
            case TreeGuard(condition=condition, body=body):
                return replace(tree, body=self.where(condition).outside(body))
            case TreeLoop(body=body):
                steps = self.steps(tree)
                region = self.region(tree) if steps is None or self.is_quick(tree, steps) else None
                return region or replace(tree, body=self.outside(body))
            case Execute():
                return tree

    def with_short_loops(self, tree: ScheduleTree) -> ScheduleTree:
        """The tree with short outermost loops on the device as well, if nothing has to be stacked
        for them: no weights, nor tensors of which other loops, written out, have several arrays."""
        moving = moving_accesses(tree, self.statements)
        unrolled = {access for access, place in moving if place == "unrolled"}

        def placed(part: ScheduleTree, places: _RegionPlaces) -> ScheduleTree:
            match part:
                case TreeSequence(items=items):
                    return replace(part, items=tuple(placed(item, places) for item in items))
                case TreeGuard(condition=condition, body=body):
                    return replace(part, body=placed(body, places.where(condition)))
                case TreeLoop(place="host", body=body):
                    short = places.steps(part) is not None
                    own = {access for access, _ in moving_accesses(part, self.statements)}
                    apart = own.isdisjoint(unrolled) and not places.reads_weights(part)
                    region = places.region(part) if short and apart else None
                    return region or replace(part, body=placed(body, places))
                case _:
                    return part

        return placed(tree, self)

    def region(self, loop: TreeLoop) -> TreeLoop | None:
        """An outermost loop as a device region, if that is possible."""
        inner = (*loops(loop),)
        between = saved_between(loop, self.saves(loop))
        for execute in executed(loop):
            statement = self.statement(execute)
            business = None if statement.name in between else self.business(statement)
            if business := business or self.lasts(inner, execute):
                self.refuse(loop, business, self.span(statement))
                return None
        if business := self.moving(inner) or self.printing(loop):
            self.refuse(loop, business, None)
            return None
        first = self.span(self.statement(next(executed(loop))))
        try:
            body = self.inside(loop.body, 1)
        except _TooMuch as error:
            self.refuse(loop, Business("unrolled", str(error)), first)
            return None
        self.say(f"the loop over `{loop.var}` runs on the device", first, None)
        return replace(loop, body=body, place="device")

    def refuse(self, loop: TreeLoop, business: Business, span: Span | None) -> None:
        """Remark why a loop stays with the host."""
        remark = LoopRemark(reason=business.reason, dim=loop.var, nodes=business.nodes)
        self.say(f"the loop over `{loop.var}` is not on the device: {business.text}", span, remark)

    def inside(self, tree: ScheduleTree, copies: int) -> ScheduleTree:
        """Place the loops of a subtree of which a region has ``copies``. Raises ``_TooMuch``."""
        match tree:
            case TreeSequence(items=items):
                return TreeSequence(
                    items=_merge_guards(self.inside(item, copies) for item in items)
                )
            case TreeGuard(condition=condition, body=body):
                return replace(tree, body=self.where(condition).inside(body, copies))
            case TreeLoop(body=body):
                steps = self.steps(tree)
                place: LoopPlace = "device"
                if steps is not None and not self.is_quick(tree, steps):
                    size = steps * copies * self.size(body)
                    passing = self.is_passing(tree, steps, size - copies * self.size(body))
                    if size <= MODEL.unrolled_operators and not passing:
                        place, copies = "unrolled", steps * copies
                    elif self.reads_weights(tree):
                        raise _TooMuch(
                            f"with the loop over `{tree.var}` written out it would have {size} "
                            f"operators, which takes long to compile"
                        )
                return replace(tree, body=self.inside(body, copies), place=place)
            case Execute():
                return self.guarded(tree)

    def guarded(self, execute: Execute) -> ScheduleTree:
        """The execution, guarded by a non-empty domain if that is not proved and matters."""
        statement = self.statement(execute)
        if not (self.has_extents(statement) or self.may_find_nothing(statement)):
            return execute
        non_empty = self.somewhere(statement.domain)
        if self.space.implies(Domain((), self.sure), non_empty):
            return execute
        return TreeGuard(condition=non_empty, body=execute)

    def has_extents(self, statement: Statement) -> bool:
        """Whether extents within a statement are symbolic."""
        nodes = [self.graph.nodes[m] for m in statement.members]
        types = [t for n in nodes for t in (*n.types, *operand_types(self.graph, n))]
        return any(symbols(e) for t in types for e in t.shape)

    def may_find_nothing(self, statement: Statement) -> bool:
        """Whether a tensor that a statement reads or writes may have an empty domain."""
        names = dict.fromkeys(r.tensor for r in statement.reads)
        names |= dict.fromkeys(w.tensor for w in statement.writes)
        domains = dict.fromkeys(self.statements.tensors[name].domain for name in names)
        sure = Domain((), self.sure)
        return any(not self.space.implies(sure, self.somewhere(d)) for d in domains)

    def somewhere(self, domain: Domain) -> ix.Expr:
        """The condition for a domain to be non-empty, with lengths at their largest.

        Like loops, it does not depend on the values of fixed bounds. In the tree a length stands
        for the largest one; conditions on the actual length are evaluated when the statement is
        executed.
        """
        where = self.space.symbolic.project(domain, ()).where
        lengths = self.graph.universe.lengths
        return ix.conjunction(*(p for p in conjuncts(where) if grows(p, lengths)))

    def steps(self, loop: TreeLoop) -> int | None:
        """The number of steps of a loop, if constant and at most ``unrolled_steps``.

        That of a loop that data may end is not.
        """
        ends = (*symbols(loop.lower), *symbols(loop.upper))
        if any(name in ends for name in self.graph.universe.lengths):
            return None
        steps = step_count(loop, fixed_bounds(self.graph))
        if steps is None or steps > MODEL.unrolled_steps:
            return None
        again = steps > MODEL.rolled_steps and self.shifts(loop)
        return None if again or (steps > 1 and self.repeats(loop)) else steps

    def shifts(self, loop: TreeLoop) -> bool:
        """Whether steps read neighbours within tensors: XLA would compute all steps before again
        for each of them, if they were written out."""
        members = [m for e in executed(loop) for m in self.statement(e).members]
        return reads_neighbours(self.graph, members) and not self.reads_weights(loop)

    def repeats(self, loop: TreeLoop) -> bool:
        """Whether steps compute element by element what the next ones read several times, and hand
        on nothing else: written out, XLA would compute it again for each reader, and so on."""
        members = [m for e in executed(loop) for m in self.statement(e).members]
        if not reads_elements_again(self.graph, members):
            return False
        return self.hands_on(loop) and not self.reads_weights(loop)

    def is_quick(self, loop: TreeLoop, steps: int) -> bool:
        """Whether steps compute so little that XLA makes one function for CPUs of the loop.

        Written out, each of their operators would be started on its own in a longer loop around.
        """
        nodes = [self.graph.nodes[m] for e in executed(loop) for m in self.statement(e).members]
        sizes = [
            None if n.vector or t.dtype is DType.KEY else constant_elements(t.shape)
            for n in nodes
            for t in n.types
        ]
        if steps <= MODEL.rolled_steps or self.reads_weights(loop):
            return False
        return all(n is not None and n <= MODEL.quick_elements for n in sizes)

    def is_passing(self, loop: TreeLoop, steps: int, more: int) -> bool:
        """Whether to write a loop out would be much to compile, ``more`` operators, and would give
        tensors that soon pass arrays of their own."""
        much = more > MODEL.carried_operators
        if much and self.hands_on(loop):
            return True
        return (much or steps > MODEL.passing_steps) and not self.reads_layers(loop)

    def hands_on(self, loop: TreeLoop) -> bool:
        """Whether each step only takes over what the one before has made: no tensor becomes arrays
        of its own by writing the steps out."""
        inner = {loop.var, *(part.var for part in loops(loop))}
        inside: dict[str, InLoop] = {}
        for execute in executed(loop):
            pairs = zip(self.statement(execute).domain.dims, execute.point, strict=True)
            at = {dim: {*symbols(e)} for dim, e in pairs}
            own = [dim for dim, names in at.items() if loop.var in names]
            if len(own) != 1:
                return False
            around = frozenset(dim for dim, names in at.items() if not names & inner)
            place = InLoop(dim=own[0], around=around)
            if inside.setdefault(execute.statement, place) != place:
                return False
        moving = {
            (x, d) for x, d, moves in accesses_of(loop, self.statements, (loop.var,)) if moves
        }
        tensors = self.statements.tensors
        places = sorted((x, tensors[x].domain.dims.index(dim)) for x, dim in moving)
        return all(is_handed_on(x, k, inside, self.statements) for x, k in places)

    def size(self, tree: ScheduleTree) -> int:
        """The number of operators in a subtree."""
        return sum(len(self.statement(e).members) for e in executed(tree))

    def reads_weights(self, loop: TreeLoop) -> bool:
        """Whether the loop variable indexes weights, other than those that state begins with."""
        statements = [self.statement(execute) for execute in executed(loop)]
        reads = [read for statement in statements for read in statement.reads]
        computed = {r.tensor for r in reads if not self.is_copied(r)}
        params = {t.name for t in self.statements.tensors.values() if t.origin == "param"}
        accesses = accesses_of(loop, self.statements, (loop.var,))
        return any(tensor in params & computed and moves for tensor, _, moves in accesses)

    def is_copied(self, read: Read) -> bool:
        """Whether a read only copies what it reads."""
        return isinstance(self.graph.nodes[read.member].op, Copy | Merge)

    def reads_layers(self, loop: TreeLoop) -> bool:
        """Whether the loop variable indexes weights, given or learned, or caches."""
        tensors = self.statements.tensors
        accesses = accesses_of(loop, self.statements, (loop.var,))
        moving = sorted({(x, tensors[x].domain.dims.index(dim)) for x, dim, on in accesses if on})
        return self.reads_weights(loop) or any(outlives(x, k, self.statements) for x, k in moving)

    def business(self, statement: Statement) -> Business | None:
        """The reason why a statement must run on the host."""
        name, nodes = statement.name, statement.members
        if any(isinstance(self.graph.nodes[m].op, ExternHost) for m in nodes):
            return Business("python", f"`{name}` calls a Python function", nodes)
        if statement.turn is not None and not collected_types(statement, self.graph):
            node = effect_node(statement, self.graph)
            if node is not None and isinstance(node.op, Print):
                most = MODEL.collected_row_bytes
                text = f"`{name}` is printed, and may have more than {most} bytes"
                return Business("print", text, nodes)
            return Business("save", f"`{name}` is saved", nodes)
        if any(isinstance(self.graph.nodes[m].op, After) for m in nodes):
            text = f"`{name}` makes values again, which XLA would take from where they were made"
            return Business("again", text, nodes)
        tensors = self.statements.tensors
        if any(tensors[w.tensor].is_given for w in statement.writes):
            return Business("given", f"`{name}` computes weights that may be given", nodes)
        return None

    def saves(self, loop: TreeLoop) -> frozenset[str]:
        """The statements in a loop that save files."""
        nodes = ((e.statement, effect_node(self.statement(e), self.graph)) for e in executed(loop))
        return frozenset(x for x, node in nodes if node is not None and isinstance(node.op, Save))

    def moving(self, nest: Sequence[TreeLoop]) -> Business | None:
        """The tensor that the host moves from step to step of a loop nest."""
        variables = tuple(part.var for part in nest)
        within = tuple(part.var for part in nest[1:])
        chunks = accesses_of(nest[0], self.statements, within, places=())
        moving = [tensor for tensor, _, moves in chunks if moves and tensor in self.chunked]
        for tensor, _, moves in accesses_of(nest[0], self.statements, variables):
            if (moves and tensor in self.hosted) or tensor in moving:
                text = f"`{tensor}` moves between host and device from step to step"
                return Business("moves", text, (tensor,))
        return None

    def printing(self, loop: TreeLoop) -> Business | None:
        """The reason why too many lines of a step would be collected."""
        fixed, rows = fixed_bounds(self.graph), Counter[str]()
        for execute, around in walk(loop):
            if not isinstance(execute, Execute):
                continue
            if types := collected_types(self.statement(execute), self.graph):
                counts = [step_count(inner, fixed) for inner in around[1:]]
                known = [n for n in counts if n is not None]
                rows[execute.statement] += prod(known)
                most = collected_rows(types)
                if len(known) < len(counts) or rows[execute.statement] > most:
                    text = f"`{execute.statement}` is printed in a loop within it"
                    return Business("nested print", text, self.statement(execute).members)
        return None

    def lasts(self, inner: Sequence[TreeLoop], execute: Execute) -> Business | None:
        """The reason why a run-time length keeps a loop on the host; ``inner``: it and its loops.

        A length that varies with one of them does, unless it matters within a step only.
        """
        universe = self.graph.universe
        variables = {loop.var for loop in inner}
        dims = self.statement(execute).domain.dims
        for dim, e in zip(dims, execute.point, strict=True):
            if not variables.isdisjoint(symbols(e)):
                for b in universe.ended:
                    home = self.homes.get(b.name)
                    if dim in b.outer and not any(loop is home for loop in inner):
                        what = next(d.name for d in universe.dims if d.bound == b.name)
                        text = f"how long `{what}` lasts is found out for each `{dim}`"
                        return Business("own length", text, (b.name,))
        return None

    def statement(self, execute: Execute) -> Statement:
        """The statement of an execution."""
        return self.statements.by_name[execute.statement]

    def span(self, statement: Statement) -> Span | None:
        """The source span of a statement."""
        spans = [s for m in statement.members for s in self.graph.nodes[m].spans]
        return spans[0] if spans else None


def _merge_guards(items: Iterable[ScheduleTree]) -> tuple[ScheduleTree, ...]:
    """Merges adjacent guards of equal conditions."""
    merged: list[ScheduleTree] = []
    for item in items:
        last = merged[-1] if merged else None
        if (
            isinstance(item, TreeGuard)
            and isinstance(last, TreeGuard)
            and item.condition == last.condition
        ):
            bodies = (
                b.items if isinstance(b, TreeSequence) else (b,) for b in (last.body, item.body)
            )
            both = TreeSequence(items=tuple(part for body in bodies for part in body))
            merged[-1] = TreeGuard(condition=item.condition, body=both)
        else:
            merged.append(item)
    return tuple(merged)
