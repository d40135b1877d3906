"""The pass manager: checks the order of a pipeline, then runs, verifies and records each pass."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tempoc.pipeline.order import check_order
from tempoc.pipeline.step import Context, PassStep, Remark

G = TypeVar("G")
C = TypeVar("C", bound=Context)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassRecord(Generic[G]):
    """The record of one run of a pass: result, time, whether it changed anything, remarks."""

    step: str
    after: G
    seconds: float
    changed: bool
    remarks: tuple[Remark, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(Generic[G]):
    """The result of a pipeline and the records of its steps, in order."""

    graph: G
    records: tuple[PassRecord[G], ...]

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """All remarks, in order."""
        return tuple(r for record in self.records for r in record.remarks)

    def after(self, step: str) -> tuple[G, ...]:
        """The graphs after each run of the step of that name."""
        return tuple(r.after for r in self.records if r.step == step)


def run_pipeline(
    graph: G,
    steps: Sequence[PassStep[G, C]],
    context: C,
    *,
    verify: Callable[[G, str], None] | None = None,
    holding: tuple[str, ...] = (),
    past: Sequence[PassRecord[G]] = (),
    noted: Callable[[PassRecord[G]], None] | None = None,
) -> Outcome[G]:
    """Run the passes in order; ``verify(graph, step)`` is called after each and raises on a bug.

    ``holding`` are the properties of the input graph, see ``order.py``. ``past`` are the records of
    a prefix of the pipeline, which is not run again; ``noted`` is called with each new record. Nor
    is a pass that has left this very graph as it is: it has nothing to do, and says the same.
    Raises ``OrderError``.
    """
    check_order(steps, holding)
    records = [*past]
    graphs = [graph, *(r.after for r in records)]
    for step in steps[len(records) :]:
        graph = graphs[-1]
        first_remark = len(context.remarks.entries)
        started = time.perf_counter()
        runs = zip(steps, graphs, records, strict=False)
        idle = (r for s, g, r in runs if g is graph and r.after is graph and s == step)
        if (earlier := next(idle, None)) is not None:
            context.remarks.entries.extend(earlier.remarks)
            result = graph
        else:
            result = step.run(graph, context)
        seconds = time.perf_counter() - started
        if verify is not None:
            verify(result, step.name)
        record = PassRecord(
            step=step.name,
            after=result,
            seconds=seconds,
            changed=result != graph,
            remarks=tuple(context.remarks.entries[first_remark:]),
        )
        records.append(record)
        graphs.append(result)
        if noted is not None:
            noted(record)
    return Outcome(graph=graphs[-1], records=tuple(records))
