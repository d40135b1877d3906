"""What host functions take and give: records, shapes that vary, keys, all dtypes, nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.support.functions import agreed, laid_out


def test_records(tmp_path: Path) -> None:
    files = {
        "main.rt": """
dim t < T
input x[t]: f32
extern host both(
  net: {w: f32[n], deep: {b: f32, k: i32}}, x: f32
) -> (out: {y: f32[n], more: {z: i32}}, last: f32) from "ht_records:both"
extern jax pure(net: {w: f32[n], b: f32}) -> (net: {w: f32[n], b: f32}) from "ht_records:pure"
net = {deep: {k: t, b: x}, w: stack([x, 2.0 * x], 0)}
out, last = both(net, x)
y = out.y
z = out.more.z
p = pure({b: x, w: y})
loss = sum(p.w) + p.b
dx = grad(loss, x)
output y, z, last, p.w as pw, p.b as pb, dx
""",
        "ht_records.py": """
log = []


def both(net, x):
    log.append((sorted(net), sorted(net["deep"]), int(net["deep"]["k"])))
    net["w"][:] += 1
    return {"more": {"z": int(net["deep"]["k"]) + 1}, "y": net.pop("w")}, float(x)


def pure(net):
    return {"b": net["b"] ** 2, "w": 3 * net["w"]}
""",
    }
    x = np.array([1.0, 2.0, 4.0], np.float32)
    found, calls = agreed(laid_out(tmp_path, files), {"x": x}, log="ht_records")
    assert calls == [(["deep", "w"], ["b", "k"], t) for t in range(3)]
    np.testing.assert_array_equal(found["y"], np.stack([x, 2 * x], 1) + 1)
    np.testing.assert_array_equal(found["z"], [1, 2, 3])
    np.testing.assert_array_equal(found["pw"], 3 * found["y"])
    np.testing.assert_array_equal(found["dx"], 2 * x)  # what a host function gives has no slope


def test_shapes_that_vary_with_the_point(tmp_path: Path) -> None:
    files = {
        "main.rt": """
dim i < I
dim t < T
input x[i, t]: f32[2]
extern host grow(x: f32[n, 2], i: i32) -> (y: f32[n], z: f32[n, n], m: f32) from "ht_grow:grow"
extern host rest(x: f32[T-t, 2], k: f32[t]) -> (y: f32[T-t, 1], s: f32) from "ht_grow:rest"
extern host line(x: f32[t+1]) -> (y: f32[t+1]) from "ht_line:line" over i
y, z, m = grow(x[i, 0:t+1], i)
a = sum(y)
b = sum(z, axis = 1)
c = sum(b)
r, s = rest(x[i, t:T], zeros([t]))
d = sum(r)
l = line(y)
e = sum(l)
output m, a, c, d, s, e
""",
        "ht_grow.py": """
import numpy as np

log = []


def grow(x, i):
    log.append(("grow", int(i), x.shape))
    return x[:, 0], np.outer(x[:, 0], x[:, 1]), float(x.sum() + i)


def rest(x, k):
    log.append(("rest", x.shape, k.shape))
    return x.T[:1].T, np.float32(len(k))
""",
        "ht_line.py": "def line(x):\n    assert len(x) == 2\n    return -x\n",
    }
    x = np.random.default_rng(0).normal(size=(2, 3, 2)).astype(np.float32)
    found, calls = agreed(laid_out(tmp_path, files), {"x": x}, log="ht_grow")
    assert calls == [
        call
        for i in range(2)
        for t in range(3)
        for call in (("grow", i, (t + 1, 2)), ("rest", (3 - t, 2), (t,)))
    ]
    for i in range(2):
        for t in range(3):
            part = x[i, : t + 1]
            outer = np.outer(part[:, 0], part[:, 1]).sum()
            np.testing.assert_allclose(found["m"][i, t], part.sum() + i, rtol=1e-5)
            np.testing.assert_allclose(found["a"][i, t], part[:, 0].sum(), rtol=1e-5)
            np.testing.assert_allclose(found["c"][i, t], outer, rtol=1e-4)
            np.testing.assert_allclose(found["d"][i, t], x[i, t:, 0].sum(), rtol=1e-5)
            assert found["s"][i, t] == t
    np.testing.assert_allclose(found["e"], -found["a"], rtol=1e-5)


DTYPES = ("bool", "i32", "i64", "u32", "bf16", "f16", "f32", "f64")


def test_every_dtype_goes_in_and_out(tmp_path: Path) -> None:
    takes = ", ".join(f"a_{d}: {d}, b_{d}: {d}[3]" for d in DTYPES)
    lines = ["dim t < T", "input x[t]: f32", "v = stack([x, 2.0 * x, x - x], 0)"]
    for kind in ("host", "jax"):
        lines.append(f'extern {kind} {kind}({takes}) -> ({takes}) from "ht_d:f"')
        names = [f"{kind}_{k}_{d}" for d in DTYPES for k in "ab"]
        given = ", ".join(f"{d}(x), {d}(v)" for d in DTYPES)
        lines.append(f"{', '.join(names)} = {kind}({given})")
        lines.append(f"output {', '.join(names)}")
    python = "def f(*all):\n    return [x[::-1] if x.ndim else x for x in all]\n"
    x = np.array([1.0, 0.0], np.float32)
    path = laid_out(tmp_path, {"main.rt": "\n".join(lines), "ht_d.py": python})
    found, _ = agreed(path, {"x": x})
    assert len(found) == 4 * len(DTYPES)
    for d in DTYPES:
        for kind in ("host", "jax"):
            np.testing.assert_array_equal(found[f"{kind}_a_{d}"].astype(np.float32), x)
            back = found[f"{kind}_b_{d}"].astype(np.float32)
            wanted = [[0, 1 if d == "bool" else 2, 1], [0, 0, 0]]
            np.testing.assert_array_equal(back, wanted)


def test_keys_and_numbers_as_arguments(tmp_path: Path) -> None:
    files = {
        "main.rt": """
dim b < B
dim t < T
extern host draw(key: key, n: i32, lo: f32, on: bool) -> (x: f32, key: key) from "ht_key:draw"
extern jax pure(key: key) -> (x: f32) from "ht_key:pure"
x, k = draw(random.key(), t + 10 * b, 0.5, t < 1)
y = pure(k)
z = pure(random.key())
output x, y, z
""",
        "ht_key.py": """
import jax

log = []


def draw(key, n, lo, on):
    log.append((key.shape, str(key.dtype), int(n), float(lo), bool(on)))
    return float(n) + lo, key


def pure(key):
    return jax.random.uniform(key)
""",
    }
    found, calls = agreed(laid_out(tmp_path, files), {}, {"B": 2, "T": 2}, log="ht_key", seed=3)
    points = [(b, t) for b in range(2) for t in range(2)]
    assert calls == [((2,), "uint32", t + 10 * b, 0.5, t < 1) for b, t in points]
    assert found["x"].tolist() == [[0.5, 1.5], [10.5, 11.5]]
    draws = [*found["y"].ravel(), *found["z"].ravel()]
    assert len(set(draws)) == 5


def test_nothing_comes_back(tmp_path: Path) -> None:
    files = {
        "main.rt": """
import "lib.rt" as lib
dim i < I
dim t < T
extern host note(i: i32, x: f32) -> () from "ht_none:note"
input x[i, t]: f32
input y[i]: f32
_ = note(i, y)
_ = note(t, x + y)
_ = note(7, 0.0)
_[i, t] = note(100, x[i, t]) when t >= 1
_[i] = note(200, y[i])
z = lib.told(y)
output z
""",
        "lib.rt": """
extern host note(i: i32, x: f32) -> () from "ht_none:note"
def told(x) {
  for k in range(2) {
    _ = note(k, x)
  }
  return 2.0 * x
}
""",
        "ht_none.py": """
log = []


def note(i, x):
    log.append((int(i), float(x)))
    return 5
""",
    }
    x = np.array([[1, 2], [3, 4]], np.float32)
    y = np.array([10, 20], np.float32)
    _, calls = agreed(laid_out(tmp_path, files), {"x": x, "y": y}, log="ht_none")
    wanted = [(7, 0.0)]
    for i in range(2):
        wanted += [(i, y[i]), (200, y[i]), (0, y[i]), (1, y[i])]
        for t in range(2):
            wanted.append((t, x[i, t] + y[i]))
            wanted += [(100, x[i, t])] if t else []
    assert calls == wanted
