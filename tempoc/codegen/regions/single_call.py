"""Decides for which bounds a block runs as one call, and not statement by statement.

One call saves the time between the calls that it replaces, but cannot be interrupted, needs growing
stores at their final size, and lets XLA copy some stores which separate calls update in place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tempoc.base.cost_model import MODEL
from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.regions.lengths import own_lengths
from tempoc.memory.text import cell_bytes
from tempoc.program.analysis.traversal import calls, regions, touched_stores
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import ceildiv, substitute, symbols

ALL_STEPS = ix.Const((1 << 31) - 1)
"""More steps than any loop has."""


@dataclass(frozen=True, slots=True)
class EnclosingLoops:
    """The loops around a block: how often it runs at most, and the first value of each variable."""

    times: ix.Expr = field(default_factory=lambda: ix.Const(1))
    first: Mapping[str, ix.Expr] = field(default_factory=dict)

    def inside(self, loop: prog.Loop) -> EnclosingLoops:
        """With one more loop."""
        lower, upper = _range(loop, self.first)
        times = ix.product((self.times, _trip_count(lower, upper, loop.step)))
        return EnclosingLoops(times, {**self.first, loop.var: lower})


def single_call(
    body: prog.ProgramStatement, context: ProgramContext, around: EnclosingLoops
) -> ix.Expr:
    """The condition, over bounds, under which a block is one call.

    It is judged at the first step of the loops ``around``. A store that grows to the largest length
    that a run may find out may stay smaller.
    """
    stores, unknown = context.stores, context.largest
    nests = _loop_nests(body, around.first)
    count = ix.add(*(ix.product((trips, ix.Const(nest.calls))) for trips, nest in nests.items()))
    time = ix.add(*(_microseconds(trips, nest, context) for trips, nest in nests.items()))
    short = ix.disjunction(
        ix.compare("<=", count, ix.Const(MODEL.block_calls)),
        ix.compare("<=", time, ix.Const(MODEL.block_us)),
    )
    grown = [
        ix.compare("<=", axis.size, ix.Const(axis.least))
        for name in sorted(touched_stores(body))
        if (axis := stores[name].growing) and not unknown.isdisjoint(symbols(axis.size))
    ]
    thin = ix.disjunction(*(_is_thin(stores[name]) for name in _updated_then_read(body)))
    rare = ix.compare("<=", around.times, ix.Const(MODEL.rare_runs))
    return ix.conjunction(short, *grown, ix.disjunction(rare, ix.negation(thin)))


def beginnings(
    body: prog.ProgramStatement, context: ProgramContext, around: EnclosingLoops
) -> ix.Expr:
    """How often loops begin within a block whose lengths are found out anew each time.

    That many times the greatest length with which one call is short is what the lengths may add up
    to. It is once if the time is not linear in the lengths, and 0 if there are no such loops.
    """
    own = {symbols(e)[0] for e in own_lengths(body)}
    largest = [n.largest for n in context.lengths if n.bound in own]
    if not own:
        return ix.ZERO

    def at(e: ix.Expr, length: int) -> ix.Expr:
        return substitute(e, {name: ix.Const(length) for name in largest})

    nests = _loop_nests(body, around.first)
    time = ix.add(*(_microseconds(trips, nest, context) for trips, nest in nests.items()))
    straight = ix.sub(at(time, 2), at(time, 1)) == ix.sub(at(time, 1), at(time, 0))
    ends = (
        n for n, call in _counted(body, around.first) if any(e.bound in own for e in call.endings)
    )
    times = [at(n, 1) for n in ends]
    return ix.maximum(ix.ONE, ix.minimum(*times)) if straight else ix.ONE


@dataclass(slots=True)
class _CallsAtDepth:
    """The calls at one depth of loops: their number, and how often each kernel is called."""

    calls: int = 0
    kernels: dict[str, int] = field(default_factory=dict)


def _loop_nests(
    s: prog.ProgramStatement, first: Mapping[str, ix.Expr]
) -> dict[ix.Expr, _CallsAtDepth]:
    """The calls of a statement by how often they are executed at most."""
    nests: dict[ix.Expr, _CallsAtDepth] = {}
    for trips, call in _counted(s, first):
        nest = nests.setdefault(trips, _CallsAtDepth())
        nest.calls += 1
        nest.kernels[call.kernel] = nest.kernels.get(call.kernel, 0) + 1
    return nests


def _counted(
    s: prog.ProgramStatement, first: Mapping[str, ix.Expr]
) -> Iterator[tuple[ix.Expr, prog.Call]]:
    """The calls of a statement, each with the most times that it is executed.

    A count that depends on an inner loop's variable is taken at the end where it is larger.
    """
    match s:
        case prog.Sequence(items=items):
            for item in items:
                yield from _counted(item, first)
        case prog.Guard(body=body) | prog.Region(loop=body):
            yield from _counted(body, first)
        case prog.Loop(var=var, body=body, step=step):
            lower, upper = _range(s, first)
            last = ix.sub(upper, ix.Const(1 if step > 0 else -1))
            trips = _trip_count(lower, upper, step)
            for count, call in _counted(body, first):
                ends = (substitute(count, {var: end}) for end in (lower, last))
                yield ix.product((trips, ix.maximum(*ends))), call
        case prog.Call():
            yield ix.Const(1), s
        case _:
            pass


def _range(loop: prog.Loop, first: Mapping[str, ix.Expr]) -> tuple[ix.Expr, ix.Expr]:
    lower, upper = (substitute(e, first) for e in (loop.lower, loop.upper))
    return lower, upper


def _trip_count(lower: ix.Expr, upper: ix.Expr, step: int) -> ix.Expr:
    """The number of steps of a loop."""
    gap = ix.sub(upper, lower) if step > 0 else ix.sub(lower, upper)
    return ix.maximum(ceildiv(gap, abs(step)), ix.Const(0))


def _microseconds(trips: ix.Expr, nest: _CallsAtDepth, context: ProgramContext) -> ix.Expr:
    """The estimated time of the calls of a nest: 1 us each, and that for their bytes."""
    moved = ix.add(
        *(ix.product((ix.Const(n), context.touched[name])) for name, n in nest.kernels.items())
    )
    return ix.product(
        (trips, ix.add(ix.Const(nest.calls), ix.floordiv(moved, MODEL.block_bytes_per_us)))
    )


def _extents(store: Buffer) -> list[ix.Expr]:
    return [*(axis.size for axis in store.axes), *store.shape]


def _updated_then_read(body: prog.ProgramStatement) -> list[str]:
    """The stores that a call updates and a later one reads, if no loop runs on the device.

    XLA for CPUs copies such a store, if it is large and has an axis of length 1, unless update and
    read are separate functions.
    """
    if any(True for _ in regions(body)):
        return []
    updated: dict[str, None] = {}
    read: dict[str, None] = {}
    for call in calls(body):
        operands = dict.fromkeys(cell.store for cell in call.args)
        read |= {name: None for name in operands if name in updated}
        updated |= {c.store: None for c in call.results if c.store in operands}
    return [*read]


def _is_thin(store: Buffer) -> ix.Expr:
    """Whether a store is large and has an axis of length 1."""
    unit = ix.disjunction(*(ix.compare("==", extent, ix.Const(1)) for extent in _extents(store)))
    return ix.conjunction(unit, ix.compare(">", cell_bytes(store), ix.Const(MODEL.copied_bytes)))
