"""Programs compiled at all levels, run, and compared with the reference evaluator."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.runtime.run import run
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.elaborated import graph_of
from tests.support.session.kernels import lengths_in_share
from tests.support.session.long import in_share

LEVELS = (1, 2)
"""Without optimization and with it. At -O0 each operator is a kernel, which takes XLA long: that is
for programs about sentences of the language and for generated ones.
"""
PLAIN = 24
"""Of so many programs `make test` runs one without optimization as well."""


def levels_of(text: str) -> tuple[int, ...]:
    """Those to try a program at, which is optimized in any case."""
    return LEVELS if in_share(text, PLAIN) else (2,)


def compiled(text: str, folder: Path, level: int = 2) -> str:
    """The directory of a compiled program, every stage verified."""
    out = str(folder / f"out{level}")
    compilation(text, level).write(out)
    return out


@lru_cache(maxsize=64)
def compilation(text: str, level: int) -> Compilation:
    """The same for all bounds at which a test runs a program."""
    return Compilation(load_source(Source("m.rt", text)), Options(level=level, verify_each=True))


def agreed(
    text: str,
    folder: Path,
    bounds: Mapping[str, int] | None = None,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    *,
    levels: tuple[int, ...] | None = None,
    rtol: float = 1e-4,
    atol: float = 1e-5,
) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
    """The outputs by the reference evaluator; every level computes the same.

    By default these are the ``levels_of`` the program.
    """
    bounds, inputs, params = bounds or {}, inputs or {}, params or {}
    wanted = evaluate(graph_of(text), bounds, inputs, params)
    for level in levels_of(text) if levels is None else levels:
        out = compiled(text, folder, level)
        with lengths_in_share(text):
            found = run(out, bounds, inputs, params).outputs
        assert list(found) == list(wanted)
        for name, value in wanted.items():
            shown = f"{name} at -O{level}"
            np.testing.assert_allclose(found[name], value, rtol=rtol, atol=atol, err_msg=shown)
    return wanted
