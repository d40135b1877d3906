"""The reference evaluator on the arguments of a run, with the same checks of data."""

from collections.abc import Mapping, Sequence
from typing import Any

from tempoc.codegen.program.effects import to_effect
from tempoc.codegen.program.externs import extern
from tempoc.codegen.program.signature import signature
from tempoc.codegen.text.source_lines import equation_lines
from tempoc.ops.control.effects import EffectOp, Save
from tempoc.ops.control.externs import ExternCall, ExternHost, ExternVjp
from tempoc.program.nodes.nodes import Program
from tempoc.runtime.data.bindings import Given, bind
from tempoc.runtime.data.dense import dense_inputs, dense_params
from tempoc.runtime.execution.ended_bounds import EndedBounds
from tempoc.runtime.host import effects, externs, failure
from tempoc.runtime.host.effects import Show
from tempoc.runtime.host.evaluated import call_copied, evaluated, evaluated_vjp
from tempoc.runtime.host.host_calls import HostCallable
from tempoc.runtime.host.imports import find_functions
from tempoc.runtime.host.replay import ReplayedCalls
from tempoc.sdg.evaluation.checked_values import watch, watch_nothing
from tempoc.sdg.evaluation.interpret import (
    Externs,
    LengthKnown,
    Perform,
    evaluate,
    ignore_effect,
)
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.query import operand_types
from tempoc.symbolic.domain import Point


def evaluate_given(
    graph: Graph,
    given: Given,
    paths: Sequence[str] = (),
    beside: Sequence[str] = (),
    *,
    float64: bool = False,
    show: Show | None = None,
    made: ReplayedCalls | None = None,
    checks: Sequence[str] = (),
) -> Mapping[str, Any]:
    """The outputs by name.

    ``show`` receives printed and saved tensors, ``paths`` and ``beside`` are the folders of user
    functions, ``made`` replays the host calls of an earlier run, ``checks`` some of `CHECKS`.
    Raises `RunError` for wrong data and lengths, `DiagnosticError` for a wrong read and for what a
    check finds, `Diverged` for a host call that the earlier run lacks.
    """
    program = signature(graph)
    bindings = bind(program, given)
    return evaluate(
        graph,
        bindings.bounds,
        dense_inputs(bindings),
        dense_params(program, bindings),
        float64=float64,
        seed=bindings.seed,
        externs=caller(graph, bindings.bounds, paths, beside, made),
        perform=ignore_effect if show is None else _performer(graph, show),
        watch=watch(checks) if checks else watch_nothing,
        length_known=_length_check(program, bindings.bounds),
    )


def saves(graph: Graph) -> bool:
    """Whether the program writes files."""
    return any(isinstance(node.op, Save) for node in graph.nodes.values())


def _length_check(program: Program, bounds: Mapping[str, int]) -> LengthKnown:
    """Checks lengths as a run does."""
    ended = EndedBounds(program)
    ends: dict[str, dict[Point, int]] = {n.bound: {} for n in program.lengths}

    def check(bound: str, outer: Point, length: int) -> None:
        ends[bound][outer] = length
        ended.check(bounds, ends, bound, outer)

    return check


def _performer(graph: Graph, show: Show) -> Perform:
    forms = {
        node.op: to_effect(node.op, operand_types(graph, node))
        for node in graph.nodes.values()
        if isinstance(node.op, EffectOp)
    }

    def perform(op: EffectOp, point: Mapping[str, int], values: tuple[Any, ...]) -> None:
        effects.perform(forms[op], point, values, show)

    return perform


def caller(
    graph: Graph,
    bounds: Mapping[str, int],
    paths: Sequence[str] = (),
    beside: Sequence[str] = (),
    recorded: ReplayedCalls | None = None,
) -> Externs:
    """The evaluator of extern nodes, with modules from these folders. Raises `RunError`.

    With ``recorded`` calls, host functions are replayed, not called.
    """
    ops = {n.name: n.op for n in graph.nodes.values() if isinstance(n.op, ExternCall)}
    externs_of = {name: extern(op.declared, "") for name, op in ops.items()}
    called = (
        externs_of[n] for n, op in ops.items() if recorded is None or not isinstance(op, ExternHost)
    )
    functions = find_functions(tuple(dict.fromkeys(called)), paths, beside)

    def call(node: Node, point: Mapping[str, int], args: tuple[Any, ...]) -> tuple[Any, ...]:
        coordinates = tuple(point[d] for d in node.domain.dims)
        if recorded is not None and isinstance(node.op, ExternHost):
            return recorded.call(externs_of[node.name], node.domain.dims, coordinates, args)
        function = externs.TracedExtern(
            externs_of[node.name], functions[externs_of[node.name]], bounds
        )
        try:
            if isinstance(node.op, ExternHost):
                host = HostCallable(function.extern, function.function)
                return call_copied(host, args, point)
            if isinstance(node.op, ExternVjp):
                return evaluated_vjp(function, node.op.counts(), args)
            return evaluated(function, args)
        except failure.ExternFailure as error:
            equations = equation_lines(node.spans, graph.name)
            raise failure.failure(error, node.domain.dims, coordinates, equations) from error

    return call
