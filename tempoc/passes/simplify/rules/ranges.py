"""What is known of integers before a run: their values, or between which numbers they lie.

Positions are mostly made for the purpose: `arange(n) % 4`, `clip(i, 0, n - 1)`, what `argsort`
says. Where they are numbers they are computed, by the meaning of the operators; else each operator
says between what its results lie if its operands lie between this and that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tempoc.base.cost_model import MODEL
from tempoc.base.effort import EFFORT
from tempoc.ops.control.control import Copy, Merge, Select
from tempoc.ops.definition.operator import Array, Op, OperandError
from tempoc.ops.definition.shapes import axes_of, axis_of
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.indexing.put import Put
from tempoc.ops.indexing.search import ArgMax, ArgSort, SearchSorted, Sort, TopK
from tempoc.ops.random.draws import Categorical, Integers, Permutation
from tempoc.ops.tensor import arithmetic as binary, bits, elementwise as unary, intervals
from tempoc.ops.tensor.intervals import ANY, End, NumberRange, all_of, fitting, joined
from tempoc.ops.tensor.movement import Pad
from tempoc.ops.tensor.reduction import Max, Sum
from tempoc.ops.tensor.scan import CumMax, CumMin
from tempoc.ops.tensor.source import Arange, Full, IndexValue, Literal
from tempoc.passes.simplify.rules.pattern import Match
from tempoc.sdg.graph.graph import Edge, Node
from tempoc.sdg.statements.build import identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import substitute, symbols

Result = tuple[str, int]
"""A result of a node."""
_EXACT = 1 << 23
"""Integers up to this are numbers of every floating point dtype that is looked at. NumPy knows it
too, but is loaded for programs that need it only."""
_OPPOSITE: Mapping[ix.CompareOp, ix.CompareOp] = {
    "<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "==",
}  # fmt: skip
_TURNED: Mapping[ix.CompareOp, ix.CompareOp] = {
    "<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!=",
}  # fmt: skip


def known_value(v: Match, edge: Edge) -> Array | None:
    """The elements of what a read gives, if no data decide them and they are few."""
    return _known(v, edge, {})


def _known(v: Match, edge: Edge, values: dict[str, tuple[Array, ...] | None]) -> Array | None:
    if edge.source not in values:
        values[edge.source] = None
        values[edge.source] = _known_results(v, v.nodes[edge.source], values)
    results = values[edge.source]
    return None if results is None or edge.entries else results[edge.out]


def _known_results(
    v: Match, node: Node, values: dict[str, tuple[Array, ...] | None]
) -> tuple[Array, ...] | None:
    op = node.op
    plain = op.moves or op.elementwise or (op.cheap and not node.inputs)
    if node.domain.dims or not plain or op.checks or not all(map(_is_small, node.types)):
        return None
    known: list[Array] = []
    for edge in node.inputs:
        value = _known(v, edge, values)
        if value is None:
            return None
        known.append(value)
    types = tuple(v.nodes[e.source].types[e.out] for e in node.inputs)
    try:
        return op.evaluate(op.settle(tuple(known), types), {})
    except (OperandError, KeyError):  # a bound that is given at run time
        return None


def _is_small(type_: TensorType) -> bool:
    count = ix.product(type_.shape)
    return isinstance(count, ix.Const) and count.value <= MODEL.known_positions


@dataclass(slots=True)
class _Walk:
    """One look at all that a result depends on; ``assumed``: of what depends on itself."""

    assumed: Mapping[Result, NumberRange]
    values: dict[Result, NumberRange | None] = field(default_factory=dict)
    active: set[Result] = field(default_factory=set)
    heads: set[Result] = field(default_factory=set)


@dataclass(slots=True)
class NumberRanges:
    """Ranges of integers at all points of a tensor; ``ranges`` has those that were looked at.

    What depends on itself, as states of loops do, is taken to have no value at first; from then on
    it has what was found the last time, and more, until nothing is added. An end that goes on to
    move is put to that of the positions that are asked for, then given up; afterwards it may turn
    out that there was no need to (Cousot and Cousot, Abstract interpretation, POPL 1977).
    """

    v: Match
    ranges: dict[Result, NumberRange] = field(default_factory=dict)
    walk: _Walk | None = None
    last: End = None

    def within(self, edge: Edge, n: ix.Expr, first: ix.Expr = ix.ZERO) -> bool:
        """Whether all of a read are proved to be from ``first`` to below ``n``.

        By default these are the positions of an axis of extent ``n``.
        """
        self.last = ix.sub(n, ix.ONE)
        low, high = self.of(edge)
        named = [s for e in (low, high, n, first) if e is not None for s in symbols(e)]
        if low is None or high is None or any(map(self.v.graph.universe.is_dim, named)):
            return False
        inside = ix.conjunction(ix.compare(">=", low, first), ix.compare("<", high, n))
        return self.v.facts.holds(inside)

    def at_least(self, edge: Edge, n: int) -> bool:
        """Whether all of a read are proved to be so much or more."""
        low, _ = self.of(edge)
        if low is None or any(map(self.v.graph.universe.is_dim, symbols(low))):
            return False
        return self.v.facts.holds(ix.compare(">=", low, ix.Const(n)))

    def of(self, edge: Edge) -> NumberRange:
        """The range of what a read gives, at any point."""
        key = edge.source, edge.out
        if key not in self.ranges:
            self._solve(key)
        return self.ranges[key]

    def _solve(self, key: Result) -> None:
        """Find the range of a result, and of those that it depends on."""
        assumed: dict[Result, NumberRange] = {}
        for turn in range(EFFORT.range_turns):
            values, heads = self._walked(key, assumed)
            grown = {k: _grown(assumed.get(k), values.get(k), turn, self.last) for k in heads}
            if all(assumed.get(k) == value for k, value in grown.items()):
                break
            assumed |= {k: value for k, value in grown.items() if value is not None}
        else:
            self.ranges[key] = all_of(self._dtype(key))
            return
        if assumed:
            less = {k: value for k in assumed if (value := values.get(k)) is not None}
            again, _ = self._walked(key, less)
            pairs = [(less.get(k), again.get(k)) for k in assumed]
            if all(a and b and joined([a, b]) == a for a, b in pairs):
                values = again
        for name, value in values.items():
            self.ranges[name] = all_of(self._dtype(name)) if value is None else value

    def _walked(
        self, key: Result, assumed: Mapping[Result, NumberRange]
    ) -> tuple[dict[Result, NumberRange | None], set[Result]]:
        """What follows for a result and those it depends on, and which depend on themselves."""
        walk = self.walk = _Walk(assumed)
        self._value(key)
        self.walk = None
        return walk.values, walk.heads

    def _value(self, key: Result) -> NumberRange | None:
        """The range of a result; ``None`` as long as it has no value."""
        walk = self.walk
        assert walk is not None
        if key in self.ranges:
            return self.ranges[key]
        if key in walk.values:
            return walk.values[key]
        if key in walk.active:
            walk.heads.add(key)
            return walk.assumed.get(key)
        if len(walk.active) == EFFORT.range_depth:
            return all_of(self._dtype(key))
        walk.active.add(key)
        value = self._of(self.v.nodes[key[0]], key[1])
        walk.active.discard(key)
        walk.values[key] = value
        return value

    def _dtype(self, key: Result) -> DType:
        return self.v.nodes[key[0]].types[key[1]].dtype

    def _read(self, edge: Edge) -> NumberRange | None:
        return self._value((edge.source, edge.out))

    def _joined(self, edges: Sequence[Edge]) -> NumberRange | None:
        known = [value for e in edges if (value := self._read(e)) is not None]
        return joined(known) if known else None

    def _of(self, node: Node, out: int) -> NumberRange | None:
        op, dtype = node.op, node.types[out].dtype
        if not dtype.is_int and dtype is not DType.BOOL:
            return self._real(node)
        made = self._made(node, out)
        if made is not None:
            return fitting(made, dtype)
        match op:
            case Merge() | Copy():
                return self._joined(node.inputs)
            case Select():
                return self._selected(node)
            case unary.Cast():
                return self._cast(node, dtype)
            case Put():
                return self._joined((node.inputs[0], node.inputs[2]))
            case Pad() if isinstance(op.value, int):
                value = self._read(node.inputs[0])
                return joined([intervals.at(ix.Const(int(op.value))), *([value] if value else [])])
            case Max() | CumMax() | CumMin() | Sort():
                return self._read(node.inputs[0])
        if op.moves or op.picks:
            return self._joined(node.inputs if op.moves else node.inputs[:1])
        return self._computed(op, node, dtype)

    def _made(self, node: Node, out: int) -> NumberRange | None:
        """What does not depend on other ranges."""
        op = node.op
        match op:
            case Literal() | Full() if isinstance(op.value, int):
                return intervals.at(ix.Const(int(op.value)))
            case IndexValue() if node.types[out].dtype is DType.BOOL:
                return ix.ZERO, ix.ONE
            case IndexValue() if not any(map(self.v.graph.universe.is_dim, symbols(op.expr))):
                return intervals.at(op.expr)
            case IndexValue():
                low = self.v.space.lower_bound(op.expr, node.domain)
                return self._end(low), self._end(self.v.space.upper_bound(op.expr, node.domain))
            case Arange() if op.step > 0:
                return op.start, ix.sub(op.stop, ix.ONE)
            case ArgMax():
                shape = self.v.type_of(node.inputs[0]).shape
                axes = axes_of(None if op.axis is None else (op.axis,), len(shape))
                return ix.ZERO, ix.sub(ix.product([shape[k] for k in axes]), ix.ONE)
            case ArgSort():
                return self._position(node.inputs[0], op.axis)
            case TopK() if out == 1:
                return self._position(node.inputs[0], -1)
            case SearchSorted():
                return ix.ZERO, self.v.type_of(node.inputs[0]).shape[0]
            case Categorical():
                return self._position(node.inputs[1], -1)
            case Integers():
                return op.low, ix.sub(op.high, ix.ONE)
            case Permutation():
                return ix.ZERO, ix.sub(op.n, ix.ONE)
        return None

    def _end(self, e: End) -> End:
        """With numbers in the place of bounds that have a value."""
        bounds = self.v.graph.universe.bounds
        fixed = {b.name: b.value for b in bounds if isinstance(b.value, ix.Const)}
        return None if e is None else substitute(e, fixed)

    def _position(self, searched: Edge, axis: int) -> NumberRange:
        shape = self.v.type_of(searched).shape
        return ix.ZERO, ix.sub(shape[axis_of(axis, len(shape))], ix.ONE)

    def _selected(self, node: Node) -> NumberRange | None:
        """What is chosen, each where the condition says something of it."""
        condition, *choices = node.inputs
        ranges: list[NumberRange] = []
        for edge, holds in zip(choices, (True, False), strict=True):
            value = self._read(edge)
            if value is not None:
                for fact in self._facts(condition, edge, holds):
                    value = intervals.common(value, fact)
                ranges.append(value)
        return joined(ranges) if ranges else None

    def _facts(self, condition: Edge, x: Edge, holds: bool) -> Iterator[NumberRange]:
        """In which intervals a read is where a condition holds, or does not."""
        node = self.v.nodes[condition.source]
        if condition.entries != identity(node.domain):
            return
        match node.op:
            case binary.And() | binary.Or() if isinstance(node.op, binary.And) == holds:
                for part in node.inputs:
                    yield from self._facts(part, x, holds)
            case unary.Not():
                yield from self._facts(node.inputs[0], x, not holds)
            case binary.Comparison():
                symbol = node.op.symbol if holds else _OPPOSITE[node.op.symbol]
                left, right = node.inputs
                dtype = self.v.dtype_of(left)
                if not dtype.is_int or self.v.dtype_of(right) is not dtype:
                    return
                for one, other, sign in ((left, right, symbol), (right, left, _TURNED[symbol])):
                    same = (one.source, one.out, one.entries) == (x.source, x.out, x.entries)
                    limit = self._read(other) if same else None
                    if limit is not None:
                        yield intervals.compared(sign, limit)

    def _cast(self, node: Node, dtype: DType) -> NumberRange | None:
        """Another dtype: floating point is cut, NaN becomes 0."""
        (edge,) = node.inputs
        value = self._read(edge)
        before = self.v.dtype_of(edge)
        if value is None:
            return None
        if not before.is_float:
            return fitting(value, dtype)
        value = joined([value, intervals.at(ix.ZERO)])
        known = intervals.constants(value)
        if dtype is DType.BOOL or (known is None and dtype not in (DType.I32, DType.I64)):
            return all_of(dtype)
        return value if known is None else fitting(value, dtype)

    def _real(self, node: Node) -> NumberRange | None:
        """Between which integers floating point is that is not NaN."""
        op = node.op
        if node.types[0].dtype not in (DType.F32, DType.F64):
            return ANY
        match op:
            case Literal() | Full():
                value = float(op.value)
                if not abs(value) <= _EXACT:
                    return ANY
                return intervals.numbers(math.floor(value), math.ceil(value))
            case Merge() | Copy():
                return self._joined(node.inputs)
            case Select():
                return self._selected(node)
            case unary.Rounding():
                return self._read(node.inputs[0])
            case unary.Cast():
                known = self._read(node.inputs[0])
                ends = None if known is None else intervals.constants(known)
                return known if ends is None or max(map(abs, ends)) <= _EXACT else ANY
            case binary.Minimum() | binary.Maximum() | binary.Clip():
                return self._computed(op, node, node.types[0].dtype)
        if op.moves or op.picks:
            return self._joined(node.inputs if op.moves else node.inputs[:1])
        return ANY

    def _computed(self, op: Op, node: Node, dtype: DType) -> NumberRange | None:
        if not op.computed or not node.inputs or op.checks:
            return all_of(dtype)
        ranges: list[NumberRange] = []
        types = tuple(self.v.type_of(e) for e in node.inputs)
        common = op.operand(types)[0] if isinstance(op, binary.Nary) else types[0].dtype
        if common is DType.KEY:  # a draw, whose other operands are its parameters
            return all_of(dtype)
        for edge, type_ in zip(node.inputs, types, strict=True):
            value = self._read(edge)
            if value is None:
                return None
            ranges.append(value if type_.dtype is common else _converted(value, common))
        match op:
            case binary.Minimum():
                return intervals.lesser(*ranges)
            case binary.Maximum():
                return intervals.greater(*ranges)
            case binary.Clip():
                x, low, high = ranges
                return intervals.lesser(intervals.greater(x, low), high)
            case bits.Bitwise():
                return intervals.bitwise(op, ranges[0], ranges[1], dtype)
            case binary.Arithmetic() if common.is_int or common is DType.BOOL:
                return intervals.arithmetic(op, ranges[0], ranges[1], dtype)
            case unary.Negative():
                zero = intervals.at(ix.ZERO)
                return intervals.arithmetic(binary.Subtract(), zero, ranges[0], dtype)
            case unary.Sign():
                return fitting(intervals.numbers(-1, 1), dtype)
            case Sum():
                count = ix.product(types[0].shape[k] for k in axes_of(op.axes, types[0].ndim))
                counted = intervals.at(count)
                return intervals.arithmetic(binary.Multiply(), ranges[0], counted, dtype)
        return all_of(dtype)


def _converted(value: NumberRange, dtype: DType) -> NumberRange:
    """In the dtype in which an operator computes."""
    if not dtype.is_float:
        return fitting(value, dtype)
    known = intervals.constants(value)
    return value if known is not None and max(map(abs, known)) <= _EXACT else ANY


def _grown(
    old: NumberRange | None, new: NumberRange | None, turn: int, last: End
) -> NumberRange | None:
    """What was assumed with what was found; ends that go on to move are moved further."""
    if old is None or new is None:
        return new if old is None else old
    low, high = joined([old, new])
    if turn > 1 and low != old[0]:
        near = turn < EFFORT.range_turns // 2 and isinstance(low, ix.Const) and low.value >= 0
        low = ix.ZERO if near else None
    if turn > 1 and high != old[1]:
        if (
            turn < EFFORT.range_turns // 2
            and high is not None
            and last is not None
            and ix.maximum(high, last) == last
        ):
            high = last
        else:
            high = None
    return low, high
