"""Gradients where each point of a dimension has its own number of steps, by what many share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.gradients import check
from tests.support.session.long import examples, sampled
from tests.whole.until.until_runs import Agreeing

HEAD = """dim b < B
dim t < T until stop
dim u < U
input w[b]: f32
input v[u]: f32
stop[b, t] = t >= (5 * b + 2) % 4
"""
TAIL = "\nl = sum(y[t = 0:T] ** 2)\nloss = sum(l[b = 0:B]) + sum(w[0:B]) + sum(v[0:U])"
WEIGHT = "(b + t + 1)"
PROGRAMS: dict[str, str] = {
    "first": f"y[b, t] = w[min(t, B-1)] * {WEIGHT} when t == 0\ny[b, t] = 0.5 * y[b, t-1] + w",
    "earlier": f"y[b, t] = w[max(b-t, 0)] * {WEIGHT}",
    "far": f"y[b, t] = w[(b+t)//2 % 3] * {WEIGHT} when B >= 3\ny[b, t] = w[0]",
    "last": f"y[b, t] = w[min(T-1, B-1)] * v[min(T, U-1)] * {WEIGHT}",
    "all": f"y[b, t] = w[b] * w[min(t, B-1)] * w[max(b-t, 0)] * w[b//2] * {WEIGHT}",
    "window": f"y[b, t] = sum(w[min(b, t):B] ** 2 * (1.0 + arange(B-min(b, t)))) * {WEIGHT}",
    "strides": "y[b, t] = sum(w[min(b, t):B:2] ** 2 * (1.0 + arange((B-min(b, t)+1)//2))) + t",
    "none": f"y[b, t] = sum(w[b+t:min(B, b+2)] ** 2) * {WEIGHT}",
    "guard": f"y[b, t] = w[b-t] * {WEIGHT} when b >= t and t < T-1\ny[b, t] = 1.0",
    "turns": f"y[b, t] = w[max(b-t, 0)] * {WEIGHT} when (t//2) % 3 == 0\ny[b, t] = w",
    "shared": f"y[b, t] = v[min(t, U-1)] * {WEIGHT}",
    "sum": f"y[b, t] = v[min(t+b, U-1)] * v[max(U-1-t//2, 0)] * {WEIGHT}",
    "before": f"y[b, t] = v[0] * v[min(T-t, U-1)] * {WEIGHT} when t < T-1\ny[b, t] = 1.0",
    "rows": f"y[b, t] = v[b] * {WEIGHT} when t < T-1 and b < U\ny[b, t] = 1.0",
    "steps": f"y[b, t] = v[t] * {WEIGHT} when t < T-1 and t < U\ny[b, t] = 1.0",
    "slices": f"y[b, t] = sum(v[min(t, U-1):U] * (1.0 + arange(U-min(t, U-1)))) * {WEIGHT}",
    "starts": f"z[b, t] = w * (t+1)\ny[b, t] = z[max(b-t, 0), 0] * z[b//2, 0] * {WEIGHT}",
    "shapes": "z[b] = w * (1.0 + arange(b+1))\n"
    f"y[b, t] = sum(z[max(b-t, 0)] * (1.0 + arange(max(b-t, 0)+1))) * {WEIGHT}",
    "recurrence": "y[0, 0] = w[0]\ny[b, 0] = y[b-1, 0] * w when b >= 1\n"
    "y[b, t] = y[max(b-t, 0), 0] * 0.5 + sin(w[max(b-t, 0)]) when t >= 1",
    "episodes": "y[0, 0] = w[0]\ny[b, 0] = last[b-1] * w when b >= 1\n"
    "y[b, t] = 0.5 * y[b, t-1] + w[max(b-t, 0)] when t >= 1\nlast = y[t = T-1]",
}
SIZES = [{"B": 3, "T": 4, "U": 3}, {"B": 1, "T": 5, "U": 2}, {"B": 6, "T": 4, "U": 5}]
COMPILED = ("all", "before", "window", "episodes")


@pytest.mark.parametrize("name", sampled(PROGRAMS, "more programs", of=2))
def test_gradients_agree_with_differences(name: str) -> None:
    check(f"{HEAD}{PROGRAMS[name]}{TAIL}", ["w", "v"], bounds=SIZES[: examples(2, long=3)])


@pytest.mark.parametrize("name", sampled(COMPILED, "more programs", of=2))
def test_compiled_programs_agree_with_the_evaluator(name: str, tmp_path: Path) -> None:
    text = f"{HEAD}{PROGRAMS[name]}{TAIL}\nby_w = grad(loss, w)\nby_v = grad(loss, v)\n"
    program = Agreeing(f"{text}output by_w, by_v\n", tmp_path)
    rng = np.random.default_rng(0)
    for sizes in SIZES[: examples(2, long=3)]:
        given = {"w": rng.normal(size=sizes["B"]), "v": rng.normal(size=sizes["U"])}
        program(sizes, {k: x.astype(np.float32) for k, x in given.items()})
