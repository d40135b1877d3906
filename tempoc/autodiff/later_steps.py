"""Tensors that learn side by side: what a gradient cannot count, since it happens in later steps.

    w[i+1] = w - grad(loss, w)
    v[i+1] = v - grad(loss, v)

The losses of later steps depend on `w[i]` also through `v[i+1]`, which the gradient by `v` at step
`i` makes, and the other way. Taken literally, each gradient is differentiated to compute the other.
But these steps begin only when the gradient by `w[i]` is known, as it makes `w[i+1]`: what they
hold cannot be part of it. So each counts the other tensors as constants, as for one record of both.

That is so only where it is the one thing that can be meant. The gradients depend on each other, and
the derivative of one goes through another one; the tensor of one leads to that of the other in
later steps alone, of dimensions that both have; and a gradient is used in its own step to make its
own tensor, or the other one, as the slope of a critic by its data is, which a part of its loss is
made of. What equations write ahead, as momentum in ``m[i+1] = 0.9 * m + grad(loss, w)``, belongs to
the step of the equation. A training run within a step stays part of the derivative by what it
starts from.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations

from tempoc.base.graphs import (
    cyclic_nodes,
    reachable,
    strongly_connected_components,
    topological_sort,
)
from tempoc.ops.control.control import Merge
from tempoc.ops.control.gradient import Gradient
from tempoc.poly.relations.space import Space
from tempoc.poly.relations.steps import (
    Passage,
    PassageEnd,
    Timing,
    reading,
    timing,
    writing,
    written_ahead,
)
from tempoc.sdg.graph.active import (
    DerivativeOperands,
    active_nodes,
    derivative_operands,
    derivative_uses,
    ends_of,
    gradients,
)
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import OperandUse, users
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain

Readers = Mapping[str, Sequence[OperandUse]]
AT_ONCE = Timing(before=False, same=True, at_once=True)
LATER = Timing(before=False, same=False, at_once=False)
ANY_TIME = Timing(before=True, same=True, at_once=False)


def target(node: Node) -> Edge:
    """What a gradient is the derivative by."""
    assert isinstance(node.op, Gradient)
    return node.inputs[node.op.losses + node.op.wrt]


def without_later_steps(graph: Graph, space: Space) -> Graph:
    """Add to gradients that depend on each other what each of them counts as constant."""
    pending = gradients(graph)
    of_ends = {ends_of(node): node for node in pending}
    known = {
        ends: [other.name for other in pending if other.name in active]
        for ends, active in zip(of_ends, active_nodes(graph, [*of_ends.values()]), strict=True)
    }
    needs = {n.name: known[ends_of(n)] for n in pending}
    nodes = dict(graph.nodes)
    operands: DerivativeOperands = {}
    cycles = strongly_connected_components(
        graph.nodes, lambda name: [e.source for e in graph.nodes[name].inputs]
    )
    for cycle in cycles:
        group = tuple(name for name in cycle if name in needs)
        if any(other in group for name in group for other in needs[name]):
            operands = operands or derivative_operands(graph)
            for name, constant in _constants(graph, space, operands, group):
                read = tuple(_whole(graph, name) for name in constant)
                nodes[name] = replace(nodes[name], inputs=(*nodes[name].inputs, *read))
    return replace(graph, nodes=nodes)


def _whole(graph: Graph, name: str) -> Edge:
    """A read of all points."""
    dims = graph.nodes[name].domain.dims
    bounds = (ix.Sym(graph.universe.dim(d).bound) for d in dims)
    return Edge(source=name, entries=tuple(ix.Slice(ix.ZERO, b) for b in bounds))


def _constants(
    graph: Graph, space: Space, operands: DerivativeOperands, group: tuple[str, ...]
) -> Iterator[tuple[str, list[str]]]:
    """What each gradient of a group counts as constant."""
    gradients = [graph.nodes[name] for name in group]
    learned = tuple(dict.fromkeys(target(n).source for n in gradients))
    ahead = _written_ahead(graph, {name for n in gradients for name in ends_of(n)[1]})
    every = {name: list(uses) for name, uses in users(graph).items()}
    orders: dict[tuple[str, ...], StepOrder] = {}
    later: dict[tuple[tuple[str, ...], tuple[str, ...]], dict[str, list[StepOrder]]] = {}
    for node in gradients:
        losses, wrt = ends = ends_of(node)
        if ends not in later:
            later[ends] = {}
            uses = derivative_uses(operands, losses, wrt)
            for dims in _orders(graph, wrt):
                order = StepOrder(graph=graph, space=space, dims=dims, ahead=ahead)
                order = orders.setdefault(dims, order)
                for name in order.only_later(wrt, uses, learned):
                    later[ends].setdefault(name, []).append(order)
        own = target(node).source
        prompt = [o for o in orders.values() if o.used_at_once(node.name, own, every)]
        constant = [
            name
            for name, by in later[ends].items()
            if any(o in prompt or o.used_at_once(node.name, name, every) for o in by)
        ]
        yield node.name, constant


def _orders(graph: Graph, wrt: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The ways to look at dimensions that all tensors have as one loop nest, small ones first."""
    dims = list(graph.nodes[wrt[0]].domain.dims)
    shared = [d for d in dims if all(d in graph.nodes[x].domain.dims for x in wrt)]
    for count in range(1, len(shared) + 1):
        yield from permutations(shared, count)


def _written_ahead(graph: Graph, wrt: Collection[str]) -> dict[str, dict[str, int]]:
    """How far ahead of their own step equations write, of all tensors but those learned."""
    return {
        n.name: written_ahead(n.domain.dims, n.op.targets)
        for n in graph.nodes.values()
        if isinstance(n.op, Merge) and n.name not in wrt
    }


@dataclass(slots=True, kw_only=True, eq=False)
class StepOrder:
    """A graph in steps of some dimensions, the slowest first.

    ``ahead``: of tensors how many points lie between one and the step that it belongs to.
    """

    graph: Graph
    space: Space
    dims: tuple[str, ...]
    ahead: Mapping[str, Mapping[str, int]]
    known: dict[OperandUse, Timing] = field(default_factory=dict)

    def only_later(
        self, starts: tuple[str, ...], uses: Readers, candidates: tuple[str, ...]
    ) -> Iterator[str]:
        """Those of the candidates that the starts lead to, but in later steps alone."""
        reached, unclear = dict.fromkeys(starts), dict[str, None]()
        same = dict.fromkeys(starts if all(self.has_steps(x) for x in starts) else ())
        worklist = list(reached)
        for name in worklist:  # grows meanwhile, with a node for each thing that is new of it
            for reader, when in self.onward(name, uses):
                news = reader not in reached
                reached[reader] = None
                if (when.before or name in unclear) and reader not in unclear:
                    unclear[reader], news = None, True
                if when.same and name in same and reader not in same:
                    same[reader], news = None, True
                if news:
                    worklist.append(reader)
        yield from (x for x in candidates if x in reached and x not in same and x not in unclear)

    def used_at_once(self, gradient: str, tensor: str, uses: Readers) -> bool:
        """Whether a tensor is made of its gradient in the step to which the gradient belongs.

        The next step of the tensor may be written there, ``w[i+1] = w - g``, or look back, ``w[i] =
        w[i-1] - g[i-1]``: one passage of the way leads to a later step, no matter which.
        """
        if not (self.has_steps(gradient) and self.has_steps(tensor)):
            return False
        reached = {(gradient, False): None}
        worklist = [*reached]
        for name, is_later in worklist:  # grows meanwhile
            for reader, when in self.onward(name, uses):
                if when.before or (is_later and not when.at_once):
                    continue
                if reader == tensor:
                    return True
                place = reader, is_later or not when.at_once
                if place not in reached:
                    reached[place] = None
                    worklist.append(place)
        return False

    def has_steps(self, name: str) -> bool:
        """Whether each point of a node belongs to one step."""
        return all(d in self.graph.nodes[name].domain.dims for d in self.dims)

    def onward(self, name: str, uses: Readers) -> Iterator[tuple[str, Timing]]:
        """The next nodes with steps that a node with steps leads to, and when.

        Nodes without steps on the way are passed through.
        """
        if not self.has_steps(name):
            return
        passages: dict[str, Passage] = {}
        for use in uses.get(name, ()):
            if self.has_steps(use.reader):
                yield use.reader, self.timing(name, use)
            else:
                _join(passages, use.reader, self.passage(use))
        if not passages:
            return

        def onward(name: str) -> list[str]:
            return [u.reader for u in uses.get(name, ()) if not self.has_steps(u.reader)]

        between = reachable(passages, onward)
        if cyclic_nodes(between, onward):
            yield from self.through_recurrences(name, between, uses)
            return
        for middle in topological_sort(list(between), onward):
            for use in uses.get(middle, ()):
                passage = passages[middle].then(self.passage(use))
                if self.has_steps(use.reader):
                    ends = self.end(name), self.end(use.reader)
                    yield use.reader, timing(self.space, self.dims, passage, ends)
                else:
                    _join(passages, use.reader, passage)

    def through_recurrences(
        self, name: str, between: Collection[str], uses: Readers
    ) -> Iterator[tuple[str, Timing]]:
        """The same where nodes without steps depend on each other in a cycle.

        What they do have are the slowest of the dimensions, as the state of a sampler has that of
        the samples and not that of the moves which lead to the next one. A way that nowhere goes
        back along these, and once goes on, leads to later steps.
        """
        nodes = self.graph.nodes
        have = [all(d in nodes[n].domain.dims for n in between) for d in self.dims]
        slowest = self.dims[: have.index(False)]
        reached = {(name, False): None}
        worklist = [*reached]
        for place, is_later in worklist:  # grows meanwhile
            for use in uses.get(place, ()):
                if use.reader not in between and (place == name or not self.has_steps(use.reader)):
                    continue
                ends = self.end(place), self.end(use.reader)
                when = timing(self.space, slowest, self.passage(use), ends) if slowest else ANY_TIME
                if when.before:
                    yield from ((n, ANY_TIME) for n in reachable(between, _readers_in(uses)))
                    return
                then = use.reader, is_later or not when.same
                if use.reader not in between:
                    yield use.reader, LATER if then[1] else ANY_TIME
                elif then not in reached:
                    reached[then] = None
                    worklist.append(then)

    def timing(self, name: str, use: OperandUse) -> Timing:
        """When a node is read by another one; both have steps."""
        if use not in self.known:
            at = dict(zip(*self.access(use), strict=True))
            ends = self.end(name), self.end(use.reader)
            own = all(at.get(d) == ix.Sym(d) for d in self.dims)
            own = own and ends[0].ahead == ends[1].ahead
            self.known[use] = (
                AT_ONCE if own else timing(self.space, self.dims, self.passage(use), ends)
            )
        return self.known[use]

    def end(self, name: str) -> PassageEnd:
        """The points of a node, and the steps that they belong to."""
        return PassageEnd(self.graph.nodes[name].domain.dims, self.ahead.get(name, {}))

    def access(self, use: OperandUse) -> tuple[tuple[str, ...], tuple[ix.Entry, ...]]:
        """The dimensions of what is accessed, and the entries: of a read, or of a branch's target.

        A gradient belongs to the step of the losses that it is taken of.
        """
        reader = self.graph.nodes[use.reader]
        edge = reader.inputs[use.slot]
        if isinstance(reader.op, Merge):
            return reader.domain.dims, reader.op.targets[use.slot]
        dims = self.graph.nodes[edge.source].domain.dims
        if not isinstance(reader.op, Gradient):
            return dims, edge.entries
        whole = _whole(self.graph, edge.source).entries
        return dims, tuple(
            ix.Sym(d) if d in reader.domain.dims else e for d, e in zip(dims, whole, strict=True)
        )

    def passage(self, use: OperandUse) -> Passage:
        """Where the points that a node reads go."""
        reader = self.graph.nodes[use.reader]
        edge = reader.inputs[use.slot]
        source = self.graph.nodes[edge.source].domain
        _, entries = self.access(use)
        if not isinstance(reader.op, Merge):
            return reading(self.space, reader.domain, entries, source)
        where = ix.conjunction(reader.domain.where, edge.guard)
        written = Domain(reader.domain.dims, where)
        return writing(self.space, source, reader.op.targets[use.slot], written)


def _readers_in(uses: Readers) -> Callable[[str], list[str]]:
    """All readers of a node."""
    return lambda name: [u.reader for u in uses.get(name, ())]


def _join(passages: dict[str, Passage], name: str, passage: Passage) -> None:
    """Add a way to a node to those that there are."""
    passages[name] = passages[name].joined(passage) if name in passages else passage
