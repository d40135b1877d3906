"""What starts a loop is not joined with what ends an earlier one, or one that could be the same.

    %zero = full 0                 : [i]       (the same)
    %last = sum %r[i, 0:T]         : [i]       (the same)
    %s = add %s[i, t-1] | %zero, … : [i, t]    (a loop over t)

A group of ``%zero`` and ``%last`` would run after the loop that computes ``%r``, and so would the
loop that ``%zero`` starts, which else may be a part of that one: then each step of it needs but a
few steps of ``%r``, and not all of them are stored. Nor is what reads ``%r`` in its loop joined
with what waits for the end of it, if the two share nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tempoc.passes.analysis.dependence import Dependence
from tempoc.passes.analysis.full_extent import full_extent_nodes, loop_rounds
from tempoc.sdg.graph.graph import Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopStarts:
    """By dimension, the rounds of units (``full_extent.py``) and of the first loops they start.

    Only units that do not loop over the dimension are in either. Those that do are in ``loops``;
    ``near`` has what each reads of the same loop and what is not stored for all of its steps.
    """

    ends: Mapping[str, Mapping[str, int]]
    starts: Mapping[str, Mapping[str, int]]
    loops: Mapping[str, Mapping[str, int]]
    near: Mapping[str, Mapping[str, Sequence[str]]]

    @classmethod
    def of(
        cls, graph: Graph, needs: Iterable[Dependence], loops: Mapping[str, Sequence[str]]
    ) -> LoopStarts:
        """Those of units with these dependences and the dimensions over which each loops."""
        started: dict[str, dict[str, list[str]]] = {}
        for d in (d for d in needs if d.may_stay):  # not those of the next step of a loop around
            for dim in loops[d.sink]:
                if dim not in loops[d.source]:
                    started.setdefault(dim, {}).setdefault(d.source, []).append(d.sink)
        rounds = {dim: loop_rounds(graph, dim) for dim in started}
        inside = {
            dim: {u: number for u, number in known.items() if dim in loops.get(u, ())}
            for dim, known in rounds.items()
        }
        inside = {dim: known for dim, known in inside.items() if len({*known.values()}) > 1}
        return cls(
            loops=inside,
            near={dim: _near(graph, needs, dim, known) for dim, known in inside.items()},
            ends={
                dim: {u: number for u, number in rounds[dim].items() if dim not in loops.get(u, ())}
                for dim in started
            },
            starts={
                dim: {u: min(rounds[dim][s] for s in sinks) for u, sinks in units.items()}
                for dim, units in started.items()
            },
        )

    def postpones(self, some: Sequence[str], others: Sequence[str]) -> bool:
        """Whether a loop that one of these groups starts has to wait for what the other ends."""
        return any(
            self._waits(dim, some, others) or self._waits(dim, others, some) for dim in self.starts
        )

    def parts_loop(self, some: Sequence[str], others: Sequence[str]) -> bool:
        """Whether members of a join would run in a later loop than what they read step by step."""
        members = {*some, *others}
        for dim, rounds in self.loops.items():
            latest = max((rounds[u] for u in members if u in rounds), default=0)
            early = [u for u in members if rounds.get(u, latest) < latest]
            if any(s not in members for u in early for s in self.near[dim].get(u, ())):
                return True
        return False

    def _waits(self, dim: str, starting: Sequence[str], ending: Sequence[str]) -> bool:
        starts, ends = self.starts[dim], self.ends[dim]
        first = min((starts[u] for u in starting if u in starts), default=None)
        return first is not None and any(ends.get(u, 0) > first for u in ending)


def _near(
    graph: Graph, needs: Iterable[Dependence], dim: str, rounds: Mapping[str, int]
) -> dict[str, list[str]]:
    """What units read of the loop over a dimension in which they run, but what is stored anyway."""
    stored = full_extent_nodes(graph, dim)
    near: dict[str, list[str]] = {}
    for d in needs:
        same = d.source in rounds and rounds.get(d.sink) == rounds[d.source]
        if same and d.stays and d.source not in stored:
            near.setdefault(d.sink, []).append(d.source)
    return near
