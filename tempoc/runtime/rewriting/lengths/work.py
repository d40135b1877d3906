"""How much work a function is with arrays for more rows: what that costs where few rows count."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tempoc.program.nodes.tuning import RunTuning
from tempoc.runtime.rewriting.lengths.elements import ELEMENTWISE
from tempoc.runtime.rewriting.lengths.form import Form, FormConstant, FormStep
from tempoc.runtime.rewriting.lengths.numbers import (
    KnownNumbers,
    inner_forms,
    of_body,
    of_step,
    operands,
    turns,
)
from tempoc.runtime.rewriting.lengths.sizes import (
    Lengths,
    PaddedShape,
    PaddedSize,
    at_lengths,
    is_ragged,
)

_FUSED = ELEMENTWISE - {"threefry2x32"} | {"broadcast_in_dim", "iota", "squeeze", "reshape"}
_UPDATED_PART = {"dynamic_update_slice": 1, "scatter": 2, "scatter-add": 2}
"""Of operators that update an array in place: which operand they write."""


@dataclass(frozen=True, slots=True)
class Workload:
    """The bytes that the operators of a function make with arrays for so many ``rows``.

    Loops that go over a length have as many turns as it says, however many rows there are; of
    branches the largest counts. Further numbers are those of the ``tuning``. ``is_padded``: what
    the function sums is masked before.
    """

    rows: Lengths
    lengths: Lengths
    tuning: RunTuning
    is_padded: bool

    def of(self, form: Form, numbers: KnownNumbers) -> int:
        """The bytes of a form, where some of its variables have known numbers."""
        known, total = dict(numbers), 0
        for step in form.steps:
            total += self._of_step(form, step, known)
            known |= of_step(form, step, known, self.lengths)
        return total

    def _of_step(self, form: Form, step: FormStep, known: KnownNumbers) -> int:
        inner, name = inner_forms(step), step.primitive.name
        if inner and not name.startswith("reduce"):
            given = operands(step, known, self.lengths)
            count = turns(step, given, self.lengths)
            parts = [self.of(f, of_body(step, f, given, count)) for f in inner]
            return count * (max if name == "cond" else sum)(parts)
        if name in _UPDATED_PART:
            return self._bytes(form, step.given[_UPDATED_PART[name]])
        made = sum(self._bytes(form, v) for v in step.made)
        summed = step.how.get("window_dimensions", ())
        if name == "dot_general":
            (axes, _), _batch = step.how["dimension_numbers"]
            summed = [_shape(form, step.given[0])[axis] for axis in axes]
        made *= max(1, self._count(summed) // self.tuning.summed_products)
        if name in _FUSED:
            return made // self.tuning.fused_operators
        return made + self._masked(form, step)

    def _masked(self, form: Form, step: FormStep) -> int:
        """The bytes of operands whose padding is masked: of products as arrays of their own."""
        if not self.is_padded:
            return 0
        name, how = step.primitive.name, step.how
        if name == "dot_general":
            axes = how["dimension_numbers"][0]
            return sum(
                self._bytes(form, v)
                for v, summed in zip(step.given, axes, strict=True)
                if is_ragged(_shape(form, v)[axis] for axis in summed)
            )
        if name.startswith("reduce") and "axes" in how:
            (v, *_), axes = step.given, how["axes"]
            if is_ragged(_shape(form, v)[axis] for axis in axes):
                return self._bytes(form, v) // self.tuning.fused_operators
        return 0

    def _bytes(self, form: Form, v: int | FormConstant) -> int:
        dtype = np.dtype(v.dtype) if isinstance(v, FormConstant) else form.kinds[v].dtype
        return self._count(_shape(form, v)) * int(dtype.itemsize)

    def _count(self, sizes: Iterable[PaddedSize]) -> int:
        return math.prod(at_lengths(n, self.rows) for n in sizes)


def operator_count(form: Form) -> int:
    """How many operators XLA compiles for a function."""
    return sum(sum(map(operator_count, inner_forms(step))) + 1 for step in form.steps)


def _shape(form: Form, v: int | FormConstant) -> PaddedShape:
    return v.shape if isinstance(v, FormConstant) else form.kinds[v].shape
