"""Which blocks are one call each, and what must be there before a statement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from tempoc.program.analysis.traversal import calls, every, regions, touched
from tempoc.program.nodes.arithmetic import evaluate
from tempoc.program.nodes.nodes import (
    Block,
    Call,
    Effect,
    Evict,
    Free,
    Guard,
    Host,
    Load,
    Loop,
    Program,
    ProgramStatement,
    Region,
    Sequence,
)  # fmt: skip
from tempoc.runtime.device.capacity import may_stay_small
from tempoc.runtime.device.stores import Layout
from tempoc.runtime.report.progress import count_calls

LONG = 4096
"""Most calls of kernels in a block that is one call: nobody can look in between, or interrupt."""
BRIEF = 50_000
"""More may be in it if they take so many microseconds at most, as far as sizes tell."""
LARGE = 1 << 15
"""Copies of fewer bytes take no longer than a call."""
OFTEN = 64
"""What is executed less often is not worth another kernel to compile."""


def whole_blocks(
    program: Program,
    bounds: Mapping[str, int],
    given: Collection[str],
    layouts: Mapping[str, Layout],
) -> dict[str, int]:
    """The kernels of blocks that are one call, with how many kernels each calls in their place.

    The first steps of the loops around tell. None are blocks with long loops, such as compute what
    is ``given``, or have stores that they would have to make larger than the run may turn out to
    need; nor, in long loops, those of which XLA would copy a large store.
    """
    search = _SingleCallBlocks(given, layouts, may_stay_small(program, bounds))
    search.look(program.tree, bounds)
    return search.counts


@dataclass(slots=True)
class _SingleCallBlocks:
    given: Collection[str]
    layouts: Mapping[str, Layout]
    small: frozenset[str]
    counts: dict[str, int] = field(default_factory=dict)

    def look(self, s: ProgramStatement, env: Mapping[str, int], times: int = 1) -> None:
        """Find blocks in a statement that is executed so many times at most."""
        match s:
            case Sequence(items=items):
                for item in items:
                    self.look(item, env, times)
            case Loop(var=var, lower=lower, upper=upper, step=step, body=body):
                steps = range(evaluate(lower, env), evaluate(upper, env), step)
                self.look(body, {**env, var: steps.start}, times * len(steps))
            case Guard(body=body):
                self.look(body, env, times)
            case Block(kernel=kernel, body=body):
                if any(cell.store in self.given for call in calls(body) for cell in call.results):
                    return
                if not self.small.isdisjoint(touched(body)):
                    return
                if times > OFTEN and self.copies(body):
                    return
                count = count_calls(body, env)
                if count <= LONG or _microseconds(body, env, self.layouts) <= BRIEF:
                    self.counts[kernel] = count
            case _:
                pass

    def copies(self, body: ProgramStatement) -> bool:
        """Whether a large store with an axis of length 1 is updated, then read outside of loops.

        XLA for CPUs copies such a store, unless the two are functions of their own.
        """
        if any(True for _ in regions(body)):
            return False
        updated: set[str] = set()
        for call in calls(body):
            operands = {cell.store for cell in call.args}
            if not updated.isdisjoint(operands):
                return True
            updated |= {
                c.store for c in call.results if c.store in operands and self.is_thin(c.store)
            }
        return False

    def is_thin(self, name: str) -> bool:
        """Whether a store is large and has an axis of length 1."""
        layout = self.layouts[name]
        return 1 in layout.shape and layout.nbytes() > LARGE


def _microseconds(
    s: ProgramStatement, env: Mapping[str, int], layouts: Mapping[str, Layout]
) -> int:
    """What the calls in a statement take on a device that is slow, one byte in a nanosecond."""

    def weigh(call: Call) -> int:
        return 1 + sum(layouts[c.store].nbytes() for c in (*call.args, *call.results)) // 1000

    return count_calls(s, env, weigh)


def block_operands(s: ProgramStatement, single_calls: Collection[str]) -> Iterator[str]:
    """The stores of which a block that is one call wants a cell, be it written or not."""
    match s:
        case Sequence(items=items):
            for item in items:
                yield from block_operands(item, single_calls)
        case Loop(body=body) | Guard(body=body):
            yield from block_operands(body, single_calls)
        case Block(kernel=kernel, carried=carried, read=read) if kernel in single_calls:
            yield from (cells.store for cells in (*carried, *read))
        case _:
            pass


def needed(s: ProgramStatement, single_calls: Collection[str]) -> Iterator[str]:
    """The stores that a statement uses."""
    match s:
        case Sequence(items=items):
            for item in items:
                yield from needed(item, single_calls)
        case Loop(body=body) | Guard(body=body):
            yield from needed(body, single_calls)
        case Block(kernel=kernel, body=body):
            if kernel in single_calls:
                yield from (cells.store for cells in (*s.carried, *s.made, *s.read))
            else:
                yield from needed(body, single_calls)
        case Region(carried=carried, read=read):
            yield from (cells.store for cells in (*carried, *read))
        case Call(args=args, results=results) | Effect(call=Call(args=args, results=results)):
            yield from (cell.store for cell in (*args, *results))
        case Host() | Free() | Load() | Evict():
            pass
        case _:
            assert_never(s)


def direct_inputs(program: Program, single_calls: Collection[str]) -> frozenset[str]:
    """What is given and has no keys, if one call takes it, outside of all loops, and nobody else.

    None where functions of the user run in between, which might change the arrays.
    """
    if any(isinstance(s, Host | Effect) for s in every(program.tree)):
        return frozenset()
    items = [*_flattened(program.tree, single_calls)]
    uses = Counter(store for item in items for store in dict.fromkeys(needed(item, single_calls)))
    uses += Counter(output.store for output in program.outputs)
    calls = [item for item in items if isinstance(item, Block | Call)]
    operands = frozenset(store for item in calls for store in needed(item, single_calls))
    excluded = frozenset(store.name for store in program.stores if store.away or store.keys)
    inputs = [i.store for i in program.inputs] + [p.store for p in program.params] + [program.seed]
    candidates = (name for name in inputs if uses[name] == 1 and name in operands)
    return frozenset(candidates) - excluded


def _flattened(s: ProgramStatement, single_calls: Collection[str]) -> Iterator[ProgramStatement]:
    """What is executed one after the other; of blocks that are no single call, their parts."""
    match s:
        case Sequence(items=items):
            for item in items:
                yield from _flattened(item, single_calls)
        case Block(kernel=kernel, body=body) if kernel not in single_calls:
            yield from _flattened(body, single_calls)
        case _:
            yield s
