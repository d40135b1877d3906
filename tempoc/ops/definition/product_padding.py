"""What masks the padding in products, and what need not be masked.

If a contracted axis is ragged, both operands are masked with 0, since zero times NaN is NaN. An
operand whose padding is known to be finite need not be masked if the other one is. An array that
many points share is tested once, before their function is called, which is traced for both cases:
only if it is not all finite, all points mask it, one position of the summed axis after the other,
so that there is no copy for each of them (`term_by_term`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tempoc.ops.definition.dtype_text import scalar
from tempoc.ops.definition.operator import EmittedValue, Emitter
from tempoc.ops.definition.types import DType


def clean(
    v: EmittedValue, axes: tuple[int, ...], other: EmittedValue | None, dtype: DType, out: Emitter
) -> EmittedValue:
    """The operand with 0 in the padding of summed axes.

    It may have zeros there already. It may keep integers, which are finite, when ``other``, masked
    along the same axes, brings the zeros.
    """
    if v.finite is True or (other is not None and not v.type.dtype.is_float):
        return v
    if {*v.vanishing} <= {*axes}:
        axes = tuple(k for k in axes if k not in v.vanishing)
    return replace(v, text=out.masked(v, axes, scalar(0, dtype)))


SummedAxes = Mapping[int, Sequence[tuple[str, int | None]]]
"""For axes of an operand the axes of arrays that are summed with it, ``None`` for those without."""


def contracted(
    v: EmittedValue,
    axes: tuple[int, ...],
    other: EmittedValue | None,
    dtype: DType,
    out: Emitter,
    spell: Callable[[str], str],
    others: SummedAxes,
    rank: int,
) -> str:
    """A product with an operand that is cleaned; ``others`` are the other arrays in its spelling.

    Where all points read the operand from one array and ``other`` brings the zeros, the array need
    not be masked for each point as long as all of it is finite, and so one product serves all. An
    array in memory of more axes than the product, which has ``rank``, is masked if that has a NaN.
    """
    is_padded = any(v.is_ragged(k) for k in axes) and v.type.dtype.is_float and v.finite is not True
    if not is_padded or other is None:
        return spell(clean(v, axes, other, dtype, out).text)
    finite, masked = out.finite(v), out.masking(v, axes, scalar(0, dtype))
    if not finite and (v.stored != v.text or v.type.ndim <= rank):
        return spell(clean(v, axes, other, dtype, out).text)
    if not finite:
        return f"unless_nan(lambda: {spell(v.text)}, lambda: {spell(masked)})"
    again = _term_by_term(v, axes, out, spell(masked), others)
    return f"{spell(v.text)} if {finite} else {again}"


def _term_by_term(
    v: EmittedValue,
    axes: tuple[int, ...],
    out: Emitter,
    product: str,
    others: SummedAxes,
) -> str:
    """The product along the first ragged one of the axes, whose parts alone are masked."""
    ragged = [k for k in axes if v.is_ragged(k)]
    parts: dict[str, int | None] = {v.text: ragged[0]}
    for text, axis in others[ragged[0]]:
        if parts.setdefault(text, axis) != axis:
            return product
    parts |= {out.valid(v, k): None for k in ragged} | {out.valid(v, ragged[0]): 0}
    if any(axis is not None and not text.isidentifier() for text, axis in parts.items()):
        return product
    names = {text: axis for text, axis in parts.items() if text.isidentifier()}
    cuts = ", ".join(f"{axis}" for axis in names.values())
    arrays = ", ".join(names)
    return f"term_by_term(lambda {arrays}: {product}, ({cuts}), {arrays})"


ALL_FINITE = '''\
def all_finite(x):
    """Whether all elements are finite. If their sum overflows, they count as if they were not."""
    return jnp.isfinite(jnp.sum(x, dtype=jnp.promote_types(x.dtype, jnp.float32)))
'''

USUALLY = '''\
def usually(right, usual, rare):
    """usual() if that is right, else rare().

    tempoc's runner has another one of this name for CPUs: rare() is traced when data need it.
    """
    return lax.cond(right, usual, rare)
'''

ANY_POINT = '''\
def any_point(flag):
    """Whether a flag is set at any point of jax.vmap."""
    call = jax.custom_batching.custom_vmap(lambda flag: jnp.any(flag))
    call.def_vmap(lambda size, mapped, flag: (any_point(flag), False))
    return call(flag)
'''

UNLESS_NAN = '''\
def unless_nan(product, masked):
    """A product of padding with zeros, done again with zeros in both if that spreads a NaN.

    GPUs, for which a branch is a pause, mask in any case.
    """
    if jax.default_backend() != "cpu":
        return masked()
    result = product()
    return usually(~any_point(jnp.isnan(result)), lambda: result, masked)
'''

TERM_BY_TERM = '''\
def term_by_term(product, axes, *arrays):
    """A product as the sum of those of parts, which are one position of an axis of some arrays.

    Under jax.vmap each point may mask a part of an array that all of them have in common.
    """
    lengths = [x.shape[a] for x, a in zip(arrays, axes) if a is not None]
    if 0 in lengths:
        return product(*arrays)
    result = jax.eval_shape(product, *arrays)
    dtype = jnp.promote_types(result.dtype, jnp.float32)
    wide = lambda x: x if x.dtype != result.dtype else x.astype(dtype)

    def step(k, total):
        cut = lambda x, a: x if a is None else lax.dynamic_slice_in_dim(x, k, 1, a)
        return total + product(*(wide(cut(x, a)) for x, a in zip(arrays, axes)))

    total = lax.fori_loop(0, max(lengths), step, jnp.zeros(result.shape, dtype))
    return total.astype(result.dtype)
'''
