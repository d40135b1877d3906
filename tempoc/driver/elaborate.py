"""From sources to the graph: the front end, then the derivatives that the program asks for."""

from collections.abc import Mapping
from typing import NamedTuple

from tempoc.autodiff.differentiate import differentiate
from tempoc.base.limits import LIMITS, Limits
from tempoc.driver.limited import limited
from tempoc.frontend import elaborate as frontend
from tempoc.frontend.syntax.load_modules import LoadedSources
from tempoc.ops.control.gradient import Gradient
from tempoc.passes.context import PassContext
from tempoc.passes.dispatch.factors import with_factors
from tempoc.passes.simplify.head_dimension import HeadDimension
from tempoc.passes.simplify.range_functions import with_point_functions
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


def with_cheaper_gradients(
    program: ElaboratedProgram, context: PassContext, *, heads: bool
) -> Graph:
    """The graph to optimize: derivatives are those of functions of points, not of ranges, and of
    operators for factors of matrices and triangular systems. With ``heads`` those of attention
    have a dimension for its heads, which the context then declares.

    What one pass makes of the program that is differentiated, no pass could make of its
    derivatives. Factors come first: they are recognized by the ranges that their sums read.
    """
    if not any(isinstance(n.op, Gradient) for n in program.written.nodes.values()):
        return with_factors(program.graph, context)
    written = with_point_functions(with_factors(program.written, context), context)
    written = HeadDimension().run(written, context) if heads else written
    return program.graph if written is program.written else differentiate(written, context.space)
