"""Rings that are read in storage order, because their consumers do not depend on the order of rows.

A ring of ``w`` rows holds the last ``w`` steps, rotated by some number of rows. Reading it in order
would copy it at each step. A kernel that only reduces over the rows, or combines them with windows
of the same rotation (the weights of keys with their values), may read them in storage order. While
there are fewer than ``w`` rows they are in order, at the front.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tempoc.codegen.stores.context import Stages
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import TensorType
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.ops.tensor.reduction import Reduction
from tempoc.sdg.graph.query import operand_types
from tempoc.sdg.statements.branches import computing_branches
from tempoc.sdg.statements.statements import Read, Statement
from tempoc.symbolic import expr as ix

RingRotation = tuple[ix.Expr, ix.Expr, ix.Expr]
"""The rows of a ring: first, end, capacity. Equal triples have the same rotation."""
RotatedAxes = Mapping[int, RingRotation]
"""The rotation of each rotated axis."""


class _OrderRequired(Exception):
    """A consumer needs the rows in order."""

    def __init__(self, turns: Sequence[RingRotation]) -> None:
        super().__init__()
        self.turns = turns


def order_free_operands(statement: Statement, stages: Stages) -> frozenset[tuple[str, int]]:
    """The operands, by member and slot, that are windows readable in storage order.

    A fixpoint: a window that some consumer needs in order is removed, then the rest is tried again.
    """
    windows = {
        (r.member, r.slot): axes
        for r in statement.reads
        if (axes := _windows(r, statement, stages))
    }
    while windows:
        try:
            _propagate(windows, statement, stages)
            break
        except _OrderRequired as error:
            remaining = {
                place: axes
                for place, axes in windows.items()
                if not any(t in error.turns for t in axes.values())
            }
            windows = remaining
    return frozenset(windows)


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
            turns[place] = (entry.lo, entry.hi, axis.size)
        place += 1
    return turns


def _propagate(
    operands: Mapping[tuple[str, int], RotatedAxes], statement: Statement, stages: Stages
) -> None:
    """Propagate rotated axes through the members. Raises ``_OrderRequired``."""
    graph = stages.graph
    chosen = computing_branches(graph, statement.members)
    values: dict[tuple[str, int], RotatedAxes] = {}
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
        values[member, 0] = result
    for write in statement.writes:
        if axes := values.get((write.member, write.out)):
            raise _OrderRequired(tuple(axes.values()))


def _result_axes(
    op: Op, given: Sequence[RotatedAxes], types: Sequence[TensorType]
) -> RotatedAxes | None:
    """The rotated axes of an operator's result; ``None`` if it needs some in order."""
    match op:
        case _ if op.elementwise:
            ndim = max(t.ndim for t in types)
            letters = [tuple(range(ndim - t.ndim, ndim)) for t in types]
            shared = _common_rotations(given, types, letters)
            return None if shared is None else dict(shared)
        case Reduction():
            (axes,), (type_,) = given, types
            gone = op.axes if op.axes is not None else tuple(range(type_.ndim))
            away = {a % type_.ndim for a in gone}
            left = [k for k in range(type_.ndim) if op.keepdims or k not in away]
            return {left.index(k): t for k, t in axes.items() if k not in away}
        case Einsum():
            terms, result = op.letters(tuple(t.ndim for t in types))
            spelled = _common_rotations(given, types, [tuple(map(ord, term)) for term in terms])
            if spelled is None or any(len({*term}) < len(term) for term in terms):
                return None
            return {result.index(chr(k)): t for k, t in spelled.items() if chr(k) in result}
        case MatMul():
            return _product(given, types)
        case _:
            return None


def _product(given: Sequence[RotatedAxes], types: Sequence[TensorType]) -> RotatedAxes | None:
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
    return {result.index(k): t for k, t in turns.items() if k != inner}


def _common_rotations(
    given: Sequence[RotatedAxes], types: Sequence[TensorType], letters: Sequence[tuple[int, ...]]
) -> dict[int, RingRotation] | None:
    """The rotations of the axes that operands share; ``None`` if they differ between operands.

    ``letters`` are the names of each operand's axes. An axis of extent 1 broadcasts.
    """
    turns: dict[int, RingRotation | None] = {}
    for axes, type_, names in zip(given, types, letters, strict=True):
        for k, name in enumerate(names):
            if type_.shape[k] == ix.ONE:
                continue
            turn = axes.get(k)
            if turns.setdefault(name, turn) != turn:
                return None
    return {name: turn for name, turn in turns.items() if turn is not None}
