"""Diagnostics of dimensions, temporal indices, targets and guards (RT120 to RT140)."""

from __future__ import annotations

from collections.abc import Mapping

from tempoc.base.diagnostics import Diagnostic, Label
from tempoc.base.source import Span

UNREACHABLE = "RT139"


def _error(code: str, message: str, span: Span, help: str | None = None, *notes: str) -> Diagnostic:
    return Diagnostic(code=code, message=message, primary=Label(span), help=help, notes=notes)


def listed(names: tuple[str, ...], none: str = "none") -> str:
    """Names in backquotes: "`b`, `t`"."""
    return ", ".join(f"`{n}`" for n in names) or none


def does_not_vary(span: Span, dim: str, dims: tuple[str, ...]) -> Diagnostic:
    """A keyword entry for a dimension that the value does not have."""
    has = f"it varies with {listed(dims)}" if dims else "it varies with no dimension"
    return _error("RT120", f"this does not vary with `{dim}`", span, None, has)


def entry_count(span: Span, name: str, dims: tuple[str, ...], given: int) -> Diagnostic:
    """Too many or too few positional entries."""
    entries = "entry" if given == 1 else "entries"
    return _error(
        "RT121",
        f"`{name}` has {len(dims)} temporal dimension{'s' * (len(dims) != 1)} "
        f"({', '.join(dims)}), but the bracket has {given} {entries}",
        span,
        f"name the ones that differ, `{name}[{dims[-1]} = ...]`; "
        f"a bracket after the first is spatial",
    )


def not_affine(span: Span, text: str, what: str = "temporal index") -> Diagnostic:
    """An index that is not quasi-affine."""
    return _error(
        "RT122",
        f"`{text}` is not an affine index expression: a product needs a compile-time factor",
        span,
        "a data-dependent access reads at a computed point: `x[t = j in lo:hi]`, `j` an i32 tensor",
        f"a {what} is made of integers, dimensions, bounds, `+ -`, `*` `//` `%` by compile-time "
        "integers, `min` and `max`, so that it can be reasoned about exactly",
    )


def tensor_index(span: Span, text: str, read: str, dim: str, bound: str) -> Diagnostic:
    """A tensor as a temporal index of what is `read`, at a point of a dimension if not empty."""
    where = f"{read or 'x'}[{dim} = {text} in 0:{bound}]" if dim else f"x[t = {text} in lo:hi]"
    help = f"write a data-dependent access, `{where}`, `{text}` an i32 tensor"
    if "/" in text.replace("//", ""):
        help = "a quotient is no integer: `//` rounds down"
    elif text.startswith('"'):
        help = f"a field is read by its name: `{read}.{text[1:-1]}`"
    elif text.replace(".", "", 1).isdigit():
        help = "write an integer"
    return _error(
        "RT123",
        f"`{text}` is not an index expression, so it cannot be a temporal index",
        span,
        help,
        "a temporal index is made of integers, dimensions, bounds, `+ - * // %`, `min` and `max`",
    )


def condition_index(span: Span, text: str) -> Diagnostic:
    """A condition where a number belongs."""
    return _error("RT124", f"`{text}` is a condition, not an index", span)


def not_a_condition(span: Span, what: str, text: str, *, number: bool) -> Diagnostic:
    """A guard that is not an index condition, but an index (a `number`) or a tensor."""
    help = f"compare it: `{text} >= 1`"
    if not number:
        help = f"it compares index expressions; for a choice by data write `where({text}, a, b)`"
    return _error("RT125", f"{what} must be an index condition", span, help)


def step(span: Span) -> Diagnostic:
    """A slice with a bad step."""
    return _error("RT126", "the step of a slice must be a positive compile-time integer", span)


def not_a_dimension(span: Span, name: str, close: str | None) -> Diagnostic:
    """A keyword entry that names no dimension."""
    help = f"did you mean `{close}`?" if close else None
    return _error("RT127", f"`{name}` is not a dimension", span, help)


def entry_twice(span: Span, name: str) -> Diagnostic:
    """A dimension has two entries."""
    return _error("RT128", f"`{name}` has two entries", span)


def target_entry(span: Span, text: str) -> Diagnostic:
    """A target entry that is neither shifted nor constant."""
    return _error(
        "RT130",
        f"`{text}` cannot stand in a target",
        span,
        "a target entry is a dimension (`t`), a shifted one (`t+1`) or an expression without "
        "dimensions (`0`, `T-1`)",
    )


def target_counts(span: Span, name: str, first: int, other: int, place: Span) -> Diagnostic:
    """Two targets of a tensor have different numbers of entries."""
    return Diagnostic(
        code="RT131",
        message=f"`{name}` has {other} entries here and {first} in another equation",
        primary=Label(span),
        secondary=(Label(place),),
    )


def target_clash(span: Span, name: str, first: str, other: str, place: Span) -> Diagnostic:
    """A position is one dimension in one equation and another in the next."""
    return Diagnostic(
        code="RT132",
        message=f"`{name}` is indexed by `{other}` here and by `{first}` in another equation",
        primary=Label(span),
        secondary=(Label(place, f"indexed by `{first}`"),),
    )


def target_order(
    span: Span, name: str, dims: tuple[str, ...], wanted: tuple[str, ...]
) -> Diagnostic:
    """Positional entries out of declaration order, or a dimension twice."""
    twice = next((d for k, d in enumerate(dims) if d in dims[:k]), None)
    if twice is not None:
        return _error(
            "RT133",
            f"the target names the dimension `{twice}` of `{name}` twice",
            span,
            "name each dimension once; an equation for a diagonal has two dimensions and a guard, "
            f"`{name}[i, j] = ... when i == j`",
        )
    return _error(
        "RT133",
        f"the entries of `{name}` must follow the order in which the dimensions are declared",
        span,
        f"write `{name}[{', '.join(wanted)}]`",
        f"found the order {', '.join(dims)}",
    )


def constant_position(span: Span, name: str, text: str) -> Diagnostic:
    """A position that has no dimension."""
    return _error(
        "RT134",
        f"the position `{text}` is constant in all equations of `{name}`, so it has no dimension",
        span,
        "a position that is constant in all equations of a tensor belongs to no dimension: leave "
        f"it out, or write an equation for the other points (`{name}[t] = ...`)",
    )


def plain_guard(span: Span, name: str) -> Diagnostic:
    """An unindexed equation with a guard."""
    return _error(
        "RT135",
        f"`{name}` has no index, so its equation cannot have a guard",
        span,
        f"write the dimensions: `{name}[t] = ... when ...`",
    )


def plain_twice(span: Span, name: str, place: Span) -> Diagnostic:
    """An unindexed equation must be the only one."""
    return Diagnostic(
        code="RT136",
        message=f"`{name}` is defined already; an unindexed equation is the only one of its tensor",
        primary=Label(span),
        secondary=(Label(place, "defined here"),),
        help=f"write the points in all equations: `{name}[0] = ...`, `{name}[t] = ...`",
    )


def free_dimension(
    span: Span, name: str, dims: tuple[str, ...], fixed: Mapping[str, str], target: str
) -> Diagnostic:
    """The right side varies with dimensions that the target does not have, or has `fixed`."""
    if fixed:
        at = ", ".join(f"{d} = {e}" for d, e in fixed.items())
        guard = " and ".join(f"{d} == {e}" for d, e in fixed.items())
        help = f"read it at one point (`[{at}]`), or write `{target} when {guard}`"
    else:
        help = f"add {listed(dims)} to the target, or read a point or slice of it"
    many = "free dimensions that do" if len(dims) > 1 else "a free dimension that does"
    return _error(
        "RT137",
        f"the right side varies with {listed(dims)}, {many} not stand in the target `{name}`",
        span,
        help,
    )


def free_in_guard(span: Span, dim: str) -> Diagnostic:
    """The guard names a dimension that the target does not have."""
    return _error(
        "RT138", f"the guard names `{dim}`, which is not a free dimension of the target", span
    )


def unreachable(span: Span, name: str, covered: bool) -> Diagnostic:
    """An equation that is never used."""
    reason = (
        "the equations above it cover all of its points, and the first that holds is used"
        if covered
        else "no point of the domain satisfies it, whatever the bounds"
    )
    help = "move it above them, or remove it" if covered else "remove it"
    return _error("RT139", f"this equation of `{name}` can never be used", span, help, reason)


def plain_cycle(span: Span, names: tuple[str, ...], spans: tuple[Span, ...]) -> Diagnostic:
    """Unindexed equations that read each other in a circle."""
    cycle = " -> ".join((*names, names[0]))
    return Diagnostic(
        code="RT140",
        message=f"unindexed equations form a cycle: {cycle}",
        primary=Label(span),
        secondary=tuple(Label(s) for s in spans if s != span),
        help="recurrences need an index: write one of them for its points, "
        f"`{names[0]}[0] = ...` and `{names[0]}[t] = ...`",
    )


def spatial_data_point(span: Span) -> Diagnostic:
    """`in` where no temporal dimension is indexed."""
    help = "a spatial axis is indexed by the tensor alone: `x[j]`"
    return _error("RT129", "`in` chooses a point of a temporal dimension", span, help)
