"""``cond(p, a, b)``: one of two values, of which only the selected one is computed."""

from __future__ import annotations

from collections.abc import Mapping

from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.operator import (
    Array,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.shapes import require, same_shape, type_text
from tempoc.ops.definition.types import DType, TensorType, Types


class Cond(Op):
    """``a`` if the ``bool`` scalar ``p`` holds, else ``b``; both have one dtype and shape.

    The reference evaluator is lazy: it evaluates the selected operand only. In a kernel, nodes that
    only one branch uses are in a function that runs only if the branch is taken.
    """

    __slots__ = ()
    name = "cond"

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The type of both branches."""
        require(args, 3, self.name)
        p, a, b = args
        if p.dtype is not DType.BOOL or p.shape:
            raise OperandError(
                f"cond takes a bool scalar, not {type_text(p)}",
                help="`where` chooses element by element" if p.shape else "compare, as in x > 0",
            )
        if a.dtype is not b.dtype or not same_shape(a.shape, b.shape, facts):
            raise OperandError(f"the branches of cond are {type_text(a)} and {type_text(b)}")
        return (TensorType(a.dtype, a.shape, a.weak and b.weak),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """The branch taken."""
        return (args[1] if args[0] else args[2],)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """A selection of two computed values; branches are emitted by codegen."""
        shape = pads.padded(results[0].shape, out)
        a, b = (out.align(v, shape).text for v in args[1:])
        return (f"jnp.where({args[0].text}, {a}, {b})",)
