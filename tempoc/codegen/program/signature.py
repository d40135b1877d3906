"""The signature of a program, from the graph alone: enough to check data without compiling."""

from __future__ import annotations

from tempoc.codegen.program.interface import assumptions, bounds, given, lengths
from tempoc.program.nodes import nodes as prog
from tempoc.sdg.graph.graph import Graph


def signature(graph: Graph) -> prog.Program:
    """The program without stores, kernels and tree: bounds, assumptions, inputs, params."""
    tensors = ((name, n.op, n.domain, n.types[0]) for name, n in graph.nodes.items() if n.types)
    both = list(given(tensors))
    return prog.Program(
        name=graph.name,
        bounds=bounds(graph.universe),
        lengths=lengths(graph.universe),
        dims=tuple((d.name, d.bound) for d in graph.universe.dims),
        assumptions=assumptions(graph),
        inputs=tuple(g for g in both if isinstance(g, prog.ProgramInput)),
        params=tuple(g for g in both if isinstance(g, prog.ProgramParam)),
    )
