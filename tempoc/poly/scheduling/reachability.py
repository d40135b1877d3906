"""Reachability between groups while groups are merged.

The nodes that a group reaches are the bits of an integer. A merge only adds bits, so nothing has to
be searched again. Bits of groups that were merged into others stay set; they are never queried.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tempoc.base.graphs import strongly_connected_components


class Paths:
    """Paths in a directed graph whose nodes are merged."""

    def __init__(self, nodes: Sequence[int], links: Mapping[int, Iterable[int]]) -> None:
        """`links` lead from a node to others; numbers of nodes are small."""
        self.after = {n: dict.fromkeys(links[n]) for n in nodes}
        self.reached: dict[int, int] = {}
        for part in strongly_connected_components(nodes, links.__getitem__):
            reached = sum(1 << n for n in part)
            for other in (other for n in part for other in self.after[n] if other not in part):
                reached |= self.reached[other]
            self.reached.update(dict.fromkeys(part, reached))

    def between(self, first: int, second: int) -> tuple[int, ...]:
        """The nodes on paths from one of two nodes, through others, to the other."""
        nodes: dict[int, None] = {}
        for a, b in ((first, second), (second, first)):
            reached = 0
            for n in self.after[a]:
                reached |= self.reached[n] if n != b else 0
            if reached >> b & 1:
                for k in self.after:
                    if k not in (first, second) and reached >> k & 1 and self.reached[k] >> b & 1:
                        nodes[k] = None
        return tuple(nodes)

    def merge(self, old: Sequence[int]) -> None:
        """Merge several nodes into the first of them."""
        home, *gone = old
        bits, reached, after = 0, 0, dict[int, None]()
        for k in old:
            bits |= 1 << k
            reached |= self.reached[k]
            after |= self.after[k]
        for k in gone:
            del self.reached[k], self.after[k]
        self.after[home] = {n: None for n in after if n not in old}
        for k, others in self.after.items():
            if self.reached[k] & bits:
                self.reached[k] |= reached
            if k != home and any(n in others for n in gone):
                self.after[k] = {n: None for n in others if n not in gone} | {home: None}
