"""Checking without compiling: parse, elaborate, build statements.

Imports no pass, no differentiation and no JAX, for which every check would wait.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tempoc.driver.configuration import configured
from tempoc.driver.limited import limited
from tempoc.driver.options import Options
from tempoc.frontend.elaborate import elaborate
from tempoc.frontend.syntax.load_modules import LoadedSources, load_file
from tempoc.ops.control.externs import ExternCall
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.active import gradients, without_stops
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.statements.build import statements
from tempoc.sdg.statements.certain_order import unproved_components
from tempoc.sdg.statements.statements import Statements

Differentiate = Callable[[Graph, Space], Graph]
"""What expands the gradients of a graph."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A program whose accesses are all proved to be inside their domains.

    `doubtful` are the strongly connected components of statements for which an order of execution
    is not evident; `check_order.has_order` decides them. `notes` are those of the configuration.
    """

    loaded: LoadedSources
    options: Options
    graph: Graph
    space: Space
    statements: Statements
    doubtful: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def check_file(path: str, options: Options, differentiate: Differentiate) -> Checked:
    """Check the program in a file, whose gradients are expanded if it has any.

    Raises `DiagnosticError`.
    """
    loaded = load_file(path, tolerant=True)
    chosen = configured(options, loaded.main.tree)
    options = chosen.options
    graph = chosen.naming(
        lambda: limited(options.limits, lambda: _elaborated(loaded, options, differentiate))
    )
    space = Space(graph.universe, limits=options.limits)
    parts = limited(options.limits, lambda: statements(graph, space))
    unordered = unproved_components(parts, graph.universe)
    return Checked(
        loaded=loaded,
        options=options,
        graph=graph,
        space=space,
        statements=parts,
        doubtful=unordered,
        notes=chosen.notes(),
    )


def _elaborated(loaded: LoadedSources, options: Options, differentiate: Differentiate) -> Graph:
    written, space = elaborate(loaded, options.defines, options.limits)
    return differentiate(written, space) if gradients(written) else without_stops(written)


def python_functions(graph: Graph) -> tuple[str, ...]:
    """The Python functions that the program calls: ``module:function``, in source order."""
    calls = (n.op.declared for n in graph.nodes.values() if isinstance(n.op, ExternCall))
    return tuple(dict.fromkeys(f"{one.module}:{one.function}" for one in calls))
