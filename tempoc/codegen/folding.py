"""Values that are used once stand where they are used, as one would write them by hand.

::

    square = x * x                          y = x / jnp.sum(x * x, axis=0)
    total = jnp.sum(square, axis=0)    ->
    y = x / total

What has a name in the source keeps it, and so does what would make a line too long. A value moves
only within its own function, never past an update of an array or a new meaning of a name that it
uses, never into a ``lambda``; so the function computes the same, and old rows are still read before
new ones are written.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

_UPDATES = re.compile(r"\bupdated\(|update_slice|\.at\[")
_TIGHT = 20
# How tightly operators bind; what is no operator binds tightest.
_BINDING: dict[type[ast.AST], int] = {
    ast.Lambda: 0, ast.IfExp: 1, ast.Or: 2, ast.And: 3, ast.Not: 4, ast.Compare: 5, ast.BitOr: 6,
    ast.BitXor: 7, ast.BitAnd: 8, ast.LShift: 9, ast.RShift: 9, ast.Add: 10, ast.Sub: 10,
    ast.Mult: 11, ast.Div: 11, ast.FloorDiv: 11, ast.Mod: 11, ast.MatMult: 11, ast.UAdd: 12,
    ast.USub: 12, ast.Invert: 12, ast.Pow: 13,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Use:
    """A place where a name is read: its columns, and what may stand there without brackets."""

    name: str
    start: int
    end: int
    binding: int
    deferred: bool


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a function, without its indentation.

    ``target`` is the name that the line gives a value to, and ``value`` where that begins, if it is
    a plain ``name = value``; ``stores`` are all names that get a meaning.
    """

    text: str
    indent: int
    uses: tuple[_Use, ...]
    stores: tuple[str, ...]
    target: str = ""
    value: int = 0
    binding: int = _TIGHT


def folded(lines: list[str], kept: Collection[str], width: int) -> list[str]:
    """The lines of a function with values that are used once where they are used.

    ``kept`` are names that stay; ``width`` is that of a line, indentation included.
    """
    parsed = [_parsed(line) for line in lines]
    uses = Counter(use.name for line in parsed for use in line.uses)
    stores = Counter(name for line in parsed for name in line.stores)
    there: list[_Line | None] = list(parsed)
    for k, line in enumerate(parsed):
        current = there[k]
        assert current is not None
        name = current.target
        if not name or name in kept or uses[name] != 1 or stores[name] != 1:
            continue
        if _UPDATES.search(current.text):
            continue
        at = _user(there, k, name)
        if at is None:
            continue
        user = there[at]
        assert user is not None
        new = _put(current, user)
        if new is not None and line.indent + len(new.text) <= width:
            there[k], there[at] = None, new
    return [" " * line.indent + line.text for line in there if line is not None]


def _user(lines: list[_Line | None], first: int, name: str) -> int | None:
    """The line of the same function that reads the value, if the value may move there."""
    here = lines[first]
    assert here is not None
    needed = {use.name for use in here.uses}
    for k in range(first + 1, len(lines)):
        line = lines[k]
        if line is None:
            continue
        if line.indent < here.indent:
            return None
        if any(use.name == name for use in line.uses):
            return k if line.indent == here.indent else None
        if _UPDATES.search(line.text) or needed.intersection(line.stores):
            return None
    return None


def _put(value: _Line, user: _Line) -> _Line | None:
    """The line with the value in the place of its name."""
    (use,) = (u for u in user.uses if u.name == value.target)
    if use.deferred:
        return None
    text = value.text[value.value :]
    if value.binding < use.binding:
        text = f"({text})"
    return _parsed(" " * user.indent + user.text[: use.start] + text + user.text[use.end :])


def _parsed(line: str) -> _Line:
    text = line.lstrip(" ")
    indent = len(line) - len(text)
    whole = f"{text} pass" if text.startswith("def ") else text
    # `return` stands in functions only, but the parser alone does not mind.
    (statement,) = ast.parse(whole).body
    if isinstance(statement, ast.FunctionDef):
        parameters = tuple(a.arg for a in statement.args.args)
        return _Line(text, indent, (), (statement.name, *parameters))
    assert isinstance(statement, ast.Assign | ast.Return), text
    assert statement.value is not None
    uses = tuple(_uses(statement.value))
    if isinstance(statement, ast.Return):
        return _Line(text, indent, uses, ())
    stores = [n.id for t in statement.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
    if len(stores) > 1 or not isinstance(statement.targets[0], ast.Name):
        return _Line(text, indent, uses, tuple(stores))
    start = text.index("=") + 2
    value = statement.value
    # Brackets around all of it are no part of an expression, but those of a tuple are.
    tight = value.col_offset > start or (isinstance(value, ast.Tuple) and text[start] == "(")
    binding = _TIGHT if tight else _binding(value)
    return _Line(text, indent, uses, tuple(stores), stores[0], start, binding)


def _uses(node: ast.expr, binding: int = 0, deferred: bool = False) -> Iterator[_Use]:
    """All names that an expression reads, from left to right."""
    if isinstance(node, ast.Name):
        yield _Use(node.id, node.col_offset, node.end_col_offset or 0, binding, deferred)
    deferred = deferred or isinstance(node, ast.Lambda | ast.ListComp | ast.GeneratorExp)
    for child in ast.iter_child_nodes(node):
        inner = child.value if isinstance(child, ast.keyword) else child
        if isinstance(inner, ast.expr):
            yield from _uses(inner, _wanted(node, inner), deferred)
        elif isinstance(inner, ast.comprehension):
            for part in (inner.target, inner.iter, *inner.ifs):
                yield from _uses(part, _TIGHT, True)


def _binding(node: ast.expr) -> int:
    """How tightly the outermost operator of an expression binds."""
    match node:
        case ast.BinOp(op=op) | ast.UnaryOp(op=op) | ast.BoolOp(op=op):
            return _BINDING[type(op)]
        case ast.Tuple() | ast.Starred() | ast.NamedExpr():
            return -1
        case _:
            return _BINDING.get(type(node), _TIGHT)


def _wanted(parent: ast.expr, child: ast.expr) -> int:
    """How tightly an expression must bind to stand there without brackets."""
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
