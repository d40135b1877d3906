"""What a kernel takes from its bounds: the values that its text computes when JAX traces it.

::

    def x_early(at, embed, prompt, *, S, T):
        rows = jnp.zeros((min(S, T), 8), jnp.float32)

A trace for other bounds is the same if ``min(S, T)`` is, whatever ``T`` is: runs share what XLA
compiled (`Kernel.static`). The text itself is asked, so that no emitter has to report what it
spells; what is not understood counts as all bounds that it names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache

from tempoc.codegen.text.syntax_tree import PARSED, parsed, tree_parts
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols

Callees = Mapping[str, tuple[ix.Expr, ...]]
"""Kernels that the text may call, with what they take from bounds of the same names."""
_CONDITIONS = ix.Truth | ix.Relation | ix.Conjunction | ix.Disjunction | ix.Negation
_COMPARISONS: Mapping[type[ast.cmpop], ix.CompareOp] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip


def static_values(
    text: str, bounds: Mapping[str, str], callees: Callees | None = None
) -> tuple[ix.Expr, ...]:
    """The expressions over bounds in the text of a function, in order, each once.

    ``bounds`` maps variables of the text to the bounds that they are. A bound that stands alone
    somewhere makes expressions of such bounds superfluous.
    """
    values = _values(text, tuple(bounds.items()), tuple((callees or {}).items()))
    alone = {e.name for e in values if isinstance(e, ix.Sym)}
    return tuple(e for e in values if isinstance(e, ix.Sym) or not {*symbols(e)} <= alone)


def static_numbers(text: str, bounds: Mapping[str, str]) -> tuple[ix.Expr, ...]:
    """All numbers over bounds in the text of a function, each once: sizes of arrays are such."""
    return tuple(e for e in _values(text, tuple(bounds.items())) if not isinstance(e, _CONDITIONS))


@lru_cache(PARSED)
def _values(
    text: str,
    bounds: tuple[tuple[str, str], ...],
    callees: tuple[tuple[str, tuple[ix.Expr, ...]], ...] = (),
) -> tuple[ix.Expr, ...]:
    reader = _BoundReader(dict(bounds), dict(callees))
    return tuple(dict.fromkeys(reader.values(parsed(text))))


class _BoundReader:
    def __init__(self, bounds: Mapping[str, str], callees: Callees) -> None:
        self.bounds = bounds
        self.callees = callees

    def values(self, node: ast.AST) -> Iterator[ix.Expr]:
        """The largest expressions over bounds in a part of the text."""
        if isinstance(node, ast.expr) and (e := self.expression(node)) is not None:
            if symbols(e):
                yield e
            return
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in self.callees:
                yield from self.callees[name]
                for part in (*node.args, *(k for k in node.keywords if not self.is_passed(k))):
                    yield from self.values(part)
            case _:
                for part in tree_parts(node):
                    yield from self.values(part)

    def is_passed(self, keyword: ast.keyword) -> bool:
        """Whether a bound is passed under its own name: ``T=T``."""
        value = keyword.value
        return isinstance(value, ast.Name) and value.id == keyword.arg and value.id in self.bounds

    def expression(self, node: ast.expr) -> ix.Expr | None:
        """The expression of a part of the text; ``None`` if not all of it is over bounds."""
        match node:
            case ast.Name(id=name):
                return ix.Sym(self.bounds[name]) if name in self.bounds else None
            case ast.Constant(value=int() as value) if type(value) is int:
                return ix.Const(value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                e = self.number(operand)
                return None if e is None else ix.sub(ix.ZERO, e)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                e = self.condition(operand)
                return None if e is None else ix.negation(e)
            case ast.BinOp():
                return self.arithmetic(node)
            case ast.Call(func=ast.Name(id="min" | "max" as name), args=args, keywords=[]):
                numbers = [e for arg in args if (e := self.number(arg)) is not None]
                if len(numbers) != len(args) or len(numbers) < 2:
                    return None
                return ix.minimum(*numbers) if name == "min" else ix.maximum(*numbers)
            case ast.Compare(left=first, ops=[op], comparators=[second]):
                left, right = self.number(first), self.number(second)
                if left is None or right is None or type(op) not in _COMPARISONS:
                    return None
                return ix.compare(_COMPARISONS[type(op)], left, right)
            case ast.BoolOp(op=op, values=parts):
                conditions = [c for part in parts if (c := self.condition(part)) is not None]
                if len(conditions) != len(parts):
                    return None
                join = ix.conjunction if isinstance(op, ast.And) else ix.disjunction
                return join(*conditions)
        return None

    def number(self, node: ast.expr) -> ix.Expr | None:
        e = self.expression(node)
        return None if isinstance(e, _CONDITIONS) else e

    def condition(self, node: ast.expr) -> ix.Expr | None:
        e = self.expression(node)
        return e if isinstance(e, _CONDITIONS) else None

    def arithmetic(self, node: ast.BinOp) -> ix.Expr | None:
        """Sums, products, and division by a positive constant."""
        left, right = self.number(node.left), self.number(node.right)
        if left is None or right is None:
            return None
        match node.op:
            case ast.Add():
                return ix.add(left, right)
            case ast.Sub():
                return ix.sub(left, right)
            case ast.Mult():
                return ix.product((left, right))
            case ast.FloorDiv() if isinstance(right, ix.Const) and right.value > 0:
                return ix.floordiv(left, right.value)
            case ast.Mod() if isinstance(right, ix.Const) and right.value > 0:
                return ix.mod(left, right.value)
        return None
