"""Diagnostics of syntax errors, RT001 to RT019, one function per error.

Only wording: `layout`, `parse`, the semantic actions and `load_modules` detect the errors.
"""

import re

from tempoc.base.diagnostics import Diagnostic, Label
from tempoc.base.source import Span


def _error(
    code: str,
    span: Span,
    message: str,
    *,
    label: str = "",
    secondary: tuple[Label, ...] = (),
    note: str | None = None,
    help: str | None = None,
) -> Diagnostic:
    return Diagnostic(
        code=code,
        message=message,
        primary=Label(span, label),
        secondary=secondary,
        notes=() if note is None else (note,),
        help=help,
    )


# RT001: a word that does not fit


def unexpected(span: Span, found: str, expected: str | None) -> Diagnostic:
    """Something stands where nothing like it can."""
    suffix = f", expected {expected}" if expected else ""
    return _error("RT001", span, f"unexpected {found.removeprefix('the ')}{suffix}")


def missing_operand(span: Span, after: str, found: str) -> Diagnostic:
    """An operator, a comma, an opening bracket or a keyword without the expression it needs."""
    return _error("RT001", span, f"expected an expression after `{after}`, found {found}")


def missing_separator(span: Span, before: str, found: str, *, inside: str) -> Diagnostic:
    """Two values in a row."""
    if inside:
        message = f"expected an operator, `,` or `{inside}` between `{before}` and {found}"
        return _error("RT001", span, message)
    message = f"expected an operator or the end of the statement after `{before}`, found {found}"
    return _error("RT001", span, message, help="statements end at a line break or `;`")


def second_equals(span: Span) -> Diagnostic:
    """`a = b = c`, or `=` where a comparison was meant."""
    message = "unexpected `=` in an expression"
    return _error("RT001", span, message, help="two values are compared by `==`")


def misused(span: Span, message: str, help: str | None) -> Diagnostic:
    """A construct that was begun and not written as it should be; see `samples`."""
    return _error("RT001", span, message, help=help)


# RT002: brackets


def unclosed_bracket(opener: Span, closing: str, until: Span | None) -> Diagnostic:
    """A bracket without its partner at the end of the statement."""
    secondary = () if until is None else (Label(until, f"expected `{closing}` before this"),)
    return _error(
        "RT002", opener, f"missing `{closing}`", label="this is never closed", secondary=secondary
    )


def wrong_bracket(span: Span, found: str, opener: Span, closing: str) -> Diagnostic:
    """A closing bracket of another kind than the open one."""
    return _error(
        "RT002",
        span,
        f"missing `{closing}` before `{found}`",
        secondary=(Label(opener, "the bracket that is open"),),
    )


def stray_bracket(span: Span, found: str) -> Diagnostic:
    """A closing bracket when none is open."""
    return _error("RT002", span, f"`{found}` closes nothing")


# RT003: strings


def unclosed_string(span: Span) -> Diagnostic:
    """A string that does not end on its line."""
    return _error("RT003", span, "unclosed string", help='end it with `"` on the same line')


def unclosed_doc(span: Span) -> Diagnostic:
    """A documentation string that never ends."""
    return _error("RT003", span, "unclosed documentation string", help='end it with `"""`')


def single_quotes(span: Span) -> Diagnostic:
    """`'text'`."""
    return _error("RT003", span, "strings are written with double quotes", help='write `"..."`')


def bad_escape(span: Span, escape: str) -> Diagnostic:
    """A backslash with something after it that has no meaning."""
    return _error(
        "RT003", span, f"unknown escape `{escape}` in a string",
        help=r'the escapes are `\"`, `\\`, `\n` and `\t`',
    )  # fmt: skip


def misplaced_doc(span: Span) -> Diagnostic:
    """A triple-quoted string that is not the first thing."""
    return _error(
        "RT003",
        span,
        "a triple-quoted string is documentation and cannot stand here",
        help="put it first in the file or in the body of a def; use `#` for comments",
    )


# RT004, RT005: characters and numbers

_INSTEAD = {
    "&": "write `and`",
    "|": "write `or`",
    "!": "write `not`",
    "~": "write `not`",
    "^": "a power is written `**`",
    "\\": "a statement goes on by itself after an operator and inside brackets",
    "?": "write `a if condition else b`",
}


def stray_character(span: Span, character: str) -> Diagnostic:
    """A character that is not part of the language."""
    shown = f"`{character}`" if character.isprintable() else "this character"
    if not (character.isascii() and character.isprintable()):
        shown += f" (U+{ord(character):04X})"
    return _error(
        "RT004", span, f"{shown} is not part of the language", help=_INSTEAD.get(character)
    )


def bad_number(span: Span, text: str) -> Diagnostic:
    """Something that begins like a number."""
    help = "numbers are written `12`, `1.5` or `1e-3`"
    product = re.fullmatch(r"([1-9][0-9]*(?:\.[0-9]*)?)([A-DF-Za-df-z]\w*)", text)
    if product is not None and not product[2].startswith("_"):
        help = f"a product is written `{product[1]} * {product[2]}`"
    return _error("RT005", span, f"`{text}` is not a number", help=help)


# RT006: nesting


def too_deep(span: Span, limit: int) -> Diagnostic:
    """An expression nested (or chained) beyond what the compiler takes."""
    return _error(
        "RT006",
        span,
        f"this expression is nested more than {limit} levels deep",
        note="a chain of operators counts one level for each operator",
        help="give parts of it names with equations of their own, or use `sum` over a slice",
    )


# RT007, RT008, RT009: names, comparisons, places


def keyword_as_name(span: Span, word: str) -> Diagnostic:
    """A keyword where a name is introduced or used."""
    help = f"choose another name, such as `{word}_`"
    return _error("RT007", span, f"`{word}` is a keyword and cannot be used as a name", help=help)


def chained_comparison(span: Span, instead: str) -> Diagnostic:
    """`a < b < c`."""
    return _error(
        "RT008", span, "chained comparisons are not part of the language", help=f"write `{instead}`"
    )


def misplaced_statement(span: Span, word: str, where: str) -> Diagnostic:
    """A declaration in a def, or `for` and `return` outside."""
    help = _LOOP if word == "for" else None
    return _error("RT009", span, f"`{word}` can only stand {where}", help=help)


_LOOP = (
    "equations hold at all points of a dimension: declare `dim t < T` and write `x[t] = ...`, "
    "with `x[t-1]` for the step before"
)


def missing_return(span: Span, name: str) -> Diagnostic:
    """A def whose body does not end with `return`."""
    return _error("RT009", span, f"the body of `{name}` does not end with `return`")


def misplaced_return(span: Span) -> Diagnostic:
    """A `return` that is not the last statement of a def, or stands in a loop."""
    return _error("RT009", span, "`return` can only be the last statement of a def")


# RT010, RT011: entries, arguments, targets


def mixed_entries(span: Span) -> Diagnostic:
    """Positional and keyword entries in one bracket."""
    message = "the entries of a bracket are all positional or all keyword"
    return _error("RT010", span, message)


def positional_after_keyword(span: Span) -> Diagnostic:
    """`f(a = 1, b)`."""
    return _error("RT010", span, "a positional argument cannot follow a keyword argument")


def default_order(span: Span, name: str) -> Diagnostic:
    """`def f(a = 1, b)`."""
    message = f"parameter `{name}` has no default but follows one that has"
    return _error("RT010", span, message)


def repeated(span: Span, what: str, name: str, first: Span) -> Diagnostic:
    """A name given twice in one list."""
    secondary = (Label(first, "first here"),)
    return _error("RT010", span, f"{what} `{name}` is given twice", secondary=secondary)


def target_entry(span: Span) -> Diagnostic:
    """A slice or a data-dependent point in a target."""
    return _error(
        "RT011",
        span,
        "an equation defines single points, so a slice cannot stand in its target",
        help="write a dimension (`t`), a shifted one (`t+1`) or a constant",
    )


def value_count(span: Span, targets: int, values: int) -> Diagnostic:
    """`a, b = c, d, e`."""
    has = f"{targets} target{'s' if targets > 1 else ''}"
    return _error("RT011", span, f"an equation with {has} cannot have {values} values")


# RT012: fixed sets of words


def unknown_dtype(span: Span, name: str, known: tuple[str, ...], close: str | None) -> Diagnostic:
    """A type that is none."""
    hint = f"did you mean `{close}`?" if close else None
    return _error(
        "RT012", span, f"there is no type `{name}`", note=f"the types are {' '.join(known)}",
        help=hint,
    )  # fmt: skip


def unknown_extern_kind(span: Span, name: str) -> Diagnostic:
    """`extern foo`."""
    help = "write `extern jax` for a pure function of arrays, `extern host` for any Python"
    return _error("RT012", span, f"there is no kind of extern called `{name}`", help=help)


def untyped_param(span: Span, name: str) -> Diagnostic:
    """`param W` alone."""
    help = f"write `param {name}: f32[...]`, or give a default: `param {name} = ...`"
    return _error("RT012", span, f"param `{name}` needs a type or a default", help=help)


def not_an_item(span: Span, word: str, inner: str = "") -> Diagnostic:
    """An expression after `output`, `save` or `print`; `inner` is what stands in parentheses."""
    return _error(
        "RT012",
        span,
        f"`{word}` takes a tensor, one of its points or a slice, not an expression",
        help=f"write `{word} {inner}`" if inner else "give the expression a name with an equation",
    )


# RT013 to RT019: files


def not_utf8(span: Span, path: str, byte: int) -> Diagnostic:
    """Bytes that are no text."""
    return _error("RT013", span, f"{path} is not UTF-8 text (byte {byte})")


def not_text(span: Span) -> Diagnostic:
    """NUL characters."""
    return _error("RT013", span, "the file contains a NUL character, so it is not a program")


def unreadable(path: str, reason: str, span: Span | None) -> Diagnostic:
    """A file that cannot be read; `span` is the import that wants it."""
    return Diagnostic(
        code="RT014",
        message=f"cannot read {path}: {reason}",
        primary=None if span is None else Label(span),
    )


def unwritable(path: str, reason: str) -> Diagnostic:
    """A file that cannot be written."""
    return Diagnostic(code="RT014", message=f"cannot write {path}: {reason}")


def unknown_module(span: Span, name: str, known: tuple[str, ...], close: str | None) -> Diagnostic:
    """An import of a standard module that does not exist."""
    file = f'for a file write `import "{name}.rt" as {name}`'
    return _error(
        "RT015", span, f"there is no standard module `{name}`",
        note=f"the standard modules are {', '.join(known)}" if known else None,
        help=f"did you mean `{close}`?" if close else file,
    )  # fmt: skip


def import_cycle(span: Span, cycle: tuple[str, ...]) -> Diagnostic:
    """Files that import each other."""
    note = " imports ".join(cycle)
    return _error("RT016", span, "this import leads back to the same file", note=note)
