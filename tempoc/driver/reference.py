"""The reference evaluator on what a run was given, with the checks of a run."""

from collections.abc import Mapping
from typing import Any

from tempoc.codegen.effects import to_effect
from tempoc.codegen.signature import signature
from tempoc.ops.effects import Effect
from tempoc.runtime.bindings import Given, bind
from tempoc.runtime.effects import Show, described
from tempoc.runtime.whole import whole_inputs, whole_params
from tempoc.sdg.graph import Graph
from tempoc.sdg.interpret import Perform, evaluate, nothing
from tempoc.sdg.query import operand_types


def evaluate_given(
    graph: Graph, given: Given, *, float64: bool = False, show: Show | None = None
) -> Mapping[str, Any]:
    """The outputs by name; `show` gets what is printed and saved.

    Raises `RunError` for wrong data, `DiagnosticError` for a wrong read.
    """
    program = signature(graph)
    bindings = bind(program, given)
    return evaluate(
        graph,
        bindings.bounds,
        whole_inputs(bindings),
        whole_params(program, bindings),
        float64=float64,
        perform=nothing if show is None else _performer(graph, show),
    )


def _performer(graph: Graph, show: Show) -> Perform:
    forms = {
        node.op: to_effect(node.op, operand_types(graph, node))
        for node in graph.nodes.values()
        if isinstance(node.op, Effect)
    }

    def perform(op: Effect, at: Mapping[str, int], values: tuple[Any, ...]) -> None:
        show(described(forms[op], at), values)

    return perform
