"""The layout of ragged axes: operands that are combined along an axis are valid at one interval.

``x[t:T]``, vectorized over ``t``, would be one shifted copy of ``x`` for each ``t``. Instead all
points share the whole array, ``x[s]`` at the positions ``s`` of ``x`` itself, of which those from
``t`` on are valid (``EmittedValue.valid``); of ``x[t:t+5]`` those from ``t`` to ``t+5``. Operators
that treat all positions of an axis alike take it as it is; they mask by ``s >= t`` where they
reduce::

    valid = jnp.arange(T, dtype=jnp.int32) >= t
    w_masked = jnp.where(valid[:, None], w, 0.0)
    y = jnp.einsum("sh,shd->hd", w_masked, x)

An operand with valid elements first is moved to the positions of another one, if that does not move
more elements than the other one has. All other operators, and operands that do not fit together,
get valid elements first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tempoc.ops.definition.operator import EmittedValue, Emitter, Interval, Op
from tempoc.ops.definition.types import Types
from tempoc.symbolic import expr as ix


def resolve_layout(
    op: Op,
    args: tuple[EmittedValue, ...],
    results: Types,
    same: Callable[[ix.Expr, ix.Expr], bool],
    out: Emitter,
) -> tuple[tuple[EmittedValue, ...], tuple[dict[int, Interval], ...]]:
    """The operands in a layout that the operator supports, and the valid intervals of results."""
    preserved: list[set[int]] = [set() for _ in args]
    valid: list[dict[int, Interval]] = [{} for _ in results]
    if not any(v.valid for v in args):
        return args, tuple(valid)
    given = list(args)
    types = tuple(v.type for v in args)
    follows = op.elementwise or op.layout_agnostic
    for link in op.links(types, results, same) if follows else ():
        pairs = enumerate(link.operands)
        places = [(k, a) for k, a in pairs if a is not None and types[k].shape[a] != ix.ONE]
        ends = [(n, a) for n, a in enumerate(link.results) if a is not None]
        sizes = {given[k].padded[a] for k, a in places}
        sizes |= {out.pad(results[n].shape[a]) for n, a in ends}
        common = _common_interval(given, places, out) if len(sizes) == 1 else None
        if common is None:
            continue
        for k, axis in places:
            preserved[k].add(axis)
        for n, axis in ends:
            valid[n][axis] = common
    taken = (out.first(v, but) for v, but in zip(given, preserved, strict=True))
    return tuple(taken), tuple(valid)


def _common_interval(
    given: list[EmittedValue], places: Sequence[tuple[int, int]], out: Emitter
) -> Interval | None:
    """The valid interval of axes that are combined; ``None`` if valid elements are to come first.

    Replaces operands with valid elements first by those moved to the interval.
    """
    intervals = [given[k].valid.get(axis) for k, axis in places]
    common = next((at for at in intervals if at is not None), None)
    if common is None or not all(_agree(at, common) for at in intervals if at):
        return None
    pairs = list(zip(places, intervals, strict=True))
    rank = max(given[k].type.ndim for (k, _), at in pairs if at)
    away = [place for place, at in pairs if at is None]
    if any(given[k].type.ndim > rank for k, _ in away):
        return None
    for k, axis in away:
        given[k] = out.moved(given[k], axis, common)
    return common


def _agree(a: Interval, b: Interval) -> bool:
    """Whether intervals of one length are the same: then one end is enough."""
    return a.begin == b.begin and (a.start == b.start or a.stop == b.stop)
