"""Parses and verifies a hand-written graph: a broken rule is reported as a user error."""

from __future__ import annotations

from tempoc.poly.relations.space import Space
from tempoc.sdg.graph import errors
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.text.parse import parse_graph
from tempoc.sdg.verification.verify import VerifyError, verify


def read_graph(text: str, path: str) -> Graph:
    """The graph of a text, verified. Raises ``DiagnosticError`` (RT300 to RT302)."""
    graph = parse_graph(text, path)
    try:
        verify(graph, Space(graph.universe))
    except VerifyError as error:
        node = graph.nodes.get(error.where.partition(",")[0])
        span = None if node is None else node.span
        raise errors.rejected(error.where, error.why, span) from None
    return graph
