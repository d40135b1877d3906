"""Promotion is JAX's, with 64-bit mode off unless a 64-bit dtype was declared."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tempoc.ops.definition.dtype_text import dtype_of, numpy_dtype
from tempoc.ops.definition.operator import OperandError
from tempoc.ops.definition.promotion import inexact, join, promote
from tempoc.ops.definition.types import DType, TensorType
from tempoc.program.nodes.dtypes import ELEMENTS

STRONG = [d for d in DType if d is not DType.KEY]
KINDS = [*((d, False) for d in STRONG), (DType.I32, True), (DType.F32, True)]
WIDE = (DType.I64, DType.F64)


def operand(kind: tuple[DType, bool]) -> object:
    dtype, weak = kind
    if weak:
        return 1.0 if dtype.is_float else 1
    return jnp.ones((), numpy_dtype(dtype))


def test_sizes_of_elements() -> None:
    assert [d.itemsize for d in DType] == [numpy_dtype(d).itemsize for d in DType]


@pytest.mark.parametrize("a", KINDS, ids=str)
def test_as_in_jax(a: tuple[DType, bool]) -> None:
    for b in KINDS:
        wide = a[0] in WIDE or b[0] in WIDE
        with jax.enable_x64(wide):
            dtype, weak = jax.dtypes.result_type(operand(a), operand(b), return_weak_type_flag=True)
        # In 64-bit mode JAX's weak numbers are wide by themselves; the language's never are.
        expected = DType.I32 if dtype == np.int16 else dtype_of(np.dtype(dtype))  # there is no i16
        if wide and weak:
            expected = {DType.F64: DType.F32, DType.I64: DType.I32}[expected]
        assert join(a, b) == (expected, bool(weak)), b


def test_integers_and_bools_become_floats() -> None:
    assert inexact((DType.I64, False)) == (DType.F32, False)
    assert inexact((DType.BOOL, False)) == (DType.F32, False)
    assert inexact((DType.I32, True)) == (DType.F32, True)
    assert inexact((DType.BF16, False)) == (DType.BF16, False)


def test_three_meet() -> None:
    types = [TensorType(DType.F16), TensorType(DType.F32, weak=True), TensorType(DType.BF16)]
    assert promote(types) == (DType.F32, False)


def test_keys_stay_alone() -> None:
    assert join((DType.KEY, False), (DType.KEY, False)) == (DType.KEY, False)
    with pytest.raises(OperandError, match="a random key does not combine with f32"):
        join((DType.F32, False), (DType.KEY, False))


def test_every_dtype_has_elements() -> None:
    assert [d.value for d in DType] == [*ELEMENTS]
