"""What a loop makes and others read all at once: read point by point it lives with the host."""

from __future__ import annotations

import numpy as np

from tempoc.offload.choose import choose
from tempoc.offload.rewrite import offloaded
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.load.load import LoadedProgram
from tempoc.runtime.run import run_given
from tests.support.offloading import COUNTED, loaded

ACTING = """
dim i < I
dim b < B
dim t < T
s[0, b, 0] = f32(b) * ones([64]) * 0.01
s[i, b, t+1] = sin(s[i, b, t] * 1.5 + sum(h[i, b, t]))
s[i+1, b, 0] = s[i, b, T-1]
w[0] = ones([64, 64]) * 0.01
h[i, b, t] = tanh(w[i] @ stop_gradient(s[i, b, t]))
mid[i] = mean(h[i, 0:B, 0:T])
error = mean((h - mid) ** 2)
loss[i] = mean(error[i, 0:B, 0:T])
w[i+1] = w - 0.1 * grad(loss, w)
output loss, w[I-1] as trained
"""
BOUNDS = {"I": 2, "B": 32, "T": 40}
PARTS = 16


def test_a_sixteenth_of_the_memory_is_enough() -> None:
    how = {"regions": False, "bucket": 0, "apart": True}
    given = Given(bounds=BOUNDS, inputs={}, params={})
    _, whole = loaded(ACTING, **how)
    natural = run_given(whole, given, COUNTED)
    budget = natural.peak_bytes // PARTS
    values = dict(natural.bounds)
    nothing = frozenset[str]()
    assert choose(whole.program, values, nothing, budget).peak > budget
    compilation, walked = loaded(ACTING, **how, walk=True, sizes=BOUNDS)
    said = [r.message for r in compilation.remarks if r.step in ("walk", "accumulate")]
    assert any("step by step in t" in message for message in said)
    assert any("added up along t" in message for message in said)
    choice = choose(walked.program, values, nothing, budget)
    program = offloaded(walked.program, choice.reach, choice.ahead)
    found = run_given(LoadedProgram(program=program, functions=walked.functions), given, COUNTED)
    assert found.peak_bytes == choice.peak <= budget
    for name, wanted in natural.outputs.items():
        np.testing.assert_allclose(found.outputs[name], wanted, rtol=1e-5)
