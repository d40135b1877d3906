"""Nested lexical scopes.

Modules, function bodies and loop bodies each have a scope; names are resolved from the inside out,
and the builtins are outermost. A name is bound to a value, to a tensor that has yet to be read
(`TensorName`, `IndexedTensor`), or to an equation of a body that is evaluated lazily (`Pending`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from tempoc.diagnostics.source import Span
from tempoc.frontend.syntax import ast

DISCARD = "_"
"""The target whose value is discarded; any number of equations may have it."""

ScopeKind = Literal["builtins", "module", "body", "loop"]


@dataclass(frozen=True, slots=True)
class TensorName:
    """A tensor of the program, by name: declared as data, or defined by equations.

    `plain` tensors have one unindexed equation.
    """

    name: str
    kind: Literal["input", "param", "plain", "indexed"]
    item: ast.InputDecl | ast.ParamDecl | None = None
    equations: tuple[ast.Equation, ...] = ()


@dataclass(frozen=True, slots=True)
class Pending:
    """A plain local name whose equation stands further down in the body; `resume` evaluates it."""

    resume: Callable[[], object]


class PendingExtent(Pending):
    """An extent that a cast of the equation introduces, read to the left of the cast."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class CastName:
    """An extent of a file or of a body that casts introduce, in these statements.

    `frame` is that of the body, None for a file.
    """

    name: str
    statements: tuple[ast.Equation | ast.Return, ...]
    frame: object = None


@dataclass(frozen=True, slots=True)
class Foreign:
    """A tensor or dimension of an imported file, which exports only functions and constants."""

    module: str


@dataclass(slots=True, eq=False)
class Scope:
    """A table of names; `places` has the span of each declaration.

    `dims` are the dimensions that a function's body names; all others are those of the call.
    """

    kind: ScopeKind
    parent: Scope | None = None
    dims: tuple[str, ...] = ()
    names: dict[str, object] = field(default_factory=dict)
    places: dict[str, Span] = field(default_factory=dict)

    def find(self, name: str) -> object | None:
        """The binding of a name in this scope or an enclosing one."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def cast_name(self, name: str) -> CastName | None:
        """What a cast in this scope that introduces a name tells everybody else about it."""
        scope: Scope | None = self
        while scope is not None:
            binding = scope.names.get(name)
            if isinstance(binding, CastName):
                return binding
            scope = None if scope.kind == "body" else scope.parent
        return None

    def bind(self, name: str, value: object, span: Span | None = None) -> None:
        """Bind a name in this scope, replacing its binding."""
        self.names[name] = value
        if span is not None:
            self.places[name] = span

    def body(self) -> Scope:
        """The table of the function body (or module) that this scope is part of."""
        scope = self
        while scope.kind == "loop" and scope.parent is not None:
            scope = scope.parent
        return scope

    def visible(self) -> Iterator[str]:
        """All names that can be used here, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield from scope.names
            scope = scope.parent


def nearest(name: str, names: Iterator[str]) -> str | None:
    """The most similar name, for "did you mean"; None if there is none."""
    known = list(dict.fromkeys(names))
    alike = [n for n in known if n.lower() == name.lower()]
    close = alike or difflib.get_close_matches(name, known, n=3, cutoff=0.7)
    # Of a short name, two more letters make another word: `foo` is no `floor`.
    return next((n for n in close if len(name) > 4 or abs(len(n) - len(name)) < 2), None)


def free_name(name: str, text: str) -> str:
    """A name similar to this one that does not occur in a text."""
    taken = frozenset(re.findall(r"\w+", text))
    tries: list[str] = []
    if len(name) == 1:
        after = [chr(c) for c in range(ord(name.lower()) + 1, ord("z") + 1)]
        tries = [n.upper() if name.isupper() else n for n in (*after, *"abcdefghijk")]
    numbered = (f"{name}{k}" for k in range(2, len(taken) + 3))
    return next(n for n in (*tries, *numbered) if n not in taken)
