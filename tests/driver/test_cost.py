"""The cost report: its formulas are the counts over all points, node by node and cell by cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.report.cost import program_cost
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.ops.control.control import Select
from tempoc.ops.control.recurrence import Recurrence
from tempoc.ops.control.steps import assumed_types
from tempoc.ops.definition.dtype_text import numpy_dtype
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import TensorType
from tempoc.ops.tensor.arithmetic import Nary
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.ops.tensor.elementwise import Unary
from tempoc.ops.tensor.reduction import LogSumExp, Reduction, Var
from tempoc.ops.tensor.window import Window
from tempoc.sdg.evaluation.given_data import all_bounds
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.graph.query import operand_types
from tempoc.sdg.statements.build import is_computed
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import Entry, Slice
from tempoc.symbolic.walk import evaluate
from tests.support.examples import ROOT

Env = Mapping[str, int]

ATTENTION = """
import nn
dim t < T
input q[t]: f32[8]
input k[t]: f32[8]
input v[t]: f32[8]
s[t] = (k[0:t+1] @ q[t]) * 0.5
a[t] = nn.softmax(s[t]) @ v[0:t+1]
output a
"""
WINDOW = """
dim t < T
input x[t]: f32[5]
y[t] = sum(exp(x[max(0, t-2):t+1]))
z[t] = y[t] * 2.0 when t % 2 == 0
z[t] = y[t-1] + 1.0
output z
"""
STATE = """
dim t < T
dim l < L = 3
param W[l]: f32[4, 4]
input x[t]: f32[4]
h[0, 0] = x[0]
h[t, 0] = x[t] * 0.5
h[t, l] = tanh(h[t, l-1] @ W[l] + h[t-1, l]) when t >= 1
h[t, l] = h[t, l-1]
output h[0:T, L-1] as y
"""
PROGRAMS = {"attention": ATTENTION, "window": WINDOW, "state": STATE}
EXAMPLES = {
    "01_fibonacci": {"N": 6}, "03_heat_equation": {"N": 6, "T": 5}, "05_rnn": {"T": 6},
    "06_lstm": {"T": 5}, "07_causal_attention": {"T": 7}, "09_edit_distance": {"N": 4, "M": 5},
}  # fmt: skip


def compiled(text: str, options: Options) -> Compilation:
    return Compilation(load_source(Source("m.rt", text)), options)


def points(graph: Graph, domain: Domain, bounds: Env) -> Iterator[Env]:
    """All points of a domain, with the bounds."""
    ranges = [range(bounds[graph.universe.dim(d).bound]) for d in domain.dims]
    for index in product(*ranges):
        here = {**bounds, **dict(zip(domain.dims, index, strict=True))}
        if evaluate(domain.where, here):
            yield here


def counted(op: Op, args: Sequence[TensorType], results: Sequence[TensorType], here: Env) -> int:
    """The operations of an operator at a point by its shapes, stated once more."""
    taken, made = (
        [tuple(evaluate(e, here) for e in t.shape) for t in ts] for ts in (args, results)
    )
    match op:
        case MatMul():
            return 2 * prod(made[0]) * taken[0][-1]
        case Einsum():
            letters = op.spec.replace(" ", "").split("->")[0].split(",")
            pairs = [p for t, s in zip(letters, taken, strict=True) for p in zip(t, s, strict=True)]
            return 2 * prod(dict(pairs).values())
        case Var() | LogSumExp():
            return 4 * prod(taken[0])
        case Reduction():
            return prod(taken[0])
        case Window():
            return 3 * prod(made[0])
        case Recurrence():
            types = assumed_types(op.steps, op.given(tuple(args)))
            single, at = 0, len(types) - sum(len(dtypes) for _, _, dtypes in op.steps)
            for step, operands, dtypes in op.steps:
                single += counted(
                    step, [types[k] for k in operands], types[at:][: len(dtypes)], here
                )
                at += len(dtypes)
            return evaluate(op.count, here) * single
        case Nary() | Unary() | Select():
            return prod(made[0])
    return 0


def work_of(graph: Graph, bounds: Env) -> int:
    """The operations of all nodes at all of their points."""
    total = 0
    for node in graph.nodes.values():
        for here in points(graph, node.domain, bounds) if is_computed(node) else ():
            total += counted(node.op, operand_types(graph, node), node.types, here)
    return total


def cells(entries: tuple[Entry, ...], here: Env) -> Iterator[tuple[int, ...]]:
    """The points that entries read or write."""
    yield from product(
        *(
            range(evaluate(e.lo, here), evaluate(e.hi, here), e.step)
            if isinstance(e, Slice)
            else (evaluate(e, here),)
            for e in entries
        )
    )


def moved(compilation: Compilation, bounds: Env) -> tuple[int, int]:
    """The bytes of the distinct points that each kernel reads, and that it writes, at each time."""
    graph, statements = compilation.optimized, compilation.statements
    read = written = 0
    for statement in statements.statements:
        for here in points(graph, statement.domain, bounds):
            reads = {(r.tensor, r.entries) for r in statement.reads if not r.forwarded}
            writes = [(w.tensor, w.entries) for w in statement.writes if evaluate(w.where, here)]
            for accesses in (reads, writes):
                size = 0
                for name, entries in accesses:
                    tensor = statements.tensors[name]
                    each = numpy_dtype(tensor.type.dtype).itemsize
                    for cell in {*cells(entries, here)}:
                        there = {**bounds, **dict(zip(tensor.domain.dims, cell, strict=True))}
                        size += each * prod(evaluate(e, there) for e in tensor.type.shape)
                if accesses is reads:
                    read += size
                else:
                    written += size
    return read, written


def check(compilation: Compilation, given: Env) -> None:
    graph = compilation.optimized
    bounds = all_bounds(graph, given)
    total = program_cost(compilation).total
    assert all(f.exact for f in total.columns)
    assert total.work.at(bounds) == work_of(graph, bounds)
    assert (total.read.at(bounds), total.written.at(bounds)) == moved(compilation, bounds)


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_costs_are_those_of_all_points(name: str, level: int) -> None:
    compilation = compiled(PROGRAMS[name], Options(level=level))
    for size in (1, 2, 3, 8):
        check(compilation, {"T": size})


@pytest.mark.parametrize("name", EXAMPLES)
def test_costs_of_examples(name: str) -> None:
    path = str(ROOT / "examples" / f"{name}.rt")
    check(Compilation.from_path(path, Options()), EXAMPLES[name])


def test_tiles_cost_what_the_whole_costs() -> None:
    whole = compiled(ATTENTION, Options())
    tiled = compiled(ATTENTION, Options(tile=4))
    for size in (1, 4, 5, 9):
        check(tiled, {"T": size})
        bounds = all_bounds(tiled.optimized, {"T": size})
        products = [sum(k.work.at(bounds) for k in program_cost(c).kernels) for c in (whole, tiled)]
        assert products[1] >= products[0] - 4 * size
