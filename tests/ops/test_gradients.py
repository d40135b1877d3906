"""Derivative rules against differences, one operator each, and the conventions of JAX at ties."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tempoc.ops.catalog import OPS
from tempoc.ops.gradients.table import RULES
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.elaborated import graph_of
from tests.support.gradients import check, precise

UNARY = (
    "abs", "exp", "exp2", "expm1", "sin", "cos", "tan", "tanh", "sigmoid", "relu", "gelu", "silu",
    "softplus", "erf", "floor", "sign", "f64", "bf16",
)  # fmt: skip
POSITIVE = ("log", "log1p", "sqrt", "rsqrt")
EXPRESSIONS = {
    "add": "a + b[0]", "sub": "b - a", "mul": "a * b", "div": "a / b", "mod": "a % (b * b)",
    "power": "abs(a) ** b", "square": "a ** 2", "cube": "a ** 3", "inverse": "a ** -1",
    "constant_base": "2.0 ** a", "one": "a ** 1", "floordiv": "a // b + a",
    "minimum": "minimum(a, b)", "maximum": "maximum(a, 0.5)", "clip": "clip(a, -0.5, b)",
    "where": "where(a > b, a * a, b)",
    "cond": "cond(a[0, 0] > b[0, 0], a * b[0], sin(b)) + cond(a[0, 0] < b[0, 0], a * a, b)",
    "neg": "-a", "integers": "a * n[0] + n[1]",
    "sum": "sum(a, axis = 0)", "sum_keep": "sum(a, axis = 1, keepdims = true) * b",
    "mean": "mean(a, axis = [0, 1]) + 0. * a", "prod": "prod(a, axis = 1)", "prod_all": "prod(a)",
    "max": "max(a, axis = 0)", "min": "min(a)", "logsumexp": "logsumexp(a, axis = 1)",
    "var": "var(a, axis = 0)", "var_all": "var(a)",
    "cumsum": "cumsum(a, axis = 1)", "cumsum_reverse": "cumsum(a, axis = 0, reverse = true)",
    "cumprod": "cumprod(a, axis = 0)", "cumprod_reverse": "cumprod(a, axis = 1, reverse = true)",
    "cummax": "cummax(a, axis = 1)", "cummax_reverse": "cummax(a, axis = 0, reverse = true)",
    "transpose": "transpose(q, [2, 0, 1])", "T": "a.T", "expand": "expand_dims(a, 1) * b[:2]",
    "squeeze": "squeeze(a[:, 0:1], 1)", "broadcast": "broadcast_to(a[0], [4, 3])",
    "pad": "pad(a, [[1, 0], [0, 2]]) ** 2", "flip": "flip(a, 1)", "reshape": "reshape(a, [3, 2])",
    "concat": "concat([a, b, a], 1)", "stack": "stack([a, b], 1)",
    "split": "split(q, 2, 2)[1] * 2.", "splits": "split(q, 2, 2)[1] * split(q, 2, 2)[0]",
    "getitem": "a[1]", "slice": "a[:, 1:]", "step": "q[:, 0, 0:4:2]", "back": "q[1, :, 3:0:-2]",
    "gather": "a[:, n]", "gather_point": "q[1, :, n]", "gather_far": "q[1, :, :][n - 2]",
    "take": "take(a, n, 1)", "take_matrix": "take(a, stack([n, n], 0), 1)",
    "take_along": "take_along(a, stack([n, n], 0) - 1, 1)", "sort": "sort(a, axis = 1)",
    "sort_first": "sort(q, axis = 1)", "top_k": "top_k(a, 2)[0]",
    "segment_sum": "segment_sum(a, n[:2], 4)", "segment_max": "segment_max(a.T, n, 3)[n]",
    "put": "put(a, n[0], b[1])",
    "put_far": "put(put(a, -1, b[0, 0], axis = 1), n[1] - 2, 2. * b[0])",
    "segment_min": "segment_min(reshape(a, [6]), concat([n, 1 - n], 0), 3)[n]",
    "matmul": "a @ b.T", "vector": "a @ b[0]", "vector2": "b[0] @ a.T", "dot": "a[0] @ b[1]",
    "batch": "q @ q[0].T", "batch2": "q @ transpose(q, [0, 2, 1])",
    "batch_vector": "q[:, 0] @ q[0].T", "einsum": 'einsum("ij,kj->ik", a, b)',
    "trace": 'einsum("ii", a @ b.T)',
    "diagonal": 'einsum("ii->i", a @ b.T)', "ellipsis": 'einsum("...ij->...", q)',
    "row": 'einsum("ij->i", a)', "three": 'einsum("ij,kj,lk->il", a, b, a[:, :2])',
    "cholesky": "cholesky(a.T @ a + b.T @ b + 2. * eye(3))",
    "cholesky_lopsided": "cholesky(0.1 * a[:, :2] + 2. * eye(2))",
    "cholesky_batch": "cholesky(q @ transpose(q, [0, 2, 1]) + eye(2))",
    "solve": "solve(a[:, :2] + 2. * eye(2), b)", "solve_vector": "solve(q[0, :, :2], a[:, 0])",
    "solve_batch": "solve(q[:, :, :2] + 2. * eye(2), a)",
    "solve_one": "solve(a[:, :2] + 2. * eye(2), q)",
    "solve_vectors": "solve(q[:, :, :2] + 2. * eye(2), a[:, 0])",
    "upper": "triangular_solve(a.T @ b + 3. * eye(3), b.T)",
    "lower": "triangular_solve(q[:, :, 1:3] + 2. * eye(2), a[:, 0], lower = true)",
    "inverse_matrix": "inverse(a[:, 1:] + 2. * eye(2))", "det": "det(q[:, :, :2] + eye(2))",
    "logdet": "logdet(a[:, :2] - 3. * eye(2))", "det_of_one": "det(a[:1, :1])",
    "fft": "fft(reshape(q, [2, 4, 2]))", "ifft": "ifft(reshape(a, [3, 2])) * b.T",
    "rfft": "rfft(q)", "rfft_odd": "rfft(a)", "irfft": "irfft(reshape(a, [3, 2]))",
    "irfft_odd": "irfft(reshape(a, [3, 2]), 5) ** 2",
    "conv": "conv(q, w)", "conv_same": 'conv(q, w, padding = "same")',
    "conv_stride": 'conv(expand_dims(q, 2), w2, stride = 2, padding = "same")',
    "conv_step": "conv(q, w, stride = 2)",
    "conv_apart": 'conv(transpose(q, [0, 2, 1]), w[:, :2], rhs_dilation = 2, padding = "same")',
    "conv_groups": "conv(q, w[:, :2, :2], feature_group_count = 2)",
    "conv_each": 'conv(q, w2[:, 0], padding = "same", feature_group_count = 1)',
    "conv_depth": "conv(q, reshape(w2, [2, 1, 8]), feature_group_count = 4)",
    "conv_transpose": "conv_transpose(q, w, stride = 2)",
    "conv_transpose_same": 'conv_transpose(q, w, stride = 3, padding = "same")',
}  # fmt: skip
HEAD = """
input a: f32[2, 3]
input b: f32[2, 3]
input q: f32[2, 2, 4]
input w: f32[2, 4, 3]
input w2: f32[2, 1, 4, 2]
input n: i32[3]
"""


def program(expression: str) -> str:
    """A loss in which every element of the result counts differently."""
    lines = (f"y = {expression}", "flat = reshape(y, [-1])")
    loss = "loss = sum(flat * sin(1.0 + arange(size(flat, 0))))"
    return "\n".join((HEAD, *lines, loss))


def names(expression: str) -> list[str]:
    return [x for x in ("a", "b", "q", "w", "w2") if re.search(rf"\b{x}\b", expression)]


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_rule_agrees_with_differences(name: str) -> None:
    expression = EXPRESSIONS[name]
    check(program(expression), names(expression))


@pytest.mark.parametrize("name", UNARY)
def test_a_function_of_one_number(name: str) -> None:
    check(program(f"{name}(a)"), ["a"])


@pytest.mark.parametrize("name", POSITIVE)
def test_a_function_of_a_positive_number(name: str) -> None:
    check(program(f"{name}(a * a)"), ["a"])


# Operators that passes make of others after derivatives have been taken, and the sum of branches.
LATE = (
    *("cumlogsumexp", "window", "recurrence", "after", "with_checks", "merge", "unpacked_product"),
    *("attention", "dispatched"),
)


def test_every_operator_has_a_rule_or_is_flat() -> None:
    flat = {name for name, operator in OPS.items() if not operator.differentiable}
    ruled = {operator.name for operator in RULES}
    assert not flat & ruled
    assert flat | ruled | {*LATE} == {*OPS}


TIES = {
    "maximum(x, 1.0)": lambda x: jnp.maximum(x, 1.0),
    "minimum(x, 1.0)": lambda x: jnp.minimum(x, 1.0),
    "clip(x, 0.0, 1.0)": lambda x: jnp.clip(x, 0.0, 1.0),
    "relu(x)": jax.nn.relu,
    "abs(x)": jnp.abs,
    "max(x)": jnp.max,
    "segment_max(x, i32(arange(5)) * 0, 1)": lambda x: jax.ops.segment_max(x, jnp.zeros(5, int), 1),
    "min(x)": jnp.min,
    "prod(x)": jnp.prod,
    "cumprod(x)": jnp.cumprod,
    "x ** 2": lambda x: x**2,
    "sort(x)": jnp.sort,
    "logsumexp(x)": jax.nn.logsumexp,
}


@pytest.mark.parametrize("expression", TIES)
def test_ties_and_kinks_are_as_in_jax(expression: str) -> None:
    x = np.array([0.0, 1.0, 1.0, 0.5, 0.0], np.float32)
    graph = graph_of(f"input x: f32[5]\nloss = sum({expression})\ng = grad(loss, x)\noutput g\n")
    found = evaluate(graph, {}, {"x": x}, {})["g"]
    function = TIES[expression]
    expected = jax.grad(lambda v: jnp.sum(function(v)))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


EXTREME = [
    0.0, 1e-6, -1e-6, 1e-3, -1e-3, 0.1, -0.1, 1.0, -1.0, 1.2785, 2.0, -2.0, 3.0, -3.0, 4.0, -4.0,
    5.0, -5.0, 7.0, -7.0, 10.0, -10.0, 20.0, -20.0, 80.0, -80.0, 1e4, -1e4, 1e5, -1e5, 1e10, -1e10,
]  # fmt: skip
SMOOTH = {
    "silu": jax.nn.silu, "gelu": lambda x: jax.nn.gelu(x, approximate=False), "exp2": jnp.exp2,
    "softplus": jax.nn.softplus, "erf": jax.scipy.special.erf, "exp": jnp.exp, "relu": jax.nn.relu,
    "expm1": jnp.expm1, "abs": jnp.abs, "tanh": jnp.tanh, "sigmoid": jax.nn.sigmoid,
}  # fmt: skip
ULP = 1.2e-7
"""The slope of a function that is computed from its value is as good as that, no better."""


def test_slopes_are_precise_for_extreme_numbers() -> None:
    x = np.array(EXTREME)
    by_value = ("tanh", "sigmoid")
    losses = [f"sum({name}(x))" for name in SMOOTH if name not in by_value]
    losses += [f"sum({name}(abs(x) + 1e-6))" for name in ("sqrt", "rsqrt", "log1p", "log")]
    losses += ["sum((x * x) ** 1.5)", "sum(2.0 ** minimum(x, 99.0))", "sum(clip(x, -1.0, 2.0))"]
    found = [*precise(losses, x, rtol=3e-5, atol=1e-37)]
    found += precise([f"sum({name}(x))" for name in by_value], x, rtol=1e-6, atol=4 * ULP)
    with jax.enable_x64(True):
        for name, function in SMOOTH.items():
            wanted = jax.vmap(jax.grad(function))(jnp.asarray(x.astype(np.float32), jnp.float64))
            gradient = dict(found)[f"sum({name}(x))"]
            np.testing.assert_allclose(gradient, wanted, rtol=1e-9, atol=1e-15, err_msg=name)


ROWS = [
    [100000.1, 100000.7, 99999.0, 99998.5], [1e5, -1e5, 0.0, 1.0], [-1e4, -9999.0, -9998.0, 3.0],
    [1.0, 1.0, 0.5, 1.0], [1e-6, 2e-6, -1e-6, 0.0], [0.3, 0.3, 0.3, 0.3], [-np.inf, 1.0, 2.0, 0.5],
    [3e38, 1.0, -3e38, 2.0],
]  # fmt: skip


def test_a_softmax_that_sums_to_one_whatever_is_added() -> None:
    x, weight = np.array(ROWS), "(0.3 + 0.5 * arange(4))"
    losses = [
        "sum(logsumexp(x, axis = 1))", "sum(logsumexp(x))",
        f"sum({weight} * logsumexp(x, axis = 0))",
        f"sum(nn.softmax(x) * {weight})", "-sum(nn.log_softmax(x)[:, 1])",
        "sum(logsumexp(concat([x, x[:, :1]], axis = 1), axis = 1, keepdims = true))",
    ]  # fmt: skip
    found = dict(precise(losses, x, rtol=1e-5, atol=4 * ULP))
    np.testing.assert_allclose(np.sum(found[losses[0]], axis=1), 1.0, rtol=1e-6)
    with jax.enable_x64(True):
        rows = jnp.asarray(x.astype(np.float32), jnp.float64)
        wanted = jax.grad(lambda v: jnp.sum(jax.nn.logsumexp(v, axis=1)))(rows)
    np.testing.assert_allclose(found[losses[0]], wanted, rtol=1e-9, atol=1e-15)


def test_rows_with_zeros_and_ties() -> None:
    x = np.array([[0, 2, 0, -1], [0, 2, 3, -1], [1, 1, 0.5, 1], [1e-6, 3, 1e4, -1e4], [0, 0, 0, 0]])
    losses = [
        f"sum({e} * cos(0.5 + arange(size({e}, 0))))"
        for e in ("prod(x, axis = 1)", "max(x, axis = 1)", "min(x, axis = 1)", "mean(x, axis = 1)")
    ]
    losses += [f"sum({f}(x, axis = 1) * x)" for f in ("cumprod", "cumsum", "cummax")]
    losses += ["sum(nn.rms_norm(x, ones([4])) * arange(4))", "sum(sqrt(var(x, axis = 1) + 1e-5))"]
    losses += ["sum(nn.layer_norm(x, ones([4]), zeros([4])) * arange(4))"]
    found = [*precise(losses, x, rtol=2e-5, atol=1e-4)]
    assert all(np.isfinite(gradient).all() for _, gradient in found)


def test_an_infinite_cotangent_stays_where_it_belongs() -> None:
    """Elements that are not the greatest have nothing of it."""
    x = np.array([0.0, -1.0, -2.0])
    ((_, gradient), (_, so_far)) = precise(["sqrt(max(x))", "sum(sqrt(cummax(x)))"], x)
    np.testing.assert_array_equal(gradient, [np.inf, 0.0, 0.0])
    np.testing.assert_array_equal(so_far, [np.inf, 0.0, 0.0])


def test_the_slope_of_a_remainder_is_that_of_its_result() -> None:
    """0.3 / 0.1 rounds to 3, but 0.3 is 2 times 0.1 and nearly 0.1 more."""
    text = "input a: f32\ninput b: f32\nloss = a % b\ng = grad(loss, b)\noutput loss, g\n"
    for a, b in ((0.3, 0.1), (-0.3, 0.1), (0.7, 0.1), (5.5, -2.0), (1.0, 0.2), (0.6, 0.2)):
        a, b = np.float32(a), np.float32(b)
        found = evaluate(graph_of(text), {}, {"a": a, "b": b}, {})
        np.testing.assert_allclose(found["loss"], a + found["g"] * b, atol=1e-6)
