"""Diagnostics of out-of-bounds accesses (RT200), and their suggested fixes."""

from __future__ import annotations

from tempoc.diagnostics.diagnostic import Diagnostic, error
from tempoc.diagnostics.source import Span


def message(shown: str, name: str, where: str, when: list[str]) -> str:
    """`x[t-1] reads x at t = -1 when t = 0`; what is read need not have a name."""
    at = f" when {' and '.join(when)}" if when else ""
    return f"{' '.join(shown.split())} reads {name or 'its operand'} at {where}{at}"


def outside(span: Span, text: str, help: str, notes: tuple[str, ...]) -> Diagnostic:
    """A read that leaves the domain of its source."""
    return error("RT200", text, span, help, notes=notes)


def other_reads(name: str, count: int, line: int) -> str:
    """How many other reads of a point of a tensor leave its domain, from which line on."""
    if count == 1:
        return f"another read of {name} at this point is on line {line}"
    return f"{count} other reads of {name} at this point begin on line {line}"


def hole(name: str, condition: str) -> str:
    """What a reader must know about a tensor with holes."""
    return f"{name} is defined only when {condition}"


def own_axes(text: str, dims: tuple[str, ...]) -> str:
    """What numbers in the first bracket may have been meant for: the axes of each point."""
    name, _, entries = text.partition("[")
    shown = ", ".join(dims)
    first = f"the first bracket of `{name}` is for {shown}"
    return f"{first}; of its axes it is `{name}[{shown}][{entries}`"


def no_wrapping(name: str, index: str) -> str:
    """A negative constant."""
    instead = f"{name}[{index}]" if name else index
    return f"temporal indices never wrap around: write {instead}"


def move_up(line: int, name: str) -> str:
    """A later equation has the point."""
    return (
        f"the equation of {name} on line {line} covers this point: move it above this one, "
        "since the first that holds is used"
    )


def restrict(missing: str, guard: str) -> str:
    """Add an equation, or a guard."""
    if not missing:
        return f'restrict this one with "when {guard}"'
    return f'add an equation for {missing}, or restrict this one with "when {guard}"'


def restrict_hole(name: str) -> str:
    """The source has holes."""
    return (
        f"add an equation for {name} at this point, "
        "or restrict this equation to the points where it is defined"
    )


def index_target(name: str, guard: str) -> str:
    """An unindexed equation has to be valid everywhere."""
    if not name:
        return f"read it only where {guard}"
    return (
        f"an unindexed equation is computed at all points: write {name} with indices, "
        f'and "when {guard}"'
    )


def assume(condition: str) -> str:
    """Only the bounds decide."""
    return f'say what the bounds are known to satisfy: "assume {condition}"'


def last(name: str, index: str) -> str:
    """One too far."""
    last = f"{name}[{index}]" if name else index
    return f"indices count from 0: the last one is {last}"


def backwards(name: str, index: str) -> str:
    """One too far, from the end."""
    point = f"{name}[{index}]" if name else index
    return f"indices count from 0: backwards they are {point}"


def cut(end: str, guard: str, indexed: bool) -> str:
    """A slice that is longer than what there is."""
    if not indexed:
        return f"cut the slice: `{end}` keeps this end inside"
    restricted = f'or restrict this one with "when {guard}"'
    return f"cut the slice (`{end}` keeps this end inside), {restricted}"
