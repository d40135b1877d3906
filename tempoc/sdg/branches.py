"""What serves one branch of a ``cond`` alone, and so need not be computed where it is not taken."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from tempoc.ops.branching import Cond
from tempoc.sdg.build import is_computed, is_identity
from tempoc.sdg.graph import Graph, Group
from tempoc.sdg.query import Use, topological, users

Side = tuple[str, int]
"""A ``cond`` node and the slot of one of its branches."""


def sides(graph: Graph, within: Container[str] | None = None) -> dict[Side, tuple[str, ...]]:
    """For each branch the nodes (among some) that only it needs, at its own points.

    Nodes come in topological order. What an inner ``cond`` needs is needed by the outer one too.
    """
    uses, order = users(graph), topological(graph)
    kept = {o.source for o in graph.outputs}
    found: dict[Side, tuple[str, ...]] = {}
    for node in graph.nodes.values():
        if not isinstance(node.op, Cond):
            continue
        allowed = [
            n
            for n in order
            if n not in kept
            and (within is None or n in within)
            and is_computed(graph.nodes[n])
            and graph.nodes[n].domain == node.domain
        ]
        for slot in (1, 2):
            found[node.name, slot] = _side(graph, (node.name, slot), allowed, uses)
    return found


def _side(
    graph: Graph, side: Side, allowed: list[str], uses: Mapping[str, tuple[Use, ...]]
) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for name in reversed(allowed):
        here = uses[name]
        alone = all(
            (use == side or use.reader in found)
            and is_identity(graph.nodes[use.reader].inputs[use.slot], graph)
            for use in here
        )
        if here and alone:
            found[name] = None
    return tuple(reversed(found))


def together(graph: Graph) -> dict[str, str]:
    """For each node that serves one branch alone the outermost ``cond`` that it serves."""
    found: dict[str, str] = {}
    parts = sides(graph)
    inner = {name for members in parts.values() for name in members}
    for (cond, _), members in parts.items():
        if cond not in inner:
            found |= dict.fromkeys(members, cond)
    return found


def owners(graph: Graph, members: Sequence[str]) -> dict[str, Side]:
    """The innermost branch that each of some nodes serves, of those that serve one branch alone."""
    found: dict[str, Side] = {}
    parts = sides(graph, frozenset(members))
    for side, served in sorted(parts.items(), key=lambda part: -len(part[1])):
        found |= dict.fromkeys(served, side)
    return found


def grouped(graph: Graph) -> Graph:
    """A graph without groups, with those that keep each branch beside its ``cond``; others alone.

    Left as it is if nothing serves one branch alone.
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
