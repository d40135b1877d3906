"""The graph that is compiled: what is differentiated is rewritten before, where that is cheaper."""

from tempoc.autodiff.differentiate import differentiate
from tempoc.driver.elaborate import ElaboratedProgram
from tempoc.ops.control.gradient import Gradient
from tempoc.passes.context import PassContext
from tempoc.passes.dispatch.factors import with_factors
from tempoc.passes.simplify.range_functions import with_point_functions
from tempoc.sdg.graph.graph import Graph


def with_cheaper_gradients(program: ElaboratedProgram, context: PassContext) -> Graph:
    """The graph to optimize: derivatives are those of functions of points, not of ranges, and of
    operators for factors of matrices and triangular systems.

    What one pass makes of the program that is differentiated, no pass could make of its
    derivatives. Factors come first: they are recognized by the ranges that their sums read.
    """
    if not any(isinstance(n.op, Gradient) for n in program.written.nodes.values()):
        return with_factors(program.graph, context)
    written = with_point_functions(with_factors(program.written, context), context)
    return program.graph if written is program.written else differentiate(written, program.space)
