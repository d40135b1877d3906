"""What a program does beside computing: lines on standard error, files.

A node with an effect has operands and no result. It is executed at each point of its domain; the
runner does what it says with the operands' values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.operator import (
    Array,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.shapes import require
from tempoc.ops.definition.types import DType, TensorType, Types
from tempoc.symbolic import expr as ix

EffectPlace = tuple[tuple[str, ix.Entry], ...]
"""The point that a value is read at, by dimension."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectOp(Op):
    """Tensors given to the outside, each under a name; the names are those of a tree's leaves.

    ``places`` are the points at which they were read, if these matter. ``turn`` is the place
    in the source among all effects and calls of host functions. ``conditional``: the last operand
    is a bool, and nothing happens where it is false.
    """

    names: tuple[str, ...]
    places: tuple[EffectPlace, ...] = ()
    turn: int = 0
    conditional: bool = False

    differentiable = pure = False

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """Nothing results."""
        require(args, len(self.names), self.name)
        if self.conditional and args[-1] != TensorType(DType.BOOL):
            raise OperandError(f"the condition of {self.name} is {args[-1]}, not bool")
        return ()

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Never called: the evaluator of the graph or the runner executes effects."""
        raise TypeError(f"{self.name} has no value")

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """The operands: a kernel fetches them, the runner gets them."""
        return tuple(pads.with_own_padding(v, out).text for v in args)


@dataclass(frozen=True, slots=True, kw_only=True)
class Print(EffectOp):
    """``loss[i=10] = 0.1234`` on standard error; ``places`` says what stands in the brackets.

    ``parts`` are what was taken of the tensors there, if not all, as in the source (``[0]``).
    With ``texts`` it is one line, without brackets: the texts stand before each value and after
    the last.
    """

    parts: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()

    name = "print"


@dataclass(frozen=True, slots=True, kw_only=True)
class Save(EffectOp):
    """A safetensors file; ``{i}`` in ``path`` is the point's index.

    ``{l}`` in the name of a param is an index of its place; a slice there gives several tensors.
    """

    path: str

    name = "save"
