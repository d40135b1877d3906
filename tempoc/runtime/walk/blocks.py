"""Selects the device blocks to run as one call each; the stores that statements use."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from tempoc.program.analysis.count_calls import count_calls
from tempoc.program.analysis.traversal import calls, regions, touched_stores
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

LONG = 4096
"""The most kernel calls in a block that runs as one call, which cannot be interrupted."""
BRIEF = 50_000
"""A block with more calls may run as one if its estimated microseconds are at most this."""
LARGE = 1 << 15
"""Copying fewer bytes takes no longer than a call."""
OFTEN = 64
"""For blocks that run at most so many times, copies of large stores do not matter."""


def single_call_blocks(
    program: Program,
    bounds: Mapping[str, int],
    given: Collection[str],
    layouts: Mapping[str, Layout],
) -> dict[str, int]:
    """The kernels of blocks to run as one call, each with the number of kernel calls it replaces.

    Judged at the first step of enclosing loops. Excluded are blocks with too many calls, blocks
    that compute what is ``given``, blocks with growing stores whose final size the run may not
    reach, and, in long loops, blocks in which XLA would copy a large store.
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
        """Select blocks in a statement that is executed at most ``times`` times."""
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
                if not self.small.isdisjoint(touched_stores(body)):
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

        XLA for CPUs copies such a store unless update and read are separate functions.
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
    """The estimated time of the calls in a statement: 1 us each, and one byte in a nanosecond."""

    def weigh(call: Call) -> int:
        return 1 + sum(layouts[c.store].nbytes() for c in (*call.args, *call.results)) // 1000

    return count_calls(s, env, weigh)


def used_stores(s: ProgramStatement, single_calls: Collection[str]) -> Iterator[str]:
    """The stores that a statement uses."""
    match s:
        case Sequence(items=items):
            for item in items:
                yield from used_stores(item, single_calls)
        case Loop(body=body) | Guard(body=body):
            yield from used_stores(body, single_calls)
        case Block(kernel=kernel, body=body):
            if kernel in single_calls:
                yield from (cells.store for cells in (*s.carried, *s.made, *s.read))
            else:
                yield from used_stores(body, single_calls)
        case Region(carried=carried, read=read):
            yield from (cells.store for cells in (*carried, *read))
        case Call(args=args, results=results) | Effect(call=Call(args=args, results=results)):
            yield from (cell.store for cell in (*args, *results))
        case Host() | Free() | Load() | Evict():
            pass
        case _:
            assert_never(s)
