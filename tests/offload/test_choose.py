"""Which stores go to the host for a budget; the peak of programs with moves as a formula."""

from __future__ import annotations

import pytest
from hypothesis import given as drawn, note

from tempoc.base.effort import EFFORT
from tempoc.diagnostics.diagnostic import RunError
from tempoc.footprint.formulas import BoundFacts
from tempoc.footprint.peak import peak
from tempoc.offload import choose as choosing
from tempoc.offload.choose import Copied, choose, copied, depth
from tempoc.offload.rewrite import FAR, NEAR, offloadable, offloaded
from tempoc.program.nodes.nodes import Program
from tempoc.runtime.data.bounds import resolve
from tempoc.runtime.forecast.budget import check_budget
from tempoc.runtime.forecast.dry_run import forecast
from tempoc.runtime.forecast.least_run import default_filled_stores
from tempoc.symbolic.walk import evaluate
from tests.support.agreement import free_bounds
from tests.support.generators.mixes import mixes
from tests.support.generators.programs import Program as Generated
from tests.support.generators.settings import generated
from tests.support.offloading import all_away, loaded

BY_HOST = {"regions": False, "apart": True, "bucket": 0}
IMAGES = """
dim k < K
input x[k]: f32[8, 64]
w[0] = ones([64, 4]) * 0.01
loss[k] = mean(tanh(x[k] @ w[k]) ** 2)
w[k+1] = w - 0.1 * grad(loss[k], w)
output loss
"""
DEEP = """
dim l < L
dim m < M
input x: f32[16, 8]
input w[l]: f32[8, 8]
h[0] = x
h[l] = tanh(h[l-1] @ w[l]) + x when l >= 1
g[L-1, m] = h[L-1]
g[l, m] = tanh(g[l+1, m] * h[l]) when l < L-1
output g[0, 0:M] as found
"""

LAYERS = """
dim l < L
dim t < T
input w[l]: f32[32, 32]
x[0, 0] = ones([32])
x[0, t] = y[L-1, t-1] when t >= 1
x[l, t] = y[l-1, t] when l >= 1
k[l, t] = w @ x
y[l, t] = tanh(exp(k[l, 0:t+1] @ x) @ k[l, 0:t+1])
output y[L-1, T-1] as last
"""
MANY = """
dim t < T
input x[t]: f32[64]
""" + "".join(
    f"""
h{k}[0] = x[0]
h{k}[t] = tanh(h{k}[t-1] + x * {k}.0)
g{k}[T-1] = h{k}[T-1]
g{k}[t] = tanh(g{k}[t+1] * h{k})
output g{k}[0] as g{k}
"""
    for k in range(6)
)


def of(text: str, **bounds: int) -> tuple[Program, dict[str, int], frozenset[str]]:
    program = loaded(text, **BY_HOST)[1].program
    return program, resolve(program, bounds, (), {}).values, default_filled_stores(program)


def test_nothing_goes_where_all_fits() -> None:
    program, bounds, given = of(IMAGES, K=50)
    natural = forecast(program, bounds, given).peak
    found = choose(program, bounds, given, natural)
    assert (found.reach, found.program, found.peak) == ({}, program, natural)
    assert copied(found, bounds, given) == Copied()


def test_what_is_large_and_idle_goes() -> None:
    program, bounds, given = of(IMAGES, K=50)
    natural = forecast(program, bounds, given).peak
    found = choose(program, bounds, given, natural // 8)
    assert list(found.reach) == ["x"]
    assert found.peak <= natural // 8
    # Each batch is read once, and the host has it already.
    assert copied(found, bounds, given) == Copied(50 * 8 * 64 * 4, 50)


def test_what_loops_only_read_goes_before_what_they_write() -> None:
    """Weights need no copy to the host; caches do, which are larger."""
    program, bounds, given = of(LAYERS, L=6, T=36)
    natural = forecast(program, bounds, given).peak
    found = choose(program, bounds, given, natural - 3 * 32 * 32 * 4)
    assert list(found.reach) == ["w"]


def test_many_go_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one at a time takes too many dry runs, the budget is kept to all the same."""
    program, bounds, given = of(MANY, T=12)
    natural = forecast(program, bounds, given).peak
    assert len(offloadable(program)) > 6
    few = EFFORT._replace(offload_candidates=3, dry_run_calls=0, offloaded_blocks=24)
    monkeypatch.setattr(choosing, "EFFORT", few)
    for part in (2, 3):
        found = choose(program, bounds, given, natural // part)
        assert found.peak <= natural // part
        assert 0 < len(found.reach) < len(offloadable(program))


def test_no_further_than_it_has_to_be() -> None:
    """What is the same in all steps of a loop is brought once, if the loop has room for it."""
    program, bounds, given = of(DEEP, L=6, M=3)
    assert depth(program.tree) >= 1
    natural = forecast(program, bounds, given).peak
    before = natural
    costs = []
    for part in (2, 4, 8):
        found = choose(program, bounds, given, natural // part)
        assert found.peak <= before
        before = found.peak
        costs.append(copied(found, bounds, given).nbytes)
    assert costs == sorted(costs)


def test_the_largest_bound_is_named_where_cells_move() -> None:
    program, bounds, given = of(DEEP, L=9, M=3)
    moving = offloaded(program, {"w": 1})

    def needed(length: int) -> int:
        return forecast(moving, {**bounds, "L": length}, given).peak

    budget = needed(5)
    assert needed(6) > budget
    with pytest.raises(RunError) as error:
        check_budget(moving, bounds, given, budget)
    (problem,) = error.value.diagnostics
    assert "the largest L that fits, all else as it is: 5" in problem.notes


def test_what_takes_least_where_nothing_fits() -> None:
    program, bounds, given = of(DEEP, L=6, M=3)
    found = choose(program, bounds, given, 1)
    assert found.peak > 1
    again = choose(program, bounds, given, found.peak)
    assert again.peak == found.peak
    nearest = forecast(all_away(program, NEAR), bounds, given).peak
    assert found.peak <= nearest


@pytest.mark.parametrize("reach", [NEAR, 1, FAR])
@pytest.mark.parametrize("text", [IMAGES, DEEP])
def test_the_formula_holds(text: str, reach: int) -> None:
    program = all_away(loaded(text, **BY_HOST)[1].program, reach)
    for sizes in ((1, 1), (2, 3), (9, 4)):
        check_formula(program, dict(zip(free_bounds(text), sizes, strict=False)))


@drawn(program=mixes())
@generated(1, long=3)
def test_formulas_of_generated_programs_hold(program: Generated) -> None:
    note(program.text)
    plain = loaded(program.text, **BY_HOST)[1].program
    for reach in (NEAR, FAR):
        moving = all_away(plain, reach)
        for sizes in ((1, 1, 1), (2, 5, 3), (7, 3, 2)):
            check_formula(moving, dict(zip(free_bounds(program.text), sizes, strict=False)))


def check_formula(program: Program, bounds: dict[str, int]) -> None:
    """No run has more on the device."""
    values, given = resolve(program, bounds, (), {}).values, default_filled_stores(program)
    found = forecast(program, values, given)
    every = forecast(program, values, given, every_step=True)
    assert (found.peak, found.stores) == (every.peak, every.stores)
    assert (found.away, found.away_stores) == (every.away, every.away_stores)
    facts = BoundFacts(program)
    assert facts.free
    assert found.peak <= evaluate(peak(program, given).formula, values)
