"""What is told of compilations and searches while somebody waits."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tempoc.diagnostics.diagnostic import RunError
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.progress import PHASES, Activity, Progress
from tempoc.driver.search.budget import fit_budget
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.runtime.forecast.least_run import default_filled_stores

pytestmark = pytest.mark.usefixtures("each_computed")  # or nothing is told
TEXT = """\
dim t < T
dim i < I
input x[t]: f32[32]
input y[t]: f32
w[0] = ones([64, 32]) * 0.01
w[i+1] = w - 0.1 * grad(loss, w)
loss = mean(((sum(tanh(w @ x), axis = 0) - y) ** 2)[t = 0:T])
output loss
"""


@dataclass(slots=True)
class Clock:
    """Stands still until it is moved."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_search_takes_the_median_for_each_candidate_left() -> None:
    clock, seen = Clock(), list[Activity]()
    progress = Progress(seen.append, clock)
    progress.search()
    progress.expect(5)
    assert seen[-1].seconds_left is None, "nothing was measured yet"
    for seconds, left in ((2.0, 8.0), (30.0, 90.0), (4.0, 8.0)):
        clock.now += seconds
        progress.tried()
        assert seen[-1].seconds_left == left
    assert (seen[-1].tried, seen[-1].most_left) == (3, 2)
    progress.search()
    assert seen[-1] == Activity()


def test_several_searches_have_no_time() -> None:
    clock, seen = Clock(), list[Activity]()
    progress = Progress(seen.append, clock)
    with progress.searches():
        progress.search()
        clock.now += 1.0
        progress.tried()
        progress.expect(5)
    assert seen[-1].most_left == 5 and seen[-1].seconds_left is None


def test_a_compilation_names_its_phases_and_no_time() -> None:
    compilation, seen = compiled(), list[Activity]()
    compilation.progress.show = seen.append
    assert compilation.emitted
    numbers = [a.number for a in seen]
    assert numbers == sorted(numbers) and {a.phase for a in seen} == {
        *PHASES[:-1],
        "verify schedule",
    }
    assert {a.seconds_left for a in seen} == {None}
    assert [a.detail for a in seen if a.phase == "passes"][-1].endswith(
        f"{len(compilation.steps)} of {len(compilation.steps)}"
    )


@pytest.mark.parametrize("budget", [100_000, 60_000, 100])
def test_no_search_tries_more_than_it_announced(budget: int) -> None:
    compilation, seen = compiled(), list[Activity]()
    compilation.progress.show = seen.append
    bounds = {"T": 200, "I": 3}
    try:
        fit_budget(compilation, bounds, default_filled_stores, budget)
    except RunError:
        assert budget == 100
    ends = [a.tried + a.most_left for a in seen if a.most_left is not None]
    assert ends and ends == sorted(ends, reverse=True), "the announced number never rises"
    assert seen[-1].tried <= ends[-1]
    assert any(a.seconds_left for a in seen)


def compiled() -> Compilation:
    """A compilation of which nothing has run."""
    return Compilation(load_source(Source("m.rt", TEXT)), Options())
