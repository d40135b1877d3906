"""Graphs of scalars with sympy's symbols for values: what a graph computes, as a formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import sympy

from tempoc.ops.control.control import Copy
from tempoc.ops.tensor.source import Input, Literal
from tempoc.sdg.graph.graph import Graph, Node

Formula = sympy.Expr
HALF = sympy.Rational(1, 2)


def _normal(x: Formula) -> Formula:
    """The distribution function of the normal distribution."""
    return HALF * sympy.erfc(-x / sympy.sqrt(2))


MEANINGS: Mapping[str, Callable[..., Formula]] = {
    "add": lambda *xs: sympy.Add(*xs),
    "sub": lambda x, y: x - y,
    "mul": lambda *xs: sympy.Mul(*xs),
    "div": lambda x, y: x / y,
    "power": lambda x, y: x**y,
    "neg": lambda x: -x,
    "exp": sympy.exp,
    "exp2": lambda x: 2**x,
    "log": sympy.log,
    "log1p": lambda x: sympy.log(1 + x),
    "expm1": lambda x: sympy.exp(x) - 1,
    "abs": sympy.Abs,
    "sqrt": sympy.sqrt,
    "rsqrt": lambda x: 1 / sympy.sqrt(x),
    "sin": sympy.sin,
    "cos": sympy.cos,
    "tan": sympy.tan,
    "tanh": sympy.tanh,
    "erf": sympy.erf,
    "erfc": sympy.erfc,
    "sigmoid": lambda x: 1 / (1 + sympy.exp(-x)),
    "softplus": lambda x: sympy.log(1 + sympy.exp(x)),
    "silu": lambda x: x / (1 + sympy.exp(-x)),
    "gelu": lambda x: x * _normal(x),
    "eq": sympy.Eq,
    "gt": sympy.Gt,
    "where": lambda c, x, y: sympy.Piecewise((x, c), (y, True)),
}
"""What operators mean, said once more and independently of the evaluator."""


def formulas(graph: Graph) -> dict[str, Formula]:
    """The outputs of a graph of scalars without dimensions; inputs are positive symbols."""
    values: dict[str, Formula] = {}

    def value(node: Node) -> Formula:
        if node.name not in values:
            values[node.name] = _meaning(node, [value(graph.nodes[e.source]) for e in node.inputs])
        return values[node.name]

    return {output.name: value(graph.nodes[output.source]) for output in graph.outputs}


def _meaning(node: Node, operands: list[Formula]) -> Formula:
    match node.op:
        case Input():
            return sympy.Symbol(node.name, positive=True)
        case Literal(value=number):
            if math.isinf(number):
                return sympy.oo if number > 0 else -sympy.oo
            if float(number) == int(number):
                return sympy.nsimplify(sympy.Float(number, 17), rational=True)
            return _constant(float(number))
        case Copy():
            return operands[0]
    return MEANINGS[node.op.name](*operands)


def _constant(number: float) -> Formula:
    """A number of the derivative rules as the formula that it is rounded from."""
    known = (
        HALF, sympy.log(2), sympy.sqrt(2), 1 / sympy.sqrt(2), -1 / sympy.sqrt(2),
        2 / sympy.sqrt(sympy.pi), 1 / sympy.sqrt(2 * sympy.pi), -HALF,
    )  # fmt: skip
    for formula in known:
        if abs(float(formula) - number) <= 1e-15 * abs(number):
            return formula
    return sympy.Rational(str(number))
