"""In which order, and which way, loops over some dimensions may run: as the cycles in them do."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import permutations
from itertools import product as choices

from tempoc.passes.legality import ANY, Dependence
from tempoc.sdg.graph import Node
from tempoc.sdg.query import components


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop over a dimension, from its first point to its last or the other way round."""

    dim: str
    forward: bool = True


def loops(
    node: Node, dims: Sequence[str], needs: Sequence[Dependence], sums: Container[str]
) -> tuple[Loop, ...]:
    """Loops over all of some dimensions, outermost first, as those that make what a node needs.

    Where these differ the later ones count: those that need what the others make. Loops over the
    node's own dimensions are around them. What ``sums`` need comes after the loops, and does not
    count. Without a reason against it the order is that of ``dims``, all forward.
    """
    nests = [
        tuple(Loop(d, w) for d, w in zip(order, ways, strict=True))
        for order in permutations(dims)
        for ways in choices((True, False), repeat=len(order))
    ]
    for cycle in reversed(_cycles(node, needs, sums)):
        nests = [nest for nest in nests if all(_runs(d, nest) for d in cycle)] or nests
    return nests[0]


def _cycles(
    node: Node, needs: Sequence[Dependence], sums: Container[str]
) -> list[list[Dependence]]:
    """The cycles among what a node needs, at one point of its own dimensions; needs come first."""
    sources: dict[str, list[str]] = {}
    inner = []
    for d in needs:
        sources.setdefault(d.sink, []).append(d.source)
        around = any(0 not in signs for dim, signs in d.signs if dim in node.domain.dims)
        if not around and d.sink not in sums:
            inner.append(d)
    needed = _reached(node.name, sources)
    inside: dict[str, list[str]] = {name: [] for name in needed}
    for d in inner:
        if d.sink in inside and d.source in inside:
            inside[d.sink].append(d.source)
    parts = components(needed, inside.__getitem__)
    home = {name: k for k, names in enumerate(parts) for name in names}
    found: list[list[Dependence]] = [[] for _ in parts]
    for d in inner:
        if d.sink in home and home.get(d.source) == home[d.sink]:
            found[home[d.sink]].append(d)
    return [cycle for cycle in found if cycle]


def _reached(start: str, sources: dict[str, list[str]]) -> tuple[str, ...]:
    found = {start: None}
    waiting = [start]
    while waiting:
        for name in sources.get(waiting.pop(), ()):
            if name not in found:
                found[name] = None
                waiting.append(name)
    return tuple(found)


def _runs(need: Dependence, nest: Sequence[Loop]) -> bool:
    """Whether loops reach the source of a dependence no later than its sink."""
    signs = dict(need.signs)
    for loop in nest:
        found = signs.get(loop.dim, ANY)
        way = 1 if loop.forward else -1
        if -way in found:
            return False
        if found == {way}:
            return True
    return True
