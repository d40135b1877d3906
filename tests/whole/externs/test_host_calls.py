"""How often and in which order host functions are called: by everyone the same, as in loops."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.agree import levels_of
from tests.support.functions import agreed, laid_out

HEAD = """
dim b < B
dim i < I
dim t < T
extern host f(n: i32, x: f32) -> (y: f32) from "MODULE:f"
extern host g(x: f32) -> (y: f32) from "MODULE:g"
extern host pair() -> (a: f32, b: f32) from "MODULE:pair"
"""
PYTHON = """
log = []


def f(n, x):
    log.append((int(n), float(x)))
    return float(0.5 * x + n)


def g(x):
    log.append(("g", float(x)))
    return -x


def pair():
    log.append("pair")
    return 1.0, 2.0
"""


CASES = {
    "arguments_first": (
        "y = f(2, f(1, 1.0) + g(3.0)) + f(3, f(0, 0.5))\noutput y\n",
        [(1, 1.0), ("g", 3.0), (2, -1.5), (0, 0.5), (3, 0.25)],
    ),
    "unrolled": (
        """
def h(x) {
  for k in range(2) {
    x = f(k, x)
    x = x + f(10 + k, 0.0)
  }
  return x + sum(stack([f(20 + k, 1.0) for k in range(2)], 0))
}
y = h(h(1.0) * 0.0)
output y
""",
        [
            (k + j, x)
            for first in (1.0, 0.0)
            for k, j, x in (
                (0, 0, first), (0, 10, 0.0), (1, 0, 0.5 * first + 10), (1, 10, 0.0),
                (20, 0, 1.0), (20, 1, 1.0),
            )
        ],
    ),
    "not_read": (
        "z = 1.0 * t\n_, k = pair()\ny[i, t] = f(i * 10 + t, z) when t > i\noutput z\n",
        ["pair", (1, 1.0), (2, 2.0), (12, 2.0)],
    ),
    "kept_targets": (
        "s[0] = 1.0\ns[t+1] = f(t, s[t])\nw[i+1], v[i] = pair()\nw[0] = 0.0\noutput s, w\n",
        [(0, 1.0), (1, 0.5), "pair", "pair"],
    ),
    "prefixes": (
        "a = f(0, 0.0)\nb1[i] = f(100 + i, a)\nc[i, t] = f(i * 10 + t, b1[i])\noutput c\n",
        [
            (0, 0.0),
            *(
                call
                for i in range(2)
                for call in ((100 + i, 0.0), *((i * 10 + t, 100.0 + i) for t in range(3)))
            ),
        ],
    ),
    "cheap_functions_are_not_repeated": (
        "k = f(1, 1.0)\ny[t] = k + t\nz[i] = k * i\nd = grad(sum(y[0:T] * k), k)\noutput y, z, d\n",
        [(1, 1.0)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_calls(name: str, tmp_path: Path) -> None:
    text, wanted = CASES[name]
    module = f"hc_{name}"
    files = {"main.rt": (HEAD + text).replace("MODULE", module), f"{module}.py": PYTHON}
    _, calls = agreed(laid_out(tmp_path, files), {}, {"B": 1, "I": 2, "T": 3}, log=module)
    assert calls == wanted


OVER = """
dim i < I
dim b < B
dim t < T
extern host step(s: f32[2], a: f32, n: i32) -> (s2: f32[2], r: f32) from "ho_over:step" over b
extern host reset(i: i32) -> (s: f32[2]) from "ho_over:reset" over b
extern host last(r: f32) -> () from "ho_last:last" over b
input a[b, t]: f32
s[i, b, 0] = reset(i)
s[i, b, t+1] = s2[i, b, t]
s2, r = step(s, a, 7)
total = sum(r[0:I, 0:B, 0:T])
_ = last(r[t = T-1])
output s, r, total
"""


@pytest.mark.parametrize("size", [1, 3])
def test_one_call_for_a_dimension_in_the_middle(size: int, tmp_path: Path) -> None:
    python = """
import numpy as np

log = []


def reset(i):
    log.append(("reset", i.tolist()))
    return np.repeat(i[:, None], 2, 1).astype(np.float32)


def step(s, a, n):
    log.append(("step", s.shape, a.shape, n.tolist()))
    return s + a[:, None], s.sum(1)
"""
    last = "log = []\n\n\ndef last(r):\n    log.append(r.shape)\n"
    a = np.arange(size * 2, dtype=np.float32).reshape(size, 2)
    for name in ("ho_over", "ho_last"):
        sys.modules.pop(name, None)
    files = {"main.rt": OVER, "ho_over.py": python, "ho_last.py": last}
    found, calls = agreed(laid_out(tmp_path, files), {"a": a}, {"I": 2}, log="ho_over")
    step = ("step", (size, 2), (size,), [7] * size)
    assert calls == [c for i in range(2) for c in (("reset", [i] * size), step, step)]
    assert sys.modules["ho_last"].log == [(size,)] * 2 * (1 + len(levels_of(OVER)))
    for i in range(2):
        state = np.full((size, 2), i, np.float32)
        for t in range(2):
            np.testing.assert_array_equal(found["s"][i, :, t], state)
            np.testing.assert_array_equal(found["r"][i, :, t], state.sum(1))
            state = state + a[:, t : t + 1]


def test_an_array_lives_until_nothing_more_could_be_written(tmp_path: Path) -> None:
    text = """
dim i < I
dim b < B
dim t < T
assume I >= 2
extern host step(s: f32, i: i32) -> (s2: f32) from "hc_last:step" over b
s[i, b, 0] = 1.0 * i
s[i, b, t+1] = s2[i, b, t]
s2 = step(s, i)
g[i] = sum(s[i, 0:B, 0:T]) when i < I-1
last = sum(s2[I-1, 0:B, 0:T])
output g[0:I-1] as g, last
"""
    files = {"main.rt": text, "hc_last.py": "def step(s, i):\n    return s + 1\n"}
    found, _ = agreed(laid_out(tmp_path, files), {}, {"I": 2, "B": 2, "T": 3})
    assert (found["g"].tolist(), found["last"].tolist()) == ([6.0], 18.0)


def test_the_default_of_a_given_param_is_not_called_for(tmp_path: Path) -> None:
    text = """
extern host load(n: i32) -> (w: f32[2]) from "hc_load:load"
def start(n) = {w: load(n) * 2.0, b: load(n + 1)}
param net = start(1)
param v = load(7)
y = net.w + net.b + v
output y
"""
    files = {
        "main.rt": text,
        "hc_load.py": "import numpy as np\n\nlog = []\n\n\ndef load(n):\n    log.append(int(n))\n"
        "    return np.full(2, n, np.float32)\n",
    }
    path = laid_out(tmp_path, files)
    two = np.ones(2, np.float32)
    given = {"net.w": two, "net.b": two}
    for params, wanted, value in (
        ({}, [1, 2, 7], 11.0),
        (given, [7], 9.0),
        ({**given, "v": two}, [], 3.0),
        ({"net.w": two}, [1, 2, 7], 10.0),
    ):
        found, calls = agreed(path, {}, log="hc_load", params=params)
        assert (calls, found["y"].tolist()) == (wanted, [value] * 2)
