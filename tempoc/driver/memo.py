"""A cache of pass results, shared by the variants of one program.

Variants differ in their options; those whose pipelines begin with the same passes run these once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tempoc.base.limits import LIMITS, Limits
from tempoc.driver.pipelines import Pass
from tempoc.passes.context import PassContext
from tempoc.pipeline.manager import Outcome, PassRecord, run_pipeline
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph
from tempoc.symbolic.domain import Universe

_SizesOfBounds = tuple[tuple[str, int], ...]


class CachedPass(NamedTuple):
    """The result of a pass, and the context for the passes after it."""

    record: PassRecord[Graph]
    context: PassContext


@dataclass(slots=True)
class PassCache:
    """Polyhedral spaces by universe, and pass results by the prefix of the pipeline.

    The key includes the sizes of bounds only if a pass of the prefix has asked for them, and the
    place in ``starts`` of the graph that the pipeline begins with.
    """

    limits: Limits = LIMITS
    spaces: dict[Universe, Space] = field(default_factory=dict)
    entries: dict[tuple[int, tuple[Pass, ...], _SizesOfBounds], CachedPass] = field(
        default_factory=dict
    )
    starts: list[Graph] = field(default_factory=list)

    def space_of(self, graph: Graph) -> Space:
        """The polyhedral space of a graph; one for all that have the same dimensions."""
        if graph.universe not in self.spaces:
            self.spaces[graph.universe] = Space(graph.universe, limits=self.limits)
        return self.spaces[graph.universe]

    def run(
        self,
        graph: Graph,
        steps: tuple[Pass, ...],
        sizes: Mapping[str, int],
        verify: Callable[[Graph, Space, str], None] | None,
        began: Callable[[int], None],
    ) -> Outcome[Graph]:
        """Run a pipeline on the program; a prefix that has run already is taken from the cache.

        ``began`` is called with the place of each pass that begins.
        """
        start = next((k for k, g in enumerate(self.starts) if g is graph), len(self.starts))
        if start == len(self.starts):
            self.starts.append(graph)
        cached = self._cached_prefix(start, steps, sizes)
        context = PassContext(space=self.space_of(graph), size_hints=dict(sizes))
        if cached:
            context = cached[-1].context.copy()
            context.size_hints = dict(sizes)
        finished = len(cached)

        def noted(record: PassRecord[Graph]) -> None:
            nonlocal finished
            finished += 1
            key = _key(sizes) if context.sizes_used else ()
            self.entries[start, steps[:finished], key] = CachedPass(record, context.copy())
            if finished < len(steps):
                began(finished)

        def check(result: Graph, step: str) -> None:
            assert verify is not None
            verify(result, context.space, step)

        if finished < len(steps):
            began(finished)
        past = [entry.record for entry in cached]
        checked = check if verify is not None else None
        return run_pipeline(graph, steps, context, verify=checked, past=past, noted=noted)

    def _cached_prefix(
        self, start: int, steps: tuple[Pass, ...], sizes: Mapping[str, int]
    ) -> list[CachedPass]:
        """The results of the longest prefix of the pipeline that is in the cache."""
        cached: list[CachedPass] = []
        for k in range(1, len(steps) + 1):
            keys = ((start, steps[:k], own) for own in ((), _key(sizes)))
            passed = next((self.entries[key] for key in keys if key in self.entries), None)
            if passed is None:
                break
            cached.append(passed)
        return cached


def _key(sizes: Mapping[str, int]) -> _SizesOfBounds:
    return tuple(sorted(sizes.items()))
