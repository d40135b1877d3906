"""Diagnostics of names, declarations, imports and `-D` (RT020 to RT053, RT100 to RT105)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tempoc.diagnostics.diagnostic import Diagnostic, Label, error
from tempoc.diagnostics.error_row import ErrorRow
from tempoc.diagnostics.source import Span
from tempoc.frontend.environment.scope import free_name
from tempoc.frontend.errors.library import about_function, about_name
from tempoc.ops.definition.types import DType, TensorType
from tempoc.symbolic.expr import Expr
from tempoc.symbolic.text import show


def unknown_name(span: Span, name: str, close: str | None) -> Diagnostic:
    """Nothing of that name exists."""
    help = about_name(name) or _about_constant(span, name)
    help = help or (f"did you mean `{close}`?" if close else None)
    help = help or _about_bound(span, name) or _about_extent(span, name) or _about_index(span, name)
    return error("RT020", f"unknown name `{name}`", span, help)


def _about_bound(span: Span, name: str) -> str | None:
    """Help for what the value of a bound is made of, as in `dim i < I = E * K`."""
    before = span.source.text[: span.start]
    if not re.search(r"(^|[\n;])\s*dim\s+\w+\s*<\s*\w+\s*=[^\n;#]*$", before):
        return None
    short = name.lower() if name != name.lower() else f"{name[0]}_"
    text = span.source.text
    free = short if not re.search(rf"\b{short}\b", text) else free_name(short, text)
    return f"a bound is that of a dimension, as in `dim {free} < {name}`, or a `const`"


def _about_constant(span: Span, name: str) -> str | None:
    """Help for the dimension of a bound that is declared as a constant."""
    bound = name.upper()
    constant = re.search(rf"(^|[\n;])\s*const\s+{bound}\s*=\s*(\d+)", span.source.text)
    if bound == name or constant is None or _about_index(span, name) is None:
        return None
    return f"declare the dimension in place of the constant: `dim {name} < {bound} = {constant[2]}`"


def _about_extent(span: Span, name: str) -> str | None:
    """Help for what stands in the shape of a type."""
    bracket = re.search(r":\s*(\w+)\[[^][\n]*$", span.source.text[: span.start])
    if bracket is None or bracket[1] not in DType._value2member_map_ or name == name.lower():
        return None
    return f"declare it: `dim {name.lower()} < {name}`, known when the program runs, or a `const`"


def _about_index(span: Span, name: str) -> str | None:
    """Help for what stands alone in a bracket, as dimensions do; an extent of a type is none."""
    text = span.source.text
    bracket = re.search(r"(\w+)\[([\w\s,+-]*,)?\s*$", text[: span.start])
    if bracket is None or bracket[1] in DType._value2member_map_:
        return None
    if not re.match(r"\s*[],+-]", text[span.end :]):
        return None
    bound = name.upper() if name != name.upper() else f"{name}_end"
    free = bound if not re.search(rf"\b{bound}\b", text) else free_name(bound, text)
    return f"declare the dimension: `dim {name} < {free}`"


def unknown_function(
    span: Span, name: str, close: str | None, types: Sequence[TensorType | None] = ()
) -> Diagnostic:
    """No function of that name exists; `types` are those of its arguments, as far as known."""
    help = about_function(name, types) or (f"did you mean `{close}`?" if close else None)
    return error("RT021", f"unknown function `{name}`", span, help)


def unknown_member(span: Span, module: str, name: str, close: str | None) -> Diagnostic:
    """A module has no such function or constant."""
    help = f"did you mean `{module}.{close}`?" if close else about_function(f"{module}.{name}", ())
    return error("RT022", f"the module `{module}` has no `{name}`", span, help)


def not_callable(span: Span, what: str, *, builtin: bool, taken: bool) -> Diagnostic:
    """Only functions can be called.

    `builtin`: there is one of that name in the language; `taken`: it is hidden by another value.
    """
    name = span.text.split("(")[0]
    help = f"`{name}` is defined in this file: give that another name" if taken else None
    if not builtin and what == "a tensor" and name.isidentifier():
        help = f"points and elements are read with brackets: `{name}[...]`"
    return error("RT070", f"{what} cannot be called", span, help)


def declared_twice(span: Span, name: str, place: Span | None, dim: str = "") -> Diagnostic:
    """A name is introduced twice; ``dim``: a constant as the bound of this dimension."""
    other = free_name(name, span.source.text)
    help = f"choose another name, such as `{other}`"
    if dim:
        help = f"a bound has its own name, and may have a value: `dim {dim} < {other} = {name}`"
    return error(
        "RT023",
        f"`{name}` is declared already",
        span,
        _about_change(span, name, other, place) or help,
        secondary=() if place is None else (Label(place, "declared here"),),
    )


def _about_change(span: Span, name: str, other: str, place: Span | None) -> str | None:
    """Help for an equation that gives an input or a param, which is declared there, new values."""
    changed = span.source.line_text(span.line)[span.column - 1 :]
    declared = "" if place is None else place.source.line_text(place.line)
    given = re.match(rf"\s*(input|param)\s+{name}\b\s*(\[\w+\])?(?!\[)", declared)
    if given is None or not re.match(rf"{name}\s*(\[[^]]*\]\s*=|=.*\b{name}\b)", changed):
        return None
    first = f"{other}[0] = {name}{'[0]' if given[2] else ''}"
    return (
        f"a tensor is not changed: let another one begin with it, `{first}`, "
        f"and say what the next point is, `{other}[i+1] = ...`"
    )


no_extent = ErrorRow(
    "RT058",
    "no cast that introduces `{name}` is evaluated",
    "a side of `a if c else b` that a constant rules out introduces no names",
)


def extent_cycle(span: Span, name: str, place: Span) -> Diagnostic:
    """A cast needs the name that it introduces."""
    message = f"`{name}` is needed for the value whose cast introduces it"
    return error("RT058", message, span, secondary=(Label(place, "introduced here"),))


def extents_differ(
    span: Span, name: str, extent: Expr, first: Expr, place: Span, read: Span
) -> Diagnostic:
    """Two casts introduce one name for different extents, and a third equation reads it."""
    return error(
        "RT059",
        f"`{name}` stands for {show(extent)} here, and for {show(first)} in another cast",
        span,
        "other equations use it, so give one of them another name",
        secondary=(Label(place, "the other cast"), Label(read, "used here")),
    )


def bound_values(span: Span, name: str, place: Span) -> Diagnostic:
    """Two dimensions give their common bound different values."""
    return error(
        "RT024",
        f"the bound `{name}` has two values",
        span,
        "give the value once; the other dimension just names the bound",
        secondary=(Label(place, "the other one"),),
    )


def bound_size(span: Span, name: str, value: int) -> Diagnostic:
    """A bound is less than 1, or larger than indices can be."""
    limit = "at least 1" if value < 1 else "below 2**31"
    return error("RT025", f"the bound `{name}` is {value}; a bound is {limit}", span)


bound_not_index = ErrorRow(
    "RT026",
    "the value of the bound `{name}` must be an index expression of other bounds",
    "it is made of bounds and compile-time integers by `+ - * // %`, `min` and `max`; `//` is the "
    "quotient, rounded down",
)

bound_divisor = ErrorRow(
    "RT055",
    "the divisor `{text}` may be less than 1",
    "divide by bounds, and by what is made of bounds and positive numbers with `+` and `*`",
)


def bound_cycle(span: Span, names: tuple[str, ...]) -> Diagnostic:
    """Bounds are derived from each other."""
    return error("RT027", f"bounds are derived from each other: {' -> '.join(names)}", span)


const_value = ErrorRow(
    "RT028",
    "the constant `{name}` must be a compile-time number, bool, string, list or dtype, not {what}",
)
const_cycle = ErrorRow("RT029", "the constant `{name}` is defined by itself")


def unknown_define(name: str, close: str | None) -> Diagnostic:
    """`-D` names nothing."""
    help = f"did you mean `-D {close}=...`?" if close else "it overrides `const` and fixed bounds"
    message = f"-D {name}: no such constant or fixed bound"
    return error("RT030", message, help=help)


define_run_time = ErrorRow(
    "RT031",
    "-D {name}: this bound has no compile-time value",
    "give it when the program is run: --bounds {name}=...",
)


def define_kind(name: str, text: str, expected: str, span: Span) -> Diagnostic:
    """The value given by `-D` or `--config` is of another kind than the one that it replaces."""
    return error("RT032", f"`{name}` is {expected}, not {text}", span, label="declared here")


def define_derived(name: str, others: Sequence[str], span: Span) -> Diagnostic:
    """`-D` names a derived bound."""
    message = f"-D {name}: this bound is derived from others"
    bounds = ",".join(f"{other}=..." for other in others)
    help = f"it follows from what is given when the program is run: --bounds {bounds}"
    return error("RT033", message, span, label="declared here", help=help if others else None)


not_importable = ErrorRow(
    "RT034", "`{name}` of `{module}` cannot be used here: a module gives functions and constants"
)


bad_assumption = ErrorRow(
    "RT035",
    "`assume` needs an affine condition over bounds and constants",
    "for example `assume P <= T`",
)


def false_assumption(span: Span, constants: Mapping[str, str]) -> Diagnostic:
    """No run can satisfy an assumption, perhaps because of the values of `constants` alone."""
    message = "no bounds satisfy this assumption together with the others"
    if constants:
        message = "this assumption does not hold"
    notes = tuple(f"`{name}` is {text}" for name, text in constants.items())
    return error("RT036", message, span, notes=notes)


dim_name = ErrorRow("RT037", "`{name}` is not a dimension, so {what} cannot vary with it")
default_dims = ErrorRow(
    "RT040",
    "the default of `{name}` varies with `{dim}`, but `{name}` does not",
    "write `param {name}[{dim}]`, or read one point",
)
default_cycle = ErrorRow("RT042", "the value of `{name}` without a file would need `{name}` itself")


def dims_order(span: Span, name: str, expected: tuple[str, ...]) -> Diagnostic:
    """A declaration names its dimensions out of order."""
    return error(
        "RT038",
        f"the dimensions of `{name}` must stand in the order in which they are declared",
        span,
        f"write `{name}[{', '.join(expected)}]`",
    )


extent_dims = ErrorRow(
    "RT039",
    "the shape of `{name}` cannot vary with `{dim}`: it is read from a file as one array",
    "an extent takes bounds and constants; a tensor for each `{dim}` is `{name}[{dim}]: ...`",
)


def template_dim(span: Span, dim: str, dims: tuple[str, ...]) -> Diagnostic:
    """A `from` template has a hole that is no dimension of the parameter."""
    has = f"the parameter has {', '.join(dims)}" if dims else "the parameter has no dimension"
    return error("RT041", f"`{{{dim}}}` is not a dimension of this parameter; {has}", span)


def output_twice(span: Span, name: str, place: Span) -> Diagnostic:
    """Two outputs have the same name."""
    return error(
        "RT043",
        f"two outputs are named `{name}`",
        span,
        "rename one: `... as other`",
        secondary=(Label(place, "the other one"),),
    )


output_value = ErrorRow("RT044", "an output must be a tensor, not {what}")
output_free = ErrorRow(
    "RT045",
    "this output varies with `{dim}` in a way that is neither a point nor a slice",
    "define a tensor for it, and output that",
)
output_ragged = ErrorRow(
    "RT046",
    "`{name}` cannot be output over `{dim}`: its shape varies with `{dim}`, so the result would be "
    "ragged",
    "output one point of it, or reduce it first (`{name}[{dim} = ...]`)",
)


def output_partial(span: Span, shown: str, point: str, help: str) -> Diagnostic:
    """An output reads points at which the tensor is not defined, or that are none."""
    return error("RT047", f"`{shown}` is not defined at {point}", span, help)


def defined_part(name: str, slice: str) -> str:
    """Help where a tensor is defined at some points only: on the `slice`, if that is known."""
    which = f"output `{slice}`" if slice else f"output a slice on which `{name}` is defined"
    return f"{which}, or add an equation for the other points"


no_function = ErrorRow("RT048", "`{name}` is a parameter of this function already")


def rebound(span: Span, name: str, place: Span | None) -> Diagnostic:
    """A local name has two equations."""
    return error(
        "RT049",
        f"`{name}` has an equation already",
        span,
        "only the body of a `for` may give a name a new value",
        secondary=() if place is None else (Label(place, "here"),),
    )


local_cycle = ErrorRow(
    "RT050", "`{name}` is defined by itself", "a recurrence needs an index; `for` may rebind names"
)
for_over = ErrorRow("RT051", "`for` runs over `range(n)` or a list, not over {what}")
not_compile_time = ErrorRow(
    "RT053", "`{name}` is a tensor; only constants, bounds and numbers are known at compile time"
)
cast_not_compile_time = ErrorRow(
    "RT053",
    "`{name}` is introduced by a cast in an equation; only constants, bounds and numbers are known "
    "at compile time",
)
effect_key = ErrorRow("RT100", "a random key cannot be given to `{word}`")
save_outside = ErrorRow(
    "RT101",
    "the path of `save` leaves the output directory",
    'write a path below the output directory, as in "runs/net-{{i}}.safetensors"',
)
save_suffix = ErrorRow(
    "RT102", "`save` writes .safetensors files", 'end the path in ".safetensors"'
)


def save_dim(span: Span, name: str, dims: tuple[str, ...]) -> Diagnostic:
    """A place in the path that no index fills."""
    known = ", ".join(f"`{d}`" for d in dims) or "none"
    message = f"`{{{name}}}` is no dimension of what is saved, which varies with: {known}"
    return error("RT103", message, span)


save_braces = ErrorRow(
    "RT103",
    "the braces in the path of `save` do not match",
    'an index is named in braces, as in "net-{{i}}.safetensors"',
)


def save_twice(span: Span, path: str, when: str, place: Span) -> Diagnostic:
    """Two statements write one file."""
    return error(
        "RT105",
        f'"{path}" is saved twice{when}',
        span,
        "choose another path, or conditions of which only one holds",
        secondary=(Label(place, "here, too"),),
    )


def effect_never(span: Span, word: str, dim: str, bound: str) -> Diagnostic:
    """The indices of a condition never hold."""
    return error(
        "RT139",
        f"the condition of this `{word}` never holds, whatever the bounds",
        span,
        f"indices count from 0: the last `{dim}` is `{bound}-1`",
    )


effect_condition = ErrorRow(
    "RT109",
    "the condition of `{word}` must be a bool at each point, not {what}",
    "compare numbers, as in `when loss[i] > 10.0`, and reduce an axis with `any` or `all`",
)
save_repeats = ErrorRow(
    "RT104",
    "several points of `{dim}` are saved to one file",
    'name the index in the path, as in "net-{{{dim}}}.safetensors", or save one point',
)
