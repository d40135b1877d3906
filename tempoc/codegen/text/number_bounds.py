"""Bounds that the text of a kernel uses as numbers only, and the text that is told them.

::

    def net_1(at, w, *, I):
        i = at[0]
        rate = jnp.int32(i-20).astype(jnp.float32) / jnp.int32(I-20).astype(jnp.float32)

JAX need not know such an ``I`` when it traces the kernel, so it may follow the coordinates in
``at``. A bound that says how long an array is, or where a part of it stands, is not of that kind.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from tempoc.codegen.text.syntax_tree import parsed, tree_names, tree_nodes, tree_parts
from tempoc.codegen.text.wrap_lines import INDENT
from tempoc.ops.definition.dtype_text import jax_dtype
from tempoc.ops.definition.types import DType

_CASTS = frozenset(jax_dtype(dtype) for dtype in DType if dtype is not DType.KEY)


def number_bounds(text: str, bounds: Collection[str]) -> frozenset[str]:
    """The variables of bounds that a function takes only as operands of numbers that it computes.

    These are casts of sums to a dtype, ``jnp.int32(I - 20)``, and comparisons with a coordinate.
    """
    function = parsed(text).body[0]
    every = [name for name in tree_names(function) if name in bounds]
    numbers = [*_as_numbers(function, frozenset(_coordinates(function)))]
    return frozenset(n for n in every if every.count(n) == numbers.count(n))


def with_numbers(text: str, passed: Sequence[str], first: int, head: list[str]) -> str:
    """The function with another ``head``, in which it takes some bounds from ``at``.

    They stand there from ``first`` on.
    """
    (function,) = parsed(text).body
    assert isinstance(function, ast.FunctionDef)
    words = function.body[0]
    start, end = words.lineno - 1, words.end_lineno
    lines = text.splitlines()
    taken = [f"{INDENT}{name} = at[{first + k}]" for k, name in enumerate(passed)]
    return "\n".join([*head, *lines[start:end], *taken, *lines[end:]]) + "\n"


def _coordinates(function: ast.AST) -> Iterator[str]:
    """The variables that are elements of ``at``."""
    for node in tree_nodes(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = [*zip(target.elts, value.elts, strict=True)]
            for name, part in pairs:
                match name, part:
                    case ast.Name(id=new), ast.Subscript(value=ast.Name(id="at")):
                        yield new


def _as_numbers(node: ast.AST, coordinates: frozenset[str]) -> Iterator[str]:
    """The names in sums that are cast, or compared with a coordinate; each occurrence."""
    match node:
        case ast.Call(func=ast.Attribute() as cast, args=[number], keywords=[]):
            if ast.unparse(cast) in _CASTS and (names := _sum(number)) is not None:
                yield from names
                return
        case ast.Compare(left=left, ops=[_], comparators=[right]):
            first, second = _sum(left), _sum(right)
            if first is not None and second is not None and coordinates & {*first, *second}:
                yield from (*first, *second)
                return
    for part in tree_parts(node):
        yield from _as_numbers(part, coordinates)


def _sum(node: ast.expr) -> list[str] | None:
    """The names in a sum of names and numbers with constant factors; ``None`` for another text."""
    match node:
        case ast.Name(id=name):
            return [name]
        case ast.Constant(value=int()):
            return []
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _sum(operand)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            first, second = _sum(left), _sum(right)
            return None if first is None or second is None else [*first, *second]
        case ast.BinOp(left=ast.Constant(value=int()), op=ast.Mult(), right=right):
            return _sum(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=ast.Constant(value=int())):
            return _sum(left)
    return None
