"""The signature of a program, from the graph alone: enough to check data without compiling."""

from __future__ import annotations

from tempoc.codegen.program.interface import assumptions, bounds
from tempoc.codegen.text.arithmetic import to_arith
from tempoc.ops.tensor.source import Input, Param
from tempoc.program.nodes import nodes
from tempoc.sdg.graph.graph import Graph


def signature(graph: Graph) -> nodes.Program:
    """The program without stores, kernels and tree: bounds, assumptions, inputs, params."""
    inputs, params = [], []
    for name, node in graph.nodes.items():
        if not isinstance(node.op, Input | Param):
            continue
        shape = tuple(to_arith(e) for e in node.types[0].shape)
        dtype, dims = node.types[0].dtype.value, node.domain.dims
        if isinstance(node.op, Input):
            inputs.append(
                nodes.ProgramInput(name=name, store=name, dims=dims, dtype=dtype, shape=shape)
            )
        if isinstance(node.op, Param):
            params.append(
                nodes.ProgramParam(
                    name=name,
                    store=name,
                    dims=dims,
                    dtype=dtype,
                    shape=shape,
                    template=node.op.template or name,
                    has_default=node.op.has_default,
                )
            )
    return nodes.Program(
        name=graph.name,
        bounds=bounds(graph.universe),
        dims=tuple((d.name, d.bound) for d in graph.universe.dims),
        assumptions=assumptions(graph.universe),
        inputs=tuple(inputs),
        params=tuple(params),
    )
