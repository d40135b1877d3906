"""A placeholder for the derivative of a sum, which `autodiff` expands into nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tempoc.ops.definition.operator import (
    Array,
    EmittedValues,
    Emitter,
    Op,
    ShapeFacts,
)
from tempoc.ops.definition.types import TensorType, Types


@dataclass(frozen=True, slots=True, kw_only=True)
class Gradient(Op):
    """The derivative by operand `losses + wrt` of the sum of the first `losses` operands.

    The operands from `losses` on are constants to each other.
    """

    losses: int
    wrt: int

    name = "grad"

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The type of the operand that it differentiates by."""
        return (replace(args[self.losses + self.wrt], weak=False),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Never called: `autodiff` replaces it."""
        raise TypeError("grad is not computed by an operator")

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Never called: `autodiff` replaces it."""
        raise TypeError("grad is not computed by an operator")
