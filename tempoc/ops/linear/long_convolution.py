"""Convolutions along a whole axis, by Fourier transforms where they are long.

    y[t] = sum(a[i] * b[t-i] for all i)

There is no syntax for it; the pass ``lift`` makes it of sums of products at a lag. Transforms take
``n log n`` operations where the sum takes the product of both lengths.

Transforms are in double precision, whatever the operands are: on a CPU they take 1.1 to 1.5 times
as long as single ones, and what they round is less than what a sum in single precision rounds,
unless results differ by a factor of 10^8. It is relative to the largest result, so

- if no operand is negative, and some result is less than 10^-7 of the largest one along the axis
  (its logarithm may be asked for), or
- if a result is not finite, since transforms spread NaN and infinity over all places,

sums are formed one lag after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tempoc.base.arrays import np
from tempoc.base.cost_model import MODEL
from tempoc.base.python_text import literal
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.axis_links import Link, Same
from tempoc.ops.definition.dtype_text import scalar
from tempoc.ops.definition.operator import (
    Array,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.promotion import promote, widened
from tempoc.ops.definition.shapes import require, same, shape_text
from tempoc.ops.definition.types import TensorType, Types
from tempoc.ops.tensor.monoids import SUM
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate


@dataclass(frozen=True, slots=True, kw_only=True)
class LongConvolution(Op):
    """Of ``a: [n, ..]`` and ``b: [m, ..]`` ``count`` numbers from ``start`` on, ``step`` apart.

    Number ``k`` is the sum of ``a[i] * b[k - i]`` over all ``i`` for which both are there, none for
    a ``k`` outside of ``0`` to ``n + m - 2``. ``spec`` has letters for all axes but the first ones,
    as ``einsum``: ``"bc,c->bc"``. Of an ``a`` that is ``flipped`` the last place comes first; it
    shares its transform, conjugate, with the one that is not.
    """

    spec: str
    start: ix.Expr
    count: ix.Expr
    step: int = 1
    flipped: bool = False

    name = "long_convolution"
    library = "cuFFT"
    heavy = multilinear = doubles = True
    monoid = SUM

    @property
    def terms(self) -> tuple[str, str, str]:
        """The letters of both operands, and of the result."""
        operands, _, result = self.spec.partition("->")
        first, _, second = operands.partition(",")
        return first, second, result

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """Floating point, of one dtype; the extents of a letter agree."""
        require(args, 2, self.name)
        dtype, weak = promote(args)
        if not all(a.dtype is dtype and dtype.is_float and not dtype.is_half for a in args):
            raise OperandError("a long convolution takes f32 or f64")
        *terms, result = self.terms
        extents: dict[str, ix.Expr] = {}
        for term, a in zip(terms, args, strict=True):
            agree = a.ndim == 1 + len(term) and all(
                same(extents.setdefault(letter, n), n, facts)
                for letter, n in zip(term, a.shape[1:], strict=True)
            )
            if not agree:
                shapes = " and ".join(shape_text(x.shape) for x in args)
                raise OperandError(f'shapes {shapes} do not convolve by "{self.spec}"')
        if not facts.holds(ix.compare(">=", self.count, ix.ZERO)):
            raise OperandError("a long convolution has no negative number of results")
        shape = (self.count, *(extents[letter] for letter in result))
        return (TensorType(dtype, shape, weak),)

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """A few for each element of each transform: factors as of logarithms are left out."""
        elements = (ix.product(x.shape) for x in (*args, *results))
        return ix.mul(ix.Const(MODEL.transform_work), ix.add(*elements))

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """One lag after the other, as it is defined."""
        a, b = (widened(x) for x in args)
        a = a[::-1] if self.flipped else a
        first, second, result = self.terms
        start, count = evaluate(self.start, at), evaluate(self.count, at)
        sizes = dict(zip(first + second, (*a.shape[1:], *b.shape[1:]), strict=True))
        count *= self.step
        y = np.zeros((count, *(sizes[letter] for letter in result)), a.dtype)
        spec = f"{first},z{second}->z{result}"
        with np.errstate(all="ignore"):
            for i in range(len(a)):
                lo, hi = max(0, i - start), min(count, len(b) + i - start)
                if lo < hi:
                    y[lo:hi] += np.einsum(spec, a[i], b[start + lo - i : start + hi - i])
        return (y[:: self.step],)

    def links(self, args: Types, results: Types, same: Same) -> Iterator[Link]:
        """A link for each letter."""
        first, second, result = self.terms
        for letter in dict.fromkeys(first + second):
            places = [1 + t.index(letter) if letter in t else None for t in (first, second, result)]
            yield Link((places[0], places[1]), (places[2],))

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """A call, which decides by the extents."""
        zero = scalar(0, results[0].dtype)
        padded = (pads.with_own_padding(x, out) for x in args)
        a, b = (out.masked(x, tuple(range(x.type.ndim)), zero) for x in padded)
        count = out.static(out.pad(self.count))
        how = f"{literal(self.spec)}, {out.static(self.start)}, {count}"
        how += f", {self.step}" if self.step > 1 else ""
        how += ", flipped=0" if self.flipped else ""
        return (f"long_convolution({a}, {b}, {how})",)


LONG_CONVOLUTION = '''\
def long_convolution(a, b, spec, start, count, step=1, flipped=None):
    """The sums of a[i] * b[k - i] for `count` numbers k from `start` on, `step` apart; other axes
    as in einsum. Of operand `flipped` (0 or 1) the last place comes first.

    Transforms round relative to the largest result and spread what is not finite, products of
    matrices multiply that by 0: then sums are formed one lag after the other.
    """
    first, second, last = spec.replace("->", ",").split(",")
    if a.size < b.size:
        a, b, first, second = b, a, second, first
        flipped = None if flipped is None else 1 - flipped

    @jax.custom_batching.custom_vmap
    def convolved(a, b):
        about = first, second, last, start, count * step
        turned = lambda: [jnp.flip(x, 0) if k == flipped else x for k, x in enumerate((a, b))]
        if 0 in (len(a), len(b), count):
            sizes = dict(zip(first + second, a.shape[1:] + b.shape[1:]))
            return jnp.zeros((count, *(sizes[letter] for letter in last)), a.dtype)
        if min(len(a), len(b), count) < PLACES:
            y = convolved_by_band(*turned(), first, second, last, start, count, step)
            right = all_finite(y)
        else:
            y = convolved_by_fourier(a, b, *about, flipped)[::step]
            small = jnp.any(jnp.min(y, axis=0) < 1e-7 * jnp.max(y, axis=0))
            signed = jnp.minimum(jnp.min(a), jnp.min(b)) < 0  # NaN is found in y.
            right = all_finite(y) & (signed | ~small)
        y = y.astype(a.dtype)
        return usually(right, lambda: y, lambda: convolved_by_lags(*turned(), *about)[::step])

    @convolved.def_vmap
    def batched(size, among, a, b):
        # All points in one call: with a condition for each, all of them would be computed by lags.
        letter = next(c for c in "abcdefghijklmnopqrstuvwxy" if c not in spec)
        a, b = (jnp.moveaxis(x, 0, 1) if each else x for x, each in zip((a, b), among))
        left, right = (letter + t if each else t for t, each in zip((first, second), among))
        y = long_convolution(a, b, f"{left},{right}->{letter}{last}", start, count, step, flipped)
        return jnp.moveaxis(y, 1, 0), True

    return convolved(a, b)
'''.replace("PLACES", str(MODEL.fourier_places))

CONVOLVED_BY_FOURIER = '''\
def convolved_by_fourier(a, b, first, second, last, start, count, flipped):
    """`long_convolution` as a product of transforms, in double precision.

    The conjugate of a transform is that of the operand around place 0: results are further back.
    """
    length = len(a) + len(b) - 1
    lo, hi = (min(max(0, k), length) for k in (start, start + count))
    before = min(max(0, -start), count)
    least = max(hi, length - lo)  # What lies beyond is added to places that are not read.
    sizes = (3**i * 5**j << k for i in range(3) for j in range(3)
             for k in range(1, least.bit_length() + 1))
    size = min(n for n in sizes if n >= least)
    x, y = (jnp.fft.rfft(v.astype(jnp.float64), size, axis=0) for v in (a, b))
    x, y = (jnp.conj(z) if k == flipped else z for k, z in enumerate((x, y)))
    z = jnp.einsum(f"z{first},z{second}->z{last}", x, y)
    y = jnp.fft.irfft(z, size, axis=0)
    back = 0 if flipped is None else len((a, b)[flipped]) - 1
    lo, hi = lo - back, hi - back
    if lo < 0 < hi:
        y = jnp.concatenate([y[lo:], y[:hi]])
    else:
        y = y[lo % size : lo % size + hi - lo]
    return jnp.pad(y, [(before, count - before - len(y))] + [(0, 0)] * (y.ndim - 1))
'''

CONVOLVED_BY_BAND = '''\
def convolved_by_band(a, b, first, second, last, start, count, step):
    """`long_convolution` as products of a band, rows of which are the shorter operand, each one
    place after the other, with pieces of the longer operand that overlap."""
    if len(a) > len(b):
        a, b, first, second = b, a, second, first
    size = len(a)
    block = max(1, min(BLOCK, 2 * size // step, count))
    stride, width = step * block, step * (block - 1) + size
    blocks, pieces = -(-count // block), -(-width // stride)
    begin = start - size + 1
    end = begin + stride * (blocks + pieces - 1)
    around = [(-begin, end - len(b), 0)] + [(0, 0, 0)] * (b.ndim - 1)
    rows = lax.pad(b, jnp.zeros((), b.dtype), around)
    if blocks < pieces:
        rows = jnp.stack([rows[k * stride : k * stride + width] for k in range(blocks)])
    else:
        rows = rows.reshape(blocks + pieces - 1, stride, *b.shape[1:])
        parts = [rows[k : k + blocks, : width - k * stride] for k in range(pieces)]
        rows = jnp.concatenate(parts, axis=1)
    # Each row of a table whose rows are shorter than what repeats begins a step further back.
    around = [(0, width + step - size, 0)] + [(0, 0, 0)] * (a.ndim - 1)
    repeated = jnp.tile(lax.pad(jnp.flip(a, 0), jnp.zeros((), a.dtype), around),
                        (block, *[1] * (a.ndim - 1)))
    band = repeated[: block * width].reshape(block, width, *a.shape[1:])
    y = jnp.einsum(f"yw{first},zw{second}->zy{last}", band, rows)
    return y.reshape(blocks * block, *y.shape[2:])[:count]
'''.replace("BLOCK", str(MODEL.band_rows))

CONVOLVED_BY_LAGS = '''\
def convolved_by_lags(a, b, first, second, last, start, count):
    """`long_convolution` as sums, one lag after the other, of nothing but what is there."""
    places, (b, begin) = len(b), with_zeros(b, len(a), start, count)

    def step(i, y):
        part = lax.dynamic_slice_in_dim(b, begin - i, count)
        term = jnp.einsum(f"{first},z{second}->z{last}", a[i], part)
        k = start - i + jnp.arange(count, dtype=jnp.int32)
        inside = ((k >= 0) & (k < places)).reshape(count, *[1] * (term.ndim - 1))
        return y + jnp.where(inside, term, 0)

    sizes = dict(zip(first + second, a.shape[1:] + b.shape[1:]))
    y = jnp.zeros((count, *(sizes[letter] for letter in last)), a.dtype)
    return lax.fori_loop(0, len(a), step, y)
'''

WITH_ZEROS = '''\
def with_zeros(b, size, start, count):
    """b with zeros wherever b[start + k - i] is outside, and where b[start] is in that."""
    before, after = max(0, size - 1 - start), max(0, start + count - len(b))
    return jnp.pad(b, [(before, after)] + [(0, 0)] * (b.ndim - 1)), start + before
'''
