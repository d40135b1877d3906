"""How often loops turn: by numbers that are computed before, or counted in loops around them.

Numbers are arrays of few integers. That which a loop counts is known by its middle, so that a loop
up to it has half of the turns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tempoc.runtime.rewriting.lengths.form import CALLS, Form, FormConstant, FormStep
from tempoc.runtime.rewriting.lengths.sizes import Lengths, VaryingSize, at_lengths

FewIntegers = np.ndarray[Any, Any]
KnownNumbers = Mapping[int, FewIntegers]
"""The numbers of variables, as far as they are known."""

_FEW = 16
"""No kernel has more coordinates."""
_COMPUTED: Mapping[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
    "convert_element_type": np.asarray,
    "copy": np.asarray,
}


def inner_forms(step: FormStep) -> list[Form]:
    """The functions that are parameters of an operator."""
    parts = [p for v in step.how.values() for p in (v if isinstance(v, tuple) else (v,))]
    return [p for p in parts if isinstance(p, Form)]


def operands(step: FormStep, known: KnownNumbers, lengths: Lengths) -> list[FewIntegers | None]:
    """The numbers that an operator is given; ``None`` where they are not known."""
    return [_number(v, known, lengths) for v in step.given]


def _number(v: int | FormConstant, known: KnownNumbers, lengths: Lengths) -> FewIntegers | None:
    if not isinstance(v, FormConstant):
        return known.get(v)
    if isinstance(v.content, VaryingSize):
        return np.asarray(v.content.at(lengths)) if lengths else None
    return v.array() if is_few(v.shape, np.dtype(v.dtype)) else None


def is_few(shape: tuple[int, ...], dtype: object) -> bool:
    """Whether arrays are few integers."""
    return math.prod(shape) <= _FEW and isinstance(dtype, np.dtype) and dtype.kind in "iu"


def of_step(
    form: Form, step: FormStep, known: KnownNumbers, lengths: Lengths
) -> dict[int, FewIntegers]:
    """The numbers that an operator makes, where they are known."""
    given, name = operands(step, known, lengths), step.primitive.name
    if name in CALLS:
        function = step.how["function"]
        inside = results_of(function, dict(_known(enumerate(given))), lengths)
        return dict(_known(zip(step.made, inside, strict=True)))
    if len(step.made) != 1 or any(number is None for number in given):
        return {}
    shape = tuple(at_lengths(n, lengths) for n in form.kinds[step.made[0]].shape)
    if not is_few(shape, form.kinds[step.made[0]].dtype):
        return {}
    if name in _COMPUTED:
        return {step.made[0]: _COMPUTED[name](*given)}
    if name in ("squeeze", "reshape"):
        return {step.made[0]: np.reshape(given[0], shape)}  # type: ignore[arg-type]
    if name == "slice":
        starts = (at_lengths(n, lengths) for n in step.how["start_indices"])
        ends = (at_lengths(n, lengths) for n in step.how["limit_indices"])
        return {step.made[0]: given[0][tuple(map(slice, starts, ends))]}  # type: ignore[index]
    return {}


def results_of(form: Form, numbers: KnownNumbers, lengths: Lengths) -> list[FewIntegers | None]:
    """The numbers that a function returns."""
    known = dict(numbers)
    for step in form.steps:
        known |= of_step(form, step, known, lengths)
    return [_number(v, known, lengths) for v in form.results]


def turns(step: FormStep, given: Sequence[FewIntegers | None], lengths: Lengths) -> int:
    """How often an operator computes its function: at most, where data say when a loop ends."""
    if step.primitive.name != "while":
        return at_lengths(step.how.get("length", 1), lengths)
    test, first = step.how["cond_jaxpr"], step.how["cond_nconsts"]
    carried = given[first + step.how["body_nconsts"] :]
    known = dict(_known(enumerate([*given[:first], *carried])))
    counts = []
    for compared in test.steps:
        if compared.primitive.name == "lt":
            counter, limit = operands(compared, known, lengths)
            if counter is not None and limit is not None and not (counter.shape or limit.shape):
                counts.append(int(limit) - int(counter))
        known |= of_step(test, compared, known, lengths)
    return max(0, min(counts, default=1))


def of_body(
    step: FormStep, body: Form, given: Sequence[FewIntegers | None], count: int
) -> dict[int, FewIntegers]:
    """The numbers that the function of an operator is given, in the middle of its turns."""
    how, name = step.how, step.primitive.name
    if name == "cond":
        return dict(_known(enumerate(given[1:])))
    if name not in ("while", "scan"):
        return dict(_known(enumerate(given))) if len(given) == body.count else {}
    if name == "scan":
        first, carried = how["num_consts"], how["num_carry"]
        constants, state = given[:first], given[first : first + carried]
    else:
        first = how["body_nconsts"]
        constants, state = (
            given[how["cond_nconsts"] :][:first],
            given[how["cond_nconsts"] + first :],
        )
        if body is how["cond_jaxpr"]:
            return {}
    middle = dict(_known(enumerate(constants)))
    counted = {s.made[0]: s for s in body.steps if s.primitive.name == "add"}
    for k, number in _known(enumerate(state, first)):
        made = body.results[k - first]
        add = counted.get(made) if isinstance(made, int) else None
        if made == k:
            middle[k] = number
        elif add and add.given[0] == k:
            by = _number(add.given[1], {}, ())
            # A sum of two numbers of NumPy warns where it overflows, as the kernel's may.
            middle |= {} if by is None else {k: np.add(number, by * (count // 2))}
    return middle


def _known(
    numbers: Iterator[tuple[int, FewIntegers | None]] | Any,
) -> Iterator[tuple[int, FewIntegers]]:
    return ((k, number) for k, number in numbers if number is not None)
