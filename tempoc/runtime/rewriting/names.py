"""The names in functions: what they call is known before they are traced."""

from __future__ import annotations

from types import CodeType, FunctionType


def code_names(code: CodeType) -> set[str]:
    """The names in a function but for those of its variables, inner functions included."""
    inner = (code_names(c) for c in code.co_consts if isinstance(c, CodeType))
    return {*code.co_names}.union(*inner)


def all_names(function: FunctionType) -> set[str]:
    """The same, and those in the functions of its module that it names, and so on."""
    scope, names = function.__globals__, code_names(function.__code__)
    worklist = [*names]
    while worklist:
        other = scope.get(worklist.pop())
        if isinstance(other, FunctionType) and other.__globals__ is scope:
            new = code_names(other.__code__) - names
            names |= new
            worklist += new
    return names
