"""What the language says about `grad`, sentence by sentence, against JAX and differences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.reference import caller
from tempoc.runtime.run import run
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.agree import LEVELS, agreed
from tests.support.agreement import agree
from tests.support.elaborated import graph_of
from tests.support.gradients import check

X = np.array([0.3, -0.7, 1.1, 0.4, -0.2], np.float32)
GIVEN = {"x": X, "w": np.float32(0.6)}
HEAD = "dim t < T\ninput x[t]: f32\ninput w: f32\n"


def outputs(text: str, names: str) -> dict[str, np.ndarray]:
    """Outputs by the evaluator at T = 5."""
    graph = graph_of(f"{HEAD}{text}\noutput {names}\n")
    given = {k: v for k, v in GIVEN.items() if k in graph.nodes}
    return evaluate(graph, {"T": 5}, given, {})


def test_the_loss_is_summed_over_its_whole_domain() -> None:
    found = outputs("loss[t] = (x * w) ** 2 * (t + 1)\ng = grad(loss, w)", "g")
    np.testing.assert_allclose(found["g"], sum(2 * 0.6 * X**2 * np.arange(1, 6)), rtol=1e-5)


def test_what_is_differentiated_by_is_independent() -> None:
    """Nothing flows through the equations of the tensor itself, whatever they read."""
    text = """
h[0] = x[0] * w
h[t] = tanh(w * h[t-1]) + x when t >= 1
y = h ** 2 * w
loss = sum(y[t = 0:T]) + h[T-1]
gh = grad(loss, h)
gy = grad(loss, y)
"""
    found = outputs(text, "gh, gy, h")
    direct = 2 * 0.6 * found["h"] + np.array([0, 0, 0, 0, 1])
    np.testing.assert_allclose(found["gh"], direct, rtol=1e-5)
    np.testing.assert_array_equal(found["gy"], np.ones(5))


def test_a_tensor_that_the_loss_does_not_read_has_gradient_zero() -> None:
    found = outputs("loss = sum(x[0:T])\ng = grad(loss, w)\nh = grad(x, x)\nu = x * w\n"
                    "k = grad(loss, u)", "g, h, k")  # fmt: skip
    assert found["g"] == 0.0
    np.testing.assert_array_equal(found["h"], np.ones(5))
    np.testing.assert_array_equal(found["k"], np.zeros(5))


def test_names_fields_records_lists_and_parameters_of_functions() -> None:
    text = """
net = {a: w * 2.0, rest: [w + 1.0, {b: x * w}]}
def slope(loss, p) = grad(loss, p)
def own(v, dim t) {
  err[t] = sum(v * v * x[t])
  return grad(err, v), slope(err, v)
}
loss = net.a ** 2 * net.rest[0] + sum(net.rest[1].b[t = 0:T] ** 3)
all = grad(loss, net)
field = grad(loss, net.a)
part = grad(loss, net.rest[1].b)
given, through = own(net.a, t)
deep = slope(loss, net.rest)[0]
"""
    names = "all, field, part, given, through, deep"
    found = outputs(text, names)
    a, r, b = 1.2, 1.6, X * 0.6
    wanted = {
        "all.a": 2 * a * r, "all.rest.0": a * a, "all.rest.1.b": 15 * b**2, "field": 2 * a * r,
        "part": 15 * b**2, "given": 2 * a * X, "through": 2 * a * X, "deep": a * a,
    }  # fmt: skip
    assert {*found} == {*wanted}  # the whole record, and so the loss, varies with t
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5, err_msg=name)


def test_a_record_of_losses_is_summed() -> None:
    text = "loss[t] = {a: x * w, rest: [x ** 2 * w, 3.0]}\ng = grad(loss, w)"
    np.testing.assert_allclose(outputs(text, "g")["g"], sum(X + X**2), rtol=1e-5)


def test_delayed_reads_count_unless_stopped() -> None:
    text = """
y[t] = x * x[(t // 4) * 4]
z[t] = x * stop_gradient(x[(t // 4) * 4])
gy = grad(y, x)
gz = grad(z, x)
"""
    found = outputs(text, "gy, gz")
    frozen = X[[0, 0, 0, 0, 4]]
    np.testing.assert_allclose(found["gz"], frozen)
    extra = np.array([X[:4].sum(), 0, 0, 0, X[4]])
    np.testing.assert_allclose(found["gy"], frozen + extra, rtol=1e-6)


def test_inputs_params_and_tensors_with_equations() -> None:
    text = """
dim i < I
param p: f32[2] = [0.5, -0.5]
input q: f32[2]
net[0] = p * q
loss[i] = sum((net - q) ** 2)
net[i+1] = net - 0.1 * grad(loss, net)
gp = grad(loss[i = I-1], p)
gq = grad(loss[i = I-1], q)
output gp, gq
""".replace("[0.5, -0.5]", "0.5 * ones([2])")
    p, q = np.array([0.5, 0.5]), np.array([0.3, 2.0])

    def last(p: jax.Array, q: jax.Array) -> jax.Array:
        net = p * q
        for _ in range(3):
            net = net - 0.2 * (net - q)
        return jnp.sum((net - q) ** 2)

    found = evaluate(graph_of(text), {"I": 4}, {"q": q}, {"p": p}, float64=True)
    by_p, by_q = jax.jit(jax.grad(last, (0, 1)))(p, q)
    np.testing.assert_allclose(found["gp"], by_p, rtol=1e-5)
    np.testing.assert_allclose(found["gq"], by_q, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_the_result_has_domain_shape_and_dtype_of_the_tensor(dtype: str, tmp_path: Path) -> None:
    text = f"""dim b < B
dim t < T
input x[b, t]: {dtype}[3]
input w: {dtype}[3]
y = tanh(x * w) @ w + f32(sum(x))
g = grad(f32(y), x)
h = grad(y, w)
output g, h
"""
    kind = ml_dtypes.bfloat16 if dtype == "bf16" else np.float16
    random = np.random.default_rng(0)
    x, w = (random.uniform(-1, 1, shape).astype(kind) for shape in ((2, 4, 3), 3))
    found = agreed(text, tmp_path, {"B": 2, "T": 4}, {"x": x, "w": w}, rtol=0.05, atol=0.05)
    assert found["g"].dtype == found["h"].dtype == kind
    wide = tuple(a.astype(np.float32) for a in (x, w))

    def loss(x: jax.Array, w: jax.Array) -> jax.Array:
        return jnp.sum(jnp.tanh(x * w) @ w) + jnp.sum(x)

    for name, value in zip("gh", jax.jit(jax.grad(loss, (0, 1)))(*wide), strict=True):
        np.testing.assert_allclose(found[name].astype(np.float32), value, rtol=0.05, atol=0.05)


def test_readers_in_single_precision_are_summed_before_they_are_rounded() -> None:
    """Each x would be rounded to 1, their sum is nearer to the next number after 3."""
    text = "dim t < T\ninput x[t]: f32\ninput w: bf16\ng = grad(w * x, w)\noutput g\n"
    x = np.full(3, 1 + 3 / 8 * 2**-7, np.float32)
    found = evaluate(graph_of(text), {"T": 3}, {"x": x, "w": ml_dtypes.bfloat16(1)}, {})
    assert found["g"] == 3 + 2**-6


def test_what_the_program_rounds_is_a_gradient_as_it_is_rounded() -> None:
    """The cotangent of a factor is the other one: neither that nor its cotangent is left out."""
    text = "z = bf16(x)\nv = bf16(w)\ng = grad(v * z, v)\nh = grad(g, z)"
    found = outputs(text, "z, g, h")
    assert found["g"] == found["z"].astype(np.float32).sum().astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(found["h"].astype(np.float32), np.ones(5))


BRANCHES = """dim t < T
input x[t]: f32
input w: f32
h[0] = x[0] * w
h[t] = h[t-1] * x when t % 3 == 1
h[t] = h[t-2] + w * h[t-1] when t >= 2 and t % 3 == 2
h[T-1] = sin(h[T-2])
h[t] = (h[t-1] if t < 4 else h[t-3] * h[t-1]) + x[T-1-t]
loss = sum(h[0:T] ** 2)
"""


def test_branching_definitions() -> None:
    check(BRANCHES, ["x", "w"], bounds=[{"T": n} for n in (1, 2, 7, 9)])


ZERO = """dim t < T
extern host act(x: f32) -> (y: f32, n: i32) from "MODULE:act"
input x[t]: f32
input logits: f32[4]
y, n = act(x)
k = argmax(logits)
c = random.categorical(logits)
whole = i32(x * 10.0)
near = floor(x) + round(x) + ceil(x) + sign(x) + f32(x > 0.0) + f32(argsort(x[0:T])[0])
loss[t] = y * f32(n) + f32(k + c + whole) + near + sum(one_hot(k, 4)) * f32(any(logits > 0.0))
g = grad(loss, x)
h = grad(loss, logits)
mixed = grad(loss * x, x)
output loss, g, h, mixed
"""


def test_what_is_constant_nearly_everywhere_has_gradient_zero(tmp_path: Path) -> None:
    path = tmp_path / "m.rt"
    path.write_text(ZERO.replace("MODULE", "ext_flat"))
    (tmp_path / "ext_flat.py").write_text("def act(x):\n    return x * x, int(x > 0)\n")
    inputs = {"x": X, "logits": np.array([0.1, 0.5, -0.2, 0.3], np.float32)}
    graph = Compilation.from_path(str(path), Options()).graph
    externs = caller(graph, {"T": 5}, [str(tmp_path)])
    results = [evaluate(graph, {"T": 5}, inputs, {}, externs=externs)]
    for level in LEVELS:
        out = tmp_path / f"out{level}"
        Compilation.from_path(str(path), Options(level=level, verify_each=True)).write(str(out))
        results.append(run(out, {"T": 5}, inputs).outputs)
    for found in results:
        np.testing.assert_array_equal(found["g"], np.zeros(5))
        np.testing.assert_array_equal(found["h"], np.zeros(4))
        np.testing.assert_allclose(found["mixed"], found["loss"], rtol=1e-6)


RISKY: dict[str, tuple[str, Callable[[jax.Array], jax.Array]]] = {
    "norm": ("sqrt(sum(x[0:T] ** 2))", lambda x: jnp.sqrt(jnp.sum(x**2))),
    "softmax": ("(exp(x[0:T] - logsumexp(x[0:T])))[0]", lambda x: jax.nn.softmax(x)[0]),
    "power": ("sum(abs(x[0:T]) ** 1.5)", lambda x: jnp.sum(jnp.abs(x) ** 1.5)),
    "ratio": ("prod(x[0:T]) / (1.0 + x[0] ** 2)", lambda x: jnp.prod(x) / (1 + x[0] ** 2)),
}


@pytest.mark.parametrize("name", RISKY)
def test_hessians_agree_with_jax(name: str) -> None:
    text, function = RISKY[name]
    rows = f"loss = {text}\ng = grad(loss, x)\nrow[t] = g[t]\n"
    found = outputs(rows + "h = grad(sum(g[0:T] * sin(1.0 + arange(T))), x)", "g, h")
    x = jnp.array(X)
    np.testing.assert_allclose(found["g"], jax.jit(jax.grad(function))(x), rtol=1e-4, atol=1e-5)
    hessian = jax.hessian(function)(x) @ np.sin(1.0 + np.arange(5))
    np.testing.assert_allclose(found["h"], hessian, rtol=1e-3, atol=1e-4)


def test_an_extreme_element_is_found_however_it_is_rounded() -> None:
    """XLA computes `x` anew for each reader, here in one of them without fused multiply-add."""
    text = """
dim t < T
input a[t]: f32[1, 7]
input b[t]: f32[1, 7]
x = tanh(a) * b + a
high = sum(max(x, axis = 1))
g = grad(high, a)
c = tanh(b) * a + b
low = min(c, axis = [0, 1])
h = grad(low, b)
output g, h
"""
    agree(text, {"T": 100})


def test_greatest_elements_so_far_of_slices_that_may_be_empty() -> None:
    """Of nothing there is no first element; of equal infinities so far all have a share."""
    text = """
dim t < T
input x[t]: f32
y[t] = sum(cummax(x[0:t], axis = 0) * (t + 1))
z[t] = sum(cummax(-x[t+1:T] * inf, axis = 0, reverse = true) > 0.0)
low[t] = sum(cummax(where(x[0:t] > 9.0, x[0:t], -inf), axis = 0))
loss[t] = y + f32(z)
g = grad(loss, x)
k = grad(low, x)
output g, k
"""
    agree(text, {"T": 1}, {"T": 5}, levels=(0, 2))
