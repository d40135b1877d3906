"""Run-time lengths of ended bounds for the reference interpreter.

Until the last step is known, the length of a bound is in a range: from the number of steps known
not to be the last, plus one, up to the given bound. An expression with one value over that range
can be evaluated; any other raises `UnknownLength`, and the length is determined first. So nothing
is computed with a wrong length.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from tempoc.base.effort import EFFORT
from tempoc.ops.control.until import Until
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Bound, Point
from tempoc.symbolic.walk import evaluate, substitute, symbols

LengthKey = tuple[str, Point]
"""An ended bound at a point of the dimensions over which its length varies."""


class UnknownLength(Exception):
    """The value of an expression depends on a length that is not known yet."""

    def __init__(self, key: LengthKey) -> None:
        super().__init__(*key)
        self.key = key


@dataclass(frozen=True, slots=True)
class PointValues:
    """The values of symbols at a point; bounds in ``open`` are unknown, with their key and range,
    and ``values`` has their upper limit."""

    values: dict[str, int]
    open: Mapping[str, tuple[LengthKey, range]] = field(default_factory=dict)


@dataclass(slots=True)
class KnownLengths:
    """The lengths of a graph's ended bounds as far as known; ``bounds`` are the largest lengths.

    ``seen`` counts the steps known so far; ``nodes`` has the ``until`` node of each bound.
    """

    graph: Graph
    bounds: Mapping[str, int]
    known: dict[LengthKey, int] = field(default_factory=dict)
    seen: dict[LengthKey, int] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    derived: dict[str, ix.Expr] = field(default_factory=dict)
    ended: tuple[Bound, ...] = ()

    def __post_init__(self) -> None:
        """Collect the ``until`` nodes and the bounds derived from lengths."""
        for node in self.graph.nodes.values():
            if isinstance(node.op, Until):
                self.nodes[node.op.bound] = node
        self.ended = self.graph.universe.ended
        lengths: dict[str, ix.Expr] = {b.name: ix.Sym(b.name) for b in self.ended}
        self.derived = self.graph.universe.at_lengths(lengths) if lengths else {}

    def place(self, dims: Mapping[str, int]) -> PointValues:
        """The values of all bounds at a point of some dimensions."""
        values = {**self.bounds, **dims}
        if not self.ended:
            return PointValues(values)
        unknown: dict[str, tuple[LengthKey, range]] = {}
        for b in self.ended:
            if all(d in dims for d in b.outer):
                key = (b.name, tuple(dims[d] for d in b.outer))
                if key in self.known:
                    values[b.name] = self.known[key]
                else:
                    unknown[b.name] = (key, range(self.seen.get(key, 0) + 1, values[b.name] + 1))
        for name, e in self.derived.items():
            values[name] = evaluate(e, values)
        return PointValues(values, unknown)

    def value(self, e: ix.Expr, place: PointValues) -> int:
        """The value of an expression or condition. Raises ``UnknownLength``."""
        if place.open and any(n in self.derived for n in symbols(e)):
            e = substitute(e, self.derived)
            named = [n for n in symbols(e) if n in place.open]
            if named:
                return self._common(e, place, named)
        return evaluate(e, place.values)

    def _common(self, e: ix.Expr, place: PointValues, named: list[str]) -> int:
        """The value for all lengths that are still possible."""
        low, high = _interval(e, place)
        if low == high:
            return low
        choices = [place.open[n][1] for n in named]
        count = 1
        for c in choices:
            count *= len(c)
        if count <= EFFORT.length_combinations:
            values = (
                evaluate(e, place.values | dict(zip(named, some, strict=True)))
                for some in product(*choices)
            )
            first = next(values)
            if all(v == first for v in values):
                return first
        raise UnknownLength(place.open[named[0]][0])

    def step(self, key: LengthKey) -> Point:
        """The point of the ``until`` node at the first unknown step."""
        node = self.nodes[key[0]]
        bound = next(b for b in self.graph.universe.ended if b.name == key[0])
        outer = dict(zip(bound.outer, key[1], strict=True))
        return tuple(outer.get(d, self.seen.get(key, 0)) for d in node.domain.dims)

    def note(self, key: LengthKey, last: bool) -> None:
        """Record whether the next unknown step was the last one."""
        self.seen[key] = self.seen.get(key, 0) + 1
        if last or self.seen[key] == self.bounds[key[0]]:
            self.known[key] = self.seen[key]


def _interval(e: ix.Expr, place: PointValues) -> tuple[int, int]:
    """A lower and an upper bound of the value (interval arithmetic; not always tight)."""
    match e:
        case ix.Sym(name=n) if n in place.open:
            return place.open[n][1][0], place.open[n][1][-1]
        case ix.IndexSum(terms=terms, const=k):
            scaled = [sorted(c * v for v in _interval(x, place)) for c, x in terms]
            return k + sum(s[0] for s in scaled), k + sum(s[1] for s in scaled)
        case ix.FloorDiv(arg=a, divisor=k):
            low, high = _interval(a, place)
            return low // k, high // k
        case ix.IndexMin(args=args) | ix.IndexMax(args=args):
            pick = min if isinstance(e, ix.IndexMin) else max
            both = list(_intervals(args, place))
            return pick(a for a, _ in both), pick(b for _, b in both)
        case ix.Relation(op=op, left=left, right=right):
            first, second = _interval(left, place), _interval(right, place)
            pairs = [(ix.Const(x), ix.Const(y)) for x in first for y in second]
            outcomes = [evaluate(ix.Relation(op, x, y), {}) for x, y in pairs]
            disjoint = first[1] < second[0] or second[1] < first[0]
            return (min(outcomes), max(outcomes)) if disjoint or op not in ("==", "!=") else (0, 1)
        case _:
            named = [n for n in symbols(e) if n in place.open]
            value = evaluate(e, place.values)
            return (value, value + 1) if named else (value, value)


def _intervals(args: tuple[ix.Expr, ...], place: PointValues) -> Iterator[tuple[int, int]]:
    for a in args:
        yield _interval(a, place)
