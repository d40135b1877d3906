"""Inlines values that are used once, as one would write them by hand.

::

    square = x * x                          y = x / jnp.sum(x * x, axis=0)
    total = jnp.sum(square, axis=0)    ->
    y = x / total

Values with a name in the source keep it, and so do values that would make a line too long. A value
moves only within its function, never past an update of an array or an assignment to a name that it
reads, never into a ``lambda``; so the function computes the same, and old rows are still read
before new ones are written.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator
from typing import NamedTuple

from tempoc.codegen.text.syntax_tree import tree_names, tree_parts

_UPDATES = re.compile(r"\bupdated\(|update_slice|\.at\[")
_TIGHT = 20
# Operator precedences; what is no operator has the highest.
_BINDING: dict[type[ast.AST], int] = {
    ast.Lambda: 0, ast.IfExp: 1, ast.Or: 2, ast.And: 3, ast.Not: 4, ast.Compare: 5, ast.BitOr: 6,
    ast.BitXor: 7, ast.BitAnd: 8, ast.LShift: 9, ast.RShift: 9, ast.Add: 10, ast.Sub: 10,
    ast.Mult: 11, ast.Div: 11, ast.FloorDiv: 11, ast.Mod: 11, ast.MatMult: 11, ast.UAdd: 12,
    ast.USub: 12, ast.Invert: 12, ast.Pow: 13,
}  # fmt: skip


class _NameUse(NamedTuple):
    """A use of a name: its columns, and the precedence that needs no brackets there."""

    name: str
    start: int
    end: int
    binding: int
    deferred: bool


class _CodeLine(NamedTuple):
    """A line of a function, without its indentation.

    ``target`` is the assigned name, and ``value`` the column of the value, if the line is a plain
    ``name = value``; ``stores`` are all names that it binds, parameters of a function among them.
    """

    text: str
    indent: int
    uses: tuple[_NameUse, ...]
    stores: tuple[str, ...]
    target: str = ""
    value: int = 0
    binding: int = _TIGHT

    @property
    def is_function(self) -> bool:
        """Whether a function begins here, which mentions none of the names that it binds."""
        return self.text.startswith("def ")


def inlined(
    lines: list[str], named: Collection[str], width: int
) -> tuple[list[str], frozenset[str]]:
    """The lines of a function with values that are used once inlined, and the names in them.

    ``named`` are the names that stay; ``width`` is that of a line, indentation included. Names are
    those of `names_in`, which need no further look at the text.
    """
    code = [_parsed(line) for line in lines]
    movement = _Movement(code)
    moved: set[int] = set()
    for k, line in enumerate(code):
        line = code[k]  # earlier values may have been inlined in it
        if not line.target or line.target in named or _UPDATES.search(line.text):
            continue
        at = movement.to(k, line)
        new = _substituted(line, code[at]) if at is not None else None
        if at is not None and new is not None and new.indent + len(new.text) <= width:
            code[at] = new
            moved.add(k)
            movement.moved(line, at)
    left = [line for k, line in enumerate(code) if k not in moved]
    names = {use.name for line in left for use in line.uses}
    names.update(n for line in left if not line.is_function for n in line.stores)
    return [" " * line.indent + line.text for line in left], frozenset(names)


class _Movement:
    """Decides to which lines values may move."""

    def __init__(self, lines: list[_CodeLine]) -> None:
        self._uses = Counter(use.name for line in lines for use in line.uses)
        self._stores: dict[str, list[int]] = {}
        self._user: dict[str, int] = {}
        self._updates = [k for k, line in enumerate(lines) if _UPDATES.search(line.text)]
        self._function = list(_functions(lines))
        for k, line in enumerate(lines):
            self._user.update((use.name, k) for use in line.uses)
            for name in line.stores:
                self._stores.setdefault(name, []).append(k)

    def to(self, first: int, line: _CodeLine) -> int | None:
        """The line of the only use, if the value is the same there; else ``None``."""
        name = line.target
        if self._uses[name] != 1 or len(self._stores[name]) != 1:
            return None
        last = self._user[name]
        if last < first or self._function[last] != self._function[first]:
            return None
        changes = [self._updates, *(self._stores.get(use.name, []) for use in line.uses)]
        return None if any(first < k < last for places in changes for k in places) else last

    def moved(self, line: _CodeLine, to: int) -> None:
        """Record that a value has moved."""
        self._user.update((use.name, to) for use in line.uses)


def _functions(lines: list[_CodeLine]) -> Iterator[int]:
    """For each line the first line of the function body that it is in."""
    open_: list[tuple[int, int]] = []
    for k, line in enumerate(lines):
        while open_ and open_[-1][0] > line.indent:
            open_.pop()
        if not open_ or open_[-1][0] < line.indent:
            open_.append((line.indent, k))
        yield open_[-1][1]


def _substituted(value: _CodeLine, user: _CodeLine) -> _CodeLine | None:
    """The line with the value in the place of its name."""
    (at,) = (k for k, u in enumerate(user.uses) if u.name == value.target)
    use = user.uses[at]
    if use.deferred:
        return None
    text = value.text[value.value :]
    bracket = value.binding < use.binding
    offset = use.start + bracket - value.value
    text = f"({text})" if bracket else text
    longer = len(text) - (use.end - use.start)
    inside = [
        u._replace(
            start=u.start + offset, end=u.end + offset, binding=max(u.binding, use.binding)
            if u.end - u.start == len(text) else u.binding
        )
        for u in value.uses
    ]  # fmt: skip
    after = [u._replace(start=u.start + longer, end=u.end + longer) for u in user.uses[at + 1 :]]
    alone = user.value == use.start and len(user.text) == use.end
    return user._replace(
        text=user.text[: use.start] + text + user.text[use.end :],
        uses=(*user.uses[:at], *inside, *after),
        binding=value.binding if alone else user.binding,
    )


def _parsed(line: str) -> _CodeLine:
    text = line.lstrip(" ")
    indent = len(line) - len(text)
    source = f"{text} pass" if text.startswith("def ") else text
    # `return` stands in functions only, but the parser alone does not mind.
    (statement,) = ast.parse(source).body
    if isinstance(statement, ast.FunctionDef):
        parameters = tuple(a.arg for a in statement.args.args)
        return _CodeLine(text, indent, (), (statement.name, *parameters))
    assert isinstance(statement, ast.Assign | ast.Return), text
    assert statement.value is not None
    uses = tuple(sorted(_uses(statement.value), key=lambda use: use.start))
    if isinstance(statement, ast.Return):
        return _CodeLine(text, indent, uses, ())
    stores = [name for t in statement.targets for name in tree_names(t)]
    if len(stores) > 1 or not isinstance(statement.targets[0], ast.Name):
        return _CodeLine(text, indent, uses, tuple(stores))
    start, value = text.index("=") + 2, statement.value
    # Brackets around all of it are no part of an expression, but those of a tuple are.
    tight = value.col_offset > start or (isinstance(value, ast.Tuple) and text[start] == "(")
    binding = _TIGHT if tight else _binding(value)
    return _CodeLine(text, indent, uses, tuple(stores), stores[0], start, binding)


def _uses(node: ast.expr, binding: int = 0, deferred: bool = False) -> Iterator[_NameUse]:
    """All names that an expression reads."""
    if isinstance(node, ast.Name):
        yield _NameUse(node.id, node.col_offset, node.end_col_offset or 0, binding, deferred)
    deferred = deferred or isinstance(node, ast.Lambda | ast.ListComp | ast.GeneratorExp)
    for child in tree_parts(node):
        inner = child.value if isinstance(child, ast.keyword) else child
        if isinstance(inner, ast.expr):
            yield from _uses(inner, _required_binding(node, inner), deferred)
        elif isinstance(inner, ast.comprehension):
            for part in (inner.target, inner.iter, *inner.ifs):
                yield from _uses(part, _TIGHT, True)


def _binding(node: ast.expr) -> int:
    """The precedence of the outermost operator of an expression."""
    match node:
        case ast.BinOp(op=op) | ast.UnaryOp(op=op) | ast.BoolOp(op=op):
            return _BINDING[type(op)]
        case ast.Tuple() | ast.Starred() | ast.NamedExpr():
            return -1
        case _:
            return _BINDING.get(type(node), _TIGHT)


def _required_binding(parent: ast.expr, child: ast.expr) -> int:
    """The least precedence that an operand needs to stand without brackets."""
    match parent:
        case ast.BinOp(left=left, op=op):
            own = _BINDING[type(op)]
            if isinstance(op, ast.Pow):
                return _TIGHT
            return own if child is left else own + 1
        case ast.UnaryOp(op=op):
            return _BINDING[type(op)]
        case ast.Compare() | ast.BoolOp() | ast.IfExp():
            return _binding(parent) + 1
        case ast.Attribute() | ast.Starred():
            return _TIGHT
        case ast.Call(func=function) if child is function:
            return _TIGHT
        case ast.Subscript(value=value) if child is value:
            return _TIGHT
        case _:
            return 0
