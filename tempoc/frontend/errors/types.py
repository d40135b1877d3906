"""Diagnostics of values and types: dtypes, shapes, records, arguments (RT060 to RT099)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tempoc.diagnostics.diagnostic import Diagnostic, Label, error
from tempoc.diagnostics.error_row import ErrorRow
from tempoc.diagnostics.source import Span
from tempoc.frontend.environment import values as val
from tempoc.frontend.errors.library import about_arguments, about_missing, about_parameter
from tempoc.ops.definition.shapes import shape_text, type_text
from tempoc.ops.definition.types import DType, TensorType
from tempoc.symbolic.expr import Expr, Sym
from tempoc.symbolic.text import show

OPERANDS = "RT060"
ANNOTATION = "RT079"
SPATIAL = (
    "only the first bracket right after a tensor's name is temporal; after a parameter, a call, a "
    "parenthesis or a field temporal entries are named: `x[t = ...]`"
)


def operands(span: Span, message: str, help: str | None, *notes: str) -> Diagnostic:
    """An operator refused its operands."""
    return error(OPERANDS, message, span, help, notes=notes)


def defined_only(name: str, guard: str) -> str:
    """An axis is empty only where the operand has no value."""
    return f'`{name}` is defined only when {guard}: restrict this equation with "when {guard}"'


def empty_by_data(extent: str) -> str:
    """The data decide whether an axis has an element."""
    return (
        f"the data decide the length {extent}, which can be 0: add an element that changes no "
        "result, as -inf of floats: `max(concat([x, full([1], -inf)]))`"
    )


def temporal_slice(text: str, dims: Sequence[str]) -> str:
    """A note on positional slices of all dimensions of a tensor that has axes, too."""
    name, _, entries = text.partition("[")
    meant = f"`{name}[{', '.join(dims)}][{entries}`"
    if len(dims) == 1:
        return f"`{text}` slices the dimension `{dims[0]}`; of its first axis it is {meant}"
    return f"`{text}` slices the dimensions {', '.join(dims)}; of its first axes it is {meant}"


def key_parts(span: Span) -> Diagnostic:
    """What would be left of a random key is none."""
    help = "draw another with `random.key()`; a key is only stored, read and passed on"
    return error(OPERANDS, "a random key cannot be taken apart", span, help)


def not_a_tensor(span: Span, value: val.Value) -> Diagnostic:
    """A tensor was needed."""
    help = "call it" if val.describe(value).startswith("the function") else None
    if isinstance(value, val.Builtin) and value.name in DType._value2member_map_:
        help = f"call it; a type follows a colon, as in `x: {value.name}`"
    if isinstance(value, val.Listing):
        trees = any(isinstance(v, val.Listing | val.RecordValue) for v in value.items)
        help = "`stack(list, 0)` makes a tensor of it"
        if trees:
            help = "its items are no tensors: add up what is in them, as in `list[0].field + ...`"
    if isinstance(value, val.RecordValue):
        every = "as in `[sum(x) for x in leaves(record)]`; `optim.global_norm(record)` is a norm"
        help = f"take one field, as in `record.{value.names[0]}`, or all of them, {every}"
    return error("RT061", f"expected a tensor, found {val.describe(value)}", span, help)


scan_body = ErrorRow(
    "RT099",
    "the function of `associative_scan` uses {what}",
    "write it with operators of its two arguments alone",
)


def structure(span: Span, a: val.Value, b: val.Value) -> Diagnostic:
    """Two trees do not correspond."""
    message = f"{_structure(a)} does not match {_structure(b)}"
    return error("RT062", message, span, "elementwise operations need equal structure")


def _structure(value: val.Value) -> str:
    if isinstance(value, val.RecordValue):
        return f"a record {{{', '.join(value.names)}}}"
    if isinstance(value, val.Listing):
        return f"a list of {len(value.items)}"
    return val.describe(value)


def ragged_slice(span: Span, name: str, dim: str, type: TensorType) -> Diagnostic:
    """A slice over a dimension with which a shape varies."""
    return error(
        "RT063",
        f"a slice over `{dim}` would be ragged: the shape {shape_text(type.shape)} of `{name}` "
        f"varies with `{dim}`",
        span,
        "read it at a point, or give it a shape that does not vary",
    )


division_by_zero = ErrorRow("RT064", "division by zero")


def bad_operator(span: Span, op: str, a: val.Value, b: val.Value | None = None) -> Diagnostic:
    """An operator does not apply to what it was given."""
    what = val.describe(a) if b is None else f"{val.describe(a)} and {val.describe(b)}"
    return error("RT065", f"`{op}` does not apply to {what}", span)


def needs_number(span: Span, what: str, value: val.Value, dim: str) -> Diagnostic:
    """Something must be known at compile time; it is a dimension, if ``dim`` names one."""
    help = None
    if dim and what == "`axis`":
        help = f"a range along `{dim}` has an axis for it: of `x[{dim} = 0:n]` it is axis 0"
    elif isinstance(value, val.Listing) and what in ("`stride`", "`rhs_dilation`"):
        help = "one number counts for all spatial axes"
        if what == "`stride`":
            help += "; rows and columns at other distances are `conv(x, w)[::2, ::3]`"
    elif what.endswith("`range`"):
        match value:
            case val.Index(Sym(bound)) if not dim:
                help = f"so many steps are a dimension: `dim k < {bound}`, and `y[k] = ...`"
    message = f"{what} must be a compile-time integer, not {val.describe(value)}"
    return error("RT066", message, span, help)


def needs_kind(span: Span, what: str, kind: str, value: val.Value) -> Diagnostic:
    """An argument of another kind was needed."""
    return error("RT067", f"{what} must be {kind}, not {val.describe(value)}", span)


def needs_choice(span: Span, what: str, choices: Sequence[str], given: str) -> Diagnostic:
    """An argument is one of some texts."""
    listed = " or ".join(f'`"{c}"`' for c in choices)
    return error("RT067", f'{what} must be {listed}, not "{given}"', span)


def needs_dtype(span: Span, name: str, value: val.Value) -> Diagnostic:
    """The argument `dtype` of a function is none; numbers there are often a second extent."""
    help = None
    if isinstance(value, val.ConstantNumber | val.Index) and "=" not in span.text:
        help = about_arguments(name) or "a shape is one list, as in `zeros([2, 3])`"
    return error("RT067", f"`dtype` must be a dtype, not {val.describe(value)}", span, help)


def needs_index(span: Span, what: str, value: val.Value) -> Diagnostic:
    """An extent or the like must be an index expression."""
    help = (
        "index expressions are made of integers, dimensions, bounds, `+ - * // %`, `min` and `max`"
    )
    if "//" in span.text or "%" in span.text:
        help = "a divisor is a compile-time integer, but a dimension may be that long: "
        text = span.text.strip("[]")
        help += f"`dim k < K = {'...' if ',' in text else text}`, and then `K`"
    elif isinstance(value, val.Ref) and value.type.dtype.is_int and "=" not in span.text:
        count = span.text.strip("[]")
        help += f"; of a count that the data decide `length({count}, most = ...)` is one"
    message = f"{what} must be an index expression, not {val.describe(value)}"
    return error("RT068", message, span, help)


def no_field(
    span: Span, value: val.Value, name: str, close: str | None, way_out: str | None = None
) -> Diagnostic:
    """A record has no such field; of anything else `way_out` says what may be meant."""
    if isinstance(value, val.RecordValue):
        help = f"did you mean `{close}`?" if close else f"it has {_names(value.names)}"
        return error("RT069", f"the record has no field `{name}`", span, help)
    return error("RT069", f"{val.describe(value)} has no field `{name}`", span, way_out)


def field_of_list(span: Span, value: val.Value, name: str, element: str) -> Diagnostic:
    """A list whose elements have the field; `element` is one of them."""
    help = f"its elements have it: `{element}.{name}`; a bracket right after a name is temporal"
    return no_field(span, value, name, None, help)


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{n}`" for n in names)


def wrong_count(span: Span, name: str, expected: str, given: int) -> Diagnostic:
    """A function got too many or too few arguments."""
    plural = "argument" if expected == "1" else "arguments"
    message = f"`{name}` takes {expected} {plural}, not {given}"
    return error("RT071", message, span, about_arguments(name))


def missing_argument(span: Span, name: str, parameter: str, signature: str) -> Diagnostic:
    """A parameter without a default got nothing."""
    message = f"`{name}` needs an argument for `{parameter}`"
    return error("RT072", message, span, about_missing(name) or f"it is `{signature}`")


def unknown_argument(
    span: Span, name: str, argument: str, close: str | None, signature: str
) -> Diagnostic:
    """A keyword that a function does not have."""
    other = about_parameter(argument)
    if other and re.search(rf"\b{other}\b", signature):
        close = other
    help = f"did you mean `{close}`?" if close else f"it is `{signature}`"
    return error("RT073", f"`{name}` has no parameter `{argument}`", span, help)


argument_twice = ErrorRow("RT074", "`{name}` got `{argument}` twice")


def needs_dimension(span: Span, name: str, parameter: str, value: val.Value) -> Diagnostic:
    """A `dim` parameter got something else."""
    number = "`e * K + k`, the slowest first and `K` the bound of `k`"
    return error(
        "RT075",
        f"`{name}` needs a dimension for `{parameter}`, not {val.describe(value)}",
        span,
        f"of nested dimensions give the number of the step: {number}"
        if isinstance(value, val.Index | val.Ref)
        else None,
    )


def not_one_step(span: Span, function: str, parameter: str, place: Span) -> Diagnostic:
    """A function that is given nested dimensions steps along them in another way, at `place`."""
    return error(
        "RT107",
        f"`{function}` does not go along `{parameter}` from one step to the next alone, so that "
        f"`{parameter}` cannot be several nested dimensions",
        span,
        "give it one dimension",
        secondary=(Label(place, "this is no step back by one"),),
    )


recursion = ErrorRow(
    "RT076",
    "recursion: `{name}` calls itself, directly or through another function",
    "functions are expanded where they are called: write a recurrence over a dimension",
)


def wrong_results(span: Span, expected: int, value: val.Value) -> Diagnostic:
    """An equation has more or fewer targets than there are results."""
    given = len(value.items) if hasattr(value, "items") else 1
    plural = "result" if given == 1 else "results"
    targets = "1 target" if expected == 1 else f"{expected} targets"
    help = "give each result a target: `a, b = ...`" if given > expected else None
    if given == 0:
        help = f"nothing comes back, so write `_ = {span.text}`"
    return error("RT078", f"{targets} for {given} {plural}", span, help)


def several_results(span: Span, value: val.Value) -> Diagnostic:
    """A function with several results, or none, is used as one value."""
    if isinstance(value, val.Several) and not value.items:
        message = "one value is needed here, but this function gives nothing"
        return error("RT078", message, span, "call it in an equation of its own: `_ = ...`")
    return error(
        "RT078",
        f"one value is needed here, but this gives {val.describe(value)}",
        span,
        "give each result a target: `a, b = ...`",
    )


def annotation(span: Span, actual: TensorType, declared: TensorType | str) -> Diagnostic:
    """A type annotation that cannot be right."""
    says = declared if isinstance(declared, str) else type_text(declared)
    return error(ANNOTATION, f"this is {type_text(actual)}, the annotation says {says}", span)


def branch_types(
    span: Span, name: str, first: TensorType, other: TensorType, place: Span
) -> Diagnostic:
    """Two equations of a tensor differ in shape."""
    return error(
        "RT080",
        f"the equations of `{name}` give {type_text(first)} and {type_text(other)}",
        span,
        "all equations of a tensor give one shape; only a number fits every shape "
        "(a shape that varies with time is written down, as in `x[t]: f32[t+1] = ...`)",
        label=f"this is {type_text(other)}",
        secondary=(Label(place, f"this is {type_text(first)}"),),
    )


def choice_types(span: Span, word: str, first: TensorType, other: TensorType) -> Diagnostic:
    """The two sides of an `if` or a `cond` differ in shape."""
    return error(
        "RT080",
        f"the branches of `{word}` are {type_text(first)} and {type_text(other)}",
        span,
        "both branches have one shape; only a number fits every shape",
    )


def branch_structure(
    span: Span, name: str, first: val.Value, other: val.Value, place: Span
) -> Diagnostic:
    """Two equations of a tensor differ in structure."""
    return error(
        "RT080",
        f"the equations of `{name}` give {_structure(first)} and {_structure(other)}",
        span,
        secondary=(Label(place),),
    )


never_known = ErrorRow(
    "RT081",
    "the type of `{name}` cannot be inferred: every equation for it reads it",
    "write its type: `{name}[...]: f32[...] = ...`",
)
growing = ErrorRow(
    "RT082",
    "the shape of `{name}` cannot be inferred: it grows with every step",
    "write its type: `{name}[t]: f32[t+1] = ...`",
)


def negative_extent(span: Span, extent: Expr) -> Diagnostic:
    """An extent is a negative number."""
    return error("RT083", f"the extent {show(extent)} is negative", span)


def negative_extent_at(span: Span, extent: Expr, value: int, when: str) -> Diagnostic:
    """An extent is negative at some point."""
    message = f"the extent {show(extent)} is {value}{when}"
    help = "write `max(0, ...)`, restrict the equation with `when`, or `assume` more of the bounds"
    return error("RT083", message, span, help)


def extents_once(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics, one alone for an extent that is negative wherever it stands."""
    merged: dict[object, Diagnostic] = {}
    for d in diagnostics:
        cause = (d.code, d.message) if d.code == "RT083" else d
        first = merged.get(cause)
        if first is not None and d.primary is not None:
            label = Label(d.primary.span, "and here")
            d = replace(first, secondary=(*first.secondary, label))
        merged[cause] = d
    return list(merged.values())


def provisional(name: str) -> str:
    """The help where a shape was taken from a number."""
    return (
        f"the shape of `{name}` was taken from a number; "
        f"write its type where it is one of more axes: `{name}[...]: f32[...]`"
    )


def bad_literal(span: Span, text: str, dtype: str) -> Diagnostic:
    """A number does not fit; it is underlined where it is written within or after the span."""
    is_wide = dtype == "i32" and text.removeprefix("-").isdigit()
    help = "cast it: `i64(...)` or `f32(...)`" if is_wide else None
    return error("RT084", f"{text} does not fit into {dtype}", _number(span, text), help)


def _number(span: Span, text: str) -> Span:
    """Where a number is written, up to the end of the span's last line; else the span itself."""
    source = span.source.text
    end = source.find("\n", span.end)
    shown = source[span.start : end if end >= 0 else len(source)].partition("#")[0]
    match = re.search(rf"(?<![\w.]){re.escape(text.removeprefix('-'))}(?![\w.])", shown)
    if match is None:
        return span
    start = span.start + match.start()
    start -= text.startswith("-") and source[start - 1] == "-"
    return Span(span.source, start, span.start + match.end())


def list_index(span: Span, index: int, count: int) -> Diagnostic:
    """A list index is out of range."""
    plural = "element" if count == 1 else "elements"
    return error("RT085", f"index {index} is outside a list of {count} {plural}", span)


def too_many_indices(span: Span, given: int, ndim: int, varies: bool = True) -> Diagnostic:
    """More spatial indices than axes; ``varies``: the tensor has temporal dimensions."""
    axes = {0: "it has no axes", 1: "it has 1 axis"}.get(ndim, f"it has {ndim} axes")
    plural = "index" if given == 1 else "indices"
    same = "it is the same at all points: read it without a bracket"
    help = SPATIAL if ndim or varies else same
    return error("RT086", f"{given} {plural} into a tensor, but {axes}", span, help)


def spatial_range(
    span: Span, shown: str, index: int, extent: int, formula: str, when: str, meant: str
) -> Diagnostic:
    """A spatial index may leave its axis; ``meant``: what may have been, and how it is said."""
    axis = formula if formula == str(extent) else f"{formula} = {extent}"
    help = "restrict the equation with `when`, or `assume` what the bounds satisfy"
    if meant:
        help = f"this bracket is spatial: {meant}"
    return error(
        "RT087",
        f"`{shown}` reads position {index} of an axis of extent {axis}{when}",
        span,
        help if when else None,
    )


spatial_step = ErrorRow(
    "RT089",
    "the step of a slice must be a positive compile-time integer",
    "use `flip` to reverse an axis",
)
condition_tensor = ErrorRow(
    "RT090",
    "the condition of `a if c else b` must be an index condition, not a tensor",
    "use `where(c, a, b)` for an elementwise choice",
)
index_gather_twice = ErrorRow(
    "RT092",
    "of several tensors in a bracket, each must be a scalar",
    "with scalars, `x[i, j]` is an element at each point of a dimension; or index one axis after "
    "the other: `x[i][j]`",
)
extremum = ErrorRow(
    "RT094",
    "`{name}` reduces one tensor; its second argument is an axis",
    "the elementwise function is `{other}`",
)
bad_widths = ErrorRow(
    "RT095", "`widths` must be a number, a pair, or a pair for each of the {ndim} axes"
)


def needs_list(span: Span, name: str, value: val.Value) -> Diagnostic:
    """A function of several tensors got one."""
    return error(
        "RT096",
        f"`{name}` takes a list of tensors, not {val.describe(value)}",
        span,
        f"`{name}([a, b], axis)`",
    )


too_long = ErrorRow(
    "RT097",
    "a range of {count} elements is too long to be unrolled: the limit `range-length` is {most}",
    "use a temporal dimension, or raise it: `--limit range-length={count}`",
)


def record_index(span: Span, value: val.Value) -> Diagnostic:
    """A positional bracket after a record."""
    return error(
        "RT098",
        f"{_structure(value)} cannot be indexed by position",
        span,
        "temporal entries stand right after the name (`net[i].w`), keyword entries anywhere",
    )


def axes_of_steps(name: str, entry: str) -> str:
    """Help where an axis was named and a dimension is meant."""
    return f"axes are those of one step; all steps are `{name}[{entry}]`"


def unproved_extents(help: str | None) -> str:
    """Two extents could not be proved equal."""
    checked = "`x as f32[T]` states an extent and has it checked when the program runs"
    return checked if help is None else f"{help}; {checked}"
