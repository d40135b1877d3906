"""Where a dimension ends: `dim t < T until stop`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tempoc.ops.definition.operator import (
    Array,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.shapes import require, type_text
from tempoc.ops.definition.types import DType, TensorType, Types


@dataclass(frozen=True, slots=True, kw_only=True)
class Until(Op):
    """A step that is the last one if its operand, a scalar bool, is true; nothing results.

    Its domain are the steps of a dimension with that bound, and the dimensions over which the
    length varies. The runner looks at the operand after each step.
    """

    bound: str

    name = "until"
    differentiable = False

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """Nothing results."""
        require(args, 1, self.name)
        if args[0].dtype is not DType.BOOL or args[0].shape:
            raise OperandError(f"{self.name} takes a bool, not {type_text(args[0])}")
        return ()

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """No results: the evaluator of the graph reads the operand."""
        return ()

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """The operand: the kernel hands it to the runner."""
        return (args[0].text,)
