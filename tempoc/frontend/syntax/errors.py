"""Diagnostics of syntax errors, RT001 to RT019, one function per error.

Only wording: `layout`, `parse`, the semantic actions and `load_modules` detect the errors.
"""

import re

from tempoc.diagnostics.diagnostic import Diagnostic, Label, error
from tempoc.diagnostics.error_row import ErrorRow
from tempoc.diagnostics.source import Span

# RT001: a word that does not fit


def unexpected(span: Span, actual: str, expected: str | None) -> Diagnostic:
    """Something stands where nothing like it can."""
    suffix = f", expected {expected}" if expected else ""
    return error("RT001", f"unexpected {actual.removeprefix('the ')}{suffix}", span)


missing_operand = ErrorRow("RT001", "expected an expression after `{after}`, found {actual}")
left_shift = ErrorRow("RT001", "`<<` is not part of the language", "write `left_shift(x, places)`")
right_shift = ErrorRow(
    "RT001", "`>>` is not part of the language", "write `right_shift(x, places)`"
)
condition_first = ErrorRow(
    "RT001",
    "`if` stands between two values",
    "write `a if t > 0 else b`, or `where(x > 0, a, b)` for a condition that depends on data",
)


def missing_separator(span: Span, before: str, actual: str, *, inside: str) -> Diagnostic:
    """Two values in a row."""
    if inside:
        message = f"expected an operator, `,` or `{inside}` between `{before}` and {actual}"
        return error("RT001", message, span)
    message = f"expected an operator or the end of the statement after `{before}`, found {actual}"
    return error("RT001", message, span, "statements end at a line break or `;`")


second_equals = ErrorRow(
    "RT001", "unexpected `=` in an expression", "two values are compared by `==`"
)


def misused(span: Span, message: str, help: str | None) -> Diagnostic:
    """A construct that was begun and not written as it should be; see `samples`."""
    return error("RT001", message, span, help)


# RT002: brackets


def unclosed_bracket(opener: Span, closing: str, until: Span | None) -> Diagnostic:
    """A bracket without its partner at the end of the statement."""
    secondary = () if until is None else (Label(until, f"expected `{closing}` before this"),)
    return error(
        "RT002", f"missing `{closing}`", opener, label="this is never closed", secondary=secondary
    )


def wrong_bracket(span: Span, actual: str, opener: Span, closing: str) -> Diagnostic:
    """A closing bracket of another kind than the open one."""
    return error(
        "RT002",
        f"missing `{closing}` before `{actual}`",
        span,
        secondary=(Label(opener, "the bracket that is open"),),
    )


stray_bracket = ErrorRow("RT002", "`{actual}` closes nothing")


# RT003: strings


unclosed_string = ErrorRow("RT003", "unclosed string", 'end it with `"` on the same line')
unclosed_doc = ErrorRow("RT003", "unclosed documentation string", 'end it with `"""`')
single_quotes = ErrorRow("RT003", "strings are written with double quotes", 'write `"..."`')
bad_escape = ErrorRow(
    "RT003",
    "unknown escape `{escape}` in a string",
    'the escapes are `\\"`, `\\\\`, `\\n` and `\\t`',
)
misplaced_doc = ErrorRow(
    "RT003",
    "a triple-quoted string is documentation and cannot stand here",
    "put it first in the file or in the body of a def; use `#` for comments",
)


# RT004, RT005: characters and numbers

_INSTEAD = {
    "&": "write `and`, of the bits of integers `bitwise_and(a, b)`",
    "|": "write `or`, of the bits of integers `bitwise_or(a, b)`",
    "!": "write `not`",
    "~": "write `not`, of the bits of an integer `bitwise_not(a)`",
    "^": "a power is written `**`; of the bits of integers write `bitwise_xor(a, b)`",
    "\\": "a statement goes on by itself after an operator and inside brackets",
    "?": "write `where(condition, a, b)`, of indices `a if condition else b`",
}


def stray_character(span: Span, character: str) -> Diagnostic:
    """A character that is not part of the language."""
    shown = f"`{character}`" if character.isprintable() else "this character"
    if not (character.isascii() and character.isprintable()):
        shown += f" (U+{ord(character):04X})"
    return error("RT004", f"{shown} is not part of the language", span, _INSTEAD.get(character))


_SHOWN = 60


def bad_number(span: Span, text: str) -> Diagnostic:
    """Something that begins like a number."""
    help = "numbers are written `12`, `1.5` or `1e-3`"
    product = re.fullmatch(r"([1-9][0-9]*(?:\.[0-9]*)?)([A-DF-Za-df-z]\w*)", text)
    if product is not None and not product[2].startswith("_"):
        help = f"a product is written `{product[1]} * {product[2]}`"
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
    return error("RT005", f"`{shown}` is not a number", span, help)


number_too_large = ErrorRow(
    "RT017",
    "this number is too large: it has to be below 1.8e308",
    "where infinity is meant, write `inf`",
)


# RT006: nesting


too_deep = ErrorRow(
    "RT006",
    "this expression is nested more than {limit} levels deep",
    "give parts of it names with equations of their own, or use `sum` over a slice",
    "a chain of operators counts one level for each operator",
)


# RT007, RT008, RT009: names, comparisons, places


keyword_as_name = ErrorRow(
    "RT007",
    "`{word}` is a keyword and cannot be used as a name",
    "choose another name, such as `{word}_`",
)
chained_comparison = ErrorRow(
    "RT008", "chained comparisons are not part of the language", "write `{instead}`"
)


def misplaced_statement(span: Span, word: str, where: str) -> Diagnostic:
    """A declaration in a def, or `for` and `return` outside."""
    help = _LOOP if word == "for" else None
    return error("RT009", f"`{word}` can only stand {where}", span, help)


_LOOP = (
    "equations hold at all points of a dimension: declare `dim t < T` and write `x[t] = ...`, "
    "with `x[t-1]` for the step before"
)


missing_return = ErrorRow("RT009", "the body of `{name}` does not end with `return`")
misplaced_return = ErrorRow("RT009", "`return` can only be the last statement of a def")


# RT010, RT011: entries, arguments, targets


mixed_entries = ErrorRow(
    "RT010",
    "the entries of a bracket are all positional or all keyword",
    "with `[{named}]` all other dimensions are the identity; name those that are not, as in "
    "`[t = t-1]`",
)
positional_after_keyword = ErrorRow(
    "RT010", "a positional argument cannot follow a keyword argument"
)
default_order = ErrorRow("RT010", "parameter `{name}` has no default but follows one that has")


def repeated(span: Span, what: str, name: str, first: Span) -> Diagnostic:
    """A name given twice in one list."""
    secondary = (Label(first, "first here"),)
    return error("RT010", f"{what} `{name}` is given twice", span, secondary=secondary)


target_entry = ErrorRow(
    "RT011",
    "an equation defines single points, so a slice cannot stand in its target",
    "write a dimension (`t`), a shifted one (`t+1`) or a constant",
)


def value_count(span: Span, targets: int, values: int) -> Diagnostic:
    """`a, b = c, d, e`."""
    has = f"{targets} target{'s' if targets > 1 else ''}"
    return error("RT011", f"an equation with {has} cannot have {values} values", span)


# RT012: fixed sets of words


ELSEWHERE = {
    "byte": "u8", "double": "f64", "float": "f32", "half": "f16", "int": "i32", "long": "i64",
    "uint": "u32",
}  # fmt: skip
"""Names of dtypes in other languages that are not similar to those here."""


def unknown_dtype(span: Span, name: str, known: tuple[str, ...], close: str | None) -> Diagnostic:
    """A type that is none."""
    hint = f"did you mean `{close}`?" if close else None
    return error(
        "RT012",
        f"there is no type `{name}`",
        span,
        hint,
        notes=(f"the types are {' '.join(known)}",),
    )


unknown_extern_kind = ErrorRow(
    "RT012",
    "there is no kind of extern called `{name}`",
    "write `extern jax` for a pure function of arrays, `extern host` for any Python",
)
untyped_param = ErrorRow(
    "RT012",
    "param `{name}` needs a type or a default",
    "write `param {name}: f32[...]`, or give a default: `param {name} = ...`",
)


def not_an_item(span: Span, word: str, inner: str) -> Diagnostic:
    """An expression after `output`, `save` or `print`; `inner` is what stands in parentheses."""
    help = f"write `{word} {inner}`" if inner else "give the expression a name with an equation"
    if word == "print" and not inner:
        help += ', or put a text before it: `print "it is", ...`'
    message = f"`{word}` takes a tensor, one of its points or a slice, not an expression"
    return error("RT012", message, span, help)


# RT013 to RT019: files


not_utf8 = ErrorRow("RT013", "{path} is not UTF-8 text (byte {byte})")
not_text = ErrorRow("RT013", "the file contains a NUL character, so it is not a program")


def unreadable(path: str, reason: str, span: Span | None) -> Diagnostic:
    """A file that cannot be read; `span` is the import that wants it."""
    return error("RT014", f"cannot read {path}: {reason}", span)


unwritable = ErrorRow("RT014", "cannot write {path}: {reason}")


def unknown_module(span: Span, name: str, known: tuple[str, ...], close: str | None) -> Diagnostic:
    """An import of a standard module that does not exist."""
    file = f'for a file write `import "{name}.rt" as {name}`'
    return error(
        "RT015",
        f"there is no standard module `{name}`",
        span,
        f"did you mean `{close}`?" if close else file,
        notes=(f"the standard modules are {', '.join(known)}",) if known else (),
    )


imports_too_deep = ErrorRow(
    "RT018",
    "this import is the end of a chain of more than {limit} imports",
    "put what the files define into fewer of them",
)


def import_cycle(span: Span, cycle: tuple[str, ...]) -> Diagnostic:
    """Files that import each other."""
    note = " imports ".join(cycle)
    return error("RT016", "this import leads back to the same file", span, notes=(note,))
