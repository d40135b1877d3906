"""The rules that are equations hold: exact ones to the last bit, others by algebra."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import pytest
import sympy

from tempoc.ops.definition.operator import Op, OperandError
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.tensor.source import Input, Literal
from tempoc.passes.simplify.algebra import Algebra
from tempoc.passes.simplify.rules.equation import (
    Applied,
    Letter,
    Number,
    Pattern,
    ScalarEquation,
    parse,
)
from tempoc.passes.simplify.rules.pattern import RewriteRule
from tempoc.passes.simplify.rules.table import ROWS
from tempoc.poly.relations.space import Space
from tempoc.sdg.text.text import show_op, show_type
from tempoc.sdg.verification.verify import DomainFacts
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import Const
from tests.passes.simplify.test_algebra import fired
from tests.support.generators.graphs import Story, graph
from tests.support.session.long import chosen
from tests.support.symbols import MEANINGS, Formula

Case = tuple[RewriteRule, ScalarEquation]
EQUATIONS: list[Case] = [
    (row, owner)
    for row in ROWS
    if isinstance(owner := getattr(row.find, "__self__", 0), ScalarEquation)
]
ROUNDED = [case for case in EQUATIONS if not case[0].exact]
DTYPES = (DType.BOOL, DType.I32, DType.U32, DType.F32)
FACTS = DomainFacts(Space(graph("").universe), Domain(()))


def names(cases: list[Case]) -> list[str]:
    return [f"{row.name}, {k}" for k, (row, _) in enumerate(cases)]


@pytest.mark.parametrize(("row", "equation"), EQUATIONS, ids=names(EQUATIONS))
def test_both_sides_mean_the_same(row: RewriteRule, equation: ScalarEquation) -> None:
    """For all dtypes, on 400 numbers, special ones among them unless the rule rounds.

    `make test` tries half of their combinations, those of one dtype among them.
    """
    outcomes = []
    for dtypes in product(DTYPES, repeat=2 + ("where" in row.name)):
        if sum(map(DTYPES.index, dtypes)) % 2 and not chosen["long"]:
            continue
        writer = Writer(*dtypes, scalars="ab" if "scalars" in row.name else "")
        try:
            result = writer.put(equation.left)
        except OperandError:
            continue
        text = "\n".join([*writer.lines, f"output y = {result}", ""])
        steps = Algebra(exact=row.exact)
        outcomes.append(Story().tell(row.name, text, steps, rounded=not row.exact))
    assert any(row.name in fired(outcome) for outcome in outcomes)


@pytest.mark.parametrize(("row", "equation"), ROUNDED, ids=names(ROUNDED))
def test_rounded_equations_are_proved(row: RewriteRule, equation: ScalarEquation) -> None:
    assert sympy.simplify(formula(equation.left) - formula(equation.right)) == 0


def test_wrong_equations_are_not_proved() -> None:
    wrong = formula(parse("exp(a + b)")) - formula(parse("exp(a) + exp(b)"))
    assert sympy.simplify(wrong) != 0


def test_other_text_is_no_equation() -> None:
    with pytest.raises(ValueError, match=r"no operator: x\[0\]"):
        parse("x[0] + y")


@dataclass
class Writer:
    """Writes patterns as nodes; letters are inputs, constants and ``scalars`` without axes."""

    letters: DType
    numbers: DType
    condition: DType | None = None
    scalars: str = ""
    lines: list[str] = field(default_factory=list)
    nodes: dict[Pattern, tuple[str, TensorType]] = field(default_factory=dict)

    def put(self, pattern: Pattern) -> str:
        """The name of the node. Raises ``OperandError`` if operators do not take the dtype."""
        if pattern not in self.nodes:
            operands = pattern.operands if isinstance(pattern, Applied) else ()
            reads = [self.put(part) for part in operands]
            op = self.op(pattern)
            (type_,) = op.infer(tuple(self.nodes[part][1] for part in operands), FACTS)
            name = f"%n{len(self.nodes)}"
            self.nodes[pattern] = name, type_
            self.lines.append(f"{name} = {show_op(op)} {', '.join(reads)} : [] {show_type(type_)}")
        return self.nodes[pattern][0]

    def op(self, pattern: Pattern) -> Op:
        match pattern:
            case Applied():
                return pattern.op
            case Number(value=bool() as value):
                return Literal(value=value, dtype=DType.BOOL)
            case Number(value=value):
                return self.literal(value)
            case Letter(name=name) if pattern.is_constant:
                return self.literal({"j": 3, "k": 8}[name])
        dtype = self.condition if self.condition and pattern.name == "c" else self.letters
        shape = () if pattern.name in self.scalars else (Const(400),)
        return Input(dtype=dtype, shape=shape)

    def literal(self, value: float) -> Literal:
        if not self.numbers.is_float and (value not in (0, 1, 2, 3, 8) or str(value) == "-0.0"):
            raise OperandError("not a number of this dtype")
        if self.numbers is DType.BOOL and value > 1:
            raise OperandError("not a truth value")
        return Literal(value=value, dtype=self.numbers)


def formula(pattern: Pattern) -> Formula:
    """What a pattern means."""
    match pattern:
        case Number(value=value):
            return sympy.Rational(value)
        case Letter(name=name):
            return sympy.Symbol(name, positive=True)
    return MEANINGS[pattern.op.name](*map(formula, pattern.operands))
