"""Where the garbage of a ragged axis is: at its end, or at its beginning.

``x[t:T]``, for all ``t`` at once, would be as many shifted copies of ``x``. Read whole it is one
array for all of them, ``x[s]`` at the positions ``s`` of ``x`` itself, of which those from ``t`` on
are valid: elements are where they are in ``x``, and garbage comes first (``Value.last``). Operators
that treat all positions of an axis alike do not care; they mask by ``s >= t`` where they reduce:

    valid = jnp.arange(T, dtype=jnp.int32) >= t
    w_masked = jnp.where(valid[:, None], w, 0.0)
    y = jnp.einsum("sh,shd->hd", w_masked, x)

Where axes of several operands meet they must lie alike. All else gets its operands with valid
elements first.
"""

from __future__ import annotations

from collections.abc import Callable

from tempoc.ops.axes import Types, links
from tempoc.ops.opdef import Emitter, Op, Value
from tempoc.symbolic.expr import ONE, Expr

_SAME = (
    "copy where neg abs sign relu floor ceil round exp exp2 log log1p expm1 sqrt rsqrt sin cos tan "
    "tanh sigmoid silu erf gelu softplus isnan isinf not cast add sub mul div floordiv mod power "
    "minimum maximum clip lt le gt ge eq ne and or sum prod max min any all mean matmul einsum "
    "transpose expand_dims squeeze getitem"
)
INDIFFERENT: frozenset[str] = frozenset(_SAME.split())
"""Operators whose emitted code looks at positions of a followed axis only through masks."""


def settled(
    op: Op,
    args: tuple[Value, ...],
    results: Types,
    same: Callable[[Expr, Expr], bool],
    out: Emitter,
) -> tuple[tuple[Value, ...], tuple[tuple[int, ...], ...]]:
    """Operands that the operator can take, and the axes of results whose garbage comes first."""
    if not any(v.last for v in args):
        return args, tuple(() for _ in results)
    found: list[list[int]] = [[] for _ in args]
    last: list[list[int]] = [[] for _ in results]
    if op.name in INDIFFERENT:
        for link in links(op, tuple(v.type for v in args), results, same):
            places = [
                (k, axis)
                for k, axis in enumerate(link.operands)
                if axis is not None and args[k].type.shape[axis] != ONE
            ]
            if places and all(axis in args[k].last for k, axis in places):
                for k, axis in places:
                    found[k].append(axis)
                for k, made in enumerate(link.results):
                    last[k] += [] if made is None else [made]
    settled_args = tuple(
        out.first(v, tuple(a for a in v.last if a not in kept))
        for v, kept in zip(args, found, strict=True)
    )
    return settled_args, tuple(tuple(sorted(axes)) for axes in last)


def plain(v: Value, out: Emitter) -> Value:
    """The operand with valid elements first along all axes."""
    return out.first(v, v.last)
