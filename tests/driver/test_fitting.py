"""What is said of a budget that is refused: a smaller one is never kept to, the named one is."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import RunError
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.search.budget import BudgetFit, fit_budget
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.program.analysis.traversal import regions
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.forecast.budget import peak_bytes
from tempoc.runtime.forecast.least_run import default_filled_stores
from tempoc.runtime.load.load import LoadedProgram, namespace
from tempoc.runtime.run import RunResult, Settings, run_given
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.agreement import data
from tests.support.session.long import chosen

RNN = """
dim t < T
input x[t]: f32[8]
input W: f32[8, 8]
h[0] = tanh(x[0])
h[t] = tanh(x[t] + W @ h[t-1])
y = mean(h[max(0, t-2):t+1], axis = 0)
output y
"""
SCORES = """
dim t < T
input x[t]: f32[4]
s[t] = sum(exp(x[0:T] @ x[t]))
h[0] = x[0]
h[t] = tanh(h[t-1] + s[t] * x[t])
output h[T-1] as last
"""
LEARNED = """
dim k < K
input x[k]: f32[16, 8]
w[0] = ones([8, 4]) * 0.01
loss[k] = mean(tanh(tanh(x[k]) @ w[k]) ** 2)
w[k+1] = w - 0.1 * grad(loss[k], w)
output loss
"""
CHUNKS = """
dim c < C
dim e < E = 8
input x[c]: f32[E, 64]
h[0, 0] = x[0][0]
h[c, e] = tanh(x[c][e] + h[c, e-1]) when e >= 1
h[c, 0] = tanh(x[c][0] + h[c-1, E-1]) when c >= 1
output h[C-1, E-1] as last
"""
BEHIND = """
dim t < T
input w: f32[2, 20000]
s[0] = ones([20000]) * 0.01
s[t+1] = 0.9 * s + 0.1 * sum(r)
r = tanh(w @ stop_gradient(s))
g[t] = mean(r[t:min(t+3, T)])
d = grad(sum(r) * stop_gradient(g), w)
output d
"""
"""Learns three steps behind, by a sum with more elements than a loop usually carries."""
SIGNAL = """
dim t < T
input x[t]: f32
h[0] = x[0]
h[t] = tanh(x[t] + h[t-1])
output h[T-1] as last
"""
DEEP = """
dim k < K
dim l < L
input x[k]: f32[4, 8]
input W0[l]: f32[8, 8]
W[0, l] = W0
W[k+1, l] = W - 0.1 * grad(loss[k], W)
h[k, 0] = tanh(x[k] @ W[k, 0])
h[k, l] = tanh(h[k, l-1] @ W[k, l])
loss[k] = mean(h[k, L-1] * h[k, L-1])
output loss
"""
TEXTS = {"rnn": (RNN, "T"), "scores": (SCORES, "T"), "learned": (LEARNED, "K")}
SIZE = 60


def asked(compilation: Compilation, name: str, budget: int) -> BudgetFit | int:
    """What keeps to a budget, or the smallest that would do."""
    try:
        return fit_budget(compilation, {name: SIZE}, default_filled_stores, budget)
    except RunError as error:
        (problem,) = error.diagnostics
        said = re.fullmatch(r"the smallest budget that would do is (\d+) bytes", problem.notes[0])
        assert said is not None
        return int(said[1])


def ran(found: BudgetFit, name: str) -> RunResult:
    compilation = found.chosen.compilation
    inputs = data(compilation.graph, {name: SIZE}, special=False)
    given = Given(bounds={name: SIZE}, inputs=as_sources(inputs), params={})
    return run_given(_loaded(compilation), given, Settings(account=True))


def _loaded(compilation: Compilation) -> LoadedProgram:
    emitted = compilation.emitted
    scope = namespace(emitted.kernels, "kernels.py")
    functions = tuple(scope[k.name] for k in emitted.program.kernels)
    return LoadedProgram(program=emitted.program, functions=functions)


@pytest.mark.parametrize(("text", "name"), TEXTS.values(), ids=[*TEXTS])
def test_the_smallest_budget(text: str, name: str) -> None:
    compilation = Compilation(load_source(Source("m.rt", text)), Options())
    program = compilation.emitted.program
    natural = peak_bytes(program, {name: SIZE}, default_filled_stores(program))
    least = asked(compilation, name, 64)
    assert isinstance(least, int)
    assert least < natural
    assert asked(compilation, name, least - 1) == least
    quarters = (0, 1, 2, 3, 4) if chosen["long"] else (0, 2, 4)
    steps = [least + (natural - least) * k // 4 for k in quarters]
    found = [asked(compilation, name, budget) for budget in (*steps, natural - 1)]
    for each, budget in zip(found, (*steps, natural - 1), strict=True):
        assert isinstance(each, BudgetFit)
        assert each.chosen.peak <= budget
    wanted, least_run = (ran(f, name) for f in (found[-2], found[0]) if isinstance(f, BudgetFit))
    assert wanted.peak_bytes == natural
    assert least_run.peak_bytes == least
    for key, value in wanted.outputs.items():
        np.testing.assert_allclose(least_run.outputs[key], value, rtol=1e-5, atol=1e-6)


def test_chunks_of_an_input_move_and_the_loop_over_one_is_on_the_device() -> None:
    compilation = Compilation(load_source(Source("m.rt", CHUNKS)), Options())
    found = asked(compilation, "C", 4 * 8 * 64 * 4)
    assert isinstance(found, BudgetFit)
    assert found.chosen.about() == (
        "`x` with the host between uses, loops that move it run by the host"
    )
    assert (found.chosen.copied.nbytes, found.chosen.launched) == (SIZE * 8 * 64 * 4, 2 * SIZE)
    assert [*regions(found.chosen.compilation.emitted.program.tree)]
    result, inputs = ran(found, "C"), data(compilation.graph, {"C": SIZE}, special=False)
    assert (result.peak_bytes, result.loaded) == (found.chosen.peak, SIZE * 8 * 64 * 4)
    wanted = evaluate(compilation.graph, {"C": SIZE}, inputs, {})
    np.testing.assert_allclose(result.outputs["last"], wanted["last"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("steps", [1, 3, SIZE])
def test_large_sums_are_added_up_where_nothing_else_needs_all_summands(steps: int) -> None:
    bounds = {"T": steps}
    compilation = Compilation(load_source(Source("m.rt", BEHIND)), Options())
    found = fit_budget(compilation, {"T": SIZE}, default_filled_stores, 2_000_000)
    variant, cells = found.chosen.compilation, 4 * 20_000
    assert found.chosen.about() == "large sums added up step by step"
    plain = replace(variant.options, verify_each=False)  # programs of tests are verified
    assert Options.from_provenance(plain.to_provenance()) == plain
    assert found.chosen.peak < 11 * cells < SIZE * cells < found.variants[0].peak
    inputs = data(compilation.graph, bounds, special=False)
    given = Given(bounds=bounds, inputs=as_sources(inputs), params={})
    result = run_given(_loaded(variant), given, Settings())
    wanted = evaluate(compilation.graph, bounds, inputs, {})
    np.testing.assert_allclose(result.outputs["d"], wanted["d"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("regions", "calls"), [(None, 4), (False, 2 * SIZE + 1)])
def test_loops_are_the_hosts_where_cells_move_or_it_is_asked_for(
    regions: bool | None, calls: int
) -> None:
    compilation = Compilation(load_source(Source("m.rt", LEARNED)), Options(regions=regions))
    found = asked(compilation, "K", 53_760)
    assert isinstance(found, BudgetFit)
    assert (found.chosen.launched, found.chosen.copied.nbytes) == (calls, 0)


def test_chunks_larger_than_a_budget_are_named() -> None:
    compilation = Compilation(load_source(Source("m.rt", SIGNAL)), Options())
    with pytest.raises(RunError) as refused:
        fit_budget(compilation, {"T": 5000}, default_filled_stores, 700)
    assert "2052 bytes" in refused.value.diagnostics[0].notes[0]
    found = fit_budget(compilation, {"T": 5000}, default_filled_stores, 2052)
    assert found.chosen.peak == 2052


def test_what_a_step_costs() -> None:
    """A step of a loop on the device takes less time than a call of the same by the host."""
    source = load_source(Source("m.rt", DEEP))
    fits = [
        fit_budget(Compilation(source, options), {"K": 20, "L": 6}, default_filled_stores, 1 << 20)
        for options in (Options(), Options(regions=False))
    ]
    device, host = (fit.chosen for fit in fits)
    assert device.launched < host.launched
    assert device.cost < host.cost / 2
