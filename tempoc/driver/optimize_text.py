"""Passes on graphs in text form: for tests, and for tools that produce graphs."""

from tempoc.diagnostics.source import Source
from tempoc.driver.pipelines import REGISTRY
from tempoc.passes.context import PassContext
from tempoc.pipeline.manager import run_pipeline
from tempoc.pipeline.spec import parse_pipeline
from tempoc.poly.relations.space import Space
from tempoc.sdg.text.text import show
from tempoc.sdg.verification.check import read_graph
from tempoc.sdg.verification.verify import verify


def optimize_text(source: Source, passes: str) -> str:
    """Parse a graph, check it, run a pipeline on it (verified after each pass), print it.

    Raises `DiagnosticError` for a text that is no graph, a graph that breaks a rule, and a wrong
    pipeline.
    """
    graph = read_graph(source.text, source.path)
    holding = ("groups",) if graph.groups else ()
    steps = parse_pipeline(passes, REGISTRY, holding=holding) if passes else ()
    context = PassContext(space=Space(graph.universe))
    outcome = run_pipeline(
        graph,
        steps,
        context,
        verify=lambda result, step: verify(result, context.space, after=step),
        holding=holding,
    )
    return show(outcome.graph)
