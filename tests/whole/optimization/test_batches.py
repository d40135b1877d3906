"""Kernels that compute some points at a time, where all of them would take too much memory."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tempoc.base.cost_model import MODEL
from tempoc.codegen.kernels import vmap_batches as batches
from tempoc.codegen.program.assemble import EmittedProgram, assemble
from tempoc.diagnostics.source import Source
from tempoc.driver import compilation
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tests.support.agreement import agree
from tests.support.session.long import sampled
from tests.whole.optimization.test_vectorize import PROGRAMS

ATTENTION = """dim t < T
input q[t]: f32[8]
input k[t]: f32[8]
s = exp(-sum(abs(k[0:t+1] - q), axis = 1))
a = s / sum(s)
y = sum(a * a)
output y
"""


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """All kernels say what a point takes, and batches have but a few bytes."""
    monkeypatch.setattr(batches, "MODEL", MODEL._replace(batched_excess=-1))

    def small(*parts: Any, batch: int, blocks: bool) -> EmittedProgram:
        return assemble(*parts, batch=min(batch, 24), blocks=blocks)

    monkeypatch.setattr(compilation, "assemble", small)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("name", sampled(PROGRAMS, "more programs", of=2))
def test_batches_compute_the_same(name: str) -> None:
    text = f"dim b < B\ndim t < T\n{PROGRAMS[name]}"
    assert "in_batches(" in kernels(text)
    agree(text, {"B": 1, "T": 1}, {"B": 5, "T": 8})


def kernels(text: str) -> str:
    return Compilation(load_source(Source("m.rt", text)), Options()).emitted.kernels


def test_a_point_says_what_it_takes() -> None:
    found = Compilation(load_source(Source("m.rt", ATTENTION)), Options())
    assert re.search(r"in_batches\(point, 32\*T\)", found.emitted.kernels)
    said = [r for r in found.remarks if r.step == "vectorize" and "MiB" in r.message]
    assert len(said) == 1 and said[0].span is not None and "at most 64 MiB" in said[0].message


@pytest.mark.parametrize("part", ["k[0:t+1]", "k[t:T]"])
def test_what_a_product_takes_whole_is_no_copy(part: str) -> None:
    text = ATTENTION.replace("-sum(abs(k[0:t+1] - q), axis = 1)", f"{part} @ q")
    assert "in_batches" not in kernels(text)


def test_the_limit_is_an_option() -> None:
    passes = "canonicalize,vectorize{batch=16},fuse"
    found = Compilation(load_source(Source("m.rt", ATTENTION)), Options(passes=passes))
    assert "LIMIT" not in found.emitted.kernels and "16 * 2**20" in found.emitted.kernels


def test_what_is_in_stores_anyway_is_computed_at_once() -> None:
    found = kernels("dim t < T\ninput x[t]: f32[64]\ny = tanh(x) * 2.0\noutput y\n")
    assert "jax.vmap(point)" in found and "in_batches" not in found
