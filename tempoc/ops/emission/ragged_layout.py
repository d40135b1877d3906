"""The layout of ragged axes: whether the padding is at the end, at the start, or on both sides.

``x[t:T]``, vectorized over ``t``, would be one shifted copy of ``x`` for each ``t``. Instead all
points share the whole array, ``x[s]`` at the positions ``s`` of ``x`` itself; the elements from
``t`` on are valid, and the padding comes first (``EmittedValue.last``). Operators that treat all
positions of an axis alike take this layout; they mask by ``s >= t`` where they reduce:

    valid = jnp.arange(T, dtype=jnp.int32) >= t
    w_masked = jnp.where(valid[:, None], w, 0.0)
    y = jnp.einsum("sh,shd->hd", w_masked, x)

Axes of several operands that are combined must have the same layout. All other operators get their
operands with valid elements first.

A window, ``x[t:t+5]``, that many points read from one array has padding on both sides
(``EmittedValue.amid``). An operand with valid elements first is moved to the window's positions; if
that would move more elements, the window is moved instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from tempoc.ops.definition.axis_links import Link
from tempoc.ops.definition.operator import EmittedValue, Emitter, Op, Stretch
from tempoc.ops.definition.types import Types
from tempoc.symbolic.expr import ONE, Expr

T = TypeVar("T")


RaggedAxes = tuple[tuple[int, ...], tuple[Stretch, ...]]
"""Axes of a result with garbage first, and with garbage on both sides."""


def resolve_layout(
    op: Op,
    args: tuple[EmittedValue, ...],
    results: Types,
    same: Callable[[Expr, Expr], bool],
    out: Emitter,
) -> tuple[tuple[EmittedValue, ...], tuple[RaggedAxes, ...]]:
    """The operands in a layout that the operator supports, and the layout of its results."""
    if not any(v.displaced for v in args):
        return args, tuple(((), ()) for _ in results)
    preserved: list[list[int]] = [[] for _ in args]
    last: list[list[int]] = [[] for _ in results]
    amid: list[list[Stretch]] = [[] for _ in results]
    given = list(args)
    if op.elementwise or op.layout_agnostic:
        for link in op.links(tuple(v.type for v in args), results, same):
            places = [
                (k, axis)
                for k, axis in enumerate(link.operands)
                if axis is not None and args[k].type.shape[axis] != ONE
            ]
            if places and all(axis in args[k].last for k, axis in places):
                _add(link, last, lambda axis: axis)
            elif stretch := _common_stretch(given, places, out):
                _add(link, amid, lambda axis: replace(stretch, axis=axis))
            else:
                continue
            for k, axis in places:
                preserved[k].append(axis)
    taken = tuple(
        out.first(v, tuple(a for a in v.displaced if a not in axes))
        for v, axes in zip(given, preserved, strict=True)
    )
    pairs = zip(last, amid, strict=True)
    return taken, tuple((tuple(sorted(ends)), tuple(stretches)) for ends, stretches in pairs)


def _add(link: Link, axes_of: list[list[T]], lies: Callable[[int], T]) -> None:
    for axes, axis in zip(axes_of, link.results, strict=True):
        axes += [] if axis is None else [lies(axis)]


def _common_stretch(
    given: list[EmittedValue], places: Sequence[tuple[int, int]], out: Emitter
) -> Stretch | None:
    """The common stretch of axes that are combined; ``None`` if valid elements are to come first.

    Operands with valid elements first are moved to the stretch if they are no larger.
    """
    stretches = [given[k].stretch(axis) for k, axis in places]
    common = next((s for s in stretches if s is not None), None)
    if common is None or any(axis in given[k].last for k, axis in places):
        return None
    ends = {(s.start, s.stop, s.begin) for s in stretches if s is not None}
    rooms = {given[k].padded[axis] for k, axis in places}
    pairs = list(zip(places, stretches, strict=True))
    rank = max(given[k].type.ndim for (k, _), s in pairs if s is not None)
    away = [(k, axis) for (k, axis), s in pairs if s is None]
    if len(ends) > 1 or len(rooms) > 1 or any(given[k].type.ndim > rank for k, _ in away):
        return None
    for k, axis in away:
        given[k] = out.moved(given[k], replace(common, axis=axis))
    return common


def valid_first(v: EmittedValue, out: Emitter) -> EmittedValue:
    """The operand with valid elements first along all axes."""
    return out.first(v, v.displaced)
