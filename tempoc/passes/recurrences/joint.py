"""Recurrences of which one reads the other become one, a step of which makes the states of both.

    %p.rows = recurrence{steps=..} %p.0, %c[0:N]     : [] f32[N]
    %m      = sub %b, %p[i-1]                        : [i*] f32
    %q.rows = recurrence{steps=..} %q.0, %m[0:N]     : [] f32[N]
    ->
    %q.rows, %p.rows = recurrence{steps=..} %q.0, %p.0, %b[0:N], %c[0:N] : [] f32[N], f32[N]

As in Thomas' algorithm, or with averages of averages. Loops of small steps take the time of their
steps, and each stores and reads what goes from one to the other: 2026-11-27, CPU us of a
tridiagonal system of 2000, 80 with three loops and 37 with two. What is between them is computed in
the steps, if that is done element by element.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from tempoc.base.cost_model import MODEL
from tempoc.base.effort import EFFORT
from tempoc.base.graphs import reachable
from tempoc.ops.control.control import Copy, Merge
from tempoc.ops.control.linear_recurrence import is_linear
from tempoc.ops.definition.shapes import constant_elements
from tempoc.passes.recurrences.recognize_recurrence import (
    NotARecurrence,
    RecurrenceCycle,
    distance,
    recognize,
)
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import OperandUse, operand_type, users

NodeNames = tuple[str, ...]
Recurrences = Mapping[NodeNames, RecurrenceCycle]


def joint_recurrences(
    graph: Graph, recurrences: Recurrences, space: Space
) -> dict[NodeNames, Recurrences]:
    """Cycles that become one with the nodes between them, and the recurrences that they consist of.

    ``recurrences`` are along one dimension, what others read before these.
    """
    if not recurrences:
        return {}
    shown = {o.source for o in graph.outputs}
    search = _JointSearch(graph=graph, space=space, readers=users(graph), shown=shown)
    for cycle, recurrence in recurrences.items():
        if _is_small(graph, recurrence):
            search.add(cycle, recurrence)
    return {k: parts for k, parts in search.groups.items() if k not in parts}


def read_in_steps(
    graph: Graph, recurrences: Recurrences, loops: Recurrences
) -> dict[NodeNames, str]:
    """Small recurrences that a loop reads as it goes, with the name of a state of that.

    What others read stands before these. 2026-11-27, CPU us of a mean, a variance and what is made
    of both, for 64 series of 500: 340 as two scans and a loop, 125 as one loop.
    """
    steps: dict[bool, dict[str, str]] = {True: {}, False: {}}

    def add(cycle: NodeNames, recurrence: RecurrenceCycle) -> None:
        near = _near(graph, cycle, recurrence.dim)
        names = steps[recurrence.forward]
        for name in near:
            names.setdefault(name, recurrence.states[0])

    for cycle, loop in loops.items():
        add(cycle, loop)
    read: dict[NodeNames, str] = {}
    for cycle, recurrence in reversed([*recurrences.items()]):
        names = steps[recurrence.forward]
        reader = next((names[n] for n in cycle if n in names), None)
        if reader is not None and _is_small(graph, recurrence):
            read[cycle] = reader
            add(cycle, recurrence)
    return read


def _near(graph: Graph, cycle: NodeNames, dim: str) -> dict[str, None]:
    """The nodes that a cycle reads near its points, through nodes that compute each element."""
    near, pending = dict.fromkeys(cycle), [*cycle]
    for name in pending:  # grows meanwhile
        node = graph.nodes[name]
        if name not in cycle and not _is_between(node):
            continue
        for edge in node.inputs if len(near) <= EFFORT.recurrence_nodes else ():
            if edge.source not in near and distance(graph, node, edge, dim) is not None:
                near[edge.source] = None
                pending.append(edge.source)
    return near


def _is_between(node: Node) -> bool:
    """Whether steps may compute a node: element by element, and not many."""
    return node.op.elementwise and not isinstance(node.op, Merge) and _has_few_elements(node)


def _is_small(graph: Graph, recurrence: RecurrenceCycle) -> bool:
    """Whether a step does so little that it counts how many loops there are."""
    return all(_has_few_elements(graph.nodes[s]) for s in recurrence.states)


def _has_few_elements(node: Node) -> bool:
    count = constant_elements(node.types[0].shape)
    return count is not None and count <= MODEL.joint_elements


@dataclass(slots=True, kw_only=True)
class _JointSearch:
    """``groups`` are the recurrences so far, by their nodes; ``owners`` the groups of nodes."""

    graph: Graph
    space: Space
    readers: Mapping[str, Sequence[OperandUse]]
    shown: Collection[str]
    groups: dict[NodeNames, dict[NodeNames, RecurrenceCycle]] = field(default_factory=dict)
    owners: dict[str, NodeNames] = field(default_factory=dict)

    def add(self, cycle: NodeNames, recurrence: RecurrenceCycle) -> None:
        """A recurrence, with those that it reads if they can be one."""
        before, between = self.read_by(cycle, recurrence.dim)
        parts = {c: r for k in before for c, r in self.groups[k].items()} | {cycle: recurrence}
        names = (*dict.fromkeys(n for k in (cycle, *before) for n in k), *between)
        if before and self.is_one(names, parts):
            for k in before:
                del self.groups[k]
        else:
            names, parts = cycle, {cycle: recurrence}
        alone = (*names, *self.read_by_none_else(names, recurrence.dim))
        self.keep(alone if alone != names and self.is_one(alone, parts) else names, parts)

    def read_by_none_else(self, names: NodeNames, dim: str) -> list[str]:
        """The light nodes that nothing reads but steps: they need not be stored for all points."""
        inside, pending = dict.fromkeys(names), [*names]
        for name in pending:  # grows meanwhile
            if len(inside) >= len(names) + MODEL.joint_nodes:
                break
            for edge in self.graph.nodes[name].inputs:
                source = self.graph.nodes[edge.source]
                if source.name not in inside and self.is_light(source):
                    reads = [
                        (u.reader, self.graph.nodes[u.reader].inputs[u.slot])
                        for u in self.readers[source.name]
                    ]
                    if source.name not in self.shown and all(
                        reader in inside
                        and distance(self.graph, self.graph.nodes[reader], e, dim) is not None
                        for reader, e in reads
                    ):
                        inside[source.name] = None
                        pending.append(source.name)
        return [*inside][len(names) :]

    def is_light(self, node: Node) -> bool:
        """Whether a step computes a node as fast as it reads it."""
        return _is_between(node) and (node.op.light or isinstance(node.op, Copy))

    def keep(self, names: NodeNames, parts: dict[NodeNames, RecurrenceCycle]) -> None:
        """A group of recurrences."""
        self.groups[names] = parts
        self.owners |= dict.fromkeys(names, names)

    def is_one(self, names: NodeNames, parts: Recurrences) -> bool:
        """Whether recurrences are one, which is linear if all of them are.

        A chain of linear maps is computed as one on devices with many threads.
        """
        (dim, forward), *others = dict.fromkeys((r.dim, r.forward) for r in parts.values())
        if others or len(names) > EFFORT.recurrence_nodes:
            return False
        try:
            joint = recognize(self.graph, dim, names, self.space, uneven=True)
        except NotARecurrence:
            return False
        if joint.forward != forward:
            return False
        return self.is_chain(joint) or not all(map(self.is_chain, parts.values()))

    def is_chain(self, recurrence: RecurrenceCycle) -> bool:
        """Whether a recurrence is linear."""
        first = [self.graph.nodes[s].types[0] for s in recurrence.states]
        others = [operand_type(self.graph, e) for e in recurrence.operands]
        return is_linear(recurrence.steps, first, others)

    def read_by(self, cycle: NodeNames, dim: str) -> tuple[list[NodeNames], list[str]]:
        """The groups that a cycle reads through light nodes, and those nodes."""
        near = [n for n in _near(self.graph, cycle, dim) if n not in cycle]
        readers: dict[str, list[str]] = {n: [] for n in near}
        for name in near:
            for source in self.graph.nodes[name].sources:
                if source in readers:
                    readers[source].append(name)
        owned = [n for n in near if n in self.owners]
        between = [n for n in reachable(owned, readers.__getitem__) if n not in self.owners]
        return [*dict.fromkeys(self.owners[n] for n in owned)], between
