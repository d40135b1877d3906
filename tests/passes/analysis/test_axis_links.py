"""The tile rule of every operator: parts of the operands give parts of the results."""

from __future__ import annotations

import numpy as np
import pytest

from tempoc.ops.catalog import OPS
from tempoc.ops.definition.axis_links import AxisPart, Link
from tempoc.ops.definition.dtype_text import numpy_dtype
from tempoc.ops.definition.shapes import axes_of
from tempoc.passes.tiling.partial_results import combination
from tempoc.symbolic.expr import Const
from tempoc.symbolic.walk import evaluate
from tests.ops.harness import Array, Case, Sampled, points
from tests.ops.test_agreement import CASES
from tests.support.session.long import examples

STEP = 2


def axes(case: Case) -> tuple[Link, ...]:
    """All axes that can be followed through the operator."""
    types = tuple(a.type for a in case.args)
    return tuple(case.op.links(types, case.types, Sampled(case.least).equal))


FOLLOWED: dict[str, list[Case]] = {}
"""By their operators, one test each: a test for each case takes longer than the case."""
for each in CASES:
    if axes(each):
        FOLLOWED.setdefault(each.op.name, []).append(each)


# Operators without axes, given from outside, with effects, or that look at whole tensors.
OPAQUE = (
    "literal", "index", "input", "param", "eye", "seed", "random_key", "uniform", "normal",
    "integers", "bernoulli", "categorical", "gumbel", "permutation", "merge", "ensure", "cond",
    "print", "save", "until", "data_length", "after", "with_checks", "associative_scan",
    "attention", "dispatched", "fold",
    "recurrence", "unpacked_product", "window", "widen", "extern_jax", "extern_host", "extern_vjp",
)  # fmt: skip


def test_every_rule_is_tried() -> None:
    assert {*FOLLOWED} == {*OPS} - {*OPAQUE}


@pytest.mark.parametrize("operator", FOLLOWED)
def test_parts_make_the_whole(operator: str) -> None:
    for case in FOLLOWED[operator][:: examples(2, long=1)]:
        check_parts(case)


def check_parts(case: Case) -> None:
    """At all points, along each axis that can be followed."""
    rng = np.random.default_rng(7)
    for at in points(case):
        arrays = [a.draw(rng, at) for a in case.args]
        whole = case.op.evaluate(tuple(arrays), at)
        for link in axes(case):
            found = [cut(case, link, arrays, start, at) for start in starts(link, arrays, whole)]
            if link.is_reduced:
                assert_combined(case, found, whole, at)
            else:
                for k, axis in enumerate(link.results):
                    assert axis is not None
                    joined = np.concatenate([f[k] for f in found], axis) if found else whole[k]
                    assert_close(case, joined, whole[k])


def starts(link: Link, arrays: list[Array], whole: tuple[Array, ...]) -> range:
    """Where the parts begin."""
    operands = zip(arrays, link.operands, strict=True)
    sizes = [a.shape[k] for a, k in operands if k is not None]
    sizes += [y.shape[k] for y, k in zip(whole, link.results, strict=True) if k is not None]
    assert len({*sizes}) == 1, "the axis has one extent"
    return range(0, sizes[0], STEP)


def cut(
    case: Case, link: Link, arrays: list[Array], start: int, at: dict[str, int]
) -> tuple[Array, ...]:
    """The operator on one part of the link's axis."""
    parts = [
        x if axis is None else np.take(x, range(start, min(start + STEP, x.shape[axis])), axis)
        for x, axis in zip(arrays, link.operands, strict=True)
    ]
    if link.is_reduced:
        how = combination(case.op, tuple(a.type for a in case.args), case.types[0].dtype)
        op = case.op if how is None else how.part
        if how is not None and case.op.name not in ("matmul", "einsum"):
            wide = numpy_dtype(how.dtype)
            narrow = [p.dtype == numpy_dtype(case.types[0].dtype) for p in parts]
            parts = [p.astype(wide) if n else p for p, n in zip(parts, narrow, strict=True)]
        return op.evaluate(tuple(parts), at)
    results = [
        evaluate(case.types[k].shape[a], at) for k, a in enumerate(link.results) if a is not None
    ]
    part = AxisPart(Const(start), Const(min(STEP, results[0] - start)))
    return case.op.narrowed(link, part).evaluate(tuple(parts), at)


def assert_combined(
    case: Case, found: list[tuple[Array, ...]], whole: tuple[Array, ...], at: dict[str, int]
) -> None:
    """What is found for the parts, taken in one after another, is what the whole gives."""
    types = tuple(a.type for a in case.args)
    how = combination(case.op, types, case.types[0].dtype)
    if how is None:
        return
    total = np.full(whole[0].shape, how.start, numpy_dtype(how.dtype))
    for (part,) in found:
        both = (total, part.astype(total.dtype))
        (total,) = how.more.evaluate((np.stack(both),) if how.stacked else both, at)
    if how.divided:
        shape = types[0].shape
        sizes = [evaluate(shape[a], at) for a in axes_of(case.op.axes, len(shape))]
        with np.errstate(all="ignore"):
            total = total / total.dtype.type(np.prod(sizes))
    assert_close(case, total, whole[0])


def assert_close(case: Case, found: Array, wanted: Array) -> None:
    assert found.shape == wanted.shape, case
    half = numpy_dtype(case.types[0].dtype).itemsize == 2
    a, b = (np.asarray(x).astype(np.float64) for x in (found, wanted))
    close = 2e-2 if half else 1e-5
    np.testing.assert_allclose(a, b, rtol=close, atol=close, err_msg=str(case))
