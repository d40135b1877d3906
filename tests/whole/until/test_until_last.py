"""What only the last step needs of a loop that the data end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tempoc.program.analysis.traversal import statements_in
from tempoc.program.nodes import nodes as prog
from tests.support import agreement
from tests.support.agree import compilation
from tests.whole.until.until_runs import Agreeing

START = """dim k < K until stop
dim i < I
input a[i]: f32
input ends[k]: bool
v[0, i] = a
v[k+1, i] = 0.5 * v[k, max(i-1, 0)] + k
stop[k] = ends
"""
MOVED = {
    "best": (
        "q = stack([v, sin(v[k, min(i+1, I-1)]), v * k], axis = 0)\n"
        "best = argmax(q)\n"
        "output best[K-1, 0:I] as best\n",
        ["best"],
    ),
    "chain": (
        "s[k] = sum(v[k, 0:I])\nt[k] = s * k\nu[k] = t + K\noutput u[K-1] as u, v[K-1, 0:I] as v\n",
        ["s", "t", "u"],
    ),
    "two readers": (
        "w = tanh(v)\nx[i] = w[K-1, i] * 2.0\ny[i] = w[K-1, I-1-i] + 1.0\noutput x, y\n",
        ["w"],
    ),
}
STAYS = {
    "its sum is needed": "w = tanh(v)\ny = sum(w[0:K, 0]) + w[K-1, 0]\noutput y\n",
    "the state": "output v[K-1, 0:I] as v\n",
    "a check": "w[k] = v[k, 0:I][i32(k) % 2]\noutput w[K-1] as w\n",
    "a step before": "w = tanh(v)\nz[k] = w[max(k-1, 0), 0]\noutput z[K-1] as z, w[K-1, 0] as w\n",
}


def agree(text: str, folder: Path) -> None:
    random = np.random.default_rng(0)
    program = Agreeing(text, folder, levels=(2,))
    for points, steps in ((1, 1), (2, 1), (3, 4)):
        a = random.standard_normal(points).astype(np.float32)
        ends = np.arange(steps) == steps // 2
        program({"I": points, "K": steps}, {"a": a, "ends": ends})


@pytest.mark.parametrize("name", MOVED)
def test_computed_behind_the_loop(name: str, tmp_path: Path) -> None:
    rest, moved = MOVED[name]
    graph = compilation(START + rest, 2).optimized
    within = {n.name for n in graph.nodes.values() if "k" in n.domain.dims}
    assert not within & {*moved}
    agree(START + rest, tmp_path)


@pytest.mark.parametrize("name", STAYS)
def test_computed_in_each_step(name: str, tmp_path: Path) -> None:
    agree(START + STAYS[name], tmp_path)


def test_a_check_is_made_in_each_step() -> None:
    graph = compilation(START + STAYS["a check"], 2).optimized
    assert "k" in graph.nodes["w"].domain.dims


FIRST = """dim k < K until stop
input a: f32
x[0] = a
x[k+1] = 0.5 * x
y[0] = exp(x[0]) * 2.0
y[k] = y[k-1] * sin(x) + 0.1
stop = y < 0.2
output y[K-1] as last
"""


@pytest.mark.parametrize("bounds", [{"K": 1}, {"K": 2}, {"K": 30}], ids=str)
def test_a_first_step_apart_lets_the_loop_end(bounds: dict[str, int]) -> None:
    """Steps beyond the end are not tried: the loop's limit is the length."""
    _, loaded = agreement.compile_text(FIRST, 2)
    (loop,) = (s for s in statements_in(loaded.program.tree) if isinstance(s, prog.Loop))
    assert loop.limit is not None
    agreement.agree(FIRST, bounds)
