"""Strongly connected components of draft nodes, consumers before operands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tempoc.frontend.environment.draft_node import Draft


def components(starts: Iterable[Draft]) -> list[list[Draft]]:
    """The strongly connected components of the nodes that are no roots (Tarjan, without recursion).

    Each comes after all components that read it.
    """
    search = _Reachability()
    for start in starts:
        for draft in [start] if start.role != "root" else _operands(start):
            if draft not in search.number:
                search.run(draft)
    return search.groups[::-1]


def _operands(draft: Draft) -> Iterator[Draft]:
    for wire in draft.inputs:
        if wire.source.role != "root":
            yield wire.source


@dataclass(slots=True)
class _Reachability:
    number: dict[Draft, int] = field(default_factory=dict)
    low: dict[Draft, int] = field(default_factory=dict)
    open: dict[Draft, None] = field(default_factory=dict)
    groups: list[list[Draft]] = field(default_factory=list)

    def run(self, start: Draft) -> None:
        """Depth first from one node; finished components are appended, operands first."""
        stack = [(start, _operands(start))]
        self._enter(start)
        while stack:
            draft, operands = stack[-1]
            operand = next(operands, None)
            if operand is None:
                stack.pop()
                if stack:
                    outer = stack[-1][0]
                    self.low[outer] = min(self.low[outer], self.low[draft])
                if self.low[draft] == self.number[draft]:
                    self._close(draft)
            elif operand not in self.number:
                self._enter(operand)
                stack.append((operand, _operands(operand)))
            elif operand in self.open:
                self.low[draft] = min(self.low[draft], self.number[operand])

    def _enter(self, draft: Draft) -> None:
        self.number[draft] = self.low[draft] = len(self.number)
        self.open[draft] = None

    def _close(self, draft: Draft) -> None:
        group: list[Draft] = []
        while True:
            last = next(reversed(self.open))
            del self.open[last]
            group.append(last)
            if last is draft:
                self.groups.append(group)
                return
