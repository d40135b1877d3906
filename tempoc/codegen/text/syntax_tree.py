"""The trees of emitted code, in which the compiler looks for names and expressions.

`ast.walk` also gives each load and store, and looks up fields by name twice; a compilation looks at
a hundred thousand nodes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

PARSED = 256
"""Most functions of which the trees are kept."""
_LEAVES = (ast.Name, ast.Constant)


@lru_cache(PARSED)
def parsed(text: str) -> ast.Module:
    """The tree of a text that is asked about several things, which must not be changed."""
    return ast.parse(text)


def tree_parts(node: ast.AST) -> list[ast.AST]:
    """The statements, expressions and other parts of a node, in the order of the text."""
    if isinstance(node, _LEAVES):
        return []
    children: list[ast.AST] = []
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, list):
            children += [v for v in value if isinstance(v, ast.AST)]
        elif isinstance(value, ast.AST) and field != "ctx":
            children.append(value)
    return children


def tree_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """A node and all in it, breadth first."""
    worklist = [tree]
    for node in worklist:  # grows meanwhile
        yield node
        worklist += tree_parts(node)


def tree_names(tree: ast.AST) -> list[str]:
    """The variables that a node mentions, each as often as it does."""
    return [node.id for node in tree_nodes(tree) if isinstance(node, ast.Name)]
