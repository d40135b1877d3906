"""Special numbers mean one thing: in the evaluator, without optimization and with it."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.support.agree import agreed
from tests.support.agreement import agree

EVERY = (0, 1, 2)


def test_numbers_that_meet_u32_wrap(tmp_path: Path) -> None:
    """A number has no dtype of its own, so -2 is 2**32 - 2 here, as in JAX."""
    text = """
dim t < T
x[t] = u32(5 + t)
a[t] = x // -2
b[t] = x % -2
c[t] = x ** -1
d[t] = clip(u32(t), -1, 1)
e[t] = minimum(x, -1) + maximum(x, -1)
f[t] = x > -1
g[t] = (x + -7) * -3 - -1
h[t] = where(t > 1, x, -1)
i[t] = -2 % x + -2 // x
j[t] = u32(7) // -2 + u32(7) % -2
output a, b, c, d, e, f, g, h, i, j
"""
    found = agreed(text, tmp_path, {"T": 4}, levels=EVERY)
    x, wrap = np.arange(5, 9, dtype=np.uint32), lambda n: np.uint32(n % 2**32)
    np.testing.assert_array_equal(found["a"], x // wrap(-2))
    np.testing.assert_array_equal(found["b"], x % wrap(-2))
    np.testing.assert_array_equal(found["c"], x ** wrap(-1))
    np.testing.assert_array_equal(found["d"], [1, 1, 1, 1])
    np.testing.assert_array_equal(found["e"], x + wrap(-1))
    np.testing.assert_array_equal(found["f"], [False] * 4)
    np.testing.assert_array_equal(found["j"], [7] * 4)


def test_a_number_takes_the_dtype_of_a_half(tmp_path: Path) -> None:
    """What is computed of numbers alone gives way, too: sqrt(2.0) is that of bf16."""
    text = "input x: bf16[3]\ny = x > sqrt(2.0)\nz = x * sqrt(2.0)\noutput y, z\n"
    root = np.float32(1.4140625)
    x = np.array([root, 1.0, 3.0], ml_dtypes.bfloat16)
    found = agreed(text, tmp_path, {}, {"x": x}, levels=EVERY)
    np.testing.assert_array_equal(found["y"], [False, False, True])


def test_numbers_that_conditions_choose_are_rounded_once(tmp_path: Path) -> None:
    """To the dtype that they meet, as those that stand alone are."""
    text = """
dim t < T
input x[t]: f64
input n[t]: i64
input c: bool
input m: bool[2]
a[t] = (0.1 if t == 0 else 0.3) * x
b[t] = x * where(c, 0.1, 0.3) - where(m, 1, 0.7)
d[t] = x - cond(c, 0.1, 0.3)
e[t] = x ** -(0.1 if t == 0 else 1 if t == 1 else where(c, 0.7, 0.3))
f[t] = (1 - (0.1 if t == 0 else 0.3)) * x + 0.9 ** t * x
g[t] = n + (1 if t == 0 else 2)
h[t]: f64 = 0.1 if t == 0 else 0.3
i[t] = f64(0.1 if t == 0 else 0.3) + f64(0.7)
j[t] = x - (0.1 if t == 0 else 0.3)[t = 0]
k[t] = stack([x, 0.1 if t == 0 else 0.3, 0.7], 0)
l[t] = x * ((3 if t == 0 else 7) // 2 * 0.1)
o[t] = x * flip(reshape(split(stack([0, 1, 0.1, where(c, 0.3, 2)]), 2)[1], [2, 1]), 0)
output a, b, d, e, f, g, h, i, j, k, l, o
"""
    x, n = np.array([1.0, 0.3, 7.0]), np.array([2**40, -3, 5])
    inputs = {"x": x, "n": n, "c": np.array(True), "m": np.array([True, False])}
    found = agreed(text, tmp_path, {"T": 3}, inputs, levels=EVERY)
    first, t = np.array([0.1, 0.3, 0.3]), np.arange(3)
    exact = {
        "a": first * x,
        "b": (x * 0.1)[:, None] - np.array([1, 0.7]),
        "d": x - 0.1,
        "e": x ** -np.array([0.1, 1, 0.7]),
        "f": (1 - first) * x + 0.9**t * x,
        "g": n + np.array([1, 2, 2]),
        "h": first,
        "i": first + 0.7,
        "j": x - 0.1,
        "k": np.stack([x, first, np.full(3, 0.7)], 1),
        "l": x * np.array([0.1, 3 * 0.1, 3 * 0.1]),
        "o": x[:, None, None] * np.array([[0.3], [0.1]]),
    }
    for name, value in exact.items():
        assert found[name].dtype == value.dtype
        np.testing.assert_allclose(found[name], value, rtol=1e-15, atol=1e-16, err_msg=name)


def test_numbers_are_rounded_once_whatever_is_computed_of_them(tmp_path: Path) -> None:
    """To the dtype that they meet, also in operators that take no numbers but tensors of them."""
    text = """
input x: f64[2]
input n: i64
input b: bf16
input r: i32
dim t < T = 2
w = x[0]
a = w * sum(stack([0.1, 0.2])) + w * (sum(stack([1, 2])) * 0.1) + x[0] * mean(stack([1, 1, 2]))
d = w * cumsum(stack([0.1, 0.2]))
e = w * take(sort(stack([0.3, 0.1])), stack([1, 0]), 0) + stack([0.1, 0.3])[1]
f = w * (stack([0.1, 0.2]) @ stack([2, 0.3])) + x @ stack([0.1, 0.3])
g = put(x, 1, 0.1) + put(stack([0.1, 0.2]), 0, w)
h = searchsorted(x, stack([0.1, 0.3]), side = "right")
i = conv(reshape(x, [2, 1]), reshape(stack([0.3]), [1, 1, 1]))[:, 0]
j = solve(stack([stack([0.1, 0.2]), stack([0.2, 0.9])]), x) + einsum("i,i->i", x, stack([0.1, 0.3]))
k = w * pad(stack([0.1]), [[0, 1]], 0.7)
l = n + stack([1099511627776, 1])
m = b * pad(stack([0.1]), [[0, 1]])
o = w * stack([sum(stack([1, 2])), 0.7])
p[t] = x * (0.3 if t == 0 else stack([0.1, sum(stack([1, 2]))]))
q[t] = w * (0.3 if t == 0 else r) + x * cond(w > 0.0, 0.3, stack([r, 1]))
output a, d, e, f, g, h, i, j, k, l, m, o, p, q
"""
    x = np.array([0.1, 0.3])
    inputs = {"x": x, "n": np.array(1), "b": np.array(1, ml_dtypes.bfloat16)}
    inputs["r"] = np.array(4, np.int32)
    found = agreed(text, tmp_path, {}, inputs, levels=EVERY)
    exact = {
        "a": np.array(0.06 + 0.4 / 3),
        "d": 0.1 * np.array([0.1, 0.1 + 0.2]),
        "e": 0.1 * np.array([0.3, 0.1]) + 0.3,
        "f": np.array(0.1 * (0.2 + 0.2 * 0.3) + 0.1 * 0.1 + 0.3 * 0.3),
        "g": np.array([0.2, 0.3]),
        "h": np.array([1, 2], np.int32),
        "i": x * 0.3,
        "j": np.linalg.solve([[0.1, 0.2], [0.2, 0.9]], x) + x * x,
        "k": 0.1 * np.array([0.1, 0.7]),
        "l": np.array([1099511627777, 2]),
        "o": 0.1 * np.array([3, 0.7]),
        "p": x * [[0.3, 0.3], [0.1, 3]],
        "q": 0.1 * np.array([[0.3], [4]]) + x * 0.3,
    }
    assert found["m"].dtype == inputs["b"].dtype
    for name, value in exact.items():
        assert found[name].dtype == value.dtype
        np.testing.assert_allclose(found[name], value, rtol=1e-14, err_msg=name)


def test_recurrences_of_numbers_give_way() -> None:
    """Also where passes compute them otherwise, as by a scan."""
    agree(
        "dim t < T\ninput b[t]: bf16\ninput u[t]: u8\ns[0] = 0.5\ns[t] = s[t-1] * 0.5 + 3.0\n"
        "k[0] = 1\nk[t] = k[t-1] + 2\ny = b * s\nz = u + k\noutput y, z\n",
        {"T": 1},
        {"T": 9},
    )


@pytest.mark.filterwarnings("error")
def test_numbers_that_are_too_large_are_infinite_without_a_word(tmp_path: Path) -> None:
    text = """
dim t < T
input x[t]: f32
input h[t]: f16
a[t] = stack([x * 1e39, where(x > 1.0, x, -1e300)])
b[t] = h + 65504.0 * f16(2.0) - 70000.0
d[t] = x + full([2], 1e39) + f32(1e10) ** 4
output a, b, d
"""
    inputs = {"x": np.ones(2, np.float32), "h": np.ones(2, np.float16)}
    found = agreed(text, tmp_path, {"T": 2}, inputs, levels=(0, 2))
    np.testing.assert_array_equal(found["a"], [[np.inf, -np.inf]] * 2)


def test_numbers_that_conditions_choose_fit_every_shape(tmp_path: Path) -> None:
    text = """
dim t < T
input x[t]: bf16[2]
input c: bool
a[t] = x when t == 0
a[t] = 1 if t == 1 else where(c, 0.5, 2)
b[t] = x if t == 0 else cond(c, 3, 4)
d[t] = cond(c, 1 if t == 0 else 2, x)
e[t]: i8[t+1] = 1 if t == 0 else -2
output a, b, d, e[T-1] as e
"""
    x = np.array([[3, 5], [6, 7], [8, 9]], ml_dtypes.bfloat16)
    found = agreed(text, tmp_path, {"T": 3}, {"x": x, "c": np.array(True)}, levels=EVERY)
    np.testing.assert_array_equal(found["a"], np.array([[3, 5], [1, 1], [0.5, 0.5]], x.dtype))
    np.testing.assert_array_equal(found["b"], np.array([[3, 5], [3, 3], [3, 3]], x.dtype))
    np.testing.assert_array_equal(found["d"], np.array([[1, 1], [2, 2], [2, 2]], x.dtype))
    np.testing.assert_array_equal(found["e"], np.full(3, -2, np.int8))


def test_zero_times_infinity_is_no_number(tmp_path: Path) -> None:
    """Also where the zero is a condition, which XLA would take for a choice."""
    text = """
dim t < T
b[t] = t % 2 == 1
z[t] = 0.0 * t
v[t] = stack([1.0 / z, 1.0, z / z], 0)
hot[t] = one_hot(t % 3, 3)
a[t] = f32(b) * (1.0 / z)
c[t] = f32(b) / 0.0
d[t] = b * (1.0 / z)
e[t] = (f32(b) + 0.0) * (1.0 / z)
f[t] = hot * v
g[t] = eye(3) * v
h[t] = b / z
i[t] = sum(hot * v)
j[t] = hot @ v
k[t] = einsum("i,i->", hot, v)
l[t] = f32(i32(b)) * (1.0 / z)
m[t] = f32(b and t > 0) * v
n[t] = where(b, 1.0 / z, 0.0) * f32(not b)
o[t] = z * 0.0 + 0.0 / z + (v - v) + v / v
output a, c, d, e, f, g, h, i, j, k, l, m, n, o
"""
    found = agreed(text, tmp_path, {"T": 4}, levels=EVERY)
    for name in ("a", "c", "d", "e", "h", "l"):
        np.testing.assert_array_equal(found[name], [np.nan, np.inf, np.nan, np.inf], name)
    assert np.isnan(found["f"][1]).tolist() == [True, False, True]
    assert np.isnan([found[n] for n in "ijk"]).all()


def test_zeros_are_equal_and_no_number_is_the_greatest(tmp_path: Path) -> None:
    """Whatever their signs: of equals the first comes first. NaN is not at least 0."""
    text = """
input x: f32[6]
input y: f32[6]
both = stack([x, y], 0)
a, b = top_k(x, 6)
c, d = top_k(both, 3)
e = argsort(-x)
f = argsort(both, axis = 1)
g = sort(x)
h = argmax(both, axis = 1)
i = argmin(both, axis = 1)
j = max(both, axis = 1)
k = min(both, axis = 1)
l = cummax(x, axis = 0)
m = 1.0 / a
n = isnan(y) or x == 0.0
o = stack([abs(y) >= 0.0, 0.0 <= exp(y), maximum(y, 1.0) >= zeros([6])], 0)
p = stack([abs(y) >= full([6], -0.0), abs(y) >= sum(zeros([2])), y * y >= 1e-50], 0)
output b, c, d, e, f, g, h, i, j, k, l, m, n, o, p
"""
    x = np.array([0.0, -0.0, 0.0, -0.0, 0.0, -0.0], np.float32)
    y = np.array([-np.inf, np.nan, 1.0, -np.nan, np.inf, np.nan], np.float32)
    found = agreed(text, tmp_path, {}, {"x": x, "y": y}, levels=EVERY)
    np.testing.assert_array_equal(found["b"], range(6))
    np.testing.assert_array_equal(found["d"], [[0, 1, 2], [1, 3, 5]])
    np.testing.assert_array_equal(found["f"], [[0, 1, 2, 3, 4, 5], [0, 2, 4, 1, 3, 5]])
    np.testing.assert_array_equal(found["m"], np.copysign(np.inf, x))  # values keep their signs


def test_powers_are_those_of_ieee_754(tmp_path: Path) -> None:
    exponents = ("0.5", "-0.5", "1.5", "0", "1", "2", "3", "-1", "-2", "2.5", "0.0", "1.0", "-1.0")
    lines = [
        f"y{k} = x ** {e}\nz{k} = x[0] ** {e}\nl{k} = log(x ** {e})"
        for k, e in enumerate(exponents)
    ]
    names = ", ".join(f"y{k}, z{k}, l{k}" for k in range(len(exponents)))
    more = "w = 1.0 / sqrt(x)\nl = log(x ** abs(flip(x, 0)))"
    text = f"input x: f32[7]\n{chr(10).join(lines)}\n{more}\noutput w, l, {names}\n"
    x = np.array([-np.inf, np.inf, np.nan, 0.0, -0.0, -2.0, 2.0], np.float32)
    found = agreed(text, tmp_path, {}, {"x": x}, levels=EVERY)
    for k, e in enumerate(exponents):
        with np.errstate(all="ignore"):
            wanted = np.power(x, np.full(7, float(e), np.float32))
        np.testing.assert_allclose(found[f"y{k}"], wanted, rtol=1e-6, err_msg=e)
        np.testing.assert_allclose(found[f"z{k}"], wanted[0], rtol=1e-6, err_msg=e)


def test_double_precision_within_a_scan_alone(tmp_path: Path) -> None:
    """No tensor of the program is wide: in single precision 1 is lost beside 1e8."""
    text = "dim t < T\ninput w: f32[3]\nh[0] = w\nh[t] = w * f32(sum(f64(h[t-1])))\noutput h\n"
    w = np.array([1e8, 1, -1e8], np.float32)
    results = agreed(text, tmp_path, {"T": 4}, {"w": w}, levels=(2,))
    np.testing.assert_array_equal(results["h"], np.tile(w, (4, 1)))
