"""An operator says itself what it is, by traits: no tables of operators outside `ops/`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType

from tempoc.ops.catalog import OPS
from tempoc.ops.definition.operator import Op
from tests.house.source import File, files

# A row of rewrite rules names the operators that stand in its pattern.
PATTERNS = "passes.simplify.rules"
MOST = 2


def test_no_table_of_operators_outside_ops() -> None:
    wrong = [
        f"{file.name}:{node.lineno}: {ast.unparse(node)[:60]}"
        for file in asking()
        for node in tables(file)
    ]
    assert not wrong, wrong


def test_no_decision_by_an_operators_name() -> None:
    wrong = [
        f"{file.name}:{node.lineno}: {ast.unparse(node)}"
        for file in asking()
        for kind, part in ((ast.Compare, "left"), (ast.Subscript, "slice"))
        for node in file.nodes[kind]
        if is_name_of_operator(getattr(node, part))
    ]
    assert not wrong, wrong


def test_every_trait_tells_operators_apart() -> None:
    for trait, value in vars(Op).items():
        if isinstance(value, bool):
            assert {getattr(op, trait) for op in OPS.values()} == {True, False}, trait


def asking() -> list[File]:
    """The files that may ask operators for traits."""
    return [f for f in files() if f.room != "ops" and f"{f.room}.{f.folder}" != PATTERNS]


def tables(file: File) -> Iterator[ast.expr | ast.MatchOr]:
    """The largest expressions and patterns of a file that list more operators than are allowed."""
    known = operators(file)
    worklist: list[ast.AST] = [file.tree] if len(known) > MOST else []
    while worklist:
        node = worklist.pop()
        if isinstance(node, ast.expr | ast.MatchOr) and count(node, known) > MOST:
            yield node
        else:
            worklist += ast.iter_child_nodes(node)


def count(node: ast.AST, known: frozenset[str]) -> int:
    """How many operators a list, a union, or the keys or values of a table name."""
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return sum(names(part, known) for part in parts)
        case ast.Dict(keys=keys, values=values):
            return max(sum(names(p, known) for p in ps if p) for ps in (keys, values))
        case ast.BinOp(left=a, op=ast.BitOr(), right=b):
            return sum(count(p, known) or names(p, known) for p in (a, b))
        case ast.MatchOr(patterns=patterns):
            return sum(isinstance(p, ast.MatchClass) and names(p.cls, known) for p in patterns)
        case _:
            return 0


def names(node: ast.expr, known: frozenset[str]) -> bool:
    """Whether an expression is an operator's class, or makes an operator without operands."""
    match node.func if isinstance(node, ast.Call) else node:
        case ast.Name(id=name):
            return name in known
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return f"{module}.{name}" in known
        case _:
            return False


@cache
def operators(file: File) -> frozenset[str]:
    """The operators that a file imports, as they are written there: `Add`, `two.Add`."""
    known: set[str] = set()
    for node in file.tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tempoc.ops"):
            module = import_module(node.module or "")
            for alias in node.names:
                name = alias.asname or alias.name
                value = getattr(module, alias.name, None)
                if isinstance(value, ModuleType):
                    known |= {f"{name}.{n}" for n, v in vars(value).items() if is_operator(v)}
                elif is_operator(value):
                    known.add(name)
    return frozenset(known)


def is_operator(value: object) -> bool:
    """Whether something is a class of operators."""
    return isinstance(value, type) and issubclass(value, Op)


def is_name_of_operator(node: ast.expr) -> bool:
    """Whether an expression is `op.name` or `node.op.name`."""
    match node:
        case ast.Attribute(value=ast.Name(id="op") | ast.Attribute(attr="op"), attr="name"):
            return True
        case _:
            return False


def test_tables_are_seen() -> None:
    known = frozenset(("Add", "two.Exp", "Sum"))
    for text in (
        "(Add, two.Exp, Sum)", "{Add, two.Exp, Sum}", "{Add: 1, two.Exp: 2, Sum: 3}",
        "isinstance(op, (Add, two.Exp, Sum))", "Add | two.Exp | Sum",
        "{'+': Add(), 'e': two.Exp(), 's': Sum()}",
    ):  # fmt: skip
        nodes = ast.walk(ast.parse(text))
        assert any(count(node, known) == 3 for node in nodes), text
    assert is_name_of_operator(ast.parse("node.op.name", mode="eval").body)
