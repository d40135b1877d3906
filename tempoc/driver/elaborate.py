"""From sources to the graph: the front end, then the derivatives that the program asks for."""

from collections.abc import Mapping

from tempoc.autodiff.differentiate import differentiate
from tempoc.base.limits import LIMITS, Limits
from tempoc.driver.limited import limited
from tempoc.frontend import elaborate as frontend
from tempoc.frontend.syntax.load_modules import LoadedSources
from tempoc.sdg.graph.graph import Graph


def elaborate(modules: LoadedSources, defines: Mapping[str, str], limits: Limits = LIMITS) -> Graph:
    """The graph of a program, every access proved. Raises `DiagnosticError` with all mistakes."""
    return limited(limits, lambda: differentiate(*frontend.elaborate(modules, defines, limits)))
