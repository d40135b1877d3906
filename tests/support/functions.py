"""Programs that call Python functions: run at all levels and evaluated, with what they called."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import RunError
from tempoc.diagnostics.render import render_all
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.reference import evaluate_given
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.run import run
from tests.support.agree import levels_of


def laid_out(folder: Path, files: Mapping[str, str]) -> Path:
    """Files below a folder; the path of ``main.rt``."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "main.rt"


def agreed(
    path: Path,
    inputs: Mapping[str, Any],
    bounds: Mapping[str, int] | None = None,
    *,
    params: Mapping[str, Any] | None = None,
    paths: tuple[Path, ...] = (),
    log: str = "",
    seed: int = 0,
) -> tuple[dict[str, np.ndarray[Any, Any]], list[Any]]:
    """The outputs by the evaluator, which all levels agree with, and the calls that were made.

    These are the list ``log`` of the module of this name, emptied before each run.
    """
    bounds, params = bounds or {}, params or {}
    given = Given(bounds=bounds, inputs=as_sources(inputs), params=as_sources(params), seed=seed)
    compilation = Compilation.from_path(str(path), Options())
    beside = compilation.loaded.beside
    wanted = evaluate_given(compilation.graph, given, [str(p) for p in paths], beside)
    calls = _emptied(log)
    for level in levels_of(path.read_text()):
        out = path.parent / f"out{level}"
        Compilation.from_path(str(path), Options(level=level, verify_each=True)).write(str(out))
        found = run(out, bounds, inputs, params, extern_path=paths, seed=seed).outputs
        assert list(found) == list(wanted)
        for name, value in wanted.items():
            shown = f"{name} at -O{level}"
            assert found[name].dtype == value.dtype, shown
            np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6, err_msg=shown)
        assert _emptied(log) == calls, f"calls at -O{level}"
    return dict(wanted), calls


def _emptied(module: str) -> list[Any]:
    if not module:
        return []
    log: list[Any] = importlib.import_module(module).log
    calls = list(log)
    log.clear()
    return calls


def refused(
    path: Path,
    inputs: Mapping[str, Any],
    bounds: Mapping[str, int] | None = None,
    paths: tuple[Path, ...] = (),
) -> str:
    """What a run says; the folder of the program is called ``DIR``."""
    Compilation.from_path(str(path), Options()).write(str(path.parent / "out"))
    with pytest.raises(RunError) as error:
        run(path.parent / "out", bounds or {}, inputs, extern_path=paths)
    return render_all(error.value.diagnostics).replace(str(path.parent), "DIR")
