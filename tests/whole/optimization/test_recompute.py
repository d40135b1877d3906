"""Programs that make values again: the same results with less in stores."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from tempoc.base.python_text import identifier
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.pipelines import O2, with_recompute
from tempoc.driver.search.budget import fit_budget
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.ops.control.control import After
from tempoc.passes.memory.rematerialize import is_rematerialized
from tempoc.pipeline.spec import show_pipeline
from tempoc.program.analysis.traversal import blocks, calls
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.forecast.dry_run import forecast
from tempoc.runtime.forecast.least_run import default_filled_stores
from tempoc.runtime.load.load import LoadedProgram, namespace
from tempoc.runtime.run import Settings, run_given
from tests.support.agreement import agree, data

HEAD = """
dim b < B
input x[b]: f32[16]
input y[b]: f32[16]
input w: f32[{count}, 16, 16]
def run(h) {{
  for k in range({count}) {{
    h = {layer}
  }}
  return h
}}
e = run(x) - y
loss = mean((e * e)[b = 0:B])
slope = grad(loss, w)
output loss, slope
"""
DEEP = HEAD.format(count=8, layer="tanh(w[k] @ h)")
AROUND = HEAD.format(count=4, layer="h + tanh(w[k] @ sin(h))")
CAUSAL = """
dim t < T
input x[t]: f32[4]
input w: f32[3, 4, 4]
def run(h, dim t) {
  for k in range(3) {
    q[t] = w[k] @ h
    s[t] = q[0:t+1] @ q[t]
    h = h + exp(s[t] - logsumexp(s[t])) @ q[0:t+1]
  }
  return h
}
e = run(x, t)
loss = mean((e * e)[t = 0:T])
slope = grad(loss, w)
output loss, slope
"""
LEARNING = """
dim i < I
dim b < B
input x[b]: f32[4]
w[0] = ones([3, 4, 4]) * 0.3
def run(w, h) {
  for k in range(3) {
    h = tanh(w[k] @ h) + h
  }
  return h
}
e[i, b] = run(w[i], x[b])
loss[i] = mean(e[i, 0:B] ** 2)
w[i+1] = w[i] - 0.1 * grad(loss, w)
output loss
"""
ALL = show_pipeline(with_recompute(O2, work=True))
FOUR = ALL.replace("recompute", "recompute{segments=4}")


@cache
def compilation(text: str, recompute: str | None) -> Compilation:
    """A program for 1000 points, with values rematerialized or not."""
    options = Options(recompute=recompute, sizes={"B": 1000}, verify_each=True)
    return Compilation(load_source(Source("m.rt", text)), options)


@pytest.mark.parametrize(("text", "passes"), [(AROUND, ALL), (CAUSAL, FOUR), (LEARNING, ALL)])
def test_results_are_those_of_the_evaluator(text: str, passes: str) -> None:
    program = Compilation(load_source(Source("m.rt", text)), Options(passes=passes))
    assert is_rematerialized(program.optimized)
    names = [b.name for b in program.graph.universe.bounds if b.value is None]
    sizes = ({n: max(1, k - j) for j, n in enumerate(names)} for k in (1, 8))
    agree(text, *sizes, passes=passes)


def test_a_run_has_less_in_stores_and_as_much_as_was_predicted() -> None:
    peaks = {}
    for how in (None, "all"):
        emitted = compilation(DEEP, how).emitted
        program = emitted.program
        scope = namespace(emitted.kernels, "kernels.py")
        kernels = tuple(scope[k.name] for k in program.kernels)
        inputs = as_sources(data(compilation(DEEP, how).graph, {"B": 1000}, special=False))
        given = Given(bounds={"B": 1000}, inputs=inputs, params={})
        loaded = LoadedProgram(program=program, functions=kernels)
        result = run_given(loaded, given, Settings(account=True))
        predicted = forecast(program, {"B": 1000}, default_filled_stores(program)).peak
        peaks[how] = predicted
        assert result.peak_bytes == predicted
    assert peaks["all"] < 0.65 * peaks[None]


def test_budgets_that_want_values_made_again() -> None:
    """What fits stays as it is; what costs least comes first."""
    base = compilation(DEEP, None)
    natural = peak_of(base)
    bounds = {"B": 1000}
    assert fit_budget(base, bounds, default_filled_stores, natural).chosen.compilation is base
    found = fit_budget(base, bounds, default_filled_stores, natural * 2 // 3)
    assert found.chosen.compilation.options.recompute == "all"
    assert found.chosen.compilation.options.limit is None
    assert peak_of(found.chosen.compilation) == found.chosen.peak <= natural * 2 // 3
    assert "values rematerialized" in found.note()
    assert "% more operations" in found.note()
    kept = found.chosen.compilation.options
    assert Options.from_provenance(kept.to_provenance()) == replace(kept, verify_each=False)


def peak_of(found: Compilation) -> int:
    """The bytes in stores with 1000 points."""
    program = found.emitted.program
    return forecast(program, {"B": 1000}, default_filled_stores(program)).peak


def test_what_waits_is_called_by_itself() -> None:
    """Else XLA would find that the same was computed before."""
    found = compilation(DEEP, "all")
    nodes, program = found.optimized.nodes, found.emitted.program
    waiting = {
        identifier(s.name)
        for s in found.statements.statements
        if any(isinstance(nodes[m].op, After) for m in s.members)
    }
    assert waiting and waiting <= {k.name for k in program.kernels}
    assert any(blocks(program.tree))
    assert not waiting & {call.kernel for block in blocks(program.tree) for call in calls(block)}
