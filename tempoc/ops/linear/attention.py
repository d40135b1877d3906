"""Attention of all rows at once, by whichever kernel the device has for it.

    a[t] = softmax(k[0:t+1] @ q[t] * scale) @ v[0:t+1]

There is no syntax for it; the pass ``dispatch`` makes it of equations that match a pattern of its
table. The scores of all rows, a matrix of rows times columns for each head, are never in memory:

- on a GPU with halves, cuDNN (``jax.nn.dot_product_attention``), for heads of at most 256 elements,
  a multiple of 8 (``check_is_flash_attention`` in jax 0.10.2); before Hopper it takes 128;
- on a GPU otherwise, a kernel in Pallas, which goes over tiles of scores and leaves out those that
  a mask empties (FlashAttention, Dao et al., 2022);
- else blocks of rows, of which each sees all columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tempoc.base.arrays import np
from tempoc.base.cost_model import MODEL
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.dtype_text import number
from tempoc.ops.definition.operator import (
    Array,
    EmittedValues,
    Emitter,
    Op,
    OperandError,
    ShapeFacts,
)
from tempoc.ops.definition.promotion import widened
from tempoc.ops.definition.shapes import require, same, shape_text
from tempoc.ops.definition.types import DType, TensorType, Types
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention(Op):
    """Of ``q: [T, .., .., D]``, ``k: [S, .., D]``, ``v: [S, .., E]`` the rows ``[T, .., .., E]``.

    The axes of heads of ``k`` and ``v`` come first among those of ``q``: heads of ``q`` that differ
    along others share one of ``k``. Row ``t`` sees all rows ``s``, if ``causal`` those with
    ``s <= t``, with a ``window`` above 0 only those with ``s > t - window``, and with a fourth
    operand only the first so many. A row that sees nothing is NaN, as its softmax is.
    """

    scale: float = 1.0
    causal: bool = False
    window: ix.Expr = ix.ZERO

    name = "attention"
    heavy = True

    def infer(self, args: tuple[TensorType, ...], facts: ShapeFacts) -> tuple[TensorType, ...]:
        """Floating point, of one dtype; heads and rows of keys and values agree."""
        require(args, max(3, min(4, len(args))), self.name)
        q, k, v = args[:3]
        if len(args) > 3 and (args[3].dtype is not DType.I32 or args[3].shape):
            raise OperandError("the number of rows of keys is an i32")
        if len({a.dtype for a in args[:3]}) > 1 or not q.dtype.is_float:
            raise OperandError("attention takes floating point of one dtype")
        shared = k.shape[1:-1]
        heads = zip((*shared, k.shape[0], *shared), (*v.shape[1:-1], v.shape[0], *q.shape[1:]))  # noqa: B905
        ranks = 2 <= k.ndim == v.ndim <= q.ndim
        if not (
            ranks
            and all(same(a, b, facts) for a, b in heads)
            and same(q.shape[-1], k.shape[-1], facts)
        ):
            shapes = ", ".join(shape_text(a.shape) for a in args)
            raise OperandError(f"shapes {shapes} are no queries, keys and values")
        return (TensorType(q.dtype, (*q.shape[:-1], v.shape[-1])),)

    def work(self, args: tuple[TensorType, ...], results: tuple[TensorType, ...]) -> ix.Expr:
        """Two products of as many terms as the rows of a head see, no mask taken into account."""
        q, k, v = (a.shape for a in args[:3])
        columns = k[0] if self.window == ix.ZERO else ix.minimum(k[0], self.window)
        return ix.product((ix.Const(2), *q[:-1], columns, ix.add(q[-1], v[-1])))

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Row by row, in single precision at least; NaN for a row that sees nothing."""
        q, k, v = (widened(a) for a in args[:3])
        result = np.full((*q.shape[:-1], v.shape[-1]), np.nan, v.dtype)
        seen = min(len(k), int(args[3])) if len(args) > 3 else len(k)
        window = evaluate(self.window, at)
        for t in range(len(q)):
            first = max(0, t - window + 1) if window else 0
            stop = min(seen, t + 1) if self.causal else seen
            if first >= stop:
                continue
            groups = q[t].reshape(*k.shape[1:-1], -1, q.shape[-1])
            scores = np.einsum("...gd,s...d->...gs", groups, k[first:stop]) * self.scale
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            weights /= weights.sum(axis=-1, keepdims=True)
            row = np.einsum("...gs,s...e->...ge", weights, v[first:stop])
            result[t] = row.reshape(result[t].shape)
        return (result.astype(args[0].dtype),)

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """A call; how many rows of keys count is told where that varies."""
        q, k, v = (pads.with_own_padding(a, out) for a in args[:3])
        count = f", {out.index(k.type.shape[0])}" if k.is_ragged(0) else ""
        if len(args) > 3:
            count = f", {args[3].text}"
        value = out.masked(v, (0,), "0")
        window = out.static(self.window)
        how = f"{number(self.scale, DType.F64)}, {self.causal}, {window}{count}"
        return (f"attend({q.text}, {k.text}, {value}, {how})",)


ATTEND = '''\
def attend(query, key, value, scale, causal, window, count=None):
    """softmax(query @ key.T * scale) @ value, for each row and head of `query`.

    Row t sees the rows s of `key` and `value`: the first `count` of them, if `causal` those with
    s <= t, with a `window` only those with s > t - window. Heads are the axes in between; those of
    `query` that differ along its last ones share a head of `key`.
    """
    if 0 in query.shape + key.shape + value.shape:
        return jnp.full((*query.shape[:-1], value.shape[-1]), jnp.nan, query.dtype)
    arrays = [x.reshape(len(x), -1, x.shape[-1]) for x in (query, key, value)]
    half = query.dtype in (jnp.bfloat16, jnp.float16)
    size, seen = query.shape[-1], (causal, window, count)
    if jax.default_backend() != "gpu" or not (half or query.dtype == jnp.float32):
        result = attend_by_rows(*arrays, scale, *seen)
    elif has_cudnn(half, size, value.shape[-1]) and (causal or not window) and count is None:
        near = (window - 1, 0) if window else None
        result = jax.nn.dot_product_attention(
            *arrays, scale=scale, is_causal=causal, local_window_size=near, implementation="cudnn"
        )
    elif half or size <= 128:
        result = attend_by_tiles(*arrays, scale, *seen)
    else:
        result = attend_by_rows(*arrays, scale, *seen)
    return result.reshape(*query.shape[:-1], value.shape[-1])
'''

HAS_CUDNN = '''\
def has_cudnn(half, size, given):
    """Whether cuDNN has a kernel for heads of this size: halves, on a GPU of NVIDIA's."""
    device = jax.devices()[0]
    if not (half and size == given and size % 8 == 0 and "NVIDIA" in device.device_kind):
        return False
    return size <= (256 if float(device.compute_capability) >= 9 else 128)
'''

ATTEND_BY_ROWS = '''\
def attend_by_rows(query, key, value, scale, causal, window, count):
    """`attend` with one axis of heads, by blocks of rows, of which each sees all columns."""
    (rows, heads, size), (columns, shared, _) = query.shape, key.shape
    block = min(rows, max(1, ELEMENTS // (heads * columns)))
    wide = jnp.promote_types(query.dtype, jnp.float32)

    def step(k, result):
        first = jnp.minimum(k * block, rows - block)
        part = lax.dynamic_slice_in_dim(query, first, block)
        part = part.reshape(block, shared, heads // shared, size)
        scores = jnp.einsum("tkgd,skd->kgts", part, key, preferred_element_type=wide) * scale
        t, s = first + jnp.arange(block)[:, None], jnp.arange(columns)
        masks = [s <= t] if causal else []
        masks += [s > t - window] if window else []
        masks += [(s < count)[None]] if count is not None else []
        for mask in masks:
            scores = jnp.where(mask, scores, -jnp.inf)
        weights = jax.nn.softmax(scores, axis=-1)
        part = jnp.einsum("kgts,ske->tkge", weights.astype(value.dtype), value,
                          preferred_element_type=wide)
        part = part.reshape(block, heads, value.shape[-1]).astype(query.dtype)
        return lax.dynamic_update_slice_in_dim(result, part, first, 0)

    result = jnp.zeros((rows, heads, value.shape[-1]), query.dtype)
    return step(0, result) if block == rows else lax.fori_loop(0, -(-rows // block), step, result)
'''.replace("ELEMENTS", str(MODEL.attention_scores))

ATTEND_BY_TILES = '''\
def attend_by_tiles(query, key, value, scale, causal, window, count, interpret=False):
    """`attend` with one axis of heads, as a kernel that goes over tiles of scores.

    Tiles that no row sees are left out. Rows are those of a tile at a time, relative to their
    largest score so far, in powers of two.
    """
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    (rows, heads, size), (columns, shared, given) = query.shape, value.shape
    half = query.dtype != jnp.float32
    high, wide, warps = TILES if half else WIDE_TILES
    power = lambda n: max(16, 1 << (n - 1).bit_length())
    high, wide = min(high, power(rows)), min(wide, power(columns))
    fill = lambda x, n, d: jnp.pad(x, ((0, -len(x) % n), (0, 0), (0, d - x.shape[-1])))
    query = fill(query, high, power(size))
    key, value = fill(key, wide, power(size)), fill(value, wide, power(given))
    last = jnp.full(1, columns if count is None else count, jnp.int32)

    def kernel(query, key, value, last, result):
        first, count = pl.program_id(0) * high, last[0]
        q, t = query[...], first + jnp.arange(high)

        def step(j, state):
            total, most, weight = state
            rows = pl.ds(j * wide, wide)
            s = j * wide + jnp.arange(wide)
            scores = jnp.dot(q, key[rows, :].T, preferred_element_type=jnp.float32)
            scores = scores * (scale * 1.4426950408889634)
            seen = (s < count)[None, :]
            if causal:
                seen = seen & (s[None, :] <= t[:, None])
            if window:
                seen = seen & (s[None, :] > t[:, None] - window)
            scores = jnp.where(seen, scores, -1e30)
            more = jnp.maximum(most, jnp.max(scores, axis=1))
            shrunk = jnp.exp2(most - more)
            part = jnp.where(seen, jnp.exp2(scores - more[:, None]), 0)
            total = total * shrunk[:, None] + jnp.dot(
                part.astype(value.dtype), value[rows, :], preferred_element_type=jnp.float32
            )
            return total, more, weight * shrunk + jnp.sum(part, axis=1)

        tiles = lambda n: lax.div(n, jnp.int32(wide))
        begin = tiles(jnp.maximum(0, first - window + 1)) if window else 0
        end = tiles((jnp.minimum(count, first + high) if causal else count) + (wide - 1))
        state = jnp.zeros((high, value.shape[-1]), jnp.float32)
        state = state, jnp.full(high, -1e30, jnp.float32), jnp.zeros(high, jnp.float32)
        total, _, weight = lax.fori_loop(begin, end, step, state)
        result[...] = (total / weight[:, None]).astype(result.dtype)

    share = heads // shared
    tile = lambda x: pl.BlockSpec((high, None, x.shape[-1]), lambda i, h: (i, h, 0))
    every = lambda x: pl.BlockSpec((len(x), None, x.shape[-1]), lambda i, h: (0, h // share, 0))
    shape = jax.ShapeDtypeStruct((*query.shape[:2], value.shape[-1]), query.dtype)
    result = pl.pallas_call(
        kernel,
        grid=(len(query) // high, heads),
        in_specs=[tile(query), every(key), every(value), pl.BlockSpec((1,), lambda i, h: (0,))],
        out_specs=tile(shape),
        out_shape=shape,
        compiler_params=triton.CompilerParams(num_warps=warps, num_stages=2),
        interpret=interpret,
        name="attend",
    )(query, key, value, last)
    return result[:rows, :, :given]
'''
for _name, _tile in (("WIDE_TILES", MODEL.attention_wide_tiles), ("TILES", MODEL.attention_tiles)):
    ATTEND_BY_TILES = ATTEND_BY_TILES.replace(_name, str(_tile))
