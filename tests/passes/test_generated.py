"""Generated programs: every pass keeps their meaning, and statements write each point once."""

from __future__ import annotations

from itertools import product

from hypothesis import given, note

from tempoc.diagnostics.source import Source
from tempoc.driver.elaborate import elaborate
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.passes.context import PassContext
from tempoc.passes.domain.reduce_domain import ReduceDomain
from tempoc.passes.fusion.fuse import Fuse
from tempoc.passes.simplify.algebra import Algebra
from tempoc.passes.simplify.canonicalize import Canonicalize
from tempoc.pipeline.manager import run_pipeline
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.statements.build import is_computed, statements
from tempoc.sdg.statements.statements import Statements
from tempoc.sdg.text.parse import parse_graph
from tempoc.sdg.text.text import show
from tempoc.sdg.verification.verify import verify
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import evaluate
from tests.support.generators.graphs import assert_close, assert_same, bounds_at
from tests.support.generators.programs import Program, programs
from tests.support.generators.settings import generated


@given(program=programs())
@generated(5, long=16)
def test_passes_keep_the_meaning(program: Program) -> None:
    note(program.text)
    graph = elaborate(load_source(Source("generated.rt", program.text)), {})
    space = Space(graph.universe)
    verify(graph, space, after="elaborate")
    assert parse_graph(show(graph), "generated.sdg") == graph
    assert_written_once(graph, statements(graph, space))
    for exact in (True, False):
        steps = (Canonicalize(), Algebra(exact=exact), Canonicalize(), ReduceDomain(), Fuse())
        outcome = run_pipeline(
            graph, steps, PassContext(space), verify=lambda g, s: verify(g, space, after=s)
        )
        assert parse_graph(show(outcome.graph), "generated.sdg") == outcome.graph
        (assert_same if exact else assert_close)(graph, outcome.graph)
        assert_written_once(outcome.graph, statements(outcome.graph, space))


def assert_written_once(graph: Graph, found: Statements) -> None:
    """At small bounds, each point of a tensor's domain has one writer, and nothing else has."""
    for size in (1, 2, 4):
        bounds = bounds_at(graph, size)
        for tensor in found.tensors.values():
            written = [
                tuple(evaluate(e, at) for e in write.entries)
                for statement, write in found.writers(tensor.name)
                for at in points(graph, statement.domain, bounds)
                if evaluate(write.where, at)
            ]
            if written or is_computed(graph.nodes[tensor.node]):
                domain = [
                    tuple(at[d] for d in tensor.domain.dims)
                    for at in points(graph, tensor.domain, bounds)
                ]
                assert sorted(written) == domain


def points(graph: Graph, domain: Domain, bounds: dict[str, int]) -> list[dict[str, int]]:
    """The points of a domain, with the bounds."""
    ranges = [range(bounds[graph.universe.dim(d).bound]) for d in domain.dims]
    every = (bounds | dict(zip(domain.dims, p, strict=True)) for p in product(*ranges))
    return [at for at in every if evaluate(domain.where, at)]
