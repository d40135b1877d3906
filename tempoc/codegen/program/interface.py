"""The interface of a program (bounds, inputs, params, outputs) and its stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tempoc.codegen.stores.context import Stages
from tempoc.codegen.text.source_lines import equation_lines
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import TensorType
from tempoc.ops.random.draws import Seed
from tempoc.ops.tensor.source import Input, Param
from tempoc.poly.relations.run_lengths import largest
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import Assumption, FoundLength, ProgramBound
from tempoc.program.nodes.buffers import Buffer
from tempoc.sdg.graph.graph import Graph, Output
from tempoc.sdg.statements.statements import Tensor
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, Universe
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import substitute


def bounds(universe: Universe) -> tuple[ProgramBound, ...]:
    """All bounds, constant and derived ones with their values, then those of largest lengths."""
    declared = tuple(ProgramBound(name=b.name, value=b.value) for b in universe.bounds)
    names = largest(universe)
    at_most: dict[str, ix.Expr] = {b.name: ix.Sym(names[b.name]) for b in universe.ended}
    values = universe.at_lengths(at_most)
    return (
        *declared,
        *(
            ProgramBound(name=name, value=ix.Sym(bound) if bound in at_most else values[bound])
            for bound, name in names.items()
        ),
    )


def lengths(universe: Universe) -> tuple[FoundLength, ...]:
    """The bounds that are found at run time."""
    names = largest(universe)
    return tuple(
        FoundLength(bound=b.name, largest=names[b.name], outer=b.outer, common=bool(b.common))
        for b in universe.ended
    )


def assumptions(graph: Graph) -> tuple[Assumption, ...]:
    """The assumptions about bounds that the runner checks, with the casts that make them."""

    def place(a: ix.Expr) -> str:
        span = graph.assumed_at.get(a)
        return "" if span is None else equation_lines([span], graph.name)[0]

    return tuple(
        Assumption(text=show(a), condition=a, where=place(a)) for a in graph.universe.assumptions
    )


def stores(stages: Stages) -> tuple[Buffer, ...]:
    """The plan's stores, in the order of the tensors."""
    return tuple(stages.plan.stores[name] for name in stages.statements.tensors)


ProgramGiven = prog.ProgramInput | prog.ProgramParam


def given(tensors: Iterable[tuple[str, Op, Domain, TensorType]]) -> Iterator[ProgramGiven]:
    """The inputs and params among tensors with these names, operators, domains and types."""
    for name, op, domain, type_ in tensors:
        if not isinstance(op, Input | Param):
            continue
        dims, dtype, shape = domain.dims, type_.dtype.value, type_.shape
        if isinstance(op, Input):
            yield prog.ProgramInput(name=name, store=name, dims=dims, dtype=dtype, shape=shape)
        else:
            yield prog.ProgramParam(
                name=name,
                store=name,
                dims=dims,
                dtype=dtype,
                shape=shape,
                template=op.template or name,
                has_default=op.has_default,
            )


def _given(stages: Stages) -> Iterator[ProgramGiven]:
    """The inputs and params, with the shapes of their stores."""
    plan, graph = stages.plan, stages.graph
    return given(
        (t.name, graph.nodes[t.node].op, t.domain, replace(t.type, shape=plan.stores[t.name].shape))
        for t in stages.statements.tensors.values()
    )


def inputs(stages: Stages) -> tuple[prog.ProgramInput, ...]:
    """The tensors that are passed as data."""
    return tuple(g for g in _given(stages) if isinstance(g, prog.ProgramInput))


def params(stages: Stages) -> tuple[prog.ProgramParam, ...]:
    """The tensors that are passed as weights."""
    return tuple(g for g in _given(stages) if isinstance(g, prog.ProgramParam))


def seed(stages: Stages) -> str:
    """The store of the seed's key; empty if the program draws no random numbers."""
    tensors = stages.statements.tensors.values()
    names = (t.name for t in tensors if isinstance(stages.graph.nodes[t.node].op, Seed))
    return next(names, "")


def outputs(stages: Stages) -> tuple[prog.ProgramOutput, ...]:
    """The results, in source order."""
    return tuple(_output(o, stages) for o in stages.graph.outputs)


def _output(output: Output, stages: Stages) -> prog.ProgramOutput:
    tensors = stages.statements.tensors.values()
    tensor: Tensor = next(t for t in tensors if (t.node, t.out) == (output.source, output.out))
    pairs = list(zip(tensor.domain.dims, output.entries, strict=True))
    points = {dim: entry for dim, entry in pairs if not isinstance(entry, ix.Slice)}
    return prog.ProgramOutput(
        name=output.name,
        store=tensor.name,
        dims=tensor.domain.dims,
        entries=tuple(to_entry(e) for _, e in pairs),
        dtype=tensor.type.dtype.value,
        shape=tuple(substitute(e, points) for e in tensor.type.shape),
    )


def to_entry(entry: ix.Entry) -> ix.Expr | prog.OutputSpan:
    """A point or slice for the runner."""
    if isinstance(entry, ix.Slice):
        return prog.OutputSpan(lower=entry.lo, upper=entry.hi, step=entry.step)
    return entry
