"""Programs written by hand: numbers, names and operators in the place of expressions."""

from __future__ import annotations

from typing import TypeVar

from tempoc.program import codec
from tempoc.program.expression_json import from_json, to_json
from tempoc.symbolic.expr import Expr

Node = TypeVar("Node")


def op(name: str, *args: object) -> Expr:
    """An operator applied to expressions, numbers and names."""
    return from_json([name, *(to_json(a) if isinstance(a, Expr) else a for a in args)])


def lifted(node: Node) -> Node:
    """A node of a program with expressions where it has numbers and names."""
    data = codec._encode(node)
    built: Node = codec._decoded(type(node), data, "program")
    return built
