"""From sources to the graph: the front end, then the derivatives that the program asks for."""

from collections.abc import Mapping
from typing import NamedTuple

from tempoc.autodiff.differentiate import differentiate
from tempoc.base.limits import LIMITS, Limits
from tempoc.driver.limited import limited
from tempoc.frontend import elaborate as frontend
from tempoc.frontend.syntax.load_modules import LoadedSources
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph


class ElaboratedProgram(NamedTuple):
    """A program before differentiation, and its graph."""

    written: Graph
    space: Space
    graph: Graph


def elaborate(modules: LoadedSources, defines: Mapping[str, str], limits: Limits = LIMITS) -> Graph:
    """The graph of a program, every access proved. Raises `DiagnosticError` with all mistakes."""
    return elaborated(modules, defines, limits).graph


def elaborated(
    modules: LoadedSources, defines: Mapping[str, str], limits: Limits = LIMITS
) -> ElaboratedProgram:
    """As `elaborate`, with the graph in which gradients are still operators."""

    def made() -> ElaboratedProgram:
        written, space = frontend.elaborate(modules, defines, limits)
        return ElaboratedProgram(written, space, differentiate(written, space))

    return limited(limits, made)
