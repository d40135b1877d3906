"""How a loop on the device is divided into calls."""

from __future__ import annotations

import numpy as np
import pytest

from tempoc.runtime.device import backend
from tempoc.runtime.walk import region_calls as turns
from tempoc.runtime.walk.region_calls import Pace, RegionCalls


@pytest.mark.parametrize("steps", [range(0), range(1), range(3, 700), range(40, -1, -1)])
def test_every_step_once_and_in_order(steps: range) -> None:
    done: list[int] = []
    counts: list[int] = []
    for at, finished in RegionCalls(steps, (7,), counts.append):
        first, count, outer = at.tolist()
        done += [first + k * steps.step for k in range(count)]
        assert outer == 7
        assert at.dtype == np.int32
        finished(backend.zeros((), "f32"))
    assert done == list(steps)
    assert sum(counts) == len(steps)


def test_calls_grow_as_long_as_they_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(turns.time, "perf_counter", lambda: now[0])
    counts: list[int] = []
    for at, finished in RegionCalls(range(100_000), (), counts.append):
        now[0] += 1e-4 * int(at[1]) if counts else 1.0  # the first call compiles
        finished(backend.zeros((), "f32"))
        if len(counts) == 6:
            break
    assert counts[0] == turns.FIRST
    assert counts[1] < turns.FIRST
    assert max(counts) <= turns.SECONDS / 1e-4 * 1.1


def test_the_next_time_begins_at_the_pace_of_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    now, pace = [0.0], Pace()
    monkeypatch.setattr(turns.time, "perf_counter", lambda: now[0])
    for _ in range(2):
        counts: list[int] = []
        for at, finished in RegionCalls(range(2000), (), counts.append, pace=pace):
            now[0] += 1e-5 * int(at[1])
            finished(backend.zeros((), "f32"))
    assert counts == [2000]


def test_no_call_goes_on_where_stores_must_grow() -> None:
    """With room for 100 steps, then for 200 and so on, and a need that is one ahead."""
    calls: list[tuple[int, int]] = []
    for at, finished in RegionCalls(
        range(3, 450), (), lambda count: None, lambda v: 100 - (v + 1) % 100
    ):
        calls.append((int(at[0]), int(at[1])))
        finished(backend.zeros((), "f32"))
    assert sum(count for _, count in calls) == 447
    assert all((first + 1) // 100 == (first + count) // 100 for first, count in calls)
