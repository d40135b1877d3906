"""Diagnostics of names, declarations, imports and `-D` (RT020 to RT053, RT100 to RT105)."""

from __future__ import annotations

from collections.abc import Sequence

from tempoc.base.diagnostics import Diagnostic, Label
from tempoc.base.source import Span
from tempoc.frontend.environment.scope import free_name
from tempoc.frontend.errors.library import about_function, about_name
from tempoc.ops.definition.types import TensorType


def _error(code: str, message: str, span: Span, help: str | None = None) -> Diagnostic:
    return Diagnostic(code=code, message=message, primary=Label(span), help=help)


def unknown_name(span: Span, name: str, close: str | None) -> Diagnostic:
    """Nothing of that name exists."""
    help = about_name(name) or (f"did you mean `{close}`?" if close else None)
    return _error("RT020", f"unknown name `{name}`", span, help)


def unknown_function(
    span: Span, name: str, close: str | None, types: Sequence[TensorType | None] = ()
) -> Diagnostic:
    """No function of that name exists; `types` are those of its arguments, as far as known."""
    help = about_function(name, types) or (f"did you mean `{close}`?" if close else None)
    return _error("RT021", f"unknown function `{name}`", span, help)


def unknown_member(span: Span, module: str, name: str, close: str | None) -> Diagnostic:
    """A module has no such function or constant."""
    help = f"did you mean `{module}.{close}`?" if close else about_function(f"{module}.{name}", ())
    return _error("RT022", f"the module `{module}` has no `{name}`", span, help)


def not_callable(span: Span, what: str, *, taken: bool) -> Diagnostic:
    """Only functions can be called; `taken`: there is one of that name in the language."""
    name = span.text.split("(")[0]
    help = f"`{name}` is defined in this file: give that another name" if taken else None
    return _error("RT070", f"{what} cannot be called", span, help)


def declared_twice(span: Span, name: str, place: Span | None) -> Diagnostic:
    """A name is introduced twice."""
    other = free_name(name, span.source.text)
    return Diagnostic(
        code="RT023",
        message=f"`{name}` is declared already",
        primary=Label(span),
        secondary=() if place is None else (Label(place, "declared here"),),
        help=f"choose another name, such as `{other}`",
    )


def bound_values(span: Span, name: str, place: Span) -> Diagnostic:
    """Two dimensions give their common bound different values."""
    return Diagnostic(
        code="RT024",
        message=f"the bound `{name}` has two values",
        primary=Label(span),
        secondary=(Label(place, "the other one"),),
        help="give the value once; the other dimension just names the bound",
    )


def bound_size(span: Span, name: str, value: int) -> Diagnostic:
    """A bound is less than 1, or larger than indices can be."""
    limit = "at least 1" if value < 1 else "below 2**31"
    return _error("RT025", f"the bound `{name}` is {value}; a bound is {limit}", span)


def bound_not_index(span: Span, name: str) -> Diagnostic:
    """A bound's value is no index expression over bounds."""
    return _error(
        "RT026",
        f"the value of the bound `{name}` must be an affine expression of other bounds",
        span,
    )


def bound_cycle(span: Span, names: tuple[str, ...]) -> Diagnostic:
    """Bounds are derived from each other."""
    return _error("RT027", f"bounds are derived from each other: {' -> '.join(names)}", span)


def const_value(span: Span, name: str, what: str) -> Diagnostic:
    """A constant is no compile-time number, bool, string or list."""
    return _error(
        "RT028",
        f"the constant `{name}` must be a compile-time number, bool, string or list, not {what}",
        span,
    )


def const_cycle(span: Span, name: str) -> Diagnostic:
    """A constant is defined by itself."""
    return _error("RT029", f"the constant `{name}` is defined by itself", span)


def unknown_define(name: str, close: str | None) -> Diagnostic:
    """`-D` names nothing."""
    help = f"did you mean `-D {close}=...`?" if close else "it overrides `const` and fixed bounds"
    message = f"-D {name}: no such constant or fixed bound"
    return Diagnostic(code="RT030", message=message, help=help)


def define_run_time(name: str) -> Diagnostic:
    """`-D` names a bound that is given at run time."""
    return Diagnostic(
        code="RT031",
        message=f"-D {name}: this bound has no compile-time value",
        help=f"give it when the program is run: --bounds {name}=...",
    )


def define_kind(name: str, text: str, wanted: str, span: Span) -> Diagnostic:
    """A `-D` value is of another kind than what it overrides."""
    return Diagnostic(
        code="RT032",
        message=f"-D {name}={text}: `{name}` is {wanted}",
        primary=Label(span, "declared here"),
    )


def define_derived(name: str, span: Span) -> Diagnostic:
    """`-D` names a derived bound."""
    return Diagnostic(
        code="RT033",
        message=f"-D {name}: this bound is derived from others",
        primary=Label(span, "declared here"),
    )


def not_importable(span: Span, module: str, name: str) -> Diagnostic:
    """Only functions and constants can be imported."""
    return _error(
        "RT034",
        f"`{name}` of `{module}` cannot be used here: a module gives functions and constants",
        span,
    )


def bad_assumption(span: Span) -> Diagnostic:
    """`assume` says nothing about bounds."""
    return _error(
        "RT035",
        "`assume` needs an affine condition over bounds and constants",
        span,
        "for example `assume P <= T`",
    )


def false_assumption(span: Span) -> Diagnostic:
    """No bounds satisfy the assumptions."""
    return _error("RT036", "no bounds satisfy this assumption together with the others", span)


def dim_name(span: Span, name: str, what: str) -> Diagnostic:
    """A declaration needs a dimension's name."""
    return _error("RT037", f"`{name}` is not a dimension, so {what} cannot vary with it", span)


def default_dims(span: Span, name: str, dim: str) -> Diagnostic:
    """A default varies with more than the param does."""
    message = f"the default of `{name}` varies with `{dim}`, but `{name}` does not"
    return _error("RT040", message, span, f"write `param {name}[{dim}]`, or read one point")


def default_cycle(span: Span, name: str) -> Diagnostic:
    """A default needs the param itself."""
    return _error("RT042", f"the value of `{name}` without a file would need `{name}` itself", span)


def dims_order(span: Span, name: str, wanted: tuple[str, ...]) -> Diagnostic:
    """A declaration names its dimensions out of order."""
    return _error(
        "RT038",
        f"the dimensions of `{name}` must stand in the order in which they are declared",
        span,
        f"write `{name}[{', '.join(wanted)}]`",
    )


def extent_dims(span: Span, name: str, dim: str) -> Diagnostic:
    """Data given at run time cannot be ragged."""
    return _error(
        "RT039",
        f"the shape of `{name}` cannot vary with `{dim}`: it is read from a file as one array",
        span,
    )


def template_dim(span: Span, dim: str, dims: tuple[str, ...]) -> Diagnostic:
    """A `from` template has a hole that is no dimension of the parameter."""
    has = f"the parameter has {', '.join(dims)}" if dims else "the parameter has no dimension"
    return _error("RT041", f"`{{{dim}}}` is not a dimension of this parameter; {has}", span)


def output_twice(span: Span, name: str, place: Span) -> Diagnostic:
    """Two outputs have the same name."""
    return Diagnostic(
        code="RT043",
        message=f"two outputs are named `{name}`",
        primary=Label(span),
        secondary=(Label(place, "the other one"),),
        help="rename one: `... as other`",
    )


def output_value(span: Span, what: str) -> Diagnostic:
    """Only tensors can be output."""
    return _error("RT044", f"an output must be a tensor, not {what}", span)


def output_free(span: Span, dim: str) -> Diagnostic:
    """An output entry that depends on a free dimension."""
    return _error(
        "RT045",
        f"this output varies with `{dim}` in a way that is neither a point nor a slice",
        span,
        "define a tensor for it, and output that",
    )


def output_ragged(span: Span, name: str, dim: str) -> Diagnostic:
    """The shapes of an output differ from point to point."""
    return _error(
        "RT046",
        f"`{name}` cannot be output over `{dim}`: its shape varies with `{dim}`, "
        "so the result would be ragged",
        span,
        f"output one point of it, or reduce it first (`{name}[{dim} = ...]`)",
    )


def output_partial(span: Span, name: str, point: str, shown: str, slice: str) -> Diagnostic:
    """An output reads points at which the tensor is not defined; on the `slice`, if any, it is."""
    which = f"output `{slice}`" if slice else f"output a slice on which `{name}` is defined"
    return _error(
        "RT047",
        f"`{shown}` is not defined at {point}",
        span,
        f"{which}, or add an equation for the other points",
    )


def no_function(span: Span, name: str) -> Diagnostic:
    """A parameter's name is used twice, or shadows."""
    return _error("RT048", f"`{name}` is a parameter of this function already", span)


def rebound(span: Span, name: str, place: Span | None) -> Diagnostic:
    """A local name has two equations."""
    return Diagnostic(
        code="RT049",
        message=f"`{name}` has an equation already",
        primary=Label(span),
        secondary=() if place is None else (Label(place, "here"),),
        help="only the body of a `for` may give a name a new value",
    )


def local_cycle(span: Span, name: str) -> Diagnostic:
    """A local name is defined by itself."""
    return _error(
        "RT050",
        f"`{name}` is defined by itself",
        span,
        "a recurrence needs an index; `for` may rebind names",
    )


def for_over(span: Span, what: str) -> Diagnostic:
    """`for` runs over something that is no range."""
    return _error("RT051", f"`for` runs over `range(n)` or a list, not over {what}", span)


def not_compile_time(span: Span, name: str) -> Diagnostic:
    """A declaration uses a tensor."""
    return _error(
        "RT053",
        f"`{name}` is a tensor; only constants, bounds and numbers are known at compile time",
        span,
    )


def effect_key(span: Span, word: str) -> Diagnostic:
    """Random keys are no data."""
    return _error("RT100", f"a random key cannot be given to `{word}`", span)


def save_outside(span: Span) -> Diagnostic:
    """A path that is not below the output directory."""
    help = 'write a path below the output directory, as in "runs/net-{i}.safetensors"'
    return _error("RT101", "the path of `save` leaves the output directory", span, help)


def save_suffix(span: Span) -> Diagnostic:
    """A file of another kind."""
    help = 'end the path in ".safetensors"'
    return _error("RT102", "`save` writes .safetensors files", span, help)


def save_dim(span: Span, name: str, dims: tuple[str, ...]) -> Diagnostic:
    """A place in the path that no index fills."""
    known = ", ".join(f"`{d}`" for d in dims) or "none"
    message = f"`{{{name}}}` is no dimension of what is saved, which varies with: {known}"
    return _error("RT103", message, span)


def save_braces(span: Span) -> Diagnostic:
    """A brace without its partner."""
    help = 'an index is named in braces, as in "net-{i}.safetensors"'
    return _error("RT103", "the braces in the path of `save` do not match", span, help)


def save_twice(span: Span, path: str, when: str, place: Span) -> Diagnostic:
    """Two statements write one file."""
    return Diagnostic(
        code="RT105",
        message=f'"{path}" is saved twice{when}',
        primary=Label(span),
        secondary=(Label(place, "here, too"),),
        help="choose another path, or conditions of which only one holds",
    )


def save_repeats(span: Span, dim: str) -> Diagnostic:
    """Points that differ in a dimension would write one file."""
    help = f'name the index in the path, as in "net-{{{dim}}}.safetensors", or save one point'
    return _error("RT104", f"several points of `{dim}` are saved to one file", span, help)
