"""Indices mean what they mean in NumPy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tempoc.frontend.expressions.numpy_indexing import IndexEntry, SliceRange, spatial_index
from tempoc.ops.definition.operator import OperandError
from tempoc.ops.definition.types import DType, TensorType
from tempoc.symbolic.expr import Const
from tempoc.symbolic.parse import parse
from tests.ops.harness import Sampled, shape

ENDS = [None, -9, -4, -1, 0, 1, 3, 9]


@pytest.mark.parametrize("n", [0, 1, 4])
def test_constant_slices(n: int) -> None:
    x = np.arange(n)
    for lo, hi, step in product(ENDS, ENDS, (1, 2, -1, -3)):
        ends = [None if e is None else Const(e) for e in (lo, hi)]
        written = SliceRange(lo=ends[0], hi=ends[1], step=step)
        op = spatial_index(shape(n), [written], Sampled())
        (y,) = op.evaluate((x,), {})
        np.testing.assert_array_equal(y, x[lo:hi:step], err_msg=f"{n} {lo}:{hi}:{step}")
        (type_,) = op.infer((TensorType(DType.I32, shape(n)),), Sampled())
        assert type_.shape == shape(len(y))


@pytest.mark.parametrize("text", ["1, :, idx", "idx, :, 1", ":, idx, 1", ":, idx, ::2", "0, idx"])
@pytest.mark.parametrize("size", [(), (3,), (0,), (2, 2)])
def test_gathers(text: str, size: tuple[int, ...]) -> None:
    x = np.arange(3 * 4 * 5).reshape(3, 4, 5)
    idx = np.random.default_rng(0).integers(-3, 3, size)
    written: list[IndexEntry] = []
    for part in text.split(", "):
        if part == "idx":
            written.append("tensor")
        elif ":" in part:
            written.append(SliceRange(step=2 if "2" in part else 1))
        else:
            written.append(Const(int(part)))
    op = spatial_index(shape(3, 4, 5), written, Sampled())
    (y,) = op.evaluate((x, idx), {})
    np.testing.assert_array_equal(y, eval(f"x[{text}]", {"x": x, "idx": idx}))


def test_extents_are_as_simple_as_can_be_proved() -> None:
    def extent(n: str, lo: str, hi: str) -> str:
        op = spatial_index(shape(n), [SliceRange(lo=parse(lo), hi=parse(hi))], Sampled())
        (part,) = op.entries
        assert isinstance(part, tuple)
        return str(part[1] == parse("t + 1") or part[1])

    assert extent("T", "0", "t + 1") == "True"
    assert extent("T", "T - t - 1", "T") == "True"
    assert extent("t + 1", "0", "T") == "True"


@pytest.mark.parametrize(
    ("extents", "written", "message"),
    [
        ((3,), [Const(3)], "index 3 is out of range for axis 0 of extent 3"),
        ((2, 3), [SliceRange(), Const(-4)], "index -4 is out of range for axis 1 of extent 3"),
        (("t",), [Const(0)], "index 0 can be out of range for axis 0 of extent t"),
        (("T",), [parse("t + 1")], r"index t\+1 can be out of range for axis 0 of extent T"),
        (("T",), [SliceRange(lo=parse("t - 2"))], "t-2 in a spatial slice can be negative"),
        ((3,), [SliceRange(step=0)], "a slice takes no step of 0"),
        ((3,), [Const(0), Const(0)], r"shape \[3\] has 1 axis, not 2 to index"),
        ((3, 3), ["tensor", "tensor"], "one integer tensor can stand in an index, not more"),
    ],
)
def test_refusals(extents: tuple[str | int, ...], written: list[IndexEntry], message: str) -> None:
    with pytest.raises(OperandError, match=message):
        spatial_index(shape(*extents), written, Sampled())
