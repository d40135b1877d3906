"""How much work a function is with arrays for more rows: what that costs where few rows count."""

from __future__ import annotations

import math

import numpy as np

from tempoc.program.nodes.tuning import RunTuning
from tempoc.runtime.rewriting.lengths.elements import ELEMENTWISE
from tempoc.runtime.rewriting.lengths.form import Form, FormConstant, FormStep
from tempoc.runtime.rewriting.lengths.sizes import Lengths, PaddedShape, PaddedSize, VaryingSize

_FUSED = ELEMENTWISE - {"threefry2x32"} | {"broadcast_in_dim", "iota", "squeeze", "reshape"}
_UPDATED_PART = {"dynamic_update_slice": 1, "scatter": 2, "scatter-add": 2}
"""Of operators that update an array in place: which operand they write."""


def work(form: Form, rows: Lengths, lengths: Lengths, tuning: RunTuning) -> int:
    """The bytes that the operators of a function make with arrays for so many rows.

    Loops that go over a length have as many turns as it says, however many rows there are; of
    branches the largest counts. Further numbers are those of the ``tuning``.
    """
    return sum(_of_step(form, step, rows, lengths, tuning) for step in form.steps)


def _of_step(form: Form, step: FormStep, rows: Lengths, lengths: Lengths, tuning: RunTuning) -> int:
    inner, name = [*_forms(step)], step.primitive.name
    if inner and not name.startswith("reduce"):
        parts = [work(f, rows, lengths, tuning) for f in inner]
        return _at(step.how.get("length", 1), lengths) * (max if name == "cond" else sum)(parts)
    if name in _UPDATED_PART:
        return _bytes(form, step.given[_UPDATED_PART[name]], rows)
    made = sum(_bytes(form, v, rows) for v in step.made)
    summed = step.how.get("window_dimensions", ())
    if name == "dot_general":
        (axes, _), _batch = step.how["dimension_numbers"]
        summed = [_shape(form, step.given[0])[axis] for axis in axes]
    made *= max(1, math.prod(_at(n, rows) for n in summed) // tuning.summed_products)
    return made // tuning.fused_operators if name in _FUSED else made


def _forms(step: FormStep) -> list[Form]:
    parts = [p for v in step.how.values() for p in (v if isinstance(v, tuple) else (v,))]
    return [p for p in parts if isinstance(p, Form)]


def _shape(form: Form, v: int | FormConstant) -> PaddedShape:
    return v.shape if isinstance(v, FormConstant) else form.kinds[v].shape


def _bytes(form: Form, v: int | FormConstant, rows: Lengths) -> int:
    dtype = np.dtype(v.dtype) if isinstance(v, FormConstant) else form.kinds[v].dtype
    return math.prod(_at(size, rows) for size in _shape(form, v)) * int(dtype.itemsize)


def _at(size: PaddedSize, n: Lengths) -> int:
    return int(size.at(n)) if isinstance(size, VaryingSize) else size
