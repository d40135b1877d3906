"""Lazy branches: nodes needed only where a branch of a ``cond`` is taken are computed only there.

A node belongs to a branch if all its uses are at the same point, by the branch or by nodes of the
branch. The uses may be in several ``cond``s of the same condition: the ``cond`` of a derivative
reads what the forward branch computed. The first such ``cond`` computes the node; where the branch
is not taken it has no value, and no use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tempoc.ops.control.cond import Cond
from tempoc.sdg.graph.graph import Edge, Graph, Group
from tempoc.sdg.graph.query import OperandUse, ancestors, components, topological, users
from tempoc.sdg.statements.build import is_computed, is_identity
from tempoc.symbolic.domain import Domain

BranchSide = tuple[str, int]
"""A ``cond`` node and the slot of one of its branches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchCondition:
    """A condition, read at the same point, and the value that it must have (``holds``)."""

    condition: Edge
    holds: bool


def branch_conditions(graph: Graph) -> dict[str, tuple[BranchCondition, ...]]:
    """For each node the conditions under which it is needed, from the outermost branch inwards.

    Empty if it is always needed. A condition is defined at all points of the node.
    """
    if not any(isinstance(n.op, Cond) for n in graph.nodes.values()):
        return dict.fromkeys(graph.nodes, ())
    outputs = {o.source for o in graph.outputs}
    effects = [n.name for n in graph.nodes.values() if not n.op.pure]
    live = ancestors(graph, [*outputs, *effects])
    uses = users(graph)
    where: dict[BranchCondition, list[Domain]] = {}
    for node in graph.nodes.values():
        for slot in (1, 2) if isinstance(node.op, Cond) else ():
            where.setdefault(branch_condition(graph, node.name, slot), []).append(node.domain)
    conditions: dict[str, tuple[BranchCondition, ...]] = {}
    for name in reversed(topological(graph)):
        node = graph.nodes[name]
        if name in outputs or not is_computed(node):
            continue
        common = _common_conditions(
            _use_conditions(graph, name, u, conditions) for u in uses[name] if u.reader in live
        )
        conditions[name] = tuple(need for need in common if node.domain in where[need])
    return {name: conditions.get(name, ()) for name in graph.nodes}


def branch_condition(graph: Graph, cond: str, slot: int) -> BranchCondition:
    """The condition under which a branch (operand ``slot``) of a ``cond`` is taken."""
    edge = graph.nodes[cond].inputs[0]
    return BranchCondition(condition=replace(edge, span=None), holds=slot == 1)


def _use_conditions(
    graph: Graph, name: str, use: OperandUse, conditions: Mapping[str, tuple[BranchCondition, ...]]
) -> tuple[BranchCondition, ...]:
    """The conditions under which one use needs a node."""
    reader, node = graph.nodes[use.reader], graph.nodes[name]
    if not is_computed(reader) or reader.domain.dims != node.domain.dims:
        return ()
    if not is_identity(reader.inputs[use.slot], graph):
        return ()
    around = conditions.get(use.reader, ())
    if isinstance(reader.op, Cond) and use.slot:
        need = branch_condition(graph, use.reader, use.slot)
        return around if need in around else (*around, need)
    return around


def _common_conditions(parts: Iterable[tuple[BranchCondition, ...]]) -> tuple[BranchCondition, ...]:
    """The common conditions, in the order of the first operand."""
    first, *others = list(parts) or [()]
    return tuple(need for need in first if all(need in other for other in others))


# ---------------------------------------------------------------- computing branches


def computing_branches(graph: Graph, members: Sequence[str]) -> dict[str, BranchSide]:
    """The branch in which each of ``members`` (in execution order) is computed.

    It is the first branch after the node that is taken exactly when the node is needed. Nodes
    without one are computed unconditionally.
    """
    places = {m: k for k, m in enumerate(members)}
    conds = [m for m in members if isinstance(graph.nodes[m].op, Cond)]
    if not conds:
        return {}
    conditions = branch_conditions(graph)
    sides: dict[str, BranchSide] = {}
    for name in members:
        domain, place = graph.nodes[name].domain, places[name]
        later = (c for c in conds if places[c] > place and graph.nodes[c].domain == domain)
        side = _first_branch(graph, conditions, conditions[name], later)
        if side is not None:
            sides[name] = side
    while (early := _too_late(graph, members, sides)) is not None:
        del sides[early]
    return sides


def _first_branch(
    graph: Graph,
    conditions: Mapping[str, tuple[BranchCondition, ...]],
    target: tuple[BranchCondition, ...],
    conds: Iterable[str],
) -> BranchSide | None:
    for cond in conds if target else ():
        for slot in (1, 2):
            branch = {*conditions[cond], branch_condition(graph, cond, slot)}
            if branch == {*target}:
                return cond, slot
    return None


def _too_late(graph: Graph, members: Sequence[str], sides: Mapping[str, BranchSide]) -> str | None:
    """A node that would be computed after one of its consumers."""
    served: dict[BranchSide, list[str]] = {}
    for name in members:
        if name in sides:
            served.setdefault(sides[name], []).append(name)

    def run(names: Iterable[str]) -> Iterator[str]:
        for name in names:
            for slot in (1, 2):
                yield from run(served.get((name, slot), ()))
            yield name

    done: set[str] = set()
    for name in run(m for m in members if m not in sides):
        for edge in graph.nodes[name].inputs:
            if edge.source in sides and edge.source not in done and is_identity(edge, graph):
                return edge.source
        done.add(name)
    return None


def enclosing_conds(graph: Graph) -> dict[str, str]:
    """For each node that is computed in a branch its outermost enclosing ``cond``."""
    if not any(isinstance(n.op, Cond) for n in graph.nodes.values()):
        return {}
    sides = computing_branches(graph, [n for n in _in_order(graph) if is_computed(graph.nodes[n])])

    def outermost(cond: str) -> str:
        return outermost(sides[cond][0]) if cond in sides else cond

    return {name: outermost(side[0]) for name, side in sides.items()}


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
