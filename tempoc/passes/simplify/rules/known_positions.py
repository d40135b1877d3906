"""Rules for positions of which something is known: slices in place of gathers, and no checks.

roll = take(x, (arange(n) + 1) % n, 0)  ->  concat([x[1:n], x[0:1]], 0)
dx   = scatter_add(g, (arange(n) + 1) % n)  ->  pad(g[0:n-1], [[1, 0]]) + pad(g[n-1:n], [[0, n-1]])
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce

from tempoc.base.arrays import np
from tempoc.base.cost_model import MODEL
from tempoc.base.graphs import reachable
from tempoc.ops.control.cond import Cond
from tempoc.ops.control.control import Copy, Merge, Select
from tempoc.ops.control.until import Until
from tempoc.ops.definition.operator import Array
from tempoc.ops.definition.shapes import axis_of
from tempoc.ops.definition.types import DType
from tempoc.ops.indexing.indexing import IndexPart, InRange, SpatialIndex, Take, TakeAlong
from tempoc.ops.indexing.lookups import searched
from tempoc.ops.indexing.pick import Pick
from tempoc.ops.indexing.put import Put
from tempoc.ops.indexing.scatter import Scatter, ScatterAdd
from tempoc.ops.tensor.arithmetic import (
    Add,
    Clip,
    FloorDivide,
    Less,
    Maximum,
    Minimum,
    Remainder,
)
from tempoc.ops.tensor.joining import Concat
from tempoc.ops.tensor.movement import Pad
from tempoc.ops.tensor.source import IndexValue, Literal
from tempoc.passes.simplify.rules.pattern import Match, Rewrite, RewriteRule, rule
from tempoc.passes.simplify.rules.ranges import NumberRanges, known_value
from tempoc.sdg.graph.graph import Edge
from tempoc.sdg.statements.build import identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import symbols

PositionRun = tuple[int, int, int]
"""First position, count and step."""


@rule("elements at known positions", Take, SpatialIndex)
def _known_elements(v: Match, op: Take | SpatialIndex) -> Rewrite | None:
    """A few runs of elements that follow each other: slices, joined."""
    entries = _entries(v, op)
    if entries is None or v.operand(1).ndim > 1:
        return None
    axis = entries.index("tensor")
    extent = v.operand(0).shape[axis]
    places = known_value(v, v.node.inputs[1])
    if places is None or not places.size or not isinstance(extent, ix.Const):
        return None
    places = np.where(places < 0, places + extent.value, places).astype(np.int64)
    if places.min() < 0 or places.max() >= extent.value:
        return None
    x = v.node.inputs[0]
    if not places.ndim:
        return Rewrite((x,), SpatialIndex(entries=_with(entries, axis, ix.Const(int(places)))))
    runs = _runs(places)
    if runs is None:
        return None
    parts = [
        SpatialIndex(entries=_with(entries, axis, (ix.Const(first), ix.Const(count), step)))
        for first, count, step in runs
    ]
    if len(parts) == 1:
        return Rewrite((x,), parts[0])
    edges = tuple(v.make(part, x) for part in parts)
    return Rewrite(edges, Concat(axis=sum(isinstance(e, tuple) for e in entries[:axis])))


def _entries(v: Match, op: Take | SpatialIndex) -> tuple[IndexPart, ...] | None:
    """What is taken of each axis, if one is searched, and axes stay where they are."""
    shape = v.operand(0).shape
    if isinstance(op, Take):
        whole: tuple[IndexPart, ...] = tuple((ix.ZERO, n, 1) for n in shape)
        return _with(whole, axis_of(op.axis, len(shape)), "tensor")
    if op.entries.count("tensor") != 1:
        return None
    before = op.entries[: op.entries.index("tensor")]
    return op.entries if op.place() == sum(isinstance(e, tuple) for e in before) else None


def _with(entries: tuple[IndexPart, ...], axis: int, part: IndexPart) -> tuple[IndexPart, ...]:
    return (*entries[:axis], part, *entries[axis + 1 :])


def _runs(places: Array) -> list[PositionRun] | None:
    """Runs with one step each, in which no element is repeated; ``None`` if they are too many."""
    runs: list[PositionRun] = []
    start, count = 0, len(places)
    steps = np.diff(places)
    while start < count:
        if len(runs) == MODEL.known_runs:
            return None
        step = int(steps[start]) if start < count - 1 else 1
        others = np.flatnonzero(steps[start:] != step)
        end = start + int(others[0]) + 1 if len(others) else count
        jumps = end - start == 2 and step != 1 and end < count  # after it, a run begins
        if jumps or not step:
            end, step = start + 1, 1
        runs.append((int(places[start]), end - start, step))
        start = end
    return runs


@rule("sums by known positions", ScatterAdd)
def _known_sums(v: Match, op: ScatterAdd) -> Rewrite | None:
    """A few runs of neighbours that are sent to neighbours: slices with zeros around, added.

    So the derivative of what is read around the rim of a grid is computed element by element.
    """
    (x, index), shape = v.node.inputs, v.operand(0).shape
    places = known_value(v, index)
    if places is None or places.ndim != 1 or not places.size or not isinstance(op.n, ix.Const):
        return None
    axis, n = axis_of(op.axis, len(shape)), op.n.value
    places = np.where(places < 0, places + n, places).astype(np.int64)
    runs = _runs(places) if places.min() >= 0 and places.max() < n else None
    if runs is None or any(abs(step) != 1 for _, _, step in runs):
        return None
    whole: tuple[IndexPart, ...] = tuple((ix.ZERO, extent, 1) for extent in shape)
    parts: list[Edge] = []
    done = 0
    for first, count, step in runs:
        start, low = (done, first) if step == 1 else (done + count - 1, first - count + 1)
        part = SpatialIndex(entries=_with(whole, axis, (ix.Const(start), ix.Const(count), step)))
        widths = [(ix.ZERO, ix.ZERO)] * len(shape)
        widths[axis] = (ix.Const(low), ix.Const(n - low - count))
        parts.append(v.make(Pad(widths=tuple(widths)), v.make(part, x)))
        done += count
    if len(parts) == 1:
        return Rewrite((parts[0],), Copy())
    return Rewrite((reduce(lambda a, b: v.make(Add(), a, b), parts[:-1]), parts[-1]), Add())


@rule("positions that are inside", Take, SpatialIndex, TakeAlong, Put, Scatter)
def _inside(v: Match, op: Take | SpatialIndex | TakeAlong | Put | Scatter) -> Rewrite | None:
    """No check of what is proved, or of numbers."""
    if not op.checks:
        return None
    index, (n, _) = v.node.inputs[1], searched(op, v.operand(0).shape)
    ranges = NumberRanges(v)
    if ranges.within(index, n) or _are_inside(v, n) or _is_between(v, index, ix.ZERO, n):
        return Rewrite(v.node.inputs, replace(op, sure=True))
    signed = v.dtype_of(index) is DType.I32 and not isinstance(op, Scatter)
    if not signed or not ranges.within(index, n, ix.sub(ix.ZERO, n)):
        return None
    x, _, *rest = v.node.inputs
    return Rewrite((x, _from_start(v, index, n), *rest), replace(op, sure=True))


def _from_start(v: Match, index: Edge, n: ix.Expr) -> Edge:
    """Positions of which negative ones count from the end, counted from the start."""
    zero = v.make(Literal(value=0, dtype=DType.I32))
    moved = v.make(Add(), index, v.make(IndexValue(expr=n)))
    return v.make(Select(), v.make(Less(), index, zero), moved, index)


@rule("promises that are kept", Pick)
def _kept_promise(v: Match, op: Pick) -> Rewrite | None:
    if op.sure or op.step != 1:
        return None
    index = v.node.inputs[1]
    inside = NumberRanges(v).within(index, op.hi, op.lo) or _is_between(v, index, op.lo, op.hi)
    return Rewrite(v.node.inputs, replace(op, sure=True)) if inside else None


def _is_between(v: Match, index: Edge, first: ix.Expr, end: ix.Expr) -> bool:
    """Whether all of a read are from ``first`` to below ``end``, which may vary with the point.

    Of ``clip(k, 0, t)`` that is known at each ``t``, whatever ``k`` is.
    """
    return _holds(v, index, ">=", first) and _holds(v, index, "<", end)


def _holds(v: Match, edge: Edge, symbol: ix.CompareOp, limit: ix.Expr) -> bool:
    """Whether a comparison holds for all of a read, by what it is limited to at the same point."""
    node = v.nodes[edge.source]
    if v.dtype_of(edge) is not DType.I32 or edge.entries != identity(node.domain):
        return False
    limiting = isinstance(node.op, Clip | Minimum | Maximum)
    holds = [_holds(v, e, symbol, limit) for e in node.inputs] if limiting else []
    match node.op:
        case IndexValue():
            return v.facts.holds(ix.compare(symbol, node.op.expr, limit))
        case Literal() if isinstance(node.op.value, int):
            return v.facts.holds(ix.compare(symbol, ix.Const(node.op.value), limit))
        case Clip():
            return holds[2] and (symbol == "<" or holds[0] or holds[1])
        case Minimum():
            return any(holds) if symbol == "<" else all(holds)
        case Maximum():
            return all(holds) if symbol == "<" else any(holds)
    return False


@rule("positions that are the same at many points", Take, SpatialIndex, TakeAlong, Scatter)
def _checked_once(v: Match, op: Take | SpatialIndex | TakeAlong | Scatter) -> Rewrite | None:
    """They are checked where they vary, at the points for which there are others that use them.

    Not where a branch decides that in the run, or the end of a loop, unless it needs them itself.
    """
    if not op.checks:
        return None
    edge = v.node.inputs[1]
    universe, domain = v.graph.universe, v.node.domain
    varies = {n for e in edge.entries for n in symbols(e)}
    fewer = [d for d in domain.dims if d not in varies]
    many = v.type_of(edge).shape or varies.intersection(domain.dims)
    if not fewer or not many or not _is_read_whole(v, edge):
        return None
    ended = {b.name for b in universe.bounds if b.until}
    loops = [d for d in domain.dims if universe.dim(d).bound in ended]
    alone = len(loops) == 1
    if any(d in fewer and not (alone and _ends_itself(v, d)) for d in loops):
        return None
    if any(isinstance(n.op, Cond) for n in v.nodes.values()):
        return None
    n, axis = searched(op, v.operand(0).shape)
    if any(s in fewer for s in symbols(n)):
        return None
    inside = v.make(InRange(n=n, axis=axis), edge)
    return Rewrite((v.node.inputs[0], inside, *v.node.inputs[2:]), replace(op, sure=True))


def _is_read_whole(v: Match, edge: Edge) -> bool:
    """Whether a read is of one point, the reader's, or of all along some dimensions."""
    source = v.nodes[edge.source].domain
    pairs = zip(source.dims, edge.entries, strict=True)
    bounds = {d: ix.Sym(v.graph.universe.dim(d).bound) for d in source.dims}
    return all(e in (ix.Sym(d), ix.Slice(ix.ZERO, bounds[d])) for d, e in pairs)


def _ends_itself(v: Match, dim: str) -> bool:
    """Whether the end of a loop is decided, in its first step, with the node at all its points.

    If not, the loop may end before something needs the node, and no position is wrong then.
    """
    (bound,) = (b for b in v.graph.universe.bounds if b.name == v.graph.universe.dim(dim).bound)
    if bound.outer or bound.common:
        return False
    nodes = v.nodes.values()
    ends = [n.name for n in nodes if isinstance(n.op, Until) and n.op.bound == bound.name]

    def needed(name: str) -> Iterable[str]:
        node = v.nodes[name]
        steps = Domain(node.domain.dims, ix.compare("==", ix.Sym(dim), ix.ZERO))
        whole = dim in node.domain.dims and v.space.implies(steps, node.domain.where)
        if not whole or isinstance(node.op, Merge):
            return ()
        return [e.source for e in node.inputs if ix.Sym(dim) in e.entries and _is_read_whole(v, e)]

    return v.node.name in reachable(ends, needed)


@rule("checked positions that are inside", InRange)
def _checked_inside(v: Match, op: InRange) -> Rewrite | None:
    inside = NumberRanges(v).within(v.node.inputs[0], op.n)
    return v.same(0) if inside else None


@rule("divisions of numbers that are not negative", FloorDivide, Remainder)
def _natural_division(v: Match, op: FloorDivide | Remainder) -> Rewrite | None:
    """Positions are mostly divided so, into rows and columns."""
    dividend, divisor = v.node.inputs
    if op.natural or not v.result.dtype.is_int or v.result.dtype.is_unsigned:
        return None
    ranges = NumberRanges(v)
    natural = ranges.at_least(divisor, 1) and ranges.at_least(dividend, 0)
    return Rewrite(v.node.inputs, replace(op, natural=True)) if natural else None


def _are_inside(v: Match, n: ix.Expr) -> bool:
    if not isinstance(n, ix.Const):
        return False
    places = known_value(v, v.node.inputs[1])
    if places is None:
        return False
    return not places.size or (places.min() >= 0 and places.max() < n.value)


KNOWN_POSITIONS: tuple[RewriteRule, ...] = (
    _known_elements, _known_sums, _inside, _checked_once, _checked_inside, _natural_division,
    _kept_promise,
)  # fmt: skip
