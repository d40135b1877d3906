"""A fold: a function of the program applied to each element in order, with carried values.

There is no syntax for it; the derivative of ``associative_scan`` uses it. On a GPU, where each step
of a loop takes microseconds, that derivative goes through pairs of elements in parallel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from tempoc.base.arrays import np
from tempoc.ops.control.steps import (
    OfSteps,
    OpStep,
    emit_steps,
    evaluate_steps,
    step_types,
    steps_work,
)
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.dtype_text import cast
from tempoc.ops.definition.operator import (
    Array,
    EmittedValue,
    EmittedValues,
    Emitter,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.shapes import same_shape, type_text
from tempoc.ops.definition.types import TensorType, Types
from tempoc.symbolic import expr as ix

T = TypeVar("T")

FOLDED_PAIRS = '''\
def folded_pairs(combine, step, start, elements):
    """The derivative of a scan with `combine`: `step` at all elements, from the last to the first.

    One after the other on a CPU, which takes less time; elsewhere that of each pair which the scan
    combines, unless a result is not finite: infinity times 0 is no number.
    """
    def in_turn():
        return lax.scan(lambda c, x: step(*c, *x), start, elements, reverse=True)[1]

    if jax.default_backend() == "cpu":
        return in_turn()

    def back(pair, cotangents):
        passed, own = step(*start, *pair, *cotangents, jnp.bool_(False))
        return tuple(y.astype(x.dtype) for x, y in zip(pair, (*passed, *own)))

    n = len(start)
    both = jax.custom_vjp(combine)
    both.defvjp(lambda *xs: (combine(*xs), xs), back)
    scan = lambda *xs: lax.associative_scan(jax.vmap(lambda a, b: both(*a, *b)), xs)
    made = jax.vjp(scan, *elements[n : 2 * n])[1](tuple(elements[2 * n : 3 * n]))
    finite = jnp.stack([jnp.isfinite(x).all() for x in made]).all()
    once = lambda state: (jnp.bool_(False), in_turn())
    return lax.while_loop(lambda state: state[0], once, (~finite, made))[1]
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold(OfSteps):
    """The results of steps for each element, stacked along a new first axis.

    Operands are the first carried values, then ``elements`` tensors whose first axes are gone
    through together (from the end if ``reverse``), then what all elements read. The steps start
    with these in that order; ``carried`` and ``outputs`` are numbers of values.

    Of an associative scan of floats whose function is a polynomial, ``pairs`` is that function if
    this is the scan's derivative, and ``combined`` are the numbers of its results. All starts are
    then zeros; the elements are the results before, the scan's elements, the cotangents of results,
    and whether it is the first one. Any order of pairs gives the same derivative, as it has one.
    """

    carried: tuple[int, ...]
    outputs: tuple[int, ...]
    elements: int
    reverse: bool = False
    pairs: tuple[OpStep, ...] = ()
    combined: tuple[int, ...] = ()

    name = "fold"
    heavy = True

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The outputs of one element, with the extent of the elements in front."""
        first, xs, _ = self.parts(args)
        known = step_types(self.steps, self.given(args), facts)
        for want, k in zip(first, self.carried, strict=True):
            have = known[k]
            if have.dtype is not want.dtype or not same_shape(have.shape, want.shape, facts):
                raise OperandError(f"fold carries {type_text(want)}, then {type_text(have)}")
        n = xs[0].shape[0]
        return tuple(TensorType(known[k].dtype, (n, *known[k].shape)) for k in self.outputs)

    def given(self, args: tuple[TensorType, ...]) -> list[TensorType]:
        """The types of the values that the steps start with."""
        first, xs, constants = self.parts(args)
        return [*first, *(TensorType(x.dtype, x.shape[1:]) for x in xs), *constants]

    def parts(self, args: tuple[T, ...]) -> tuple[tuple[T, ...], tuple[T, ...], tuple[T, ...]]:
        """What is carried first, the elements, and the rest."""
        a, b = len(self.carried), len(self.carried) + self.elements
        return args[:a], args[a:b], args[b:]

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """That of the steps, for each element."""
        return ix.product(
            (args[len(self.carried)].shape[0], steps_work(self.steps, self.given(args)))
        )

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """One element after the other."""
        carry, xs, constants = self.parts(args)
        order = range(len(xs[0]))
        rows: list[list[Array]] = []
        for k in reversed(order) if self.reverse else order:
            values = evaluate_steps(self.steps, [*carry, *(x[k] for x in xs), *constants], at)
            carry = tuple(values[n] for n in self.carried)
            rows.append([values[n] for n in self.outputs])
        rows = rows[::-1] if self.reverse else rows
        if rows:
            return tuple(np.stack([row[k] for row in rows]) for k in range(len(self.outputs)))
        single = [np.zeros(x.shape[1:], x.dtype) for x in xs]
        values = evaluate_steps(self.steps, [*carry, *single, *constants], at)
        return tuple(np.zeros((0, *values[n].shape), values[n].dtype) for n in self.outputs)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """A scan of single elements; padding never reaches valid elements."""
        first, xs, constants = self.parts(tuple(pads.with_own_padding(v, out) for v in args))
        ragged = self.reverse and xs[0].is_ragged(0)
        single = [
            EmittedValue("", TensorType(v.type.dtype, v.type.shape[1:]), v.padded[1:]) for v in xs
        ]
        hints = [f"carry_{k}" for k in range(len(first))] + [f"x_{k}" for k in range(len(xs))]

        def body(names: tuple[str, ...]) -> str:
            given = zip(names, (*first, *single), strict=False)
            start = [EmittedValue(name, v.type, v.padded) for name, v in given]
            values = emit_steps(self.steps, [*start, *constants], out)
            carried = []
            for k, old in zip(self.carried, start, strict=False):
                value = out.align(values[k], old.padded)
                text = cast(value.text, value.type.dtype, old.type.dtype)
                guarded = f"jnp.where({names[-1]}, {text}, {old.text})"
                carried.append(guarded if ragged else text)
            outputs = [values[k].text for k in self.outputs]
            return f"({_tuple(carried)}, {_tuple(outputs)})"

        name = out.function("step", (*hints, *(["inside"] if ragged else [])), body)
        scanned = [v.text for v in xs]
        if ragged:
            n = xs[0].type.shape[0]
            scanned.append(f"{pads.axis_positions(n, out)} < {pads.atom(out.index(n))}")
        start = _tuple([v.text for v in first])
        if self.combined and not any(x.is_ragged(k) for x in xs for k in range(x.type.ndim)):
            combine = self.emit_pairs(single, out)
            folded = out.bind(
                "folded", f"folded_pairs({combine}, {name}, {start}, {_tuple(scanned)})"
            )
            return tuple(f"{folded}[{k}]" for k in range(len(results)))
        reverse = ", reverse=True" if self.reverse else ""
        call = f"lax.scan(lambda c, x: {name}(*c, *x), {start}, {_tuple(scanned)}{reverse})[1]"
        folded = out.bind("folded", call)
        return tuple(f"{folded}[{k}]" for k in range(len(results)))

    def emit_pairs(self, single: list[EmittedValue], out: Emitter) -> str:
        """Write the function of the scan, and return its name."""
        n = len(self.combined)
        hints = [f"{word}_{k}" for word in ("earlier", "later") for k in range(n)]

        def body(names: tuple[str, ...]) -> str:
            known = zip(names, single, strict=False)
            given = [EmittedValue(name, v.type, v.padded) for name, v in known]
            made = emit_steps(self.pairs, given, out)
            results = zip((made[k] for k in self.combined), single, strict=False)
            return _tuple([cast(v.text, v.type.dtype, x.type.dtype) for v, x in results])

        return out.function("combine", tuple(hints), body)


def _tuple(texts: list[str]) -> str:
    return f"({', '.join(texts)},)" if len(texts) == 1 else f"({', '.join(texts)})"
