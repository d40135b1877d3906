"""Formatting generated trees: whatever can be built is written so that it reads back."""

from typing import Any

from hypothesis import given, settings, strategies as st

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Source, Span
from tempoc.frontend.format.format import format_module
from tempoc.frontend.syntax import ast
from tempoc.frontend.syntax.parse import parse
from tests.support.session.long import examples

NOWHERE = Span(Source("", ""), 0, 0)
NAMES = st.sampled_from(("a", "b", "x1", "T", "dimension"))


SIGNS = ("==", "!=", "<", "<=", ">", ">=")


def first(items: tuple[object, ...]) -> tuple[object, ...]:
    return items[:1]


def make(kind: Any, **fields: Any) -> Any:
    """A strategy for nodes of a kind without a place."""
    return st.builds(kind, span=st.just(NOWHERE), **fields)


def tuples(items: Any, low: int = 0) -> Any:
    return st.lists(items, min_size=low, max_size=3).map(tuple)


IDENTS = make(ast.Ident, name=NAMES)
OPERATORS = st.sampled_from(("or", "and", "+", "-", "*", "/", "//", "%", "@", "**"))
LEAVES = st.one_of(
    make(ast.Name, name=NAMES),
    make(ast.NumberExpr, text=st.sampled_from(("0", "12", "1.5", "1e-3", "inf", ".5"))),
    make(ast.String, value=st.text(st.sampled_from('ab"\\\n\t{}#'), max_size=4)),
    make(ast.Bool, value=st.booleans()),
    make(ast.GroupExpr, value=make(ast.Name, name=NAMES)),
)


def larger(e: Any) -> Any:
    """Strategies for expressions made of expressions."""
    maybe = st.none() | e
    slices = make(ast.SliceExpr, lo=maybe, hi=maybe, step=maybe)
    slots = e | slices | make(ast.DataPoint, index=e, within=slices)
    positional = tuples(make(ast.BracketEntry, name=st.none(), value=slots), 1)
    named = st.builds(
        lambda name, value: (ast.BracketEntry(span=NOWHERE, name=name, value=value),), IDENTS, slots
    )
    dtypes = st.sampled_from(ast.DTYPES)
    types = make(ast.TensorTypeExpr, dtype=dtypes, extents=tuples(e))
    fields = make(ast.RecordField, name=NAMES, value=e)
    arguments = make(ast.CallArgument, name=IDENTS, value=e)
    members = st.sampled_from(("w", "Tx"))
    return st.one_of(
        make(ast.UnaryExpr, op=st.sampled_from(("-", "not")), operand=e),
        make(ast.Binary, op=OPERATORS, left=e, right=e),
        make(ast.ComparisonExpr, op=st.sampled_from(SIGNS), left=e, right=e),
        make(ast.IfExpr, condition=e, then=e, orelse=e),
        make(ast.Access, base=e, entries=positional | named),
        make(ast.CallExpr, function=e, args=tuples(e), kwargs=tuples(arguments).map(first)),
        make(ast.Field, base=e, name=members, name_span=st.just(NOWHERE)),
        make(ast.TransposeExpr, base=e),
        make(ast.AsType, value=e, type=types),
        make(ast.ListExpr, items=tuples(e)),
        make(ast.ListComp, element=e, name=IDENTS, over=e),
        make(ast.RecordExpr, fields=tuples(fields, 1).map(lambda f: f[:1])),
    )  # fmt: skip


EXPRESSIONS = st.recursive(LEAVES, larger, max_leaves=12)
TYPES = st.none() | make(ast.TensorTypeExpr, dtype=st.just("i32"))
TARGETS = make(ast.EquationTarget, name=IDENTS, entries=st.none(), type=TYPES)


@settings(max_examples=examples(43, long=150), deadline=None)
@given(TARGETS, EXPRESSIONS, st.none() | EXPRESSIONS)
def test_a_generated_equation_reads_back(target: Any, value: Any, guard: Any) -> None:
    equation = ast.Equation(span=NOWHERE, targets=(target,), values=(value,), guard=guard)
    module = ast.Module(span=NOWHERE, items=(equation,))
    text = format_module(module)
    assert parse(Source("m.rt", text)) == module, text
    assert format_module(parse(Source("m.rt", text))) == text


@settings(max_examples=examples(29, long=100), deadline=None)
@given(st.text(st.sampled_from('ab [](){}=+-*;:,.#"\n0tT<'), max_size=40))
def test_any_text_parses_or_is_refused(text: str) -> None:
    try:
        module = parse(Source("m.rt", text))
    except DiagnosticError as error:
        assert error.diagnostics
    else:
        assert parse(Source("m.rt", format_module(module))) == module
