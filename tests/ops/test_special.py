"""Every elementwise operator, reduction and search of special numbers: kernels and evaluator agree.

All operators of a dtype share a compilation at -O2. Which zero results is not compared, nor are
numbers that are too small to be normal, see `grammar/README.md`.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.run import Settings, run_given
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.agreement import compile_text
from tests.support.elaborated import graph_of
from tests.support.session.long import sampled

_NONE = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5)
SPECIAL = {
    "f32": np.array([*_NONE, 3, 3e38, -3e38, 2**31, 1e10, 16777217], np.float32),
    "f64": np.array([*_NONE, 1e308, 2.0**63, -(2.0**63)], np.float64),
    "bf16": np.array([*_NONE, 3e38, 256, 257, 60], ml_dtypes.bfloat16),
    "i32": np.array([0, 1, -1, 2, -2, 3, -7, 31, 64, 46341, 2**31 - 1, -(2**31)], np.int32),
    "u32": np.array([0, 1, 2, 3, 5, 31, 32, 33, 64, 65535, 2**31, 2**32 - 1], np.uint32),
    "i64": np.array([0, 1, -1, 2, -3, 2**63 - 1, -(2**63), 2**31, 64], np.int64),
    "bool": np.array([True, False]),
}
FEW = ("f32", "bf16", "i32", "u32")
UNARY = (
    "abs", "sign", "exp", "exp2", "log", "log1p", "expm1", "sqrt", "rsqrt", "tanh", "sigmoid",
    "relu", "gelu", "silu", "softplus", "erf", "floor", "ceil", "round", "isnan", "isinf", "bool",
    "i32", "u32", "bf16", "f16", "f32",
)  # fmt: skip
PAIRS = (
    "p + q", "p - q", "p * q", "p / q", "p // q", "p % q", "p ** q", "minimum(p, q)", "p < q",
    "maximum(p, q)", "clip(p, q, 2 * q)", "p <= q", "p == q", "p != q", "where(p < q, p, q)",
)  # fmt: skip
NUMBERS = ("-1", "-2", "2", "3", "0.5", "inf")
WITH_NUMBERS = (
    "x * {n}", "x / {n}", "x // {n}", "x % {n}", "x ** {n}", "{n} // x", "{n} % x", "x > {n}",
    "clip(x, {n}, 2)", "maximum(x, {n})", "({n}) ** x",
)  # fmt: skip
ALONG = (
    "prod", "max", "min", "argmax", "argmin", "logsumexp", "cumprod", "cummax", "sort", "argsort",
    "any", "all",
)  # fmt: skip


def expressions(dtype: str, head: str) -> list[str]:
    """What the dtype has of all these."""
    tried = [*(f"{f}(x)" for f in UNARY), "-x", "not x", *PAIRS]
    tried += [e.format(n=n) for e in WITH_NUMBERS for n in NUMBERS]
    tried += [*(f"{f}(x, axis = 0)" for f in ALONG), "top_k(x, 5)[0]", "top_k(x, 5)[1]"]
    return [e for e in tried if is_fine(f"{head}y = {e}\noutput y\n")]


def is_fine(text: str) -> bool:
    try:
        graph_of(text)
    except DiagnosticError:
        return False
    return True


@pytest.mark.parametrize("dtype", sampled(SPECIAL, "all dtypes", keep=FEW.__contains__))
def test_special_numbers(dtype: str) -> None:
    x = SPECIAL[dtype]
    inputs = {"x": x, "p": np.repeat(x, len(x)), "q": np.tile(x, len(x))}
    head = "".join(f"input {n}: {dtype}[{len(v)}]\n" for n, v in inputs.items())
    every = expressions(dtype, head)
    names = [f"y{k}" for k in range(len(every))]
    lines = [f"{name} = {e}" for name, e in zip(names, every, strict=True)]
    graph, loaded = compile_text("\n".join([head, *lines, f"output {', '.join(names)}\n"]), 2)
    given = Given(bounds={}, inputs=as_sources(inputs), params={})
    found = run_given(loaded, given, Settings()).outputs
    wanted = evaluate(graph, {}, inputs, {})
    assert len(every) > 80
    for name, expression in zip(names, every, strict=True):
        same(np.asarray(found[name]), wanted[name], f"{expression} in {dtype}")


def same(a: np.ndarray, b: np.ndarray, where: str) -> None:
    assert a.dtype == b.dtype, where
    if a.dtype.kind in "iub":
        np.testing.assert_array_equal(a, b, err_msg=where)
    else:
        rtol = {2: 2e-2, 4: 1e-5, 8: 1e-12}[a.dtype.itemsize]
        a, b = a.astype(np.float64), b.astype(np.float64)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-37, err_msg=where)
