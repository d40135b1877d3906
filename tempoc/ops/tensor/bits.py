"""Operations on the bits of integers, element by element.

Negative integers are in two's complement. A shift by as many places as there are bits, or more, or
by less than none, leaves no bit of the integer: 0, or -1 where the sign is shifted in.
"""

from __future__ import annotations

from tempoc.ops.definition import promotion
from tempoc.ops.definition.operator import OperandError
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.tensor.arithmetic import Nary
from tempoc.ops.tensor.elementwise import Unary


def require_bits(dtype: DType, name: str) -> None:
    """``OperandError`` unless the dtype has integers."""
    if not dtype.is_int:
        way_out = "use and, or, not" if dtype is DType.BOOL else "convert with i32(x)"
        raise OperandError(f"{name} takes integers, not {dtype.value}", help=way_out)


class Bitwise(Nary):
    """Two integers of one dtype give a third."""

    __slots__ = ()
    differentiable = False

    def operand(self, args: tuple[TensorType, ...]) -> promotion.PromotedType:
        """Integers alone."""
        for a in args:
            require_bits(a.dtype, self.name)
        return promotion.promote(args)


class BitwiseAnd(Bitwise):
    """The bits that are set in both."""

    name, jax, numpy = "bitwise_and", "{0} & {1}", "bitwise_and"
    commutative = True


class BitwiseOr(Bitwise):
    """The bits that are set in one or both."""

    name, jax, numpy = "bitwise_or", "{0} | {1}", "bitwise_or"
    commutative = True


class BitwiseXor(Bitwise):
    """The bits that are set in one of the two."""

    name, jax, numpy = "bitwise_xor", "{0} ^ {1}", "bitwise_xor"
    commutative = True


class LeftShift(Bitwise):
    """The bits moved up, zeros below."""

    name, jax, numpy = "left_shift", "jnp.left_shift({0}, {1})", "left_shift"


class RightShift(Bitwise):
    """The bits moved down; above, zeros for an unsigned integer, the sign for another."""

    name, jax, numpy = "right_shift", "jnp.right_shift({0}, {1})", "right_shift"


class BitwiseNot(Unary):
    """All bits turned around."""

    name, jax, numpy = "bitwise_not", "~{x}", "bitwise_not"
    differentiable = False

    def kind(self, operand: promotion.PromotedType) -> promotion.PromotedType:
        """Integers alone."""
        require_bits(operand[0], self.name)
        return operand
