"""Diagnostics of values and types: dtypes, shapes, records, arguments (RT060 to RT099)."""

from __future__ import annotations

from collections.abc import Iterable

from tempoc.base.diagnostics import Diagnostic, Label
from tempoc.base.source import Span
from tempoc.frontend.environment.values import (
    Builtin,
    Listing,
    RecordValue,
    Several,
    Value,
    describe,
)
from tempoc.ops.definition.shapes import shape_text, type_text
from tempoc.ops.definition.types import DType, TensorType
from tempoc.symbolic.expr import Expr
from tempoc.symbolic.text import show

OPERANDS = "RT060"
ANNOTATION = "RT079"
SPATIAL = (
    "only the first bracket right after a tensor's name is temporal; after a parameter, a call, a "
    "parenthesis or a field temporal entries are named: `x[t = ...]`"
)


def _error(code: str, message: str, span: Span, help: str | None = None, *notes: str) -> Diagnostic:
    return Diagnostic(code=code, message=message, primary=Label(span), help=help, notes=notes)


def operands(span: Span, message: str, help: str | None) -> Diagnostic:
    """An operator refused its operands."""
    return _error(OPERANDS, message, span, help)


def key_parts(span: Span) -> Diagnostic:
    """What would be left of a random key is none."""
    help = "draw another with `random.key()`; a key is only stored, read and passed on"
    return _error(OPERANDS, "a random key cannot be taken apart", span, help)


def not_a_tensor(span: Span, value: Value) -> Diagnostic:
    """A tensor was needed."""
    help = "call it" if describe(value).startswith("the function") else None
    if isinstance(value, Builtin) and value.name in DType._value2member_map_:
        help = f"call it; a type follows a colon, as in `x: {value.name}`"
    if isinstance(value, Listing):
        help = "`stack(list, 0)` makes a tensor of it"
    return _error("RT061", f"expected a tensor, found {describe(value)}", span, help)


def scan_body(span: Span, what: str) -> Diagnostic:
    """A function that cannot be a step of an associative scan."""
    help = "write it with operators of its two arguments alone"
    return _error("RT099", f"the function of `associative_scan` uses {what}", span, help)


def structure(span: Span, a: Value, b: Value) -> Diagnostic:
    """Two trees do not correspond."""
    message = f"{_structure(a)} does not match {_structure(b)}"
    return _error("RT062", message, span, "elementwise operations need equal structure")


def _structure(value: Value) -> str:
    if isinstance(value, RecordValue):
        return f"a record {{{', '.join(value.names)}}}"
    if isinstance(value, Listing):
        return f"a list of {len(value.items)}"
    return describe(value)


def ragged_slice(span: Span, name: str, dim: str, type: TensorType) -> Diagnostic:
    """A slice over a dimension with which a shape varies."""
    return _error(
        "RT063",
        f"a slice over `{dim}` would be ragged: the shape {shape_text(type.shape)} of `{name}` "
        f"varies with `{dim}`",
        span,
        "read it at a point, or give it a shape that does not vary",
    )


def division_by_zero(span: Span) -> Diagnostic:
    """A constant expression divides by zero."""
    return _error("RT064", "division by zero", span)


def bad_operator(span: Span, op: str, a: Value, b: Value | None = None) -> Diagnostic:
    """An operator does not apply to what it was given."""
    what = describe(a) if b is None else f"{describe(a)} and {describe(b)}"
    return _error("RT065", f"`{op}` does not apply to {what}", span)


def needs_number(span: Span, what: str, value: Value) -> Diagnostic:
    """Something must be known at compile time."""
    return _error("RT066", f"{what} must be a compile-time integer, not {describe(value)}", span)


def needs_kind(span: Span, what: str, kind: str, value: Value) -> Diagnostic:
    """An argument of another kind was needed."""
    return _error("RT067", f"{what} must be {kind}, not {describe(value)}", span)


def needs_index(span: Span, what: str, value: Value) -> Diagnostic:
    """An extent or the like must be an index expression."""
    return _error(
        "RT068",
        f"{what} must be an index expression, not {describe(value)}",
        span,
        "index expressions are made of integers, dimensions, bounds, `+ - * // %`, `min` and `max`",
    )


def no_field(
    span: Span, value: Value, name: str, close: str | None, way_out: str | None = None
) -> Diagnostic:
    """A record has no such field; of anything else `way_out` says what may be meant."""
    if isinstance(value, RecordValue):
        help = f"did you mean `{close}`?" if close else f"it has {_names(value.names)}"
        return _error("RT069", f"the record has no field `{name}`", span, help)
    return _error("RT069", f"{describe(value)} has no field `{name}`", span, way_out)


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{n}`" for n in names)


def wrong_count(span: Span, name: str, wanted: str, given: int) -> Diagnostic:
    """A function got too many or too few arguments."""
    plural = "argument" if wanted == "1" else "arguments"
    return _error("RT071", f"`{name}` takes {wanted} {plural}, not {given}", span)


def missing_argument(span: Span, name: str, parameter: str, signature: str) -> Diagnostic:
    """An argument without a default was not given."""
    return _error(
        "RT072", f"`{name}` needs an argument for `{parameter}`", span, f"it is `{signature}`"
    )


def unknown_argument(
    span: Span, name: str, argument: str, close: str | None, signature: str
) -> Diagnostic:
    """A keyword that a function does not have."""
    help = f"did you mean `{close}`?" if close else f"it is `{signature}`"
    return _error("RT073", f"`{name}` has no parameter `{argument}`", span, help)


def argument_twice(span: Span, name: str, argument: str) -> Diagnostic:
    """An argument is given by position and by name."""
    return _error("RT074", f"`{name}` got `{argument}` twice", span)


def needs_dimension(span: Span, name: str, parameter: str, value: Value) -> Diagnostic:
    """A `dim` parameter got something else."""
    return _error(
        "RT075", f"`{name}` needs a dimension for `{parameter}`, not {describe(value)}", span
    )


def recursion(span: Span, name: str) -> Diagnostic:
    """A function calls itself."""
    return _error(
        "RT076",
        f"recursion: `{name}` calls itself, directly or through another function",
        span,
        "functions are expanded where they are called: write a recurrence over a dimension",
    )


def too_deep(span: Span) -> Diagnostic:
    """Calls are nested beyond all reason."""
    return _error("RT077", "calls are nested too deeply", span)


def wrong_results(span: Span, wanted: int, value: Value) -> Diagnostic:
    """An equation has more or fewer targets than there are results."""
    given = len(value.items) if hasattr(value, "items") else 1
    plural = "result" if given == 1 else "results"
    targets = "1 target" if wanted == 1 else f"{wanted} targets"
    help = f"nothing comes back, so write `_ = {span.text}`" if given == 0 else None
    return _error("RT078", f"{targets} for {given} {plural}", span, help)


def several_results(span: Span, value: Value) -> Diagnostic:
    """A function with several results, or none, is used as one value."""
    if isinstance(value, Several) and not value.items:
        message = "one value is needed here, but this function gives nothing"
        return _error("RT078", message, span, "call it in an equation of its own: `_ = ...`")
    return _error(
        "RT078",
        f"one value is needed here, but this gives {describe(value)}",
        span,
        "give each result a target: `a, b = ...`",
    )


def annotation(span: Span, found: TensorType, declared: TensorType | str) -> Diagnostic:
    """A type annotation that cannot be right."""
    says = declared if isinstance(declared, str) else type_text(declared)
    return _error(ANNOTATION, f"this is {type_text(found)}, the annotation says {says}", span)


def branch_types(
    span: Span, name: str, first: TensorType, other: TensorType, place: Span
) -> Diagnostic:
    """Two equations of a tensor differ in shape."""
    return Diagnostic(
        code="RT080",
        message=f"the equations of `{name}` give {type_text(first)} and {type_text(other)}",
        primary=Label(span, f"this is {type_text(other)}"),
        secondary=(Label(place, f"this is {type_text(first)}"),),
        help="all equations of a tensor give one shape; only a number fits every shape "
        "(a shape that varies with time is written down, as in `x[t]: f32[t+1] = ...`)",
    )


def choice_types(span: Span, word: str, first: TensorType, other: TensorType) -> Diagnostic:
    """The two sides of an `if` or a `cond` differ in shape."""
    return Diagnostic(
        code="RT080",
        message=f"the branches of `{word}` are {type_text(first)} and {type_text(other)}",
        primary=Label(span),
        help="both branches have one shape; only a number fits every shape",
    )


def branch_structure(span: Span, name: str, first: Value, other: Value, place: Span) -> Diagnostic:
    """Two equations of a tensor differ in structure."""
    return Diagnostic(
        code="RT080",
        message=(f"the equations of `{name}` give {_structure(first)} and {_structure(other)}"),
        primary=Label(span),
        secondary=(Label(place),),
    )


def never_known(span: Span, name: str) -> Diagnostic:
    """Inference found no type for a tensor."""
    return _error(
        "RT081",
        f"the type of `{name}` cannot be inferred: every equation for it reads it",
        span,
        f"write its type: `{name}[...]: f32[...] = ...`",
    )


def growing(span: Span, name: str) -> Diagnostic:
    """Inference does not come to an end."""
    return _error(
        "RT082",
        f"the shape of `{name}` cannot be inferred: it grows with every step",
        span,
        f"write its type: `{name}[t]: f32[t+1] = ...`",
    )


def negative_extent(span: Span, extent: Expr) -> Diagnostic:
    """An extent is a negative number."""
    return _error("RT083", f"the extent {show(extent)} is negative", span)


def negative_extent_at(span: Span, extent: Expr, value: int, when: str) -> Diagnostic:
    """An extent is negative at some point."""
    message = f"the extent {show(extent)} is {value}{when}"
    help = "write `max(0, ...)`, restrict the equation with `when`, or `assume` more of the bounds"
    return _error("RT083", message, span, help)


def provisional(name: str) -> str:
    """The help where a shape was taken from a number."""
    return (
        f"the shape of `{name}` was taken from a number; "
        f"write its type where it is one of more axes: `{name}[...]: f32[...]`"
    )


def bad_literal(span: Span, text: str, dtype: str) -> Diagnostic:
    """A number does not fit."""
    help = "cast it: `i64(...)` or `f32(...)`" if dtype == "i32" else None
    return _error("RT084", f"{text} does not fit into {dtype}", span, help)


def list_index(span: Span, index: int, count: int) -> Diagnostic:
    """A list index is out of range."""
    plural = "element" if count == 1 else "elements"
    return _error("RT085", f"index {index} is outside a list of {count} {plural}", span)


def too_many_indices(span: Span, given: int, ndim: int) -> Diagnostic:
    """More spatial indices than axes."""
    axes = {0: "it has no axes", 1: "it has 1 axis"}.get(ndim, f"it has {ndim} axes")
    plural = "index" if given == 1 else "indices"
    return _error("RT086", f"{given} {plural} into a tensor, but {axes}", span, SPATIAL)


def spatial_range(
    span: Span, shown: str, index: int, extent: int, formula: str, when: str
) -> Diagnostic:
    """A spatial index may leave its axis."""
    axis = formula if formula == str(extent) else f"{formula} = {extent}"
    return _error(
        "RT087",
        f"`{shown}` reads position {index} of an axis of extent {axis}{when}",
        span,
        "restrict the equation with `when`, or `assume` what the bounds satisfy" if when else None,
    )


def spatial_step(span: Span) -> Diagnostic:
    """A spatial slice with a step that is not a positive constant."""
    return _error(
        "RT089", "the step of a slice must be a positive compile-time integer", span,
        "use `flip` to reverse an axis",
    )  # fmt: skip


def condition_tensor(span: Span) -> Diagnostic:
    """`if` on a tensor."""
    return _error(
        "RT090",
        "the condition of `a if c else b` must be an index condition, not a tensor",
        span,
        "use `where(c, a, b)` for an elementwise choice",
    )


def index_gather_twice(span: Span) -> Diagnostic:
    """Two integer tensors in one bracket."""
    return _error(
        "RT092",
        "at most one index of a bracket may be a tensor",
        span,
        "index one axis after the other: `x[i][j]`",
    )


def extremum(span: Span, name: str, other: str) -> Diagnostic:
    """`max(a, b)` of tensors."""
    return _error(
        "RT094",
        f"`{name}` reduces one tensor; its second argument is an axis",
        span,
        f"the elementwise function is `{other}`",
    )


def bad_widths(span: Span, ndim: int) -> Diagnostic:
    """`pad` with widths of a strange form."""
    return _error(
        "RT095",
        f"`widths` must be a number, a pair, or a pair for each of the {ndim} axes",
        span,
    )


def needs_list(span: Span, name: str, value: Value) -> Diagnostic:
    """A function of several tensors got one."""
    return _error(
        "RT096", f"`{name}` takes a list of tensors, not {describe(value)}", span,
        f"`{name}([a, b], axis)`",
    )  # fmt: skip


def too_long(span: Span, count: int) -> Diagnostic:
    """A range that nobody can want unrolled."""
    return _error(
        "RT097",
        f"a range of {count} elements is too long to be unrolled",
        span,
        "use a temporal dimension",
    )


def record_index(span: Span, value: Value) -> Diagnostic:
    """A positional bracket after a record."""
    return _error(
        "RT098",
        f"{_structure(value)} cannot be indexed by position",
        span,
        "temporal entries stand right after the name (`net[i].w`), keyword entries anywhere",
    )


def unproved_extents(help: str | None) -> str:
    """Two extents could not be proved equal."""
    checked = "`x as f32[T]` states an extent and has it checked when the program runs"
    return checked if help is None else f"{help}; {checked}"
