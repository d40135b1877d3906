"""How a loop on the device is divided into calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tempoc.codegen.program.run_tuning import RUN_TUNING
from tempoc.runtime.device import backend
from tempoc.runtime.walk import region_calls as turns
from tempoc.runtime.walk.region_calls import Pace


def calls(
    steps: range, pace: Pace | None = None, room: Callable[[int], int] | None = None
) -> Iterator[tuple[int, int]]:
    """The first step and the number of steps of each call; the loop body is its run time."""
    pace = pace or Pace(RUN_TUNING, False)
    while steps:
        count = pace.start(len(steps), len(steps) if room is None else room(steps[0]))
        yield steps[0], count
        steps = steps[count:]
        if steps:
            pace.returned(count, backend.zeros((), "f32", RUN_TUNING, passed=False))


@pytest.mark.parametrize("steps", [range(0), range(1), range(3, 700), range(40, -1, -1)])
def test_every_step_once_and_in_order(steps: range) -> None:
    done: list[int] = []
    for first, count in calls(steps):
        done += [first + k * steps.step for k in range(count)]
    assert done == list(steps)


def test_calls_grow_as_long_as_they_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(turns.time, "perf_counter", lambda: now[0])
    counts: list[int] = []
    for _, count in calls(range(100_000)):
        now[0] += 1e-4 * count if counts else 1.0  # the first call compiles
        counts.append(count)
        if len(counts) == 6:
            break
    assert counts[0] == RUN_TUNING.first_steps
    assert counts[1] < RUN_TUNING.first_steps
    assert max(counts) <= RUN_TUNING.call_ms / 1e3 / 1e-4 * 1.1


def test_the_next_time_begins_at_the_pace_of_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    now, pace = [0.0], Pace(RUN_TUNING, False)
    monkeypatch.setattr(turns.time, "perf_counter", lambda: now[0])
    for _ in range(2):
        counts: list[int] = []
        for _, count in calls(range(2000), pace):
            now[0] += 1e-5 * count
            counts.append(count)
    assert counts == [2000]


def test_no_call_goes_on_where_stores_must_grow() -> None:
    """With room for 100 steps, then for 200 and so on, and a need that is one ahead."""
    made = [*calls(range(3, 450), room=lambda v: 100 - (v + 1) % 100)]
    assert sum(count for _, count in made) == 447
    assert all((first + 1) // 100 == (first + count) // 100 for first, count in made)
