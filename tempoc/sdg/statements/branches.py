"""Lazy branches: nodes needed only where a branch of a ``cond`` is taken are computed only there.

A node belongs to a branch if all its uses are at the same point, by the branch or by nodes of the
branch. The uses may be in several ``cond``s of the same condition: the ``cond`` of a derivative
reads what the forward branch computed. The first such ``cond`` computes the node; where the branch
is not taken it has no value, and no use.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from tempoc.ops.control.cond import Cond
from tempoc.sdg.graph.graph import Edge, Graph, Group, Output
from tempoc.sdg.graph.query import (
    OperandUse,
    ancestors,
    components,
    of_last_nodes,
    topological,
    users,
)
from tempoc.sdg.statements.build import is_computed, is_identity
from tempoc.symbolic.domain import Domain

BranchSide = tuple[str, int]
"""A ``cond`` node and the slot of one of its branches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchCondition:
    """A condition, read at the same point, and the value that it must have (``holds``)."""

    condition: Edge
    holds: bool


class _NumberedConditions(NamedTuple):
    """All conditions of branches, and by number those of each branch and of each node."""

    conditions: Sequence[BranchCondition]
    of_side: Mapping[BranchSide, int]
    needed: Mapping[str, tuple[int, ...]]


def branch_conditions(graph: Graph) -> dict[str, tuple[BranchCondition, ...]]:
    """For each node the conditions under which it is needed, from the outermost branch inwards.

    Empty if it is always needed. A condition is defined at all points of the node.
    """
    numbered = _numbered_conditions(graph, graph.outputs)
    at = numbered.conditions.__getitem__
    return {name: tuple(map(at, numbered.needed.get(name, ()))) for name in graph.nodes}


@of_last_nodes
def _numbered_conditions(graph: Graph, of_outputs: tuple[Output, ...]) -> _NumberedConditions:
    """The conditions under which nodes are needed for some outputs."""
    numbers: dict[BranchCondition, int] = {}
    where: list[set[Domain]] = []
    of_side: dict[BranchSide, int] = {}
    for node in graph.nodes.values():
        for slot in (1, 2) if isinstance(node.op, Cond) else ():
            condition = branch_condition(graph, node.name, slot)
            number = of_side[node.name, slot] = numbers.setdefault(condition, len(numbers))
            if number == len(where):
                where.append(set())
            where[number].add(node.domain)
    needed: dict[str, tuple[int, ...]] = {}
    if not numbers:
        return _NumberedConditions((), of_side, needed)
    outputs = {o.source for o in of_outputs}
    effects = [n.name for n in graph.nodes.values() if not n.op.pure]
    live = ancestors(graph, [*outputs, *effects])
    uses = users(graph)
    for name in reversed(topological(graph)):
        node = graph.nodes[name]
        if name in outputs or not is_computed(node):
            continue
        common = _common_conditions(
            _use_conditions(graph, name, u, needed, of_side) for u in uses[name] if u.reader in live
        )
        needed[name] = tuple(number for number in common if node.domain in where[number])
    return _NumberedConditions((*numbers,), of_side, needed)


def branch_condition(graph: Graph, cond: str, slot: int) -> BranchCondition:
    """The condition under which a branch (operand ``slot``) of a ``cond`` is taken."""
    edge = graph.nodes[cond].inputs[0]
    return BranchCondition(condition=replace(edge, span=None), holds=slot == 1)


def _use_conditions(
    graph: Graph,
    name: str,
    use: OperandUse,
    needed: Mapping[str, tuple[int, ...]],
    of_side: Mapping[BranchSide, int],
) -> tuple[int, ...]:
    """The conditions under which one use needs a node."""
    reader, node = graph.nodes[use.reader], graph.nodes[name]
    if not is_computed(reader) or reader.domain.dims != node.domain.dims:
        return ()
    if not is_identity(reader.inputs[use.slot], graph):
        return ()
    around = needed.get(use.reader, ())
    if isinstance(reader.op, Cond) and use.slot:
        number = of_side[use.reader, use.slot]
        return around if number in around else (*around, number)
    return around


def _common_conditions(parts: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """The common conditions, in the order of the first operand."""
    first, *others = list(parts) or [()]
    sets = [{*other} for other in dict.fromkeys(others) if other != first]
    return tuple(number for number in first if all(number in other for other in sets))


# ---------------------------------------------------------------- computing branches


def computing_branches(graph: Graph, members: Sequence[str]) -> dict[str, BranchSide]:
    """The branch in which each of ``members`` (in execution order) is computed.

    It is the first branch after the node that is taken exactly when the node is needed. Nodes
    without one are computed unconditionally.
    """
    if not any(isinstance(graph.nodes[m].op, Cond) for m in members):
        return {}
    _, of_side, needed = _numbered_conditions(graph, graph.outputs)
    branches: dict[tuple[frozenset[int], Domain], list[tuple[int, BranchSide]]] = {}
    for place, name in enumerate(members):
        for side in ((name, 1), (name, 2)) if isinstance(graph.nodes[name].op, Cond) else ():
            taken = frozenset((*needed.get(name, ()), of_side[side]))
            branches.setdefault((taken, graph.nodes[name].domain), []).append((place, side))
    sides: dict[str, BranchSide] = {}
    for place, name in enumerate(members):
        if target := needed.get(name):
            alike = branches.get((frozenset(target), graph.nodes[name].domain), [])
            first = bisect_right(alike, place, key=lambda branch: branch[0])
            if first < len(alike):
                sides[name] = alike[first][1]
    while (early := _too_late(graph, members, sides)) is not None:
        del sides[early]
    return sides


def _too_late(graph: Graph, members: Sequence[str], sides: Mapping[str, BranchSide]) -> str | None:
    """A node that would be computed after one of its consumers."""
    served: dict[BranchSide, list[str]] = {}
    for name in members:
        if name in sides:
            served.setdefault(sides[name], []).append(name)

    def run(names: Iterable[str]) -> Iterator[str]:
        worklist = [(name, False) for name in names][::-1]
        while worklist:
            name, has_branches = worklist.pop()
            if has_branches:
                yield name
                continue
            worklist.append((name, True))
            inner = (n for slot in (1, 2) for n in served.get((name, slot), ()))
            worklist += [(n, False) for n in inner][::-1]

    done: set[str] = set()
    for name in run(m for m in members if m not in sides):
        for edge in graph.nodes[name].inputs:
            if edge.source in sides and edge.source not in done and is_identity(edge, graph):
                return edge.source
        done.add(name)
    return None


def enclosing_conds(graph: Graph) -> Mapping[str, str]:
    """For each node that is computed in a branch its outermost enclosing ``cond``."""
    if not any(isinstance(n.op, Cond) for n in graph.nodes.values()):
        return {}
    return _enclosing_conds(graph, graph.outputs)


@of_last_nodes
def _enclosing_conds(graph: Graph, _outputs: tuple[Output, ...]) -> Mapping[str, str]:
    order = [n for n in _in_order(graph) if is_computed(graph.nodes[n])]
    sides = computing_branches(graph, order)
    outermost: dict[str, str] = {}
    for name in reversed(order):  # a branch is computed after its nodes
        if name in sides:
            cond, _ = sides[name]
            outermost[name] = outermost.get(cond, cond)
    return MappingProxyType({name: outermost[name] for name in sides})


def _in_order(graph: Graph) -> list[str]:
    """All nodes by strongly connected components; within each one as in ``topological``."""
    places = {name: k for k, name in enumerate(topological(graph))}
    return [name for part in components(graph) for name in sorted(part, key=places.__getitem__)]


def group_branches(graph: Graph) -> Graph:
    """The graph with a group for each outermost ``cond`` and the nodes of its branches.

    All other nodes are groups of their own. Unchanged if no node is computed in a branch.
    """
    homes = enclosing_conds(graph)
    if not homes:
        return graph
    members: dict[str, list[str]] = {}
    for name in topological(graph):
        if is_computed(graph.nodes[name]):
            members.setdefault(homes.get(name, name), []).append(name)
    groups = tuple(Group(name=n, members=tuple(members[n])) for n in graph.nodes if n in members)
    return replace(graph, groups=groups)
