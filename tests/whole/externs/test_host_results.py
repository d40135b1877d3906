"""Buffers between the program and host functions are private; what breaks a promise is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.functions import agreed, laid_out, refused
from tests.support.golden import Golden

BUFFERS = {
    "main.rt": """
dim t < T
input x[t]: f32[3]
extern host reuse(x: f32[3]) -> (y: f32[3], z: f32[3]) from "hb_all:reuse"
extern host views(x: f32[3]) -> (y: f32[2], z: f32[3, 2], w: f32) from "hb_all:views"
extern host plain(x: f32[3]) -> (y: f32[2, 2], n: i32, f: f32, b: bool) from "hb_all:plain"
extern host other(x: f32[3]) -> (y: f32[3], z: f32[3]) from "hb_all:other"
a, b = reuse(x)
c, d, e = views(x)
f, g, h, i = plain(x)
j, k = other(x)
k2[t] = b[t] + x[t]
later[t] = sum(a[0:t+1], axis = 0)
output a, b, c, d, e, f, g, h, i, j, k, k2, later
""",
    "hb_all.py": """
import jax.numpy as jnp
import numpy as np

log = []
kept = np.zeros(3, np.float32)
mine = []


def reuse(x):
    # Gives one buffer twice, again and again; keeps and spoils what it got before.
    for old in mine:
        old[:] = -1
    mine.append(x)
    kept[:] = 2 * x
    return kept, kept


def views(x):
    big = np.broadcast_to(x[:, None], (3, 2))
    return x[::-2], big, big[0, 0]


def plain(x):
    return [[1, 2.5], (True + 2, 4)], 7, 1, False


def other(x):
    return jnp.asarray(x) + 1, x.astype(">f4")
""",
}


def test_buffers_are_private(tmp_path: Path) -> None:
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    found, _ = agreed(laid_out(tmp_path, BUFFERS), {"x": x}, log="hb_all")
    np.testing.assert_array_equal(found["a"], 2 * x)
    np.testing.assert_array_equal(found["k2"], 3 * x)
    np.testing.assert_array_equal(found["later"], np.cumsum(2 * x, 0))
    np.testing.assert_array_equal(found["c"], x[:, ::-2])
    np.testing.assert_array_equal(found["d"], np.stack([x, x], 2))
    np.testing.assert_array_equal(found["f"], [[[1, 2.5], [3, 4]]] * 4)
    np.testing.assert_array_equal(found["j"], x + 1)
    np.testing.assert_array_equal(found["k"], x)


ONE = """
dim i < I
dim t < T
input x[i, t]: f32
extern host f(x: f32) -> (y: f32[2], n: i32, net: {w: f32}) from "MODULE:f"
y, n, net = f(x)
output y, n, net
"""
RIGHT = 'np.zeros(2, np.float32), 1, {"w": 0.0}'
BROKEN = {
    "shape": RIGHT.replace("zeros(2,", "zeros((1, 2),"),
    "dtype": RIGHT.replace("float32", "float64"),
    "integer": RIGHT.replace(" 1,", " 1.0,"),
    "range": RIGHT.replace(" 1,", " 2**40,"),
    "count": 'np.zeros(2, np.float32), 1',
    "nothing": "None",
    "none": RIGHT.replace(" 1,", " None,"),
    "text": RIGHT.replace(" 1,", " 'one',"),
    "ragged": RIGHT.replace("np.zeros(2, np.float32)", "[[1.0], [1.0, 2.0]]"),
    "record": RIGHT.replace('{"w": 0.0}', "0.0"),
    "fields": RIGHT.replace('"w"', '"v"'),
}  # fmt: skip


def test_broken_promises_of_host_functions(tmp_path: Path, golden: Golden) -> None:
    texts = []
    x = {"x": np.zeros((2, 2), np.float32)}
    for what, result in BROKEN.items():
        module = f"hb_{what}"
        python = f"import numpy as np\n\n\ndef f(x):\n    return {result}\n"
        files = {"main.rt": ONE.replace("MODULE", module), f"{module}.py": python}
        path = laid_out(tmp_path / what, files)
        texts.append(f"return {result}\n{refused(path, x)}")
    golden("externs/host_promises.txt", "\n".join(texts))


def test_exceptions_of_host_functions(tmp_path: Path, golden: Golden) -> None:
    python = """
class Game:
    def step(self, x):
        return self.rules[int(x)]


game = Game()


def f(x):
    if x < 3:
        return [0.0, 0.0], 1, {"w": 0.5}
    try:
        return game.step(x)
    except AttributeError as error:
        raise RuntimeError("the game is over") from error
"""
    path = laid_out(tmp_path, {"main.rt": ONE.replace("MODULE", "hb_game"), "hb_game.py": python})
    text = refused(path, {"x": np.arange(4, dtype=np.float32).reshape(2, 2)})
    lines = text.splitlines(keepends=True)  # how Python marks the places depends on its version
    golden("externs/host_raises.txt", "".join(x for x in lines if x.strip(" ^\n") or x == "\n"))


@pytest.mark.parametrize("body", ["return f(x)", "raise StopIteration", "raise MemoryError"])
def test_every_exception_has_a_place(body: str, tmp_path: Path) -> None:
    module = f"hb_{body.replace(' ', '_').strip('()').replace('(', '_')}"
    files = {"main.rt": ONE.replace("MODULE", module), f"{module}.py": f"def f(x):\n    {body}\n"}
    text = refused(laid_out(tmp_path, files), {"x": np.zeros((1, 1), np.float32)})
    assert f"error[RT573]: f ({module}:f) raised " in text and "at i = 0, t = 0" in text
    assert "in main.rt:6: y, n, net = f(x)" in text


def test_a_broken_promise_of_an_index_has_a_place(tmp_path: Path, golden: Golden) -> None:
    text = """
dim i < I
dim t < T
extern host pick(i: i32, t: i32) -> (j: i32) from "hb_pick:pick"
input x[i, t]: f32
j = pick(i, t)
y[i, t] = x[t = j in max(0, t-1):t+1] when t >= 1
z[i] = sum(y[i, 1:T])
output z
"""
    python = "def pick(i, t):\n    return int(t) - 2 * int(i == 1 and t == 2)\n"
    path = laid_out(tmp_path, {"main.rt": text, "hb_pick.py": python})
    golden("externs/promise.txt", refused(path, {"x": np.zeros((2, 3), np.float32)}))
