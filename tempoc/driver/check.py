"""The front end alone, for commands that must answer at once: nothing else is imported here."""

from __future__ import annotations

from dataclasses import dataclass

from tempoc.driver.elaborate import elaborate
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import LoadedSources, load_file
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.statements.build import statements
from tempoc.sdg.statements.certain_order import doubtful
from tempoc.sdg.statements.statements import Statements


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A program of which every access is proved.

    Of the `doubtful` statements it is not evident that there is an order of execution.
    """

    loaded: LoadedSources
    graph: Graph
    space: Space
    statements: Statements
    doubtful: tuple[tuple[str, ...], ...]


def check_file(path: str, options: Options) -> Checked:
    """The graph of a program and what is still to be found out; raises `DiagnosticError`."""
    loaded = load_file(path, tolerant=True)
    graph = elaborate(loaded, options.defines)
    space = Space(graph.universe)
    parts = statements(graph, space)
    unordered = doubtful(parts, graph.universe)
    return Checked(loaded=loaded, graph=graph, space=space, statements=parts, doubtful=unordered)
