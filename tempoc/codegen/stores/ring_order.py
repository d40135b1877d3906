"""Rings that are read in storage order, because their consumers do not depend on the order of rows.

A ring of ``w`` rows holds the last ``w`` steps, rotated by some number of rows. Reading it in order
would copy it at each step. A kernel that only reduces over the rows, or combines them with windows
of the same rotation (the weights of keys with their values), may read them in storage order. While
there are fewer than ``w`` rows they are in order, at the front.

What is in order and much smaller than the windows with which it is combined, such as a filter or a
bias for each distance, is rotated instead: ``jnp.matmul(jnp.roll(w, t - 63), h)``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tempoc.base.cost_model import MODEL
from tempoc.codegen.stores.context import Stages
from tempoc.memory.estimates import typical_bounds
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.shapes import axis_of
from tempoc.ops.definition.types import TensorType
from tempoc.ops.indexing.scatter import Scatter
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.ops.tensor.reduction import Reduction
from tempoc.sdg.graph.query import operand_types
from tempoc.sdg.statements.branches import computing_branches
from tempoc.sdg.statements.statements import Read, Statement
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate


class RingRotation(NamedTuple):
    """The rows of a ring, and its capacity. Equal ones have the same rotation."""

    first: ix.Expr
    end: ix.Expr
    size: ix.Expr


RotatedAxes = Mapping[int, RingRotation]
"""The rotation of each rotated axis."""
OperandPlace = tuple[str, int]
"""An operand: its member and slot."""


@dataclass(frozen=True, slots=True)
class OrderFree:
    """Operands, by member and slot: ``windows`` in storage order, and ``turned`` ones.

    These are in order, and rotated along these axes to match windows.
    """

    windows: frozenset[OperandPlace] = frozenset()
    turned: Mapping[OperandPlace, RotatedAxes] = field(default_factory=dict)


class _OrderRequired(Exception):
    """A consumer needs the rows in order."""

    def __init__(self, turns: Sequence[RingRotation]) -> None:
        super().__init__()
        self.turns = turns


def order_free_operands(statement: Statement, stages: Stages) -> OrderFree:
    """The operands that are windows readable in storage order, and what is rotated for that.

    A fixpoint: a window that some consumer needs in order is removed, then the rest is tried again.
    """
    windows = {
        (r.member, r.slot): axes
        for r in statement.reads
        if (axes := _windows(r, statement, stages))
    }
    while windows:
        try:
            turned = _propagate(windows, statement, stages)
            _require_small(turned, windows, stages)
            return OrderFree(frozenset(windows), turned)
        except _OrderRequired as error:
            remaining = {
                place: axes
                for place, axes in windows.items()
                if not any(t in error.turns for t in axes.values())
            }
            windows = remaining
    return OrderFree()


def _require_small(
    turned: Mapping[OperandPlace, RotatedAxes],
    windows: Mapping[OperandPlace, RotatedAxes],
    stages: Stages,
) -> None:
    """Raise ``_OrderRequired`` for windows that are not much larger than what is turned."""
    values = typical_bounds(stages.graph.universe)

    def elements(places: Iterable[OperandPlace]) -> int:
        total = 0
        for member, slot in places:
            node = stages.graph.nodes[member]
            shape = operand_types(stages.graph, node)[slot].shape
            sizes = (stages.size_space.upper_bound(e, node.domain) for e in shape)
            total += math.prod(evaluate(e, values) for e in sizes)
        return total

    for turn in dict.fromkeys(t for axes in turned.values() for t in axes.values()):
        less = elements(place for place, axes in turned.items() if turn in axes.values())
        more = elements(place for place, axes in windows.items() if turn in axes.values())
        if less * MODEL.turned_share > more:
            raise _OrderRequired((turn,))


def _windows(read: Read, statement: Statement, stages: Stages) -> RotatedAxes:
    """The axes of an operand that are windows as long as their rings, or all rows so far."""
    at = stages.entries(read)
    turns: dict[int, RingRotation] = {}
    place = 0
    for axis in stages.buffers[read.tensor].axes:
        entry = at[axis.dim]
        if not isinstance(entry, ix.Slice):
            continue
        if axis.ring:
            first = ix.compare("==", entry.lo, ix.ZERO)
            full = ix.compare("==", ix.sub(entry.hi, entry.lo), axis.size)
            if entry.step != 1 or not stages.proves(statement, ix.disjunction(first, full)):
                return {}
            turns[place] = RingRotation(entry.lo, entry.hi, axis.size)
        place += 1
    return turns


def _propagate(
    operands: Mapping[OperandPlace, RotatedAxes], statement: Statement, stages: Stages
) -> dict[OperandPlace, RotatedAxes]:
    """Propagate rotated axes through the members: the operands that have to be rotated for that.

    Raises ``_OrderRequired``.
    """
    graph = stages.graph
    chosen = computing_branches(graph, statement.members)
    values: dict[tuple[str, int], RotatedAxes] = {}
    turned: dict[OperandPlace, RotatedAxes] = {}
    for member in statement.members:
        node = graph.nodes[member]
        given: list[RotatedAxes] = []
        for slot, edge in enumerate(node.inputs):
            same = tuple(ix.Sym(d) for d in graph.nodes[edge.source].domain.dims)
            local = edge.source in statement.members and edge.entries == same
            inner = values.get((edge.source, edge.out), {})
            given.append(inner if local else operands.get((member, slot), {}))
        if not any(given):
            continue
        result = _result_axes(node.op, given, operand_types(graph, node))
        every = tuple(t for axes in given for t in axes.values())
        if result is None or member in chosen or len(node.types) != 1:
            raise _OrderRequired(every)
        values[member, 0] = result.axes
        turned |= {(member, slot): axes for slot, axes in result.turned.items()}
    for write in statement.writes:
        if axes := values.get((write.member, write.out)):
            raise _OrderRequired(tuple(axes.values()))
    return turned


@dataclass(frozen=True, slots=True)
class _Turns:
    """The rotated axes of a result, or by letter, and the axes to be rotated of operands."""

    axes: RotatedAxes
    turned: Mapping[int, RotatedAxes] = field(default_factory=dict)


def _result_axes(
    op: Op, given: Sequence[RotatedAxes], types: Sequence[TensorType]
) -> _Turns | None:
    """The rotated axes of an operator's result; ``None`` if it needs some in order."""
    match op:
        case _ if op.elementwise:
            ndim = max(t.ndim for t in types)
            letters = [tuple(range(ndim - t.ndim, ndim)) for t in types]
            return _common_rotations(given, types, letters)
        case Reduction():
            (axes,), (type_,) = given, types
            gone = op.axes if op.axes is not None else tuple(range(type_.ndim))
            away = {a % type_.ndim for a in gone}
            left = [k for k in range(type_.ndim) if op.keepdims or k not in away]
            return _Turns({left.index(k): t for k, t in axes.items() if k not in away})
        case Scatter():
            return _combined_by_position(op, given, types)
        case Einsum():
            terms, result = op.letters(tuple(t.ndim for t in types))
            spelled = _common_rotations(given, types, [tuple(map(ord, term)) for term in terms])
            if spelled is None or any(len({*term}) < len(term) for term in terms):
                return None
            remaining_axes = {
                result.index(chr(k)): t for k, t in spelled.axes.items() if chr(k) in result
            }
            return replace(spelled, axes=remaining_axes)
        case MatMul():
            return _product(given, types)
        case _:
            return None


def _combined_by_position(
    op: Scatter, given: Sequence[RotatedAxes], types: Sequence[TensorType]
) -> _Turns | None:
    """The rotated axes that are left of what is combined by position; ``None`` if none can be."""
    x, places = (tuple(range(t.ndim)) for t in types)
    first = axis_of(op.axis, len(x) - len(places) + 1)
    last = first + len(places)
    turns = _common_rotations(given, types, [x, x[first:last]])
    if turns is None:
        return None
    left = {k: turn for k, turn in turns.axes.items() if not first <= k < last}
    axes = {k if k < first else k - len(places) + 1: turn for k, turn in left.items()}
    return replace(turns, axes=axes)


def _product(given: Sequence[RotatedAxes], types: Sequence[TensorType]) -> _Turns | None:
    """The rotated axes of a product of vectors and matrices; ``None`` for batched ones."""
    a, b = types
    if a.ndim > 2 or b.ndim > 2:
        return None
    inner, rows, columns = 0, 1, 2
    letters = [(rows, inner)[2 - a.ndim :], (inner, columns)[: b.ndim]]
    turns = _common_rotations(given, types, letters)
    if turns is None:
        return None
    result = [*letters[0][:-1], *letters[1][1:]]
    return replace(turns, axes={result.index(k): t for k, t in turns.axes.items() if k != inner})


def _common_rotations(
    given: Sequence[RotatedAxes], types: Sequence[TensorType], letters: Sequence[tuple[int, ...]]
) -> _Turns | None:
    """The rotations of the axes that operands share; ``None`` if there are several for one.

    ``letters`` are the names of each operand's axes. An axis of extent 1 broadcasts. Operands that
    are in order where others are rotated are turned.
    """
    turns: dict[int, RingRotation] = {}
    for axes, names in zip(given, letters, strict=True):
        for k, turn in axes.items():
            if turns.setdefault(names[k], turn) != turn:
                return None
    turned: dict[int, RotatedAxes] = {}
    for slot, (axes, type_, names) in enumerate(zip(given, types, letters, strict=True)):
        missing = {
            k: turns[name]
            for k, name in enumerate(names)
            if name in turns and k not in axes and type_.shape[k] != ix.ONE
        }
        if missing:
            turned[slot] = missing
    return _Turns(turns, turned)
