"""What is needed only where a branch of a ``cond`` is taken, and so not computed elsewhere.

That is: every use is at the very point, by the branch or by what is itself needed only there. Uses
may belong to several ``cond`` of the same condition: a derivative reads again what the forward
branch computed, in a ``cond`` of its own. Whoever comes first computes it, the others get it from
there; where the branch is not taken there is no value, and nobody asks for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tempoc.ops.control.cond import Cond
from tempoc.ops.control.effects import EffectOp
from tempoc.ops.control.externs import ExternHost
from tempoc.sdg.graph.graph import Edge, Graph, Group
from tempoc.sdg.graph.query import OperandUse, components, reachable, topological, users
from tempoc.sdg.statements.build import is_computed, is_identity
from tempoc.symbolic.domain import Domain

BranchSide = tuple[str, int]
"""A ``cond`` node and the slot of one of its branches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchCondition:
    """A condition, as a read of a ``bool`` at the point at hand, that holds, or does not."""

    condition: Edge
    holds: bool


def needs(graph: Graph) -> dict[str, tuple[BranchCondition, ...]]:
    """For each node under which conditions alone it is needed, from the outermost branch inwards.

    Where a node is needed under a condition, the condition is defined at all points of the node.
    """
    if not any(isinstance(n.op, Cond) for n in graph.nodes.values()):
        return dict.fromkeys(graph.nodes, ())
    kept = {o.source for o in graph.outputs}
    seen = [n.name for n in graph.nodes.values() if isinstance(n.op, EffectOp | ExternHost)]
    alive = reachable(graph, [*kept, *seen])
    uses = users(graph)
    where: dict[BranchCondition, list[Domain]] = {}
    for node in graph.nodes.values():
        for slot in (1, 2) if isinstance(node.op, Cond) else ():
            where.setdefault(asked(graph, node.name, slot), []).append(node.domain)
    found: dict[str, tuple[BranchCondition, ...]] = {}
    for name in reversed(topological(graph)):
        node = graph.nodes[name]
        if name in kept or not is_computed(node):
            continue
        common = _common(_uses(graph, name, u, found) for u in uses[name] if u.reader in alive)
        found[name] = tuple(need for need in common if node.domain in where[need])
    return {name: found.get(name, ()) for name in graph.nodes}


def asked(graph: Graph, cond: str, slot: int) -> BranchCondition:
    """When a branch of a ``cond`` is taken."""
    edge = graph.nodes[cond].inputs[0]
    return BranchCondition(condition=replace(edge, span=None), holds=slot == 1)


def _uses(
    graph: Graph, name: str, use: OperandUse, found: Mapping[str, tuple[BranchCondition, ...]]
) -> tuple[BranchCondition, ...]:
    """Under which conditions one use needs a node."""
    reader, node = graph.nodes[use.reader], graph.nodes[name]
    if not is_computed(reader) or reader.domain.dims != node.domain.dims:
        return ()
    if not is_identity(reader.inputs[use.slot], graph):
        return ()
    around = found.get(use.reader, ())
    if isinstance(reader.op, Cond) and use.slot:
        need = asked(graph, use.reader, use.slot)
        return around if need in around else (*around, need)
    return around


def _common(parts: Iterable[tuple[BranchCondition, ...]]) -> tuple[BranchCondition, ...]:
    """What all have, in the order of the first."""
    first, *others = list(parts) or [()]
    return tuple(need for need in first if all(need in other for other in others))


# ---------------------------------------------------------------- who computes it


def owners(graph: Graph, members: Sequence[str]) -> dict[str, BranchSide]:
    """Of some nodes, in the order in which they run, the branch in which each is computed.

    That is the first branch after the node that is taken when the node is needed. What is missing
    is computed whether needed or not.
    """
    places = {m: k for k, m in enumerate(members)}
    conds = [m for m in members if isinstance(graph.nodes[m].op, Cond)]
    if not conds:
        return {}
    needed = needs(graph)
    found: dict[str, BranchSide] = {}
    for name in members:
        domain, place = graph.nodes[name].domain, places[name]
        later = (c for c in conds if places[c] > place and graph.nodes[c].domain == domain)
        side = _first(graph, needed, needed[name], later)
        if side is not None:
            found[name] = side
    while (early := _too_late(graph, members, found)) is not None:
        del found[early]
    return found


def _first(
    graph: Graph,
    needed: Mapping[str, tuple[BranchCondition, ...]],
    wanted: tuple[BranchCondition, ...],
    conds: Iterable[str],
) -> BranchSide | None:
    for cond in conds if wanted else ():
        for slot in (1, 2):
            here = {*needed[cond], asked(graph, cond, slot)}
            if here == {*wanted}:
                return cond, slot
    return None


def _too_late(graph: Graph, members: Sequence[str], found: Mapping[str, BranchSide]) -> str | None:
    """A node that would be computed after one that reads it."""
    served: dict[BranchSide, list[str]] = {}
    for name in members:
        if name in found:
            served.setdefault(found[name], []).append(name)

    def run(names: Iterable[str]) -> Iterator[str]:
        for name in names:
            for slot in (1, 2):
                yield from run(served.get((name, slot), ()))
            yield name

    done: set[str] = set()
    for name in run(m for m in members if m not in found):
        for edge in graph.nodes[name].inputs:
            if edge.source in found and edge.source not in done and is_identity(edge, graph):
                return edge.source
        done.add(name)
    return None


def together(graph: Graph) -> dict[str, str]:
    """For each node that is computed in a branch the outermost ``cond`` around it."""
    if not any(isinstance(n.op, Cond) for n in graph.nodes.values()):
        return {}
    found = owners(graph, [n for n in _in_order(graph) if is_computed(graph.nodes[n])])

    def outermost(cond: str) -> str:
        return outermost(found[cond][0]) if cond in found else cond

    return {name: outermost(side[0]) for name, side in found.items()}


def _in_order(graph: Graph) -> list[str]:
    """All nodes, recurrence after recurrence; within each one as in ``topological``."""
    places = {name: k for k, name in enumerate(topological(graph))}
    sources = {name: [e.source for e in node.inputs] for name, node in graph.nodes.items()}
    parts = components(list(graph.nodes), sources.__getitem__)
    return [name for part in parts for name in sorted(part, key=places.__getitem__)]


def grouped(graph: Graph) -> Graph:
    """A graph without groups, with those that keep each branch beside its ``cond``; others alone.

    Left as it is if no node is computed in a branch.
    """
    homes = together(graph)
    if not homes:
        return graph
    parts: dict[str, list[str]] = {}
    for name in topological(graph):
        if is_computed(graph.nodes[name]):
            parts.setdefault(homes.get(name, name), []).append(name)
    groups = tuple(Group(name=n, members=tuple(parts[n])) for n in graph.nodes if n in parts)
    return replace(graph, groups=groups)
