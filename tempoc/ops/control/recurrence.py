"""A recurrence along one axis: steps of the program compute each row from the one before.

There is no syntax for it; the pass ``scans`` recognizes it in loops. With ``a`` and ``b`` as
elements and the steps ``a * h + b`` it is the linear recurrence ``h[k+1] = a[k] * h[k] + b[k]``,
but the steps may be any others, for any number of tensors that are carried along.

Rows are made one after the other, as the reference evaluator does it, so that rounding, NaN and
infinities are those of the equations. On a CPU that is also the fastest way: XLA turns such a loop
into code that takes 10 to 30 ns a step, where ``lax.associative_scan`` of the same linear
recurrence takes 2 to 9 times as long (f32, 2 cores, microseconds)::

    steps   numbers in a row     loop   associative_scan
      512                 16       25                148
     4096                  1       39                245
     4096                 16       95                411
     4096                256     1702              14678
    16384                  1      103                271
    16384                 16      453               2833

Where points are mapped by ``jax.vmap``, JAX moves their axis to the front of an array of which a
loop reads rows, which copies it; ``lax.scan`` takes rows that have that axis where it is. Over 128
points and 200 steps, stored step by step, a gated unit takes 9 ms instead of 14, its derivative a
quarter of the time.

A matrix in the place of ``a`` makes this worse still: combining two steps takes ``n**3``
operations, doing one takes ``n**2``. On other devices, where a step of a loop takes as long as a
large kernel, recurrences that are linear element by element are combined
(``linear_recurrence.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from tempoc.base.arrays import np
from tempoc.ops.control.linear_recurrence import is_linear
from tempoc.ops.control.steps import (
    OfSteps,
    emit_steps,
    evaluate_steps,
    step_types,
    steps_work,
)
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.dtype_text import cast, tupled
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
from tempoc.symbolic.walk import evaluate

T = TypeVar("T")
PLAIN = "allow_negative_indices=False"
"""XLA cannot tell that falling indices are never negative: to ask is a quarter of a small step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence(OfSteps):
    """All rows of the tensors carried, the first ones given, ``count`` made; their axis is new.

    Operands are the first rows, then the elements, then what every step reads. Step ``k`` takes row
    ``starts[j] + k`` of element ``j``. The values of the steps start with the rows before, those of
    the elements and the rest; ``carried`` are the numbers of the new rows. With ``reverse`` the
    rows given are the last ones, and the last step is the first to be done.
    """

    carried: tuple[int, ...]
    starts: tuple[int, ...]
    count: ix.Expr
    reverse: bool = False

    name = "recurrence"

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The types of the rows, one more than are made."""
        first, xs, _ = self.parts(args)
        for x, start in zip(xs, self.starts, strict=True):
            if not facts.holds(ix.compare("<=", ix.add(self.count, ix.Const(start)), x.shape[0])):
                raise OperandError(f"a recurrence has more steps than {type_text(x)} has rows")
        known = step_types(self.steps, self.given(args), facts)
        for want, k in zip(first, self.carried, strict=True):
            have = known[k]
            if have.dtype is not want.dtype or not same_shape(have.shape, want.shape, facts):
                raise OperandError(f"a recurrence has {type_text(want)}, then {type_text(have)}")
        rows = ix.add(self.count, ix.ONE)
        return tuple(TensorType(t.dtype, (rows, *t.shape)) for t in first)

    def given(self, args: tuple[TensorType, ...]) -> list[TensorType]:
        """The types of the values that the steps start with."""
        first, xs, constants = self.parts(args)
        return [*first, *(TensorType(x.dtype, x.shape[1:], x.weak) for x in xs), *constants]

    def parts(self, args: tuple[T, ...]) -> tuple[tuple[T, ...], tuple[T, ...], tuple[T, ...]]:
        """The first rows, the elements, and the rest."""
        a, b = len(self.carried), len(self.carried) + len(self.starts)
        if len(args) < b:
            raise OperandError(f"a recurrence with {b} rows and elements has {len(args)} operands")
        return args[:a], args[a:b], args[b:]

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """That of the steps, ``count`` times."""
        return ix.product((self.count, steps_work(self.steps, self.given(args))))

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """One row after the other."""
        first, xs, constants = self.parts(args)
        count = evaluate(self.count, at)
        results = [np.empty((count + 1, *a.shape), a.dtype) for a in first]
        row = first
        for rows, a in zip(results, row, strict=True):
            rows[count if self.reverse else 0] = a
        for k in range(count)[:: -1 if self.reverse else 1]:
            single = (x[start + k] for x, start in zip(xs, self.starts, strict=True))
            values = evaluate_steps(self.steps, [*row, *single, *constants], at)
            row = tuple(values[n].astype(a.dtype) for n, a in zip(self.carried, first, strict=True))
            for rows, a in zip(results, row, strict=True):
                rows[k if self.reverse else k + 1] = a
        return tuple(results)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """A loop that writes one row of each tensor in a step.

        One tensor is read back where the row before was written. Of several, the rows are carried
        beside them: XLA copies a tensor in each step if a row is read from it that the row written
        to it is not made of, or not alone. Where points are mapped, the loop is a ``lax.scan``.
        """
        first, xs, constants = self.parts(tuple(pads.with_own_padding(v, out) for v in args))
        xs = tuple(pads.nonempty(x, [0], out) for x in xs)  # steps are traced even if none is done
        single = [replace(x.type, shape=x.type.shape[1:]) for x in xs]
        others = [*single, *(v.type for v in constants)]
        linear = is_linear(self.steps, [v.type for v in first], others)
        if out.mapped:
            return self.scanned(first, xs, constants, linear, out)
        if linear:
            return self.linear(first, xs, constants, out)
        count, alone = out.static(self.count), len(first) == 1

        def body(names: tuple[str, ...]) -> str:
            k, *rows = names
            if self.reverse:
                k = out.bind("k", f"{out.static(ix.sub(self.count, ix.ONE))} - {k}")
            before, after = (_plus(k, 1), k) if self.reverse else (k, _plus(k, 1))
            last = rows[len(first) :]
            if alone:
                last = [out.bind("before", _read(rows[0], before, self._bare(first[0])))]
            values = [EmittedValue(b, v.type, v.padded) for b, v in zip(last, first, strict=True)]
            values += [_row(v, _plus(k, s), out) for v, s in zip(xs, self.starts, strict=True)]
            values = emit_steps(self.steps, [*values, *constants], out)
            texts, new = [], []
            for row, v, n in zip(rows, first, self.carried, strict=False):
                value = out.align(values[n], v.padded)
                text = cast(value.text, value.type.dtype, v.type.dtype)
                new.append(text if alone or text.isidentifier() else out.bind("new", text))
                plain = f", {PLAIN}" * self._bare(v)
                put = f"lax.dynamic_update_index_in_dim({row}, {new[-1]}, {after}, 0{plain})"
                texts.append(put)
            return texts[0] if alone else f"({', '.join([*texts, *new])})"

        numbers = range(len(first))
        hints = ["rows"] if alone else [f"rows_{n}" for n in numbers]
        hints += [] if alone else [f"before_{n}" for n in numbers]
        name = out.function("step", ("k", *hints), body)
        shapes = [pads.static_shape((ix.add(self.count, ix.ONE), *v.padded), out) for v in first]
        start = [
            f"jnp.broadcast_to({v.text}, {shape})" for v, shape in zip(first, shapes, strict=True)
        ]
        if alone:
            return (f"lax.fori_loop(0, {count}, {name}, {start[0]})",)
        start += [v.text for v in first]
        loop = f"lax.fori_loop(0, {count}, lambda k, rows: {name}(k, *rows), ({', '.join(start)}))"
        tensors = out.bind("made", loop)
        return tuple(f"{tensors}[{n}]" for n in numbers)

    def scanned(
        self,
        first: EmittedValues,
        xs: EmittedValues,
        constants: EmittedValues,
        linear: bool,
        out: Emitter,
    ) -> tuple[str, ...]:
        """The rows of many points: a function of one step, called by ``scanned_rows``."""
        elements = [f"{v.text}_row" for v in xs]

        def body(names: tuple[str, ...]) -> str:
            rows, before = names[: len(xs)], names[len(xs) :]
            pairs = [*zip(before, first, strict=True)]
            values = [EmittedValue(b, v.type, v.padded) for b, v in pairs]
            for row, v in zip(rows, xs, strict=True):
                type_ = TensorType(v.type.dtype, v.type.shape[1:], v.type.weak)
                values.append(EmittedValue(row, type_, v.padded[1:]))
            values = emit_steps(self.steps, [*values, *constants], out)
            made = [
                cast(out.align(values[n], v.padded).text, values[n].type.dtype, v.type.dtype)
                for n, v in zip(self.carried, first, strict=True)
            ]
            return tupled(made)

        hints = ["before"] if len(first) == 1 else [f"before_{n}" for n in range(len(first))]
        name = out.function("row", (*elements, *hints), body)
        count = out.static(self.count)
        begins = [f"jnp.broadcast_to({v.text}, {pads.static_shape(v.padded, out)})" for v in first]
        parts, behind = self._step_rows(xs, out)
        given = f"{tupled(begins)}, {tupled(parts)}, {count}"
        given += ", reverse=True" * self.reverse + ", behind=True" * behind
        call = f"{'linear_scanned_rows' if linear else 'scanned_rows'}({name}, {given})"
        if len(first) == 1:
            return (f"{call}[0]",)
        tensors = out.bind("made", call)
        return tuple(f"{tensors}[{n}]" for n in range(len(first)))

    def _step_rows(self, xs: EmittedValues, out: Emitter) -> tuple[list[str], bool]:
        """Operands' rows for the steps, and one more where there is one; whether that is behind.

        So arrays that have a row for the first states as well, or for a step after the last one,
        need not be cut.
        """
        ends = [ix.add(self.count, ix.Const(s)) for s in self.starts]
        rest = [ix.sub(v.type.shape[0], end) for v, end in zip(xs, ends, strict=True)]
        above = [isinstance(r, ix.Const) and r.value > 0 for r in rest]
        low = sum(s > 0 for s in self.starts) > sum(above)
        if low:
            bounds = [(max(0, s - 1), e) for s, e in zip(self.starts, ends, strict=True)]
        else:
            more = [ix.add(e, ix.ONE) if a else e for e, a in zip(ends, above, strict=True)]
            bounds = [*zip(self.starts, more, strict=True)]
        parts = [
            f"{v.text}[{s or ''}:{out.static(e)}]" for v, (s, e) in zip(xs, bounds, strict=True)
        ]
        return parts, low == self.reverse

    def linear(
        self,
        first: EmittedValues,
        xs: EmittedValues,
        constants: EmittedValues,
        out: Emitter,
    ) -> tuple[str, ...]:
        """The rows of a linear recurrence: a function of one step, called by ``linear_rows``."""

        def body(names: tuple[str, ...]) -> str:
            k, *before = names
            values = [EmittedValue(b, v.type, v.padded) for b, v in zip(before, first, strict=True)]
            values += [_row(v, _plus(k, s), out) for v, s in zip(xs, self.starts, strict=True)]
            values = emit_steps(self.steps, [*values, *constants], out)
            rows = [
                out.align(values[n], v.padded) for n, v in zip(self.carried, first, strict=True)
            ]
            return tupled([v.text for v in rows])

        hints = ["before"] if len(first) == 1 else [f"before_{n}" for n in range(len(first))]
        name = out.function("row", ("k", *hints), body)
        given = f"{tupled([v.text for v in first])}, {out.static(self.count)}"
        call = f"linear_rows({name}, {given}{', reverse=True' if self.reverse else ''})"
        if len(first) == 1:
            return (f"{call}[0]",)
        tensors = out.bind("made", call)
        return tuple(f"{tensors}[{n}]" for n in range(len(first)))

    def _bare(self, row: EmittedValue) -> bool:
        """Whether a step does so little that it counts how a row is indexed."""
        return self.reverse and not row.type.shape


def _read(rows: str, place: str, bare: bool) -> str:
    """The row before."""
    if not bare:
        return f"{rows}[{place}]"
    return f"lax.dynamic_index_in_dim({rows}, {place}, 0, False, {PLAIN})"


def _row(v: EmittedValue, place: str, out: Emitter) -> EmittedValue:
    """One row of an element."""
    type_ = TensorType(v.type.dtype, v.type.shape[1:], v.type.weak)
    return EmittedValue(out.bind(f"{v.text}_row", f"{v.text}[{place}]"), type_, v.padded[1:])


def _plus(text: str, number: int) -> str:
    return f"{text}+{number}" if number else text
