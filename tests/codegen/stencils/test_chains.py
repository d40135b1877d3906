"""What a stencil makes and another one reads is computed once, not for each place that reads it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tempoc.codegen.kernels.stencil_chains import COMPUTED_FIRST
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.runtime.rewriting.lengths.kernels import common_form, traced, with_rows
from tempoc.runtime.rewriting.lengths.sizes import Probes
from tests.support.agreement import agree

HEAD = """\
dim t < T
dim b < B
input x[b]: f32[9]
def near(u) = pad(u, [[1, 0]])[0:9] + pad(u, [[0, 1]])[1:10]
def step(u) = u + 0.1 * (near(u) - 2.0 * u)
def turned(u) = concat([u[1:9], u[0:1]])
def halves(u) = concat([u[0:4] * u[4:8], u[0:4] + u[4:8], u[8:9]])
u[0, b] = x
"""
FIRST = "computed_first("


def program(step: str) -> str:
    return f"{HEAD}u[t+1, b] = {step}\noutput u[T-1, 0:B] as y\n"


def kernels(text: str) -> str:
    return Compilation(load_source(Source("m.rt", text)), Options()).emitted.kernels


@pytest.mark.parametrize(
    ("step", "count"),
    [
        ("step(step(step(u)))", 2),
        ("step(u) * near(step(u))", 1),
        ("near(sin(step(u)))", 1),
        ("near(cumsum(step(u)))", 0),
        ("step(u)", 0),
        ("near(turned(u))", 0),
        ("halves(halves(u))", 0),
        ("halves(step(u))", 0),
        ("step(sin(u))", 0),
    ],
)
def test_stencils_of_stencils(step: str, count: int) -> None:
    text = kernels(program(step))
    body = text.partition("def u_1(")[2].partition("\ndef ")[0]
    assert body.count(FIRST) == count
    assert (f"def {FIRST}" in text) == (count > 0)


def test_they_compute_the_same() -> None:
    agree(program("step(step(step(u))) * near(step(u))"), {"T": 1, "B": 1}, {"T": 4, "B": 3})


SCOPE: dict[str, Any] = {"jax": jax, "jnp": jnp, "lax": lax}
exec(COMPUTED_FIRST, SCOPE)


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="only XLA for CPUs does that")
def test_xla_does_not_inline_them_for_one_length_or_many() -> None:
    def chain(n: int, x: Any) -> Any:
        for _ in range(3):
            x = SCOPE["computed_first"](x[1:] * x[:-1] + 1.0)
        return x.sum()

    def data(n: int) -> list[Any]:
        return [np.arange(n, dtype=np.float32)]

    traces = [traced(lambda x, n=n: chain(n, x), data(n)) for n in (6, 9)]
    form = common_form(traces, Probes((6,), (9,)))
    padded = with_rows(form, traces[0].results, (12,), chain)
    lengths = np.array([6], np.int32)
    for function, given in ((lambda x: chain(6, x), data(6)), (padded, [*data(12), lengths])):
        text = jax.jit(function).lower(*given).compile().as_text()
        assert text is not None and text.count(" call(") == 3
