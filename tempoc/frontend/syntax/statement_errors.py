"""Diagnostics of statements in the syntax of other languages, RT001 and RT007."""

from __future__ import annotations

from tempoc.diagnostics.diagnostic import Diagnostic, error
from tempoc.diagnostics.error_row import ErrorRow
from tempoc.diagnostics.source import Span

_BINARY = frozenset(("+", "-", "*", "/", "%", "**", "==", "!=", "<=", ">=", "<", ">"))
"""Operators that cannot start an expression, or whose line would be a statement without effect."""
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
    "let": "an equation begins with its target: `y = ...`",
    "var": "an equation begins with its target: `y = ...`",
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
    return error("RT001", message, span, _FOREIGN[word])


def bad_start(span: Span, word: str) -> Diagnostic:
    """A word with which no statement starts."""
    message = f"a statement cannot start with `{word}`"
    help = _STARTS.get(word)
    if help is None and word in _BINARY:
        help = f"end the line before with `{word}`, or put the expression in brackets"
    return error("RT001", message, span, help)


def one_value(span: Span, word: str, name: str) -> Diagnostic:
    """`save a, b`, `assume a, b`."""
    help = f"write a statement for each value: `{word} {name}`, and another one"
    if word == "assume":
        help = "join the conditions by `and`, or write a statement for each"
    what = "condition" if word == "assume" else "value"
    return error("RT001", f"`{word}` takes one {what}", span, help)


no_comma = ErrorRow(
    "RT001",
    "what stands after `{word}` is separated by commas",
    "write `{word} {first}, {second}`",
)
in_parentheses = ErrorRow(
    "RT001",
    "what stands after `{word}` has no parentheses around it",
    "write `{word} {first}, ...`",
)
defined_in_output = ErrorRow(
    "RT001",
    "`output` takes tensors that are defined",
    "write the equation of `{name}` as a statement of its own, then `output {name}`",
)
no_to = ErrorRow(
    "RT001", "`save` needs `to` before the name of the file", "write `save {name} to {file}`"
)
guard_with_else = ErrorRow(
    "RT001",
    "a guard has no `else`",
    "write an equation for each case: the first that holds is used",
)
call_alone = ErrorRow(
    "RT001",
    "a call is not a statement",
    "give its result a name, `y = {name}(...)`; where nothing comes back, `_ = {name}(...)`",
)
axis_by_another_name = ErrorRow(
    "RT007",
    "`dim` is a keyword and cannot be used as a name",
    "the axes of an array are named by `axis = ...`",
)
until_a_name = ErrorRow(
    "RT001",
    "`until` takes the name of a bool tensor",
    "give the condition an equation, `stop = ...`, and write `until stop`",
)
