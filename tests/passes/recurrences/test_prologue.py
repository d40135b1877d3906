"""What the first steps of a loop that data end need no other step for is computed before it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import DiagnosticError, RunError
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.runtime.run import run
from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.sdg.graph.graph import Graph
from tests.support.session.long import examples
from tests.whole.until.until_runs import Agreeing

HEAD = """\
dim b < B
dim s < S
dim p < P
dim t < T until done
dim l < L = 2
assume S <= P
input prompt[b, p]: i32
param embed: f32[7, 4]
param w[l]: f32[4, 4]
tok[b, t] = prompt[b, t] when t < S
"""
MODEL = """\
tok[b, t] = best[b, t-1] when t >= S
x[b, t, 0] = embed[tok] + f32(t)
x[b, t, l+1] = y
k[b, t, l] = w @ x
a = sum(exp(k[b, 0:t+1, l] @ (w @ x)) * sum(k[b, 0:t+1, l], axis = 1))
y[b, t, l] = tanh(x + a)
best[b, t] = argmax(embed @ y[b, t, L-1])
"""
GREEDY = f"{HEAD}{MODEL}done[t] = all((best == 3)[b = 0:B])\noutput tok, T as n\n"
SAMPLED = GREEDY.replace("argmax(", "random.categorical(")
BUT_LAST = GREEDY.replace(
    "tok[b, t] = prompt[b, t] when t < S",
    "tok[b, 0] = prompt[b, 0]\ntok[b, t] = prompt[b, t] when t >= 1 and t < S-1",
).replace("when t >= S", "when t >= 1 and t >= S-1")
COUNTED = f"""{HEAD}{MODEL}ended[b, 0] = false
ended[b, t] = ended[b, t-1] or tok == 3
done = all(ended[b = 0:B])
output best, T as n
"""
LONGEST = GREEDY.replace("best == 3", "best > 9").replace(
    "tok, T as n", "best[b = 0:B, t = T-1] as last"
)
LAST = COUNTED.replace("output best", "output best[b = 0:B, t = T-1] as last")
NOTHING = {
    "a state": "y[0] = 0.5\ny[t+1] = tanh(y[t]) when t < S\ny[t+1] = 2.0 * y[t] when t >= S",
    "an input over the steps": "y[t] = exp(x[t]) when t < S\ny[t] = y[t-1] + 1.0 when t >= S",
    "a point that need not be": "y[t] = exp(z[t]) when t < S\ny[t] = y[t-1] + 1.0 when t >= S",
    "a row that need not be": "y[t] = exp(rows[t]) when t < S\ny[t] = y[t-1] + 1.0 when t >= S",
    "the length": "y[t] = exp(f32(T-t)) when t < S\ny[t] = y[t-1] + 1.0 when t >= S",
}
LOOKUPS = """\
dim s < S
dim p < P
dim t < T until done
assume S <= P
input prompt[p]: i32
param embed: f32[7, 4]
param w: f32[4]
x[t] = tanh(embed[prompt[t]]) when t < S
x[t] = tanh(x[t-1] + w) when t >= S
y[t] = WANTED when t < S
y[t] = 0.5 * y[t-1] when t >= S
done[t] = t >= 2 * S
output y[t = T-1] as last
"""
WANTED = {
    "several steps": "sum(x[max(t-1, 0):t+1])",
    "a recurrence of these steps": "(sum(x[0]) if t < 1 else 0.5 * y[t-1] + sum(x))",
    "a branch": "cond(prompt[t] < 7, sum(exp(embed[prompt[t]])), 1.0)",
}
BOUNDS = [(2, 3, 7), (1, 4, 3), (1, 1, 1), (2, 1, 6), (2, 2, 1), (1, 6, 6)]
"""So many prompts, of so many words, and steps at most; all texts are tried with the first two."""
SEEDS = (0, 1, 5)
"""Of these, some runs end within the prompt, some after it."""


def given(batch: int, prompt: int, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """An input and params, drawn by a seed; some prompts have the word that ends them."""
    random = np.random.default_rng(seed)
    w = random.normal(0.0, 0.5, (2, 4, 4)).astype(np.float32)
    embed = random.normal(size=(7, 4)).astype(np.float32)
    return {"prompt": random.integers(0, 5, (batch, prompt)).astype(np.int32)}, {
        "w": w,
        "embed": embed,
    }


def optimized(text: str) -> Graph:
    return Compilation(load_source(Source("m.rt", text)), Options()).optimized


@pytest.mark.parametrize(
    "text", [GREEDY, SAMPLED, COUNTED, BUT_LAST], ids=["greedy", "drawn", "counted", "but last"]
)
def test_prompts(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Also where the run ends within the prompt, or before, as no more steps are allowed."""
    graph = optimized(text)
    early = [n for n in graph.nodes.values() if "start" in n.domain.dims]
    assert any(n.name.startswith("k") and "start" in n.vector for n in early)
    model, lengths = Agreeing(text, tmp_path_factory.mktemp("prologue")), set()
    for batch, prompt, most in BOUNDS[: examples(4 if text == GREEDY else 2, long=6)]:
        for seed in SEEDS:
            inputs, params = given(batch, prompt, seed)
            bounds = {"B": batch, "S": prompt, "P": prompt, "T": most}
            n = model(bounds, inputs, params, seed=seed)["n"]
            lengths.add((n < prompt, n == most))
    assert {(True, False), (False, True)} <= lengths


def test_words_that_there_are_not(tmp_path: Any) -> None:
    """They count only where the run comes to them."""
    model = Agreeing(COUNTED, tmp_path, (2,))
    (folder,) = model.folders.values()
    inputs, params = given(1, 5, 0)
    bounds = {"B": 1, "S": 5, "P": 5, "T": 8}
    inputs["prompt"][:] = [[1, 2, 3, -9, 99]]
    assert model(bounds, inputs, params)["n"] == 3
    inputs["prompt"][:] = [[-1, 2, -7, 4, 3]]  # from the end, as in NumPy
    assert model(bounds, inputs, params)["n"] == 5
    inputs["prompt"][:] = [[1, 2, 0, 99, 3]]
    with pytest.raises(DiagnosticError, match="99"):
        evaluate(model.graph, bounds, inputs, params)
    with pytest.raises(RunError, match="99"):
        run(folder, bounds, inputs, params)


@pytest.mark.parametrize("text", [LONGEST, LAST], ids=["by what is computed", "by a word"])
def test_words_of_runs_that_end_within_the_prompt(text: str, tmp_path: Any) -> None:
    """They are checked in each step, also where no step after the prompt needs what it computes."""
    model = Agreeing(text, tmp_path, (2,))
    (folder,) = model.folders.values()
    inputs, params = given(1, 5, 1)
    bounds = {"B": 1, "S": 5, "P": 5, "T": 3}
    inputs["prompt"][:] = [[1, 2, 0, 99, 1]]
    model(bounds, inputs, params)
    inputs["prompt"][:] = [[1, 99, 0, 1, 1]]
    with pytest.raises(DiagnosticError, match="99"):
        evaluate(model.graph, bounds, inputs, params)
    with pytest.raises(RunError, match="99"):
        run(folder, bounds, inputs, params)


@pytest.mark.parametrize("wanted", WANTED.values(), ids=WANTED)
def test_what_needs_words_by_other_steps_or_in_a_branch(wanted: str, tmp_path: Any) -> None:
    """They are checked where these are needed, also if nothing that ends the loop needs them."""
    model = Agreeing(LOOKUPS.replace("WANTED", wanted), tmp_path, (2,))
    (folder,) = model.folders.values()
    random = np.random.default_rng(0)
    params = {"embed": random.normal(size=(7, 4)), "w": random.normal(size=4)}
    params = {name: array.astype(np.float32) for name, array in params.items()}
    bounds, inputs = {"S": 3, "P": 4, "T": 8}, {"prompt": np.array([1, 2, 99, 99], np.int32)}
    if "cond" in wanted:
        model(bounds, inputs, params)
        return
    model({**bounds, "T": 2}, inputs, params)
    with pytest.raises(DiagnosticError, match="99"):
        evaluate(model.graph, bounds, inputs, params)
    with pytest.raises(RunError, match="99"):
        run(folder, bounds, inputs, params)


@pytest.mark.parametrize("equations", NOTHING.values(), ids=NOTHING)
def test_what_needs_other_steps_or_the_length(equations: str) -> None:
    text = "dim s < S\ndim p < P\ndim t < T until done\nassume T <= P\n"
    text += f"input x[t]: f32\ninput z[p]: f32\ninput rows: f32[P]\n{equations}\n"
    text += "done[t] = x > 4.0\noutput y[t = T-1] as last\n"
    assert all("start" not in n.domain.dims for n in optimized(text).nodes.values())
