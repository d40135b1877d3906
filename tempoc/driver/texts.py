"""Passes on graphs in text form: for tests, and for tools that produce graphs."""

from tempoc.base.source import Source
from tempoc.driver.pipelines import REGISTRY
from tempoc.passes.context import PassContext
from tempoc.pipeline.manager import run_pipeline
from tempoc.pipeline.spec import parse_pipeline
from tempoc.poly.space import Space
from tempoc.sdg.errors import breaks_a_rule
from tempoc.sdg.parse import parse_graph
from tempoc.sdg.text import show
from tempoc.sdg.verify import VerifyError, verify


def optimize_text(source: Source, passes: str) -> str:
    """Parse a graph, check it, run a pipeline on it (verified after each pass), print it.

    Raises `DiagnosticError` for a text that is no graph, a graph that breaks a rule, and a wrong
    pipeline.
    """
    graph = parse_graph(source.text, source.path)
    steps = parse_pipeline(passes, REGISTRY) if passes else ()
    space = Space(graph.universe)
    try:
        verify(graph, space)
    except VerifyError as error:
        raise breaks_a_rule(error.where, error.why) from None
    outcome = run_pipeline(
        graph,
        steps,
        PassContext(space=space),
        verify=lambda result, step: verify(result, space, after=step),
    )
    return show(outcome.graph)
