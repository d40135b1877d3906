"""Checks of values while they are evaluated: integers that overflow, numbers that are not finite.

An integer result is compared with that of the same operator in f64. Where it has wrapped around,
the two differ by a multiple of 2**32 (i32) or 2**64 (i64), however f64 rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tempoc.base.arrays import np
from tempoc.base.checks import FINITE, OVERFLOW
from tempoc.ops.definition.dtype_text import dtype_of
from tempoc.ops.definition.operator import Array
from tempoc.ops.definition.types import DType
from tempoc.sdg.evaluation.source_names import source_tensor
from tempoc.sdg.graph import errors
from tempoc.sdg.graph.graph import Graph, Node

_SIGNED = (DType.I8, DType.I32, DType.I64)
_SHOWN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedOp:
    """An operator that has been applied; ``values`` are those of bounds and dimensions.

    ``raw`` are its results before they got the dtypes of the node's types, which ``results`` have.
    """

    graph: Graph
    node: Node
    args: tuple[Array, ...]
    raw: tuple[Array, ...]
    results: tuple[Array, ...]
    values: Mapping[str, int]


ValueWatch = Callable[[AppliedOp], None]
"""Called after each operator."""


def watch_nothing(applied: AppliedOp) -> None:
    """The `ValueWatch` without checks."""


def watch(checks: Sequence[str]) -> ValueWatch:
    """The `ValueWatch` for some checks; it raises `DiagnosticError` (RT316, RT317)."""

    def look(applied: AppliedOp) -> None:
        if OVERFLOW in checks:
            _check_overflow(applied)
        if FINITE in checks:
            _check_finite(applied)

    return look


def _check_overflow(applied: AppliedOp) -> None:
    """Raise RT316 if a signed integer is not what it would be without limits."""
    op, signed = applied.node.op, [dtype_of(r.dtype) in _SIGNED for r in applied.results]
    if not any(signed):
        return
    exact = op.unlimited(applied.args, applied.values) if op.overflows else applied.raw
    for result, value in zip(applied.results, exact, strict=True):
        if dtype_of(result.dtype) not in _SIGNED:
            continue
        limits, wide = np.iinfo(result.dtype), np.asarray(value).astype(np.float64)
        near = np.abs(wide - result) < float(limits.max)  # false for NaN
        wrong = ~(near & (wide >= limits.min) & (wide <= limits.max))
        if wrong.any():
            at = _first(wrong)
            raise errors.overflows(
                _element(applied, at),
                dtype_of(result.dtype).value,
                float(wide[at]),
                int(limits.max),
                _operands(applied.args, result.shape, at),
                applied.node.span,
            )


def _check_finite(applied: AppliedOp) -> None:
    """Raise RT317 if a result is not finite, and all operands are."""
    if not applied.args or not all(map(_is_finite, applied.args)):
        return
    for result in applied.results:
        if not _is_finite(result):
            at = _first(~np.isfinite(result.astype(np.float64)))
            raise errors.not_finite(
                _element(applied, at),
                float(result[at]),
                _operands(applied.args, result.shape, at),
                applied.node.span,
            )


def _is_finite(array: Array) -> bool:
    return not dtype_of(array.dtype).is_float or bool(np.isfinite(array).all())


def _first(wrong: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(wrong)[0])


def _element(applied: AppliedOp, at: tuple[int, ...]) -> str:
    """The element in terms of the program: `h[t=3][0]`, `div`[0] in h[t=3]."""
    label, is_whole = source_tensor(applied.graph, applied.node, applied.values)
    part = str(list(at)) if at else ""
    return f"{label}{part}" if is_whole else f"`{applied.node.op.name}`{part} in {label}"


def _operands(args: tuple[Array, ...], shape: tuple[int, ...], at: tuple[int, ...]) -> str:
    """The operands of an element: those at its position, or else all of them, as far as short."""
    if not args:
        return ""
    try:
        values = [str(np.broadcast_to(a, shape)[at]) for a in args]
        return f"of {' and '.join(values)}"
    except ValueError:
        shown = (" ".join(map(str, a.ravel()[:_SHOWN])) for a in args)
        more = (" ..." if a.size > _SHOWN else "" for a in args)
        return f"of {' and '.join(s + m for s, m in zip(shown, more, strict=True))}"
