"""What a function of a form computes with padded arrays, for any lengths up to the most."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental.xla_metadata import set_xla_metadata

from tempoc.runtime.rewriting.lengths import elements, moves, places, sums
from tempoc.runtime.rewriting.lengths.form import CALLS, Form, FormConstant, FormStep
from tempoc.runtime.rewriting.lengths.padding import Padding, require
from tempoc.runtime.rewriting.lengths.rule import PaddedOperation, PaddingRule
from tempoc.runtime.rewriting.lengths.sizes import VaryingSize

RULES: Mapping[str, PaddingRule] = {**elements.RULES, **moves.RULES, **places.RULES, **sums.RULES}


@dataclass(frozen=True, slots=True)
class PaddedFunction:
    """Computes forms with padded arrays."""

    padding: Padding

    def results(self, form: Form, given: Sequence[Any]) -> list[Any]:
        """The padded results for padded arguments. Raises ``UnlikeError`` where that cannot be."""
        known: dict[int, Any] = dict(enumerate(given))
        for step in form.steps:
            operands = [self._value(v, known) for v in step.given]
            made = self._computed(form, step, operands)
            known |= zip(step.made, made, strict=True)
        return [self._value(v, known) for v in form.results]

    def _value(self, v: int | FormConstant, known: Mapping[int, Any]) -> Any:
        if not isinstance(v, FormConstant):
            return known[v]
        if isinstance(v.content, VaryingSize):
            return lax.convert_element_type(self.padding.count(v.content), jnp.dtype(v.dtype))
        return v.array()

    def _computed(self, form: Form, step: FormStep, given: Sequence[Any]) -> Sequence[Any]:
        name, how = step.primitive.name, step.how
        if name in CALLS:
            compute = partial(self.results, how["function"])
            if not how["alone"]:
                return compute(given)
            with set_xla_metadata(inlineable="false"):  # XLA computes it before what reads it
                return list(jax.jit(compute)(given))
        control = _CONTROL.get(name)
        if control is not None:
            return control(self, how, given, [form.kinds[v].dtype for v in step.made])
        operation = PaddedOperation(
            padding=self.padding,
            compute=self.results,
            primitive=step.primitive,
            how=how,
            given=tuple(
                v.shape if isinstance(v, FormConstant) else form.kinds[v].shape for v in step.given
            ),
            made=tuple(form.kinds[v].shape for v in step.made),
        )
        if not operation.is_rewritten:
            made: Any = step.primitive.bind(*given, **how)
            return made if step.primitive.multiple_results else (made,)
        require(name in RULES)
        made = RULES[name](operation, given)
        require([a.shape for a in made] == [*map(self.padding.shape, operation.made)])
        return made  # type: ignore[no-any-return]


def _scan(
    f: PaddedFunction, how: Mapping[str, Any], given: Sequence[Any], dtypes: Sequence[Any]
) -> list[Any]:
    body, length, reverse = how["jaxpr"], how["length"], how["reverse"]
    first, count = how["num_consts"], how["num_carry"]
    constants, carried, rows = given[:first], given[first : first + count], given[first + count :]

    def step(state: Sequence[Any], row: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        results = f.results(body, [*constants, *state, *row])
        return results[:count], results[count:]

    if isinstance(length, int):
        state, made = lax.scan(
            step, [*carried], [*rows], length=length, reverse=reverse, unroll=how["unroll"]
        )
        return [*state, *made]
    turns, most = f.padding.count(length), f.padding.size(length)
    require(not any(jax.dtypes.issubdtype(d, jax.dtypes.extended) for d in dtypes))
    kinds = [body.kinds[v] if isinstance(v, int) else v for v in body.results[count:]]
    made = [
        jnp.zeros((most, *f.padding.shape(kind.shape)), dtype)
        for kind, dtype in zip(kinds, dtypes[count:], strict=True)
    ]

    def turn(k: Any, now: tuple[list[Any], list[Any]]) -> tuple[list[Any], list[Any]]:
        at = turns - 1 - k if reverse else k
        state, new = step(now[0], [_row(a, at) for a in rows])
        return state, [_with_row(a, row, at) for a, row in zip(now[1], new, strict=True)]

    state, made = lax.fori_loop(0, turns, turn, ([*carried], made))
    return [*state, *made]


def _row(array: Any, at: Any) -> Any:
    starts = (at, *(jnp.int32(0) for _ in array.shape[1:]))
    sizes = (1, *array.shape[1:])
    row = lax.dynamic_slice(array, starts, sizes, allow_negative_indices=False)
    return lax.squeeze(row, (0,))


def _with_row(array: Any, row: Any, at: Any) -> Any:
    starts = (at, *(jnp.int32(0) for _ in row.shape))
    rows = lax.expand_dims(row, (0,))
    return lax.dynamic_update_slice(array, rows, starts, allow_negative_indices=False)


def _while(
    f: PaddedFunction, how: Mapping[str, Any], given: Sequence[Any], _: Sequence[Any]
) -> list[Any]:
    """Where each point has a condition of its own, those that are done keep what they have."""
    first, second = how["cond_nconsts"], how["cond_nconsts"] + how["body_nconsts"]
    tested, constants, test = given[:first], given[first:second], how["cond_jaxpr"]
    goes = test.results[0]
    shape = goes.shape if isinstance(goes, FormConstant) else test.kinds[goes].shape

    def goes_on(state: Sequence[Any]) -> Any:
        array = f.results(test, [*tested, *state])[0]
        return f.padding.masked(array, shape, range(len(shape)), False)

    def turn(state: Sequence[Any]) -> list[Any]:
        new = f.results(how["body_jaxpr"], [*constants, *state])
        if not shape:
            return new
        going = goes_on(state)
        axes = range(going.ndim)
        return [
            lax.select(lax.broadcast_in_dim(going, a.shape, axes), a, b)
            for a, b in zip(new, state, strict=True)
        ]

    def any_goes_on(state: Sequence[Any]) -> Any:
        return jnp.any(goes_on(state)) if shape else goes_on(state)

    results: list[Any] = lax.while_loop(any_goes_on, turn, [*given[second:]])
    return results


def _cond(
    f: PaddedFunction, how: Mapping[str, Any], given: Sequence[Any], _: Sequence[Any]
) -> list[Any]:
    branches = [_branch(f, form) for form in how["branches"]]
    results: list[Any] = lax.switch(given[0], branches, *given[1:])
    return results


def _branch(f: PaddedFunction, form: Form) -> Callable[..., list[Any]]:
    return lambda *given: f.results(form, given)


def _solve(
    f: PaddedFunction, how: Mapping[str, Any], given: Sequence[Any], _: Sequence[Any]
) -> list[Any]:
    """The solution of linear equations; the other functions in it are for derivatives."""
    counts = how["const_lengths"]
    first = counts.matvec + counts.vecmat
    constants, sides = given[first : first + counts.solve], given[sum(counts) :]
    return f.results(how["jaxprs"].solve, [*constants, *sides])


_CONTROL = {"scan": _scan, "while": _while, "cond": _cond, "custom_linear_solve": _solve}
