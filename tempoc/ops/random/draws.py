"""Random draws: pure functions of a key, which is a function of the seed, the place and the point.

A key is two ``u32`` words along the last axis. No two draws share a key, and none depends on when
or together with what it is computed; what a draw gives at a position does not depend on extents
behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tempoc.base.arrays import np
from tempoc.base.cost_model import MODEL
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.dtype_text import cast, jax_dtype, numpy_dtype
from tempoc.ops.definition.operator import (
    Array,
    EmittedValue,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.shapes import require, type_text
from tempoc.ops.definition.types import DType, TensorType, Types
from tempoc.ops.random import threefry
from tempoc.ops.tensor.reduction import require_nonempty
from tempoc.ops.tensor.source import GivenTensor, concrete
from tempoc.program.nodes.dtypes import ELEMENTS
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import evaluate, symbols

KEY = TensorType(DType.KEY, (ix.Const(2),))


class Seed(GivenTensor):
    """The key that the run's seed gives; all others are folded from it."""

    __slots__ = ()
    name = "seed"

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """A key."""
        require(args, 0, self.name)
        return (KEY,)


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomKey(Op):
    """The key of a draw: the seed's key, folded with the draw's place, then with its indices.

    ``place`` is the hash of the place in the source, ``at`` has an index for each dimension.
    """

    place: int
    at: tuple[ix.Expr, ...] = ()

    name = "random_key"
    differentiable = False

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """A key."""
        _takes_key(args, 1, self.name)
        return (KEY,)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Folded one by one."""
        key = threefry.fold_in(args[0], self.place)
        for index in self.at:
            key = threefry.fold_in(key, evaluate(index, at))
        return (key,)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Folded one by one; from the first index that differs between mapped points, at each."""
        varies = (k for k, e in enumerate(self.at) if {*symbols(e)} & {*out.mapped})
        common = next(varies, len(self.at))
        path = [out.index(e) for e in self.at]
        text = f"random_key({', '.join([args[0].text, str(self.place), *path[:common]])})"
        own = ", ".join(path[common:])
        return (f"random_fold({text}, {own})" if own else text,)


class Draw(Op):
    """Numbers made from a key, the first operand."""

    __slots__ = ()
    heavy = True
    differentiable = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnFloats(Draw):
    """Floating-point numbers, each of its own."""

    shape: tuple[ix.Expr, ...]
    dtype: DType = DType.F32

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """As asked for."""
        _takes_key(args, 1, self.name)
        _is_float(self.dtype, self.name)
        return (TensorType(self.dtype, self.shape),)


class Uniform(DrawnFloats):
    """Numbers in ``[0, 1)``, all multiples of the dtype's step below 1 equally likely."""

    __slots__ = ()
    name = "uniform"

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """One for each element."""
        return ix.product(results[0].shape)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Each element from its own position."""
        return (threefry.uniform(args[0], concrete(self.shape, at), numpy_dtype(self.dtype)),)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """The padding holds numbers too."""
        return (_uniform(args[0], self.shape, self.dtype, out),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Integers(Draw):
    """Whole numbers (``i32``) from ``low`` to below ``high``, all as likely (to ``2**-32``)."""

    shape: tuple[ix.Expr, ...]
    low: ix.Expr
    high: ix.Expr

    name = "integers"

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """As asked for; ``OperandError`` unless there provably is a number to choose."""
        _takes_key(args, 1, self.name)
        if not facts.holds(ix.compare("<", self.low, self.high)):
            raise OperandError(
                f"{self.name} from {show(self.low)} to below {show(self.high)}, "
                "which may be none at all",
                help="say with `assume` or a `when` that the first is less than the second",
            )
        return (TensorType(DType.I32, self.shape),)

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """One for each element."""
        return ix.product(results[0].shape)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Each element from its own position."""
        low, high = evaluate(self.low, at), evaluate(self.high, at)
        drawn = threefry.integers(args[0], concrete(self.shape, at), high - low)
        return (np.asarray(drawn.astype(np.int64) + low, np.int32),)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """The padding holds numbers too."""
        count = out.index(ix.sub(self.high, self.low))
        operands = f"{args[0].text}, {_positions(self.shape, out)}, {count}"
        drawn = f"random_integers({operands}).astype(jnp.int32)"
        return (drawn if self.low == ix.ZERO else f"{drawn} + jnp.int32({out.index(self.low)})",)


class Normal(DrawnFloats):
    """Standard normal numbers."""

    __slots__ = ()
    name = "normal"

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Each element from its own position."""
        return (threefry.normal(args[0], concrete(self.shape, at), numpy_dtype(self.dtype)),)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """The padding holds numbers too."""
        operands = f"{args[0].text}, {_positions(self.shape, out)}"
        if self.dtype is DType.F64:
            return (f"random_normal64({operands})",)
        return (f"random_normal({operands}, {jax_dtype(self.dtype)})",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bernoulli(Draw):
    """``true`` with probability ``p``, the second operand: where a uniform number is below it.

    ``dtype`` is that of the uniform numbers, which do not depend on ``p``.
    """

    dtype: DType = DType.F32

    name = "bernoulli"

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """A ``bool`` for each probability."""
        _takes_key(args, 2, self.name)
        _is_float(self.dtype, self.name)
        _are_numbers(args[1], f"{self.name} takes probabilities")
        return (TensorType(DType.BOOL, args[1].shape),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Each element from its own position."""
        u = threefry.uniform(args[0], args[1].shape, numpy_dtype(self.dtype))
        return (np.asarray(u < args[1].astype(np.promote_types(u.dtype, args[1].dtype))),)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """The padding is unspecified."""
        p = pads.with_own_padding(args[1], out)
        u = _uniform(args[0], p.type.shape, self.dtype, out)
        return (f"{u} < {cast(p.text, p.type.dtype, self.dtype)}",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gumbel(Draw):
    """Noise (``f32``): its sum with logits is greatest at ``k`` with probability ``softmax[k]``."""

    shape: tuple[ix.Expr, ...]

    name = "gumbel"

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """As asked for."""
        _takes_key(args, 1, self.name)
        return (TensorType(DType.F32, self.shape),)

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """One for each element."""
        return ix.product(results[0].shape)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Each element from its own position."""
        return (threefry.gumbel(args[0], concrete(self.shape, at)),)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """The padding holds numbers too."""
        operands = f"{args[0].text}, {_positions(self.shape, out)}"
        if self.shape and is_few(self.shape[-1]):
            noise = f"random_noise_of_few({operands}, {out.static(out.points)})"
            return (f"jnp.stack(tuple({noise}), axis=-1)",)
        return (f"random_gumbel({operands})",)


class Categorical(Draw):
    """An index (``i32``) along the last axis of the logits, with probability ``softmax(logits)``.

    The first greatest sum of a logit and Gumbel noise; the noise does not depend on the logits.
    """

    __slots__ = ()
    name = "categorical"

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """The shape without the last axis."""
        _takes_key(args, 2, self.name)
        _are_numbers(args[1], f"{self.name} takes logits")
        if not args[1].shape:
            raise OperandError(f"{self.name} takes logits along an axis, not a scalar")
        require_nonempty(args[1].shape, (args[1].ndim - 1,), self.name, facts)
        return (TensorType(DType.I32, args[1].shape[:-1]),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """The place of the greatest sum."""
        logits = args[1]
        wide = logits if logits.dtype == np.float64 else logits.astype(np.float32)
        scores = wide + threefry.gumbel(args[0], logits.shape)
        return (np.asarray(np.argmax(scores, axis=-1), np.int32),)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Padding along the axis is never chosen.

        Logits may be numbers of the program alone, such as zeros for a choice among rows that are
        all as likely; scores are then nothing but noise, which no argmax should see through.
        """
        v = pads.with_own_padding(args[1], out)
        dtype = DType.F64 if v.type.dtype is DType.F64 else DType.F32
        places = _positions(v.type.shape, out)
        last = v.type.shape[-1]
        if is_few(last):
            logits = cast(v.text, v.type.dtype, dtype)
            points = out.static(out.points)
            return (f"random_of_few({args[0].text}, {logits}, {places}, {points})",)
        noise = cast(f"random_gumbel({args[0].text}, {places})", DType.F32, dtype)
        sums = f"{cast(v.text, v.type.dtype, dtype)} + {noise} + unknown_zero()"
        scores = EmittedValue(out.bind("scores", sums), TensorType(dtype, v.type.shape), v.padded)
        masked = out.masked(scores, (v.type.ndim - 1,), "-jnp.inf")
        return (f"jnp.argmax({masked}, axis=-1).astype(jnp.int32)",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Permutation(Draw):
    """The numbers below ``n`` (``i32``) in random order: the order of ``n`` random words."""

    n: ix.Expr

    name = "permutation"

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """A vector."""
        _takes_key(args, 1, self.name)
        return (TensorType(DType.I32, (self.n,)),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Of equal words the first comes first."""
        words = threefry.bits(args[0], concrete((self.n,), at))
        return (np.argsort(words, kind="stable").astype(np.int32),)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """Padding comes last: no word is greater, and it stands behind all that are as great."""
        text = out.bind("words", f"random_bits({args[0].text}, {_positions((self.n,), out)})")
        words = EmittedValue(text, TensorType(DType.U32, (self.n,)), pads.padded((self.n,), out))
        ordered = out.masked(words, (0,), f"jnp.uint32({2**32 - 1})")
        return (f"argsorted({ordered}, 0)",)


def is_few(extent: ix.Expr) -> bool:
    """Whether the places of an axis are looked at one after the other."""
    return isinstance(extent, ix.Const) and extent.value <= MODEL.inspected_places


# ---------------------------------------------------------------- operands


def _takes_key(args: tuple[TensorType, ...], count: int, name: str) -> None:
    require(args, count, name)
    if args[0] != KEY:
        raise OperandError(f"{name} takes a random key, not {type_text(args[0])}")


def _is_float(dtype: DType, name: str) -> None:
    if not dtype.is_float:
        raise OperandError(f"{name} draws floats, not {dtype.value}")


def _are_numbers(type: TensorType, what: str) -> None:
    if not (type.dtype.is_float or type.dtype.is_int):
        raise OperandError(f"{what}, not {type_text(type)}")


# ---------------------------------------------------------------- text


def _uniform(key: EmittedValue, shape: tuple[ix.Expr, ...], dtype: DType, out: Emitter) -> str:
    operands = f"{key.text}, {_positions(shape, out)}"
    if dtype is DType.F64:
        return f"random_uniform64({operands})"
    width, digits = threefry.DIGITS[ELEMENTS[dtype.value]]
    return f"random_uniform({operands}, {width}, {digits}, {jax_dtype(dtype)})"


def _positions(shape: tuple[ix.Expr, ...], out: Emitter) -> str:
    """The position of each element in row-major order of the true extents, not the padded ones."""
    sizes = pads.padded(shape, out)
    if not shape:
        return "jnp.zeros((), jnp.uint32)"
    if sizes[1:] == shape[1:]:
        steps = f"jnp.arange({out.static(ix.product(sizes))}, dtype=jnp.uint32)"
        return steps if len(shape) == 1 else f"{steps}.reshape({pads.static_shape(sizes, out)})"
    terms = []
    for axis, size in enumerate(sizes):
        steps = pads.along(f"jnp.arange({out.static(size)}, dtype=jnp.uint32)", axis, len(shape))
        stride = ix.product(shape[axis + 1 :])
        terms.append(steps if stride == ix.ONE else f"{steps} * jnp.uint32({out.index(stride)})")
    return " + ".join(terms)
