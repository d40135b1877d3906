"""Programs as text, elaborated, verified and evaluated by the reference evaluator."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from tempoc.diagnostics.diagnostic import Diagnostic, DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.verification.verify import verify
from tests.support.session.stages import is_patched


def graph_of(text: str, defines: Mapping[str, str] | None = None) -> Graph:
    """The verified graph of a program."""
    given = tuple((defines or {}).items())
    return (_graph.__wrapped__ if is_patched() else _graph)(text, given)


@lru_cache(maxsize=64)
def _graph(text: str, given: tuple[tuple[str, str], ...]) -> Graph:
    """The same for all who ask about a program."""
    source = load_source(Source("m.rt", text))
    compilation = Compilation(source, Options(defines=dict(given)))
    verify(compilation.graph, compilation.space, after="elaborate")
    return compilation.graph


def errors_of(text: str, defines: Mapping[str, str] | None = None) -> tuple[Diagnostic, ...]:
    """What is said about a wrong program; empty if nothing is."""
    try:
        graph_of(text, defines)
    except DiagnosticError as error:
        return error.diagnostics
    return ()


def value_of(
    text: str,
    bounds: Mapping[str, int] | None = None,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    defines: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The outputs of a program, as lists."""
    data = {name: np.asarray(x) for name, x in (inputs or {}).items()}
    weights = {name: np.asarray(x) for name, x in (params or {}).items()}
    results = evaluate(graph_of(text, defines), dict(bounds or {}), data, weights)
    return {name: np.asarray(x).tolist() for name, x in results.items()}
