"""``associative_scan(f, x, axis)``: running combinations with a function of the program's own.

The function is expanded when the program is compiled, into steps. These start with the leaves of
the earlier element, then those of the later one, then what the function reads from outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tempoc.base.arrays import np
from tempoc.ops.control.steps import (
    OfSteps,
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
from tempoc.ops.definition.shapes import axis_of, same_shape, shape_text, type_text
from tempoc.ops.definition.types import TensorType, Types
from tempoc.symbolic import expr as ix


@dataclass(frozen=True, slots=True, kw_only=True)
class AssociativeScan(OfSteps):
    """Each element of ``leaves`` tensors combined with all before it, along ``axis``.

    ``results`` are the numbers of the values that make the new element. The operands after the
    leaves are what the function reads from outside. Padding at the end of a ragged axis comes after
    all that is valid, so nothing is masked.
    """

    results: tuple[int, ...]
    leaves: int
    axis: int = 0

    name = "associative_scan"
    heavy = True

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The types of the leaves; the function gives elements of the same types."""
        if len(args) < self.leaves:
            raise OperandError(f"associative_scan of {self.leaves} tensors has {len(args)}")
        xs = args[: self.leaves]
        extents = [a.shape[axis_of(self.axis, a.ndim)] for a in xs]
        for n in extents[1:]:
            if not facts.equal(n, extents[0]):
                shown = " and ".join(shape_text((e,)) for e in (extents[0], n))
                raise OperandError(f"the tensors of an associative_scan are {shown} long")
        elements = tuple(self.element(a) for a in xs)
        known = step_types(self.steps, self.given(args), facts)
        for want, k in zip(elements, self.results, strict=True):
            have = known[k]
            if have.dtype is not want.dtype or not same_shape(have.shape, want.shape, facts):
                raise OperandError(
                    f"the function gives {type_text(have)} for elements {type_text(want)}",
                    help="f(earlier, later) returns an element of the same type",
                )
        return tuple(TensorType(a.dtype, a.shape) for a in xs)

    def given(self, args: tuple[TensorType, ...]) -> list[TensorType]:
        """The types of the values that the steps start with."""
        elements = [self.element(a) for a in args[: self.leaves]]
        return [*elements, *elements, *args[self.leaves :]]

    def element(self, type: TensorType) -> TensorType:
        """The type of one element of a leaf."""
        axis = axis_of(self.axis, type.ndim)
        return TensorType(type.dtype, (*type.shape[:axis], *type.shape[axis + 1 :]))

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """That of the steps, for each element."""
        count = args[0].shape[axis_of(self.axis, args[0].ndim)]
        return ix.product((count, steps_work(self.steps, self.given(args))))

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """One element after the other, from the front."""
        axes = [axis_of(self.axis, a.ndim) for a in args[: self.leaves]]
        xs = [np.moveaxis(a, axis, 0) for a, axis in zip(args, axes, strict=False)]
        results = [np.empty_like(x) for x in xs]
        last: list[Array] = []
        for k in range(len(xs[0])):
            now = [x[k] for x in xs]
            last = self.combined(last, now, args[self.leaves :], at) if k else now
            for y, value in zip(results, last, strict=True):
                y[k] = value
        return tuple(np.moveaxis(y, 0, axis) for y, axis in zip(results, axes, strict=True))

    def combined(
        self,
        earlier: Sequence[Array],
        later: Sequence[Array],
        outside: Sequence[Array],
        at: Mapping[str, int],
    ) -> list[Array]:
        """The function's value at two elements."""
        known = evaluate_steps(self.steps, (*earlier, *later, *outside), at)
        return [known[k] for k in self.results]

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """The function of single elements as a function within, mapped over pairs of them."""
        xs = [pads.with_own_padding(v, out) for v in args[: self.leaves]]
        axes = [axis_of(self.axis, v.type.ndim) for v in xs]
        elements = [
            (self.element(v.type), (*v.padded[:axis], *v.padded[axis + 1 :]))
            for v, axis in zip(xs, axes, strict=True)
        ]
        hints = [f"{word}_{k}" for word in ("earlier", "later") for k in range(self.leaves)]

        def body(names: tuple[str, ...]) -> str:
            types = [*elements, *elements]
            known = [EmittedValue(n, t, p) for n, (t, p) in zip(names, types, strict=True)]
            return self.made([*known, *args[self.leaves :]], out)

        name = out.function("combine", tuple(hints), body)
        n = self.leaves
        pairs = f"lambda a, b: {name}(*a, *b)" if n > 1 else name
        front = [_moved(v.text, axis, 0) for v, axis in zip(xs, axes, strict=True)]
        operand = f"({', '.join(front)})" if n > 1 else front[0]
        text = f"lax.associative_scan(jax.vmap({pairs}), {operand})"
        if n == 1:
            return (_moved(text, 0, axes[0]),)
        scanned = out.bind("scanned", text)
        return tuple(_moved(f"{scanned}[{k}]", 0, axis) for k, axis in enumerate(axes))

    def made(self, given: list[EmittedValue], out: Emitter) -> str:
        """Write the steps; the text of the results."""
        known = emit_steps(self.steps, given, out)
        texts = []
        for k, want in zip(self.results, given, strict=False):
            value = out.align(known[k], want.padded)
            texts.append(cast(value.text, value.type.dtype, want.type.dtype))
        return f"({', '.join(texts)})" if len(texts) > 1 else texts[0]


def _moved(text: str, source: int, target: int) -> str:
    return text if source == target else f"jnp.moveaxis({text}, {source}, {target})"
