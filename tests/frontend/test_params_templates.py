"""Names of weights in files: what a template mentions is picked, the rest are leading axes."""

import numpy as np
import pytest

from tempoc.codegen.program.signature import signature
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.runtime.data.bindings import Given, bind
from tempoc.runtime.data.dense import dense_params
from tempoc.runtime.data.source import as_sources

TEXT = """
dim t < T
dim b < B
param v[t, b]: f32[2] from "v.{t}"
param u[t, b]: f32[2] from "u.{b}"
param w[t, b]: f32[2] from "all"
output v, u, w
"""


def test_dimensions_that_a_template_leaves_out_are_leading_axes() -> None:
    program = signature(Compilation(load_source(Source("m.rt", TEXT)), Options()).graph)
    v, u, w = np.random.default_rng(0).normal(size=(3, 4, 3, 2)).astype(np.float32)
    tensors = {f"v.{t}": v[t] for t in range(4)} | {f"u.{b}": u[:, b] for b in range(3)}
    given = Given(bounds={}, inputs={}, params=as_sources(tensors | {"all": w}))
    bindings = bind(program, given)
    found = dense_params(program, bindings)
    assert dict(bindings.bounds) == {"T": 4, "B": 3}
    for name, want in (("v", v), ("u", u), ("w", w)):
        np.testing.assert_array_equal(found[name], want)


@pytest.mark.parametrize(("big", "names"), [("true", ["wide"]), ("false", ["narrow"])])
def test_what_no_equation_reads_need_not_be_given(big: str, names: list[str]) -> None:
    text = f"const big = {big}\nparam wide: f32[2]\nparam narrow: f32[1]\n"
    text += "y = wide if big else narrow\noutput y"
    program = signature(Compilation(load_source(Source("m.rt", text)), Options()).graph)
    assert [param.name for param in program.params] == names
