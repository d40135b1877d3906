"""Functions of the program as attributes of operators: straight-line lists of steps.

A step is an operator, the numbers of its operand values, and the dtypes of its results. The
parameters of the function are numbered first, then the results of the steps (SSA).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tempoc.base.arrays import np
from tempoc.ops.definition.dtype_text import dtype_of, numpy_dtype
from tempoc.ops.definition.operator import Array, EmittedValue, Emitter, Op, ShapeFacts
from tempoc.ops.definition.types import DType, TensorType, Types
from tempoc.symbolic import expr as ix

OpStep = tuple[Op, tuple[int, ...], tuple[DType, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class OfSteps(Op):
    """An operator that computes by steps of a function."""

    steps: tuple[OpStep, ...]

    @property
    def doubles(self) -> bool:
        """Whether a step does."""
        return any(op.doubles or any(d.is_double for d in dtypes) for op, _, dtypes in self.steps)

    def within(self, args: tuple[TensorType, ...]) -> tuple[ix.Expr, ...]:
        """The steps stay inside the axes of what they take."""
        typed = typed_steps(self.steps, self.given(args))
        return tuple(e for s in typed for e in s.op.within(s.operands))

    def given(self, args: tuple[TensorType, ...]) -> Sequence[TensorType]:
        """The types of the values that the steps start with: by default the operands."""
        return args


class TypedStep(NamedTuple):
    """A step with its types: ``taken`` are the numbers of its operands, ``first`` is that of its
    first result."""

    op: Op
    taken: tuple[int, ...]
    operands: Types
    results: Types
    first: int


def step_types(
    steps: Sequence[OpStep], given: Sequence[TensorType], facts: ShapeFacts
) -> list[TensorType]:
    """The types of all values, parameters first. Raises ``OperandError``."""
    known = list(given)
    for op, taken, _ in steps:
        known += op.infer(tuple(known[k] for k in taken), facts)
    return known


def assumed_types(steps: Sequence[OpStep], given: Sequence[TensorType]) -> list[TensorType]:
    """The types of all values of steps that were type-checked before."""
    return step_types(steps, given, _AssumedFacts())


def typed_steps(steps: Sequence[OpStep], given: Sequence[TensorType]) -> Iterator[TypedStep]:
    """The steps, which were type-checked before, with their types."""
    known, first = assumed_types(steps, given), len(given)
    for op, taken, dtypes in steps:
        made = zip(dtypes, known[first : first + len(dtypes)], strict=True)
        results = tuple(replace(t, dtype=d) for d, t in made)
        yield TypedStep(op, taken, tuple(known[k] for k in taken), results, first)
        first += len(dtypes)


def steps_work(steps: Sequence[OpStep], given: Sequence[TensorType]) -> ix.Expr:
    """The scalar operations of all steps (``Op.work``)."""
    return ix.add(*(s.op.work(s.operands, s.results) for s in typed_steps(steps, given)))


def evaluate_steps(
    steps: Sequence[OpStep], given: Sequence[Array], at: Mapping[str, int]
) -> list[Array]:
    """Evaluate the steps at a point; all values, parameters first."""
    known = [np.asarray(a) for a in given]
    types = [_type(a) for a in known]
    for op, taken, dtypes in steps:
        operands = tuple(types[k] for k in taken)
        values = op.evaluate(op.settle(tuple(known[k] for k in taken), operands), at)
        results = [v.astype(numpy_dtype(d)) for v, d in zip(values, dtypes, strict=True)]
        known += results
        weak = not taken or any(t.weak for t in operands)
        inferred = op.infer(operands, _AssumedFacts()) if weak else ()
        types += [
            replace(_type(a), weak=any(t.weak for t in inferred[k : k + 1]))
            for k, a in enumerate(results)
        ]
    return known


def _type(a: Array) -> TensorType:
    """The type of an array; of a random key it does not matter that it seems to be numbers."""
    return TensorType(dtype_of(a.dtype), tuple(ix.Const(n) for n in a.shape))


def emit_steps(
    steps: Sequence[OpStep], given: Sequence[EmittedValue], out: Emitter
) -> list[EmittedValue]:
    """Emit the steps; all values, parameters first."""
    known = list(given)
    for op, taken, dtypes in steps:
        operands = tuple(known[k] for k in taken)
        types = op.infer(tuple(v.type for v in operands), _AssumedFacts())
        types = tuple(TensorType(d, t.shape, t.weak) for d, t in zip(dtypes, types, strict=True))
        for text, type_ in zip(op.emit(operands, types, out), types, strict=True):
            size = tuple(out.pad(e) for e in type_.shape)
            known.append(EmittedValue(out.bind(op.name, text), type_, size))
    return known


class _AssumedFacts:
    """Facts proved when the steps were type-checked; only literal ones broadcast."""

    def equal(self, a: ix.Expr, b: ix.Expr) -> bool:
        """Assumed."""
        return a == b or ix.ONE not in (a, b)

    def holds(self, condition: ix.Expr) -> bool:
        """Assumed."""
        return True
