"""A length that the data decide, checked against the largest one: `length(count, most = N)`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tempoc.base.arrays import np
from tempoc.ops.definition import padding as pads
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
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import evaluate


@dataclass(frozen=True, slots=True, kw_only=True)
class DataLength(Op):
    """The operand, a scalar integer, as an ``i32``; that it is from 0 to ``most`` is checked."""

    most: ix.Expr

    name = "data_length"
    elementwise = True
    checks = True
    differentiable = False

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """An ``i32``."""
        require(args, 1, self.name)
        if not args[0].dtype.is_int or args[0].shape:
            raise OperandError(f"a length is one integer, not {type_text(args[0])}")
        return (TensorType(DType.I32),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """The operand. Raises ``OperandError`` for a length that is negative or too large."""
        most = evaluate(self.most, at)
        if not 0 <= int(args[0]) <= most:
            sizes = "" if isinstance(self.most, ix.Const) else f" ({show(self.most)} = {most})"
            raise OperandError(self.message.replace("{value}", str(int(args[0]))) + sizes)
        return (args[0].astype(np.int32),)

    @property
    def message(self) -> str:
        """What is said of a wrong length ``{value}``."""
        return f"the length {{value}} is not between 0 and {show(self.most)}, as `most` promises"

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """The operand, with a check; it is clipped so that what follows stays inside."""
        most = pads.atom(out.index(self.most))
        count = pads.saturated(args[0], out).text
        inside = f"({count} >= 0) & ({count} <= {most})"
        out.check(inside, self.message, count)
        return (f"jnp.clip({count}, 0, {most})",)
