"""The reference evaluator on what a run was given, with the checks of a run."""

from collections.abc import Mapping
from typing import Any

from tempoc.codegen.signature import signature
from tempoc.runtime.bindings import Given, bind
from tempoc.runtime.whole import whole_inputs, whole_params
from tempoc.sdg.graph import Graph
from tempoc.sdg.interpret import evaluate


def evaluate_given(graph: Graph, given: Given, *, float64: bool = False) -> Mapping[str, Any]:
    """The outputs by name. Raises `RunError` for wrong data, `DiagnosticError` for a wrong read."""
    program = signature(graph)
    bindings = bind(program, given)
    return evaluate(
        graph,
        bindings.bounds,
        whole_inputs(bindings),
        whole_params(program, bindings),
        float64=float64,
        seed=bindings.seed,
    )
