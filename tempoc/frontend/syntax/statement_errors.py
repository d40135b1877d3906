"""Diagnostics of statements in the syntax of other languages, RT001 and RT007."""

from __future__ import annotations

from tempoc.base.diagnostics import Diagnostic, Label
from tempoc.base.source import Span


def _error(code: str, span: Span, message: str, help: str | None) -> Diagnostic:
    return Diagnostic(code=code, message=message, primary=Label(span), help=help)


_STARTS = {
    "if": "an equation for some points only is written `y[t] = ... when t >= 1`",
    "from": "write `import nn`, then `nn.softmax(x)`",
    "//": "comments begin with `#`",
    "/": "comments begin with `#`",
    "@": "functions have no decorators",
}
_FOREIGN = {
    "while": "steps until the data say stop are a dimension: `dim t < T until stop`",
    "lambda": "give the function a name: `def f(x) = ...`",
    "let": "write `x = ...`",
    "var": "write `x = ...`",
    "class": "what belongs together is a record: `{w: a, b: c}`",
    "func": "write `def f(x) = ...`",
    "function": "write `def f(x) = ...`",
    "del": "nothing has to be deleted: the compiler knows when a value is read last",
    "global": "names are seen everywhere in the file",
}


def foreign(span: Span, word: str) -> Diagnostic | None:
    """A keyword of another language, with its replacement; `None` for any other word."""
    if word not in _FOREIGN:
        return None
    message = f"`{word}` is not part of the language"
    return _error("RT001", span, message, help=_FOREIGN[word])


def bad_start(span: Span, word: str) -> Diagnostic:
    """A word with which no statement starts."""
    message = f"a statement cannot start with `{word}`"
    return _error("RT001", span, message, help=_STARTS.get(word))


def one_value(span: Span, word: str, name: str) -> Diagnostic:
    """`print a, b`."""
    help = f"write a statement for each value: `{word} {name}`, and another one"
    if word == "assume":
        help = "join the conditions by `and`, or write a statement for each"
    what = "condition" if word == "assume" else "value"
    return _error("RT001", span, f"`{word}` takes one {what}", help=help)


def no_comma(span: Span, first: str, second: str) -> Diagnostic:
    """`output a b`."""
    help = f"write `output {first}, {second}`"
    return _error("RT001", span, "outputs are separated by commas", help=help)


def no_to(span: Span, name: str, file: str) -> Diagnostic:
    """`save a "file"`."""
    help = f"write `save {name} to {file}`"
    return _error("RT001", span, "`save` needs `to` before the name of the file", help=help)


def guard_with_else(span: Span) -> Diagnostic:
    """`x = a when c else b`."""
    help = "write an equation for each case: the first that holds is used"
    return _error("RT001", span, "a guard has no `else`", help=help)


def call_alone(span: Span, name: str) -> Diagnostic:
    """`f(x)` as a statement."""
    help = f"give its result a name, `y = {name}(...)`; where nothing comes back, `_ = {name}(...)`"
    return _error("RT001", span, "a call is not a statement", help=help)


def axis_by_another_name(span: Span) -> Diagnostic:
    """`sum(x, dim = 0)`."""
    message = "`dim` is a keyword and cannot be used as a name"
    return _error("RT007", span, message, help="the axes of an array are named by `axis = ...`")
