"""Lengths in regions: those that are parameters of a region, and those that its loop ends.

In a region each length is one number: `T`, or `T[i]` for the `i` of a loop around it. Where the
loop ends one, the number is carried as `T_end`, 0 until the end has been seen, and `T` follows::

    def step_t(carry):
        i, T_end, (c,) = carry
        T = jnp.where(T_end > 0, T_end, at[2])

A length that each step of a loop on the device finds out anew, `T[i]` within the loop over `i`, is
its own: it is no parameter, begins as the largest length in each step, and is not returned. A block
is told how many steps such lengths may have, all together. Once none is left they are 1, so that it
comes to its end soon, and its results mean nothing::

    T = jnp.int32(jnp.where(left > 0, T_max, 1))
    ...
    left = jnp.maximum(left - 1, 0)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.regions.loop_state import SharedArraysUnknown
from tempoc.program.analysis.traversal import calls, statements_in, variables
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import length, lengths_in
from tempoc.symbolic.expr import Expr, LengthAt, compare, conjunction
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import symbols


def ended_length(ending: prog.Ending) -> Expr:
    """The length that a call may end, as an expression."""
    return length(ending.bound, ending.outer)


def length_parameters(
    s: prog.ProgramStatement, context: ProgramContext, names: Collection[str]
) -> tuple[Expr, ...]:
    """The lengths that a loop or block names or ends, each once; at points over ``names``.

    Those of its own are none. Raises ``SharedArraysUnknown`` if another differs from step to step.
    """
    lengths = context.lengths
    parameters: dict[Expr, None] = {}
    for e in _expressions(s):
        parameters |= dict.fromkeys(lengths_in(e, lengths))
    for call in calls(s):
        for e in context.lengths_of(call):
            parameters |= dict.fromkeys(lengths_in(e, lengths))
        parameters |= dict.fromkeys(map(ended_length, call.endings))
    for e in own_lengths(s):
        parameters.pop(e, None)
    for e in parameters:
        if not {*symbols(e)} <= {*names, *(ended.bound for ended in lengths)}:
            raise SharedArraysUnknown(show(e))
    return tuple(parameters)


def ended_lengths(s: prog.ProgramStatement) -> tuple[Expr, ...]:
    """The lengths that a statement may end for what follows it, each once."""
    inner = {*variables(s)}
    return tuple(e for e in _all_ended(s) if inner.isdisjoint(symbols(e)))


def own_lengths(s: prog.ProgramStatement) -> tuple[Expr, ...]:
    """The lengths that a statement ends at each step of loops within it."""
    inner = {*variables(s)}
    return tuple(e for e in _all_ended(s) if not inner.isdisjoint(symbols(e)))


def step_lengths(loop: prog.Loop) -> tuple[Expr, ...]:
    """The lengths that begin anew in each step of a loop, and not in a loop within it."""
    return tuple(e for e in ended_lengths(loop.body) if loop.var in symbols(e))


def _all_ended(s: prog.ProgramStatement) -> Iterator[Expr]:
    yield from dict.fromkeys(ended_length(e) for call in calls(s) for e in call.endings)


def lengths_at_others(e: Expr, lengths: Collection[Expr]) -> tuple[Expr, ...]:
    """The lengths of a bound at points that may turn out to be that of another: `T[I-1]` of `T[i]`.

    Where `i` is the last one, a loop that ends `T[i]` ends it as well.
    """
    if not isinstance(e, LengthAt):
        return ()
    named = (x for x in lengths if isinstance(x, LengthAt))
    return tuple(x for x in named if x.bound == e.bound and x != e)


def is_same_point(e: Expr, other: Expr) -> Expr:
    """Whether two lengths of a bound are those of one point."""
    assert isinstance(e, LengthAt) and isinstance(other, LengthAt)
    return conjunction(*(compare("==", a, b) for a, b in zip(e.point, other.point, strict=True)))


def loop_endings(loop: prog.Loop) -> tuple[Expr, ...]:
    """The lengths that a loop ends.

    Raises ``SharedArraysUnknown`` if an inner loop ends some, or if the step is not 1.
    """
    lengths = ended_lengths(loop)
    inner = [part for part in statements_in(loop.body) if isinstance(part, prog.Loop)]
    ended = {e for part in inner for e in _all_ended(part)}
    if not ended.isdisjoint(lengths) or (lengths and loop.step != 1):
        raise SharedArraysUnknown(loop.var)
    return lengths


def _expressions(s: prog.ProgramStatement) -> Iterator[Expr]:
    """All expressions outside of kernels that may name lengths."""
    for part in statements_in(s):
        match part:
            case prog.Guard(condition=condition):
                yield condition
            case prog.Loop(lower=lower, upper=upper, limit=limit):
                yield from (e for e in (lower, upper, limit) if e is not None)
            case prog.Call(point=point, args=args, results=results, endings=call_endings):
                yield from point
                for cell in (*args, *results):
                    yield from cell.key
                    yield from () if cell.when is None else (cell.when,)
                yield from (e.length for e in call_endings)
            case _:
                pass
