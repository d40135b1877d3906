"""Precision: what a program was compiled for, or a run asks for, is what kernels get."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.program.nodes.precision import PRECISIONS
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.load.load import load
from tempoc.runtime.run import Settings, run_given

PRODUCT = """
dim t < T
input x[t]: f32[4]
param w: f32[4, 4]
y[0] = x[0]
y[t] = tanh(w @ y[t-1]) + x[t] when t >= 1
output y
"""


def compiled(folder: Path, options: Options) -> str:
    directory = str(folder / "out")
    Compilation(load_source(Source("m.rt", PRODUCT)), options).write(directory)
    return directory


def seen(directory: str, wanted: str | None) -> set[str]:
    """The precisions of all products in the kernels that a run compiles."""
    loaded = load(directory)
    found: set[str] = set()

    def watched(function: Any) -> Any:
        def kernel(*arrays: Any, **static: Any) -> Any:
            text = str(jax.make_jaxpr(lambda *a: function(*a, **static))(*arrays))
            found.update(name.lower() for name in re.findall(r"Precision\.(\w+)", text))
            return function(*arrays, **static)

        return kernel

    inputs = {"x": np.ones((3, 4), np.float32)}
    params = {"w": np.eye(4, dtype=np.float32)}
    given = Given(bounds={}, inputs=as_sources(inputs), params=as_sources(params))
    functions = tuple(map(watched, loaded.functions))
    loaded = replace(loaded, functions=functions, known={}, compiled={})
    run_given(loaded, given, Settings(precision=wanted))
    return found


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_compiled_for(precision: str, level: int, tmp_path: Path) -> None:
    options = Options(level=level, precision=precision)
    assert Options.from_provenance(options.to_provenance()) == options
    directory = compiled(tmp_path, options)
    assert seen(directory, None) == {precision}
    assert seen(directory, "high") == {"high"}


def test_float32_is_the_default(tmp_path: Path) -> None:
    assert "precision" not in Options().to_provenance()
    assert seen(compiled(tmp_path, Options()), None) == {"highest"}
