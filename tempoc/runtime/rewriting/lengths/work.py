"""How much work a function is with arrays for more rows: what that costs where few rows count."""

from __future__ import annotations

import math

from tempoc.runtime.rewriting.lengths.form import (
    Form,
    FormConstant,
    FormStep,
    FormVariable,
)
from tempoc.runtime.rewriting.lengths.sizes import Lengths, PaddedShape, PaddedSize, VaryingSize


def work(form: Form, rows: Lengths, lengths: Lengths, products: int) -> int:
    """The bytes that the operators of a function make with arrays for so many rows.

    Loops that go over a length have as many turns as it says, however many rows there are. So
    many ``products`` that are summed count as a number that is made.
    """
    return sum(_of_step(form, step, rows, lengths, products) for step in form.steps)


def _of_step(form: Form, step: FormStep, rows: Lengths, lengths: Lengths, products: int) -> int:
    inner = [*_forms(step)]
    if inner:
        turns = step.how.get("length", 1)
        return _at(turns, lengths) * sum(work(f, rows, lengths, products) for f in inner)
    made = sum(_bytes(form.kinds[v], rows) for v in step.made)
    if step.primitive.name == "dot_general":
        (axes, _), _batch = step.how["dimension_numbers"]
        summed = math.prod(_at(_shape(form, step.given[0])[axis], rows) for axis in axes)
        return made * max(1, summed // products)
    return made


def _forms(step: FormStep) -> list[Form]:
    parts = [p for v in step.how.values() for p in (v if isinstance(v, tuple) else (v,))]
    return [p for p in parts if isinstance(p, Form)]


def _shape(form: Form, v: int | FormConstant) -> PaddedShape:
    return v.shape if isinstance(v, FormConstant) else form.kinds[v].shape


def _bytes(kind: FormVariable, rows: Lengths) -> int:
    return math.prod(_at(size, rows) for size in kind.shape) * int(kind.dtype.itemsize)


def _at(size: PaddedSize, n: Lengths) -> int:
    return int(size.at(n)) if isinstance(size, VaryingSize) else size
