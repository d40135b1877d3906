"""Names and what they are bound to, one table inside another.

Modules, bodies of functions and loop bodies each have a scope; a name is looked for from the inside
out. The table of a module has the builtins around it. What a name is bound to is a value, or a
tensor that is still to be read (`TensorName`, `cell.Cell`) or an equation of a body that has
not been looked at yet (`Pending`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from tempoc.base.source import Span
from tempoc.frontend.syntax import ast

DISCARD = "_"
"""The target whose value is thrown away; it may stand in any number of equations."""

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


@dataclass(frozen=True, slots=True)
class Foreign:
    """A tensor or dimension of an imported file, which only gives functions and constants."""

    module: str


@dataclass(slots=True, eq=False)
class Scope:
    """A table of names; `places` remembers where each was introduced.

    `dims` are the dimensions that a function's body names; all others are carried along.
    """

    kind: ScopeKind
    parent: Scope | None = None
    owner: str = ""
    dims: tuple[str, ...] = ()
    names: dict[str, object] = field(default_factory=dict)
    places: dict[str, Span] = field(default_factory=dict)

    def find(self, name: str) -> object | None:
        """What the name is bound to here or further out."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def bind(self, name: str, value: object, span: Span | None = None) -> None:
        """Bind a name here, replacing what it was."""
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
    """The name that somebody who wrote `name` may have meant."""
    known = list(dict.fromkeys(names))
    alike = [n for n in known if n.lower() == name.lower()]
    close = alike or difflib.get_close_matches(name, known, n=3, cutoff=0.7)
    # Of a short name, two more letters make another word: `foo` is no `floor`.
    return next((n for n in close if len(name) > 4 or abs(len(n) - len(name)) < 2), None)


def free_name(name: str, text: str) -> str:
    """A name like this one that a text does not have: another letter, or a number behind it."""
    taken = frozenset(re.findall(r"\w+", text))
    tries: list[str] = []
    if len(name) == 1:
        after = [chr(c) for c in range(ord(name.lower()) + 1, ord("z") + 1)]
        tries = [n.upper() if name.isupper() else n for n in (*after, *"abcdefghijk")]
    numbered = (f"{name}{k}" for k in range(2, len(taken) + 3))
    return next(n for n in (*tries, *numbered) if n not in taken)
