"""Compares the function of an entry of a table of kernels with its formula, at small sizes.

Both get the same random data; the formula is evaluated point by point, in float64. So a function
that computes something else, or takes its arguments in another order, is found when a program is
compiled, not by its results.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tempoc.base.arrays import np
from tempoc.base.effort import EFFORT
from tempoc.codegen.program.externs import extern
from tempoc.diagnostics.diagnostic import DiagnosticError, RunError
from tempoc.driver import errors
from tempoc.driver.kernel_table import EXTENT
from tempoc.ops.control.dispatched import DispatchedCall
from tempoc.ops.control.externs import signature_text
from tempoc.ops.definition.dtype_text import numpy_dtype
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.tensor.source import Input
from tempoc.passes.dispatch.pattern import FormulaPattern, KernelEntry
from tempoc.runtime.host.evaluated import evaluated
from tempoc.runtime.host.externs import TracedExtern
from tempoc.runtime.host.failure import ExternFailure
from tempoc.runtime.host.imports import find_functions
from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.sdg.graph.graph import Node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate as value_of


@functools.cache
def compare_kernel(entry: KernelEntry, folders: tuple[str, ...]) -> None:
    """Call the function once; modules are looked for in these folders.

    Raises ``DiagnosticError``: RT113 if it cannot be called, RT114 if it gives something else.
    """
    dtype = entry.dtypes[0]
    pattern = entry.pattern(dtype)
    universe = pattern.graph.universe
    steps = {d.bound for d in universe.dims if not d.name.startswith(EXTENT)}
    small = {
        b.name: EFFORT.compared_steps if b.name in steps else EFFORT.compared_extent
        for b in universe.bounds
    }
    sizes = {name: entry.sizes.get(name, value) for name, value in small.items()}
    data = _data(pattern, sizes)
    want = evaluate(pattern.graph, sizes, data, {}, float64=True)["result"]
    have = _called(entry, pattern, sizes, data, folders)
    difference = np.abs(have.astype(np.float64) - want).max(initial=0.0)
    limit = dict(EFFORT.kernel_closeness)[dtype.value] * max(
        1.0, float(np.abs(want).max(initial=0.0))
    )
    if not difference <= limit:
        function = f"{entry.module}:{entry.function}"
        why = errors.other_values(entry.name, function, float(difference), _sizes_text(sizes))
        raise DiagnosticError(why)


def _data(pattern: FormulaPattern, sizes: Mapping[str, int]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    bounds = {d.name: d.bound for d in pattern.graph.universe.dims}
    for k, node in enumerate(n for n in pattern.graph.nodes.values() if isinstance(n.op, Input)):
        shape = [sizes[bounds[d]] for d in node.domain.dims]
        shape += [value_of(e, sizes) for e in node.types[0].shape]
        values = np.random.default_rng([k, *shape]).uniform(-1, 1, shape)
        if node.name in pattern.numbers:
            values = np.asarray(_number(pattern, node.name))
        data[node.name] = values.astype(numpy_dtype(node.types[0].dtype))
    return data


def _number(pattern: FormulaPattern, name: str) -> float:
    default = pattern.numbers[name]
    return EFFORT.compared_number if default is None else default / 2


def _called(
    entry: KernelEntry,
    pattern: FormulaPattern,
    sizes: Mapping[str, int],
    data: Mapping[str, Any],
    folders: tuple[str, ...],
) -> Any:
    """What the function gives."""
    nodes = pattern.graph.nodes
    names = [n for n in pattern.arguments if n not in pattern.numbers]
    types = [_whole(pattern, nodes[n]) for n in names]
    result = _whole(pattern, nodes[pattern.result], types[0].dtype)
    call = DispatchedCall(
        extern=entry.name,
        module=entry.module,
        function=entry.function,
        arguments=tuple(map(signature_text, types)),
        results=(signature_text(result),),
        takes=tuple(names),
        gives=("value",),
    )
    given: dict[str, Any] = {}
    for name, value in entry.given.items():
        is_number = isinstance(value, ix.Sym) and value.name in pattern.numbers
        given[name] = (
            _number(pattern, value.name)
            if is_number and isinstance(value, ix.Sym)
            else value_of(value, sizes)
            if isinstance(value, ix.Expr)
            else value
        )
    declared = extern(call.declared, "")
    try:
        function = find_functions((declared,), (), folders)[declared]
        traced = TracedExtern(declared, functools.partial(function, **given), sizes)
        return evaluated(traced, [data[n] for n in names])[0]
    except RunError as error:  # a run has an option for folders, which a compilation has not
        beside = "put it beside the table of kernels, or name its folder in PYTHONPATH"
        raise DiagnosticError(
            *(replace(d, help=beside) if d.code == "RT570" else d for d in error.diagnostics)
        ) from None
    except ExternFailure as error:
        at = _sizes_text(sizes)
        raise DiagnosticError(errors.kernel_fails(entry.name, error.what, at)) from None


def _sizes_text(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sizes.items())


def _whole(pattern: FormulaPattern, node: Node, dtype: DType | None = None) -> TensorType:
    """The type of a tensor with an axis for each of its dimensions."""
    bounds = {d.name: d.bound for d in pattern.graph.universe.dims}
    lead = tuple(ix.Sym(bounds[d]) for d in node.domain.dims)
    return TensorType(dtype or node.types[0].dtype, (*lead, *node.types[0].shape))
