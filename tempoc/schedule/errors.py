"""Diagnostics of scheduling, RT400 to RT449."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tempoc.diagnostics.diagnostic import Diagnostic, Label, error
from tempoc.diagnostics.error_row import ErrorRow
from tempoc.diagnostics.source import Span
from tempoc.symbolic.domain import Bound


@dataclass(frozen=True, slots=True)
class CycleStep:
    """A value on a dependence cycle: `h[t]`, its tensor, and the span of its equation."""

    value: str
    tensor: str
    span: Span | None


_EARLIER = "let one of them read an earlier value, for example at t-1, to break the cycle"
_SO_FAR = "let what decides the end depend on the steps so far only, for example on x[0:t+1]"
_THROUGH_GRADIENT = (
    "every read of what is differentiated by counts, delayed ones too: put stop_gradient around "
    "the reads that shall count as constant"
)
_BY_COPY = (
    "the gradient sums over all steps, later ones too: for one of each step let the loss read a "
    "copy and differentiate by that, `{}`, or put stop_gradient around the reads that shall count "
    "as constant"
)


def no_order(
    steps: Sequence[CycleStep],
    where: str,
    *,
    gradient: bool = False,
    ended: Bound | None = None,
    copy: str = "",
) -> Diagnostic:
    """RT400: a dependence cycle; `steps` are its values, in order.

    `gradient`: it includes a cotangent; `ended`: it includes the stop tensor of this bound; `copy`:
    the equation of a copy for each step, where a gradient sums over steps.
    """
    names = list(dict.fromkeys(s.tensor for s in steps))
    chain = ", which needs ".join(s.value for s in (*steps[1:], steps[0]))
    labels = dict.fromkeys(Label(s.span, "") for s in steps if s.span is not None)
    labelled = [
        Label(s.span, f"{s.value} needs {after.value}")
        for s, after in zip(steps, (*steps[1:], steps[0]), strict=True)
        if s.span is not None
    ]
    primary, secondary = (labelled[0] if labels else None), tuple(labelled[1:])
    subject = f"{names[0]} needs itself" if len(names) == 1 else f"{_listed(names)} need each other"
    return Diagnostic(
        code="RT400",
        message=f"no order of execution exists: {subject} in a cycle",
        primary=primary,
        secondary=secondary,
        notes=(
            f"cycle: {steps[0].value} needs {chain}{where}",
            *((_length(ended),) if ended else ()),
        ),
        help=_BY_COPY.format(copy)
        if copy
        else _THROUGH_GRADIENT
        if gradient
        else _SO_FAR
        if ended
        else _EARLIER,
    )


def _length(bound: Bound) -> str:
    return (
        f"{bound.name} is known only when {bound.until} ends it: whatever depends on it, or on "
        f"there being a further step, needs {bound.until}"
    )


def no_order_found(names: Sequence[str], spans: Sequence[Span]) -> Diagnostic:
    """RT401: the solver finds no order, and no cycle shows at small bounds."""
    return error(
        "RT401",
        f"no order of execution found for {_listed(list(dict.fromkeys(names)))}",
        spans[0] if spans else None,
        secondary=tuple(Label(s) for s in spans[1:]),
        notes=("each of these depends on the others, in a cycle that no loop order can follow",),
    )


def no_order_of_calls(
    names: Sequence[str], dims: Sequence[str], spans: Sequence[Span], later: str
) -> Diagnostic:
    """RT403: the order of host calls contradicts the data dependences.

    `later`: a target to suggest for a call that depends on steps after it.
    """
    help = "let the calls depend on earlier ones only"
    if later:
        help = (
            "a call comes before those over more dimensions: let it be at one of their points, "
            f"`{later}`, or take its function from another module"
        )
    elif len(dims) > 1:
        help = f'declare {dims[-1]} before {dims[0]}, or use "over {dims[0]}"'
    return error(
        "RT403",
        f"no order of execution exists for the calls in {_listed(list(names))}",
        spans[0] if spans else None,
        help,
        secondary=tuple(Label(s) for s in spans[1:]),
        notes=(
            "calls of host functions run in the order of plain loops"
            + (f", {dims[0]} outermost" if len(dims) > 1 else "")
            + ", but one of them needs what a later one gives",
        ),
    )


def took_too_long(count: int, seconds: float) -> Diagnostic:
    """RT402: the solver exceeded its time limit."""
    return error(
        "RT402",
        f"scheduling {count} statements took longer than {seconds:g} s",
        help="split the program, or compile with -O1 so that statements are fused first",
    )


illegal = ErrorRow(
    "RT449",
    "the schedule is not legal: {what}",
    None,
    "this is a mistake of the compiler, not of the program",
)


def _listed(names: Sequence[str]) -> str:
    """`a, b and c`"""
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"
