"""A product with a tensor that is made of smaller ones where it is read, and never stored.

    w = f32(q) * scale            q: 8 bits an element, in a file; w: 32
    y[t] = w @ x[t]

There is no syntax for it; the pass ``unpack`` makes it of products whose operand is made, element
by element, of params and inputs, which are stored in any case. For each step a device reads what
is packed, a fourth here, and unpacks it again.

How it is spelled decides what XLA for CPUs does: a row times a transposed matrix is one kernel that
reads what is packed; a matrix times a vector, and several rows, write the unpacked matrix and read
it. So few vectors become a row each. For more of them a matrix of more than
``MODEL.unpacked_bytes`` is unpacked by blocks of its rows. Milliseconds and megabytes in between,
49152 x 576, jax 0.10.2, one core (a few rows take as long as each of them alone)::

    stored             1 vector          4 vectors
    f32                10.5      0       27.2      0
    8 bits             94      113      130      113
      as rows           3.6      0        -
      in blocks        12.4      5       28.9      6
    4 bits in u32
      as rows           4.5      0        -
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tempoc.base.cost_model import MODEL
from tempoc.ops.control.steps import (
    OfSteps,
    OpStep,
    assumed_types,
    emit_steps,
    evaluate_steps,
    step_types,
    steps_work,
)
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.axis_links import AxisPart
from tempoc.ops.definition.dtype_text import jax_dtype, tupled
from tempoc.ops.definition.operator import (
    Array,
    EmittedValue,
    EmittedValues,
    Emitter,
    ShapeFacts,
)
from tempoc.ops.definition.shapes import constant_elements
from tempoc.ops.definition.types import TensorType, Types
from tempoc.ops.tensor.contraction import MatMul
from tempoc.symbolic import expr as ix


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpackedProduct(OfSteps):
    """The steps, of which the last is the product; each of them has one result.

    The first ``packed`` operands are those that unpacked values are made of. The others are taken
    by the product alone.
    """

    packed: int

    name = "unpacked_product"
    heavy = contraction = overflows = True

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The type of the product."""
        return (step_types(self.steps, args, facts)[-1],)

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """That of all steps."""
        return steps_work(self.steps, args)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """One step after the other."""
        return (evaluate_steps(self.steps, args, at)[-1],)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """The steps as they are; with points, as functions for few and for many of them."""
        (result,) = results
        args = tuple(pads.with_own_padding(v, out) for v in args)
        blocks = _RowBlocks.of(self, tuple(v.type for v in args), result)
        is_vector = self._takes_vector(args)
        if not out.mapped:
            return (self._few(args, out) if is_vector else self._many(args, result, blocks, out),)

        def written(hint: str, write: Callable[[EmittedValues], str]) -> str:
            def body(names: tuple[str, ...]) -> str:
                pairs = zip(args, names, strict=True)
                return write(tuple(replace(v, text=n, constant=None) for v, n in pairs))

            return out.function(hint, _hints(args), body)

        few = many = ""
        if is_vector:
            few = written("product", lambda values: self._few(values, out))
        if not is_vector or blocks is not None:
            many = written("products", lambda values: self._many(values, result, blocks, out))
        texts = [v.text for v in args]
        packed, given = tupled(texts[: self.packed]), tupled(texts[self.packed :])
        return (f"unpacked({few or many}, {many or few}, {packed}, {given})",)

    def _takes_vector(self, args: EmittedValues) -> bool:
        """Whether a matrix that is unpacked is multiplied by a vector."""
        known = assumed_types(self.steps, [v.type for v in args])
        product, taken, _ = self.steps[-1]
        given = [self.packed <= k < len(args) for k in taken]
        ranks = [known[k].ndim for k in taken]
        return isinstance(product, MatMul) and given == [False, True] and ranks == [2, 1]

    def _few(self, args: EmittedValues, out: Emitter) -> str:
        """A matrix times a vector, as the vector times the transposed matrix."""
        matrix = emit_steps(self.steps[:-1], args, out)[-1]
        vector = args[self.steps[-1][1][1]]
        dtype = self.steps[-1][2][0]
        x, y = (pads.converted(v, dtype, out).text for v in (vector, matrix))
        return f"jnp.matmul({pads.atom(x)}[None], {pads.atom(y)}.T)[0]"

    def _many(
        self, args: EmittedValues, result: TensorType, blocks: _RowBlocks | None, out: Emitter
    ) -> str:
        """The product at once, or by blocks of what is large."""
        if blocks is None:
            return emit_steps(self.steps, args, out)[-1].text
        packed, given = args[: self.packed], args[self.packed :]

        def body(names: tuple[str, ...]) -> str:
            pairs = enumerate(zip(packed, names, strict=True))
            inner = [blocks.part(v, name, k) for k, (v, name) in pairs]
            return emit_steps(blocks.steps, [*inner, *given], out)[-1].text

        block = out.function("block", _hints(packed), body)
        shape = pads.static_shape(pads.padded(result.shape, out), out)
        made = f"jnp.zeros({shape}, {jax_dtype(result.dtype)})"
        axes = tupled([str(a) for a in blocks.axes])
        arrays = tupled([v.text for v in packed])
        return f"in_blocks({block}, {blocks.rows}, {arrays}, {axes}, {made}, {blocks.place})"


UNPACKED = '''\
def unpacked(product, products, packed, given):
    """product(*packed, *given), of which no two points store what they unpack at the same time.

    Few points that share all packed arrays are a product each, more of them make `products`. Those
    with arrays of their own take turns.
    """
    count = len(packed)

    @jax.custom_batching.custom_vmap
    def call(*arrays):
        return product(*arrays)

    @call.def_vmap
    def points(size, mapped, *arrays):
        point = lambda k: call(*(x[k] if own else x for x, own in zip(arrays, mapped)))
        if True in mapped[:count]:
            return lax.map(point, jnp.arange(size)), True
        if 0 < size <= FEW:
            return jnp.stack([point(k) for k in range(size)]), True
        every = jax.vmap(products, tuple(0 if own else None for own in mapped))
        return unpacked(every, every, arrays[:count], arrays[count:]), True

    return call(*packed, *given)
'''.replace("FEW", str(MODEL.unpacked_vectors))

IN_BLOCKS = '''\
def in_blocks(product, rows, packed, axes, made, place):
    """The product in blocks of so many rows, along these axes of packed arrays.

    Rows of `made` along the axis `place` get the results. The last block may begin a bit earlier.
    """
    count = made.shape[place]

    def step(k, made):
        first = jnp.minimum(k * rows, count - rows)
        parts = [
            x if a is None else lax.dynamic_slice_in_dim(x, first, rows, a)
            for x, a in zip(packed, axes)
        ]
        return lax.dynamic_update_slice_in_dim(made, product(*parts), first, place)

    return lax.fori_loop(0, -(-count // rows), step, made)
'''


@dataclass(frozen=True, slots=True)
class _RowBlocks:
    """How a product is computed by blocks: ``rows`` of the axis ``place`` of its result.

    ``axes`` has the axis of each packed operand that is cut, ``None`` for those needed in full;
    ``steps`` make a block.
    """

    rows: int
    place: int
    axes: tuple[int | None, ...]
    steps: tuple[OpStep, ...]

    @classmethod
    def of(cls, op: UnpackedProduct, args: Types, result: TensorType) -> _RowBlocks | None:
        """The blocks; ``None`` if what is unpacked is small, or none of its axes can be cut."""
        known = assumed_types(op.steps, args)
        product, taken, _ = op.steps[-1]
        sizes = [_bytes(known[k]) for k in taken if k < op.packed or k >= len(args)]
        if None in sizes or sum(s or 0 for s in sizes) <= MODEL.unpacked_bytes:
            return None
        operands = tuple(known[k] for k in taken)
        for link in product.links(operands, (result,), lambda a, b: a == b):
            (place,) = link.results
            cut = [(k, a) for k, a in zip(taken, link.operands, strict=True) if a is not None]
            if place is None or len(cut) != 1:
                continue
            extent, whole = result.shape[place], _bytes(known[cut[0][0]])
            if isinstance(extent, ix.Const) and whole and whole > MODEL.unpacked_bytes:
                rows = max(1, MODEL.unpacked_bytes * extent.value // whole)
                part = AxisPart(ix.ZERO, ix.Const(rows))
                parts = _RowCut(op, known, part).along(*cut[0])
                if parts is not None:
                    return cls(rows, place, *parts)
        return None

    def part(self, v: EmittedValue, name: str, k: int) -> EmittedValue:
        """The block of a packed operand."""
        axis = self.axes[k]
        if axis is None:
            return replace(v, text=name, constant=None)
        rows = (ix.Const(self.rows),)
        shape = (*v.type.shape[:axis], *rows, *v.type.shape[axis + 1 :])
        return EmittedValue(name, replace(v.type, shape=shape), shape)


class _RowCut:
    """Follows an axis of an unpacked value to the packed ones."""

    def __init__(self, op: UnpackedProduct, known: Sequence[TensorType], part: AxisPart) -> None:
        self.op = op
        self.known = known
        self.part = part
        self.given = len(known) - len(op.steps)
        self.axis_of: dict[int, int] = {}
        self.steps = list(op.steps)

    def along(
        self, value: int, axis: int
    ) -> tuple[tuple[int | None, ...], tuple[OpStep, ...]] | None:
        """The axes of packed operands and the steps of a block, if all values can be cut."""
        if not self.follow(value, axis) or not self.is_consistent():
            return None
        return tuple(self.axis_of.get(k) for k in range(self.op.packed)), tuple(self.steps)

    def follow(self, value: int, axis: int) -> bool:
        """Cut a value and all that it is made of; whether that was possible."""
        if value in self.axis_of:
            return self.axis_of[value] == axis
        if self.op.packed <= value < self.given:
            return False
        self.axis_of[value] = axis
        if value < self.op.packed:
            return True
        number = value - self.given
        op, taken, dtypes = self.op.steps[number]
        operands = tuple(self.known[k] for k in taken)
        for link in op.links(operands, (self.known[value],), lambda a, b: a == b):
            if taken and link.results == (axis,):
                self.steps[number] = (op.narrowed(link, self.part), taken, dtypes)
                pairs = zip(taken, link.operands, strict=True)
                return all(self.follow(k, a) for k, a in pairs if a is not None)
        return False

    def is_consistent(self) -> bool:
        """Whether no step takes a value whole that another one takes in part."""
        for number, (_, taken, _) in enumerate(self.op.steps[:-1]):
            cut = self.given + number in self.axis_of
            if not cut and any(k in self.axis_of for k in taken):
                return False
        known = assumed_types(self.steps[:-1], [self.cut(k) for k in range(self.given)])
        return all(known[k] == self.cut(k) for k in range(len(known)))

    def cut(self, value: int) -> TensorType:
        """The type of a value, or of its block."""
        type_, axis = self.known[value], self.axis_of.get(value)
        if axis is None:
            return type_
        shape = (*type_.shape[:axis], self.part.count, *type_.shape[axis + 1 :])
        return replace(type_, shape=shape)


def _hints(args: EmittedValues) -> tuple[str, ...]:
    """Names for parameters that stand for these values."""
    return tuple(v.text if v.text.isidentifier() else "value" for v in args)


def _bytes(type_: TensorType) -> int | None:
    """The bytes of a tensor of constant extents."""
    elements = constant_elements(type_.shape)
    return None if elements is None else elements * type_.dtype.itemsize
