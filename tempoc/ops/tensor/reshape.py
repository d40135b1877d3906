"""Reshaping: the same elements in row-major order under other extents.

The extents may be symbolic: ``-1`` stands for the quotient of two polynomials. When an axis is
ragged, rows of the padded array are longer than true rows; elements are then found by true place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tempoc.base.arrays import np
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.axis_links import AxisPart, Link, Same
from tempoc.ops.definition.operator import (
    Array,
    EmittedValue,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.shapes import Shape, require, same, shape_text, without
from tempoc.ops.definition.types import TensorType, Types
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import evaluate

INFERRED = ix.Const(-1)
"""The extent that stands for whatever is left."""

Monomial = tuple[int, tuple[ix.Expr, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reshape(Op):
    """The elements in their order under another shape.

    One extent may be ``-1``; better is a shape from ``resolved``, which has a meaning also where
    other extents are 0.
    """

    shape: tuple[ix.Expr, ...]

    name = "reshape"
    moves = True

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The shape asked for, with as many elements."""
        require(args, 1, self.name)
        count = ix.product(args[0].shape)
        shape = resolved(args[0].shape, self.shape)
        if not same(ix.product(shape), count, facts):
            raise OperandError(
                f"shape {shape_text(args[0].shape)} does not reshape to {shape_text(shape)}: "
                f"{show(count)} elements are not {show(ix.product(shape))}"
            )
        return (replace(args[0], shape=shape),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """As in NumPy; ``-1`` beside an extent of 0 is 0."""
        shape = [-1 if e == INFERRED else evaluate(e, at) for e in self.shape]
        if -1 in shape:
            known = int(np.prod([n for n in shape if n != -1]))
            shape[shape.index(-1)] = args[0].size // known if known else 0
        return (args[0].reshape(shape),)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """Axes that stay as they are beside others that are split or joined."""
        for have, want in groups(args[0].shape, results[0].shape):
            if len(have) == len(want) == 1:
                yield Link((have[0],), (want[0],))

    def narrowed(self, link: Link, part: AxisPart) -> Reshape:
        """To a smaller shape."""
        return replace(self, shape=part.of_shape(self.shape, link))

    def at_position(self, link: Link, args: Types) -> Reshape:
        """To a shape without the axis."""
        (place,) = link.results
        assert place is not None
        return replace(self, shape=without(self.shape, (place,)))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """A plain reshape where valid elements stay in front, else a gather."""
        (result,) = results
        v = pads.with_own_padding(args[0], out)
        shape = pads.padded(result.shape, out)
        if v.padded == shape and v.type.shape == result.shape:
            return (v.text,)
        parts = groups(v.type.shape, result.shape)
        if all(_keeps_order(part, v, result.shape, shape) for part in parts):
            v = _with_room(parts, v, shape, out)
            return (f"jnp.reshape({v.text}, {pads.static_shape(shape, out)})",)
        return (_gathered(pads.nonempty(v, range(v.type.ndim), out), result, shape, out),)


def resolved(have: Shape, want: Shape) -> Shape:
    """``want`` with ``-1`` replaced. ``OperandError`` where the other extents do not divide."""
    if want.count(INFERRED) > 1:
        raise OperandError("-1 stands twice in a shape")
    known = ix.product(e for e in want if e != INFERRED)
    if INFERRED not in want:
        return want
    inferred = quotient(ix.product(have), known)
    if inferred is None:
        raise OperandError(
            f"shape {shape_text(have)} does not reshape to {shape_text(want)}: "
            f"{show(known)} does not divide {show(ix.product(have))}"
        )
    return tuple(inferred if e == INFERRED else e for e in want)


def quotient(total: ix.Expr, part: ix.Expr) -> ix.Expr | None:
    """``total / part`` as polynomials; ``None`` if there is a remainder."""
    divisor = _monomials(part)
    if not divisor:
        return None
    terms: list[Monomial] = []
    remainder = _monomials(total)
    while remainder:
        lead = _divide(remainder[0], divisor[0])
        if lead is None:
            return None
        terms.append(lead)
        # Not by subtracting expressions: those move terms into `min` and `max`.
        taken = [(-lead[0] * c, (*lead[1], *factors)) for c, factors in divisor]
        fewer = _collected([*remainder, *taken])
        if fewer and _place(fewer[0]) <= _place(remainder[0]):
            return None
        remainder = fewer
    return ix.add(ix.ZERO, *(ix.mul(ix.Const(c), ix.product(factors)) for c, factors in terms))


def _collected(terms: list[Monomial]) -> list[Monomial]:
    """Equal terms added up, the leading one first."""
    sums: dict[tuple[ix.Expr, ...], int] = {}
    for c, factors in terms:
        ordered = tuple(sorted(factors, key=repr))
        sums[ordered] = sums.get(ordered, 0) + c
    return sorted(((c, factors) for factors, c in sums.items() if c), key=_place)


def _place(m: Monomial) -> tuple[int, str]:
    """The place of a term: degree, then text."""
    return -len(m[1]), repr(m[1])


def _monomials(e: ix.Expr) -> list[Monomial]:
    """Terms as coefficient and sorted factors, the leading one first (degree, then text)."""
    terms, const = (e.terms, e.const) if isinstance(e, ix.IndexSum) else (((1, e),), 0)
    if isinstance(e, ix.Const):
        terms, const = (), e.value
    monomials: list[Monomial] = [
        (c, x.factors if isinstance(x, ix.IndexProduct) else (x,)) for c, x in terms if c
    ]
    if const:
        monomials.append((const, ()))
    return _collected(monomials)


def _divide(a: Monomial, b: Monomial) -> Monomial | None:
    left = list(a[1])
    for factor in b[1]:
        if factor not in left:
            return None
        left.remove(factor)
    return None if a[0] % b[0] else (a[0] // b[0], tuple(left))


AxisGroup = tuple[tuple[int, ...], tuple[int, ...]]
"""Axes of the operand and axes of the result that hold the same elements."""


def groups(have: Shape, want: Shape) -> list[AxisGroup]:
    """The finest split of both shapes, front to back, into parts with equal element counts."""
    result: list[AxisGroup] = []
    i = j = start_i = start_j = 0
    left: ix.Expr = ix.ONE
    right: ix.Expr = ix.ONE
    while i < len(have) or j < len(want):
        if j == len(want) or (i < len(have) and _before(left, right, i - start_i, j - start_j)):
            left, i = ix.mul(left, have[i]), i + 1
        else:
            right, j = ix.mul(right, want[j]), j + 1
        if i > start_i and j > start_j and left == right:
            result.append((tuple(range(start_i, i)), tuple(range(start_j, j))))
            start_i, start_j, left, right = i, j, ix.ONE, ix.ONE
    if start_i < len(have) or start_j < len(want):
        result.append((tuple(range(start_i, len(have))), tuple(range(start_j, len(want)))))
    return result


def _before(left: ix.Expr, right: ix.Expr, i: int, j: int) -> bool:
    """Whether the operand's side of a group is to grow next: the one with less in it."""
    if not i or not j:
        return not i
    return quotient(right, left) is not None


def _keeps_order(group: AxisGroup, v: EmittedValue, shape: Shape, padded: Shape) -> bool:
    """Whether a group's valid elements are in front, in their order, before and after."""
    ours = [(v.type.shape[k], v.padded[k]) for k in group[0]]
    theirs = [(shape[k], padded[k]) for k in group[1]]
    return _outermost(ours) and _outermost(theirs)


def _with_room(
    parts: list[AxisGroup], v: EmittedValue, padded: Shape, out: Emitter
) -> EmittedValue:
    """The operand with as much padding behind the elements of each group as the result has."""
    have = tuple(ix.product(v.padded[k] for k in group[0]) for group in parts)
    want = tuple(ix.product(padded[k] for k in group[1]) for group in parts)
    if have == want:
        return v
    true = tuple(ix.product(v.type.shape[k] for k in group[0]) for group in parts)
    flat = out.bind("flat", f"jnp.reshape({v.text}, {pads.static_shape(have, out)})")
    return out.align(EmittedValue(flat, replace(v.type, shape=true), have), want)


def _outermost(axes: list[tuple[ix.Expr, ix.Expr]]) -> bool:
    """Whether only the first of these axes is ragged, not counting padded extents of 1."""
    ragged = [extent != size for extent, size in axes if size != ix.ONE]
    return not any(ragged[1:])


def _gathered(v: EmittedValue, result: TensorType, padded: Shape, out: Emitter) -> str:
    """Each element of the result taken from where its true row-major place lies in the operand."""
    place = ""
    for k, extent in enumerate(result.shape):
        steps = pads.along(pads.axis_positions(extent, out), k, result.ndim)
        place = out.bind(
            "place", f"{place} * {pads.atom(out.index(extent))} + {steps}" if k else steps
        )
    if not v.type.ndim:
        return f"jnp.broadcast_to({v.text}, {pads.static_shape(padded, out)})"
    place = place or "jnp.int32(0)"
    indices: list[str] = []
    for extent in reversed(v.type.shape[1:]):
        size = pads.atom(out.index(extent))
        if not pads.is_positive(extent):
            size = out.bind("size", f"jnp.maximum({size}, 1)")
        indices.insert(0, out.bind("row", f"{place} % {size}"))
        place = out.bind("place", f"{place} // {size}")
    return f'{v.text}.at[{", ".join([place, *indices])}].get(mode="clip")'
