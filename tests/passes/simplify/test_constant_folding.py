"""Literals that are folded without NumPy are those that its functions would give."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings, strategies as st

from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType
from tempoc.ops.tensor import arithmetic, elementwise
from tempoc.ops.tensor.source import Literal
from tempoc.passes.simplify import constant_folding
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.elaborated import graph_of
from tests.support.session.long import examples

BINARY = arithmetic.Add(), arithmetic.Subtract(), arithmetic.Multiply(), arithmetic.Divide()
UNARY = elementwise.Negative(), elementwise.Sqrt()
EDGES = 0, -0.0, 1, 2**24 + 1, 2**31 - 1, 3.4e38, 1e39, 1e-38, 1e-40, 1e-46, float("inf"), 0.1
NUMBERS = st.one_of(st.sampled_from(EDGES), st.floats(), st.integers(-(2**33), 2**33))


def bits(number: float, dtype: DType) -> bytes:
    """What tells 0.0 from -0.0."""
    return struct.pack("q" if dtype is DType.I32 else "d", number)


def agree(op: Op, values: tuple[float, ...], given: DType, dtype: DType) -> bool:
    """Whether a literal is found without NumPy; asserts that it is the same then."""
    literals = [Literal(value=v, dtype=given) for v in values]
    number = constant_folding._without_numpy(op, literals, dtype)
    if number is not None:
        (expected,) = op.evaluate(tuple(lit.evaluate((), {})[0] for lit in literals), {})
        assert expected.dtype == Literal(value=0, dtype=dtype).evaluate((), {})[0].dtype
        assert bits(number, dtype) == bits(expected.item(), dtype)
        assert isinstance(number, int) == (dtype is DType.I32)
    return number is not None


@given(st.tuples(NUMBERS, NUMBERS))
@settings(max_examples=examples(150, long=2000), deadline=None)
def test_single_precision(values: tuple[float, float]) -> None:
    for op in BINARY:
        agree(op, values, DType.F32, DType.F32)
    for value in values:
        for function in UNARY:
            agree(function, (value,), DType.F32, DType.F32)


@given(NUMBERS)
@settings(max_examples=examples(150, long=2000), deadline=None)
def test_casts(value: float) -> None:
    for dtype in (DType.F32, DType.I32):
        to = elementwise.Cast(dtype=dtype)
        agree(to, (value,), DType.F32, dtype)
        if isinstance(value, int) and abs(value) < 2**31:
            assert agree(to, (value,), DType.I32, dtype)


@pytest.mark.parametrize("op", [*BINARY, *UNARY], ids=lambda op: op.name)
def test_what_loads_numpy_is_rare(op: Op) -> None:
    values = (2.0, 640)[: 1 if op in UNARY else 2]
    assert agree(op, values, DType.F32, DType.F32)
    assert not agree(op, values, DType.F64, DType.F64)


def test_what_is_larger_than_its_dtype_is_left_to_the_run() -> None:
    graph = graph_of("y = i8(1e38) + true\noutput y\n")
    folded = constant_folding.fold_constants(graph)
    assert isinstance(folded.nodes["y.cast"].op, Literal)
    assert evaluate(folded, {}, {}, {})["y"].item() == -128
