"""Diagnostics of dimensions, temporal indices, targets and guards (RT120 to RT140)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tempoc.diagnostics.diagnostic import Diagnostic, Label, error
from tempoc.diagnostics.error_row import ErrorRow
from tempoc.diagnostics.source import Span
from tempoc.ops.definition.shapes import counted

UNREACHABLE = "RT139"


def listed(names: tuple[str, ...], none: str = "none") -> str:
    """Names in backquotes: "`b`, `t`"."""
    return ", ".join(f"`{n}`" for n in names) or none


def does_not_vary(span: Span, dim: str, dims: tuple[str, ...]) -> Diagnostic:
    """A keyword entry for a dimension that the value does not have."""
    has = f"it varies with {listed(dims)}" if dims else "it varies with no dimension"
    return error("RT120", f"this does not vary with `{dim}`", span, notes=(has,))


def entry_count(
    span: Span,
    name: str,
    bounds: Mapping[str, str],
    entries: Sequence[str],
    outer: Mapping[str, tuple[str, ...]],
) -> Diagnostic:
    """Too many or too few positional entries: texts of ``entries``.

    ``bounds`` are those of the dimensions, ``outer`` those over which the length of each varies.
    """
    dims, given = tuple(bounds), len(entries)
    lengths = tuple(
        f"`{d}` has a length for each {listed(others)}: what varies with `{d}` varies with "
        f"{listed(others)}, too"
        for d, others in outer.items()
        if others
    )
    counted = "entry" if given == 1 else "entries"
    spatial = f"write those of axes in a bracket of their own, `{name}[{', '.join(dims)}][...]`"
    one = f"{name}[{_by_keyword(bounds, entries) or f'{dims[-1]} = ...'}]"
    named = f"name the ones that differ, `{one}`, or write `({name})[...]` for axes"
    return error(
        "RT121",
        f"`{name}` has {len(dims)} temporal dimension{'s' * (len(dims) != 1)} "
        f"({', '.join(dims)}), but the bracket has {given} {counted}",
        span,
        f"{spatial if given > len(dims) else named}: a bracket right after a name is temporal",
        notes=lengths if given < len(dims) else (),
    )


def _by_keyword(bounds: Mapping[str, str], entries: Sequence[str]) -> str:
    """The entries with the dimensions whose names or bounds they have; empty if one has neither."""
    named: dict[str, str] = {}
    for text in entries:
        words = re.findall(r"[A-Za-z_]\w*", text)
        left = [dim for dim in bounds if dim not in named]
        suited = [dim for dim in left if dim in words] or [d for d in left if bounds[d] in words]
        if len(suited) != 1:
            return ""
        named[suited[0]] = text
    return ", ".join(f"{dim} = {named[dim]}" for dim in bounds if dim in named)


def not_affine(span: Span, text: str) -> Diagnostic:
    """An index that is not quasi-affine."""
    return error(
        "RT122",
        f"`{text}` is not an affine index expression: a product needs a compile-time factor",
        span,
        "a data-dependent access reads at a computed point: `x[t = j in lo:hi]`, `j` an i32 tensor",
        notes=(
            "a temporal index is made of integers, dimensions, bounds, `+ -`, `*` `//` `%` by "
            "compile-time integers, `min` and `max`, so that it can be reasoned about exactly",
        ),
    )


def tensor_index(
    span: Span,
    read: str,
    dim: str,
    bound: str,
    divisor: str,
    choice: Sequence[str],
    own: str,
    *,
    whole: bool,
) -> Diagnostic:
    """A tensor as a temporal index of what is `read`, at a point of a dimension if not empty.

    `divisor` is the index expression by which another one is divided there; `choice` are the parts
    of `a if c else b`, if it is that; `own` is what is read at its own point, if that has axes;
    `whole`: it is not known to be a number that need not be whole.
    """
    text = span.text
    at = text if whole else f"i32({text})"
    where = f"{read or 'x'}[{dim} = {at} in 0:{bound}]" if dim else f"x[t = {at} in lo:hi]"
    help = f"write a data-dependent access, `{where}`, `{at}` an i32 tensor"
    if own:
        help += f"; an element of its first axis is `{own}[{at}]`"
    if span.source.text[: span.start].rstrip().endswith(":"):
        help = "a slice whose length the data decide is one of an axis: "
        help += f"`(x[lo:hi])[0:length({text}, most = ...)]`"
    if choice:
        first, second = (f"{read or 'x'}[{dim or 't'} = {e}]" for e in choice[::2])
        help = f"choose between two reads, `{first} if {choice[1]} else {second}`"
    elif divisor:
        help = "divide by a compile-time integer, or use two dimensions: one for the quotient, "
        help += f"and one below `{divisor}` for the remainder"
    elif "/" in text.replace("//", ""):
        help = "a quotient is no integer: `//` rounds down"
    elif text.startswith('"'):
        help = f"a field is read by its name: `{read}.{text[1:-1]}`"
    elif text.replace(".", "", 1).isdigit():
        help = "write an integer"
    return error(
        "RT123",
        f"`{text}` is not an index expression, so it cannot be a temporal index",
        span,
        help,
        notes=(
            "a temporal index is made of integers, dimensions, bounds, `+ - * // %`, `min` and "
            "`max`",
        ),
    )


condition_index = ErrorRow("RT124", "`{text}` is a condition, not an index")


def not_a_condition(span: Span, what: str, text: str, *, number: bool) -> Diagnostic:
    """A guard that is not an index condition, but an index (a `number`) or a tensor."""
    help = f"compare it: `{text} >= 1`"
    if not number:
        help = f"it compares index expressions; for a choice by data write `where({text}, a, b)`"
    return error("RT125", f"{what} must be an index condition", span, help)


def negative_end(span: Span, text: str, end: int, dim: str, meant: str) -> Diagnostic:
    """A slice that is written with an end before the first point, and that is empty."""
    return error(
        "RT116",
        f"the slice `{text}` ends at {dim} = {end}, so there is nothing in it",
        span,
        f"temporal indices never wrap around: write `{meant}`",
    )


step = ErrorRow(
    "RT126",
    "the step of a slice must be a positive compile-time integer",
    "backwards it is `flip(x[0:T], axis = 0)`, and a point of it `x[T-1-t]`",
)


def not_a_dimension(span: Span, name: str, close: str | None) -> Diagnostic:
    """A keyword entry that names no dimension."""
    help = f"did you mean `{close}`?" if close else None
    return error("RT127", f"`{name}` is not a dimension", span, help)


entry_twice = ErrorRow("RT128", "`{name}` has two entries")


def target_entry(span: Span, text: str) -> Diagnostic:
    """An entry of a target is no dimension, shifted or not, and has dimensions."""
    help = (
        "a target entry is a dimension (`t`), a shifted one (`t+1`) or an expression without "
        "dimensions (`0`, `T-1`)"
    )
    strided = "; every other point is `y[n] = x[n // 2] when n % 2 == 0`"
    help += strided if "*" in text else ""
    return error("RT130", f"`{text}` cannot stand in a target", span, help)


def target_counts(span: Span, name: str, first: int, other: int, place: Span) -> Diagnostic:
    """Two targets of a tensor have different numbers of entries."""
    return error(
        "RT131",
        f"`{name}` has {counted(other, 'entry', 'entries')} here and {first} in another equation",
        span,
        f"name all dimensions of `{name}` in each of its targets",
        secondary=(Label(place),),
    )


def target_clash(span: Span, name: str, first: str, other: str, place: Span) -> Diagnostic:
    """A position is one dimension in one equation and another in the next."""
    return error(
        "RT132",
        f"`{name}` is indexed by `{other}` here and by `{first}` in another equation",
        span,
        secondary=(Label(place, f"indexed by `{first}`"),),
    )


def target_order(
    span: Span,
    name: str,
    dims: tuple[str, ...],
    expected: tuple[str, ...],
    written: Mapping[str, str],
) -> Diagnostic:
    """Positional entries out of declaration order, or a dimension twice.

    `written` is the entry of each dimension.
    """
    twice = next((d for k, d in enumerate(dims) if d in dims[:k]), None)
    if twice is not None:
        return error(
            "RT133",
            f"the target names the dimension `{twice}` of `{name}` twice",
            span,
            "name each dimension once; an equation for a diagonal has two dimensions and a guard, "
            f"`{name}[i, j] = ... when i == j`",
        )
    return error(
        "RT133",
        f"the entries of `{name}` must follow the order in which the dimensions are declared",
        span,
        f"write `{name}[{', '.join(written.get(d, d) for d in expected)}]`, or declare "
        f"{' before '.join(f'`{d}`' for d in dims)}",
        notes=(f"found the order {', '.join(dims)}",),
    )


constant_position = ErrorRow(
    "RT134",
    "the position `{text}` is constant in all equations of `{name}`, so it has no dimension",
    "a position that is constant in all equations of a tensor belongs to no dimension: leave "
    "it out, or write an equation for the other points (`{name}[{dim}] = ...`)",
)


def plain_guard(span: Span, name: str, dims: Iterable[str]) -> Diagnostic:
    """A guard of an unindexed equation; `dims` are those of the guard and of the right side."""
    entries = ", ".join(dims) or "t"
    return error(
        "RT135",
        f"`{name}` has no index, so its equation cannot have a guard",
        span,
        f"write the dimensions: `{name}[{entries}] = ... when {span.text}`",
    )


def plain_twice(span: Span, name: str, place: Span) -> Diagnostic:
    """An unindexed equation must be the only one."""
    return error(
        "RT136",
        f"`{name}` is defined already; an unindexed equation is the only one of its tensor",
        span,
        f"write the points in all equations: `{name}[0] = ...`, `{name}[t] = ...`",
        secondary=(Label(place, "defined here"),),
    )


def free_dimension(
    span: Span,
    name: str,
    dims: tuple[str, ...],
    fixed: Mapping[str, str],
    target: str,
    right: str = "",
) -> Diagnostic:
    """The right side varies with dimensions that the target does not have, or has `fixed`."""
    if fixed:
        at = ", ".join(f"{d} = {e}" for d, e in fixed.items())
        guard = " and ".join(f"{d} == {e}" for d, e in fixed.items())
        whose = right if right.isidentifier() else ""
        help = f"read it at one point (`{whose}[{at}]`), or write `{target} when {guard}`"
    else:
        help = f"add {listed(dims)} to the target, or read a point or slice of it"
    many = "free dimensions that do" if len(dims) > 1 else "a free dimension that does"
    return error(
        "RT137",
        f"the right side varies with {listed(dims)}, {many} not stand in the target `{name}`",
        span,
        help,
    )


free_in_guard = ErrorRow(
    "RT138", "the guard names `{dim}`, which is not a free dimension of the target"
)


def unreachable(span: Span, name: str, covered: bool) -> Diagnostic:
    """An equation that is never used."""
    reason = (
        "the equations above it cover all of its points, and the first that holds is used"
        if covered
        else "no point of the domain satisfies it, whatever the bounds"
    )
    help = "move it above them, or remove it" if covered else "remove it"
    return error(
        "RT139", f"this equation of `{name}` can never be used", span, help, notes=(reason,)
    )


def plain_cycle(
    span: Span, names: tuple[str, ...], spans: tuple[Span, ...], extent: str | None
) -> Diagnostic:
    """Unindexed equations that read each other in a circle; `extent`: one named in a cast."""
    cycle = " -> ".join((*names, names[0]))
    help = (
        "recurrences need an index: write one of them for its points, "
        f"`{names[0]}[0] = ...` and `{names[0]}[t] = ...`"
        if extent is None
        else f"`{extent}` in the cast is the tensor of that name: call the extent something else"
    )
    message = f"unindexed equations form a cycle: {cycle}"
    others = tuple(Label(s) for s in spans if s != span)
    return error("RT140", message, span, help, secondary=others)


spatial_data_point = ErrorRow(
    "RT129",
    "`in` chooses a point of a temporal dimension",
    "a spatial axis is indexed by the tensor alone: `x[j]`",
)


def restarted_state(
    span: Span,
    function: str,
    tensor: str,
    dims: tuple[str, str, str],
    given: str,
    goes_on: Span,
) -> Diagnostic:
    """An update with a state along `given` alone, of a tensor that goes through all steps of
    `dims[1]` in each of `dims[0]`; `dims` ends with a bound."""
    outer, inner, bound = dims
    how = f"begins anew in each `{outer}`"
    if given == outer:
        how = f"goes from `{outer}` to `{outer}`, for each `{inner}` by itself"
    return error(
        "RT108",
        f"what `{function}` remembers {how}, while `{tensor}` goes on",
        span,
        f"give it the number of the step, `{outer} * {bound} + {inner}`, for `{given}`; to begin "
        "anew on purpose, pass what is remembered yourself, as with `optim.adam_step`",
        secondary=(Label(goes_on, f"here `{tensor}` goes on"),),
    )
