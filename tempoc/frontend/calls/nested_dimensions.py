"""Functions that step along several nested dimensions as along one: `optim.adam(w, g, e * K + k)`.

The number of a step, `e * K + k` with `k < K`, says which dimensions are meant and which is slower.
The function is rewritten for them, as one would write it by hand. Its points become points of both,
`m[i]` is `m[e, k]`; the point before, `m[i-1]`, is `m[e, k-1]`, or the last of the slower step
before, `m[e-1, K-1]`; `when i >= 1` is at all points but the first. As a value `i` stays a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import reduce
from typing import TypeVar

from tempoc.diagnostics.diagnostic import Diagnostic
from tempoc.diagnostics.source import Span
from tempoc.frontend.environment.failure import Failure
from tempoc.frontend.environment.scope import Scope
from tempoc.frontend.environment.values import Index
from tempoc.frontend.errors import types as type_errors
from tempoc.frontend.syntax import ast
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.walk import substitute

N = TypeVar("N")
FIRST = {
    (">=", "1"): False,
    (">", "0"): False,
    ("!=", "0"): False,
    ("==", "0"): True,
    ("<", "1"): True,
}
"""Comparisons of the number of a step with a number; whether they hold at the first step."""


def nested(universe: Universe, number: ix.Expr) -> tuple[str, ...]:
    """The dimensions of which this is the number of a step, the slowest first; empty if of none."""
    if not isinstance(number, ix.IndexSum):
        return ()
    size: dict[str, tuple[int, int]] = {}  # of what a dimension is multiplied by: slower is more
    for factor, term in number.terms:
        parts = term.factors if isinstance(term, ix.IndexProduct) else (term,)
        for part in parts:
            if isinstance(part, ix.Sym) and universe.is_dim(part.name):
                size[part.name] = (len(parts), factor)
    values = {b.name: b.value for b in universe.bounds if isinstance(b.value, ix.Const)}
    one = {dim for dim in size if values.get(universe.dim(dim).bound) == ix.ONE}
    # Of two that are multiplied by the same, the faster one has a single point.
    dims = sorted(size, key=lambda dim: (size[dim], dim not in one), reverse=True)
    if len(dims) < 2:
        return ()
    made: ix.Expr = ix.Sym(dims[0])
    for dim in dims[1:]:
        made = ix.add(ix.mul(made, ix.Sym(universe.dim(dim).bound)), ix.Sym(dim))
    return tuple(dims) if substitute(number, values) == substitute(made, values) else ()


@dataclass(frozen=True, slots=True)
class Nest:
    """A `dim` parameter of a function that stands for several dimensions, the slowest first.

    `order` are their numbers in the order in which they are declared, which entries have.
    """

    function: str
    parameter: str
    dims: tuple[str, ...]
    order: tuple[int, ...]
    call: Span

    def local(self, k: int) -> str:
        """The name of a dimension in the function; no program can write it."""
        return f"{self.parameter}.{k}"

    def bind(self, scope: Scope, universe: Universe) -> None:
        """Bind the names that the rewritten function uses."""
        for k, dim in enumerate(self.dims):
            last = ix.sub(ix.Sym(universe.dim(dim).bound), ix.ONE)
            scope.bind(self.local(k), Index(ix.Sym(dim)))
            scope.bind(f"{self.local(k)}.last", Index(last))

    def rewritten(self, node: N) -> N:
        """A node of the function's body. Raises `Failure` where it steps in another way."""
        match node:
            case ast.Access(entries=entries) if self.is_named_in(entries):
                base = self.rewritten(node.base)
                return self.read(replace(node, base=base))  # type: ignore[return-value]
            case ast.EquationTarget(entries=entries) if entries and self.is_named_in(entries):
                points = tuple(self.entries(entries, [self.name(k, node) for k in self.places]))
                return replace(node, entries=points)
            case ast.ComparisonExpr(left=ast.Name(name=self.parameter), right=ast.NumberExpr()):
                return self.compared(node)  # type: ignore[return-value]
            case ast.ForLoop(name=name) | ast.ListComp(name=name) if name.name == self.parameter:
                raise Failure(self.refused(name))
            case tuple():
                return tuple(self.rewritten(part) for part in node)  # type: ignore[return-value]
            case ast.SyntaxNode() if is_dataclass(node):
                parts = {f.name: getattr(node, f.name) for f in fields(node) if f.name != "span"}
                return replace(node, **{k: self.rewritten(v) for k, v in parts.items()})
            case _:
                return node

    @property
    def places(self) -> range:
        """The numbers of the dimensions."""
        return range(len(self.dims))

    def is_named_in(self, entries: tuple[ast.BracketEntry, ...]) -> bool:
        """Whether entries of a bracket name the parameter, as a point or as its dimension."""
        return any(
            isinstance(part, ast.Name | ast.Ident) and part.name == self.parameter
            for part in _within(entries)
        )

    def read(self, access: ast.Access) -> ast.Expression:
        """`m[i]`, `m[i-1]`, `x[i = i-1]` at points of the dimensions."""
        own = [self.name(k, access) for k in self.places]
        steps = {_step(e, self.parameter) for e in access.entries} - {None}
        if steps == {0}:
            return replace(access, entries=tuple(self.entries(access.entries, own)))
        if steps != {-1}:
            raise Failure(self.refused(access))
        one = ast.NumberExpr(text="1", span=access.span)
        result: ast.Expression | None = None
        for (
            k
        ) in self.places:  # the last one that can go back does; the faster ones start at the end
            back = ast.Binary(op="-", left=own[k], right=one, span=access.span)
            ends = [self.name(j, access, ".last") for j in self.places[k + 1 :]]
            points = tuple(self.entries(access.entries, [*own[:k], back, *ends]))
            earlier = replace(access, entries=points)
            inner = ast.ComparisonExpr(op=">=", left=own[k], right=one, span=access.span)
            result = (
                earlier
                if result is None
                else ast.IfExpr(condition=inner, then=earlier, orelse=result, span=access.span)
            )
        assert result is not None
        return result

    def entries(
        self, entries: tuple[ast.BracketEntry, ...], points: Sequence[ast.Expression]
    ) -> Iterator[ast.BracketEntry]:
        """The entries with these points for the one that names the parameter."""
        for entry in entries:
            if not self.is_named_in((entry,)):
                yield entry
                continue
            if _step(entry, self.parameter) is None:
                raise Failure(self.refused(entry))
            for k in self.order:
                name = entry.name and replace(entry.name, name=self.local(k))
                yield replace(entry, name=name, value=points[k])

    def compared(self, test: ast.ComparisonExpr) -> ast.Expression:
        """`i >= 1`, `i == 0` and the like as conditions on the dimensions."""
        assert isinstance(test.right, ast.NumberExpr)
        first = FIRST.get((test.op, test.right.text))
        if first is None:
            return test
        zero = replace(test.right, text="0")
        one = replace(test.right, text="1")
        sides: list[ast.Expression] = [
            replace(test, op="==", left=self.name(k, test), right=zero)
            if first
            else replace(test, op=">=", left=self.name(k, test), right=one)
            for k in self.places
        ]
        joint: ast.BinaryOp = "and" if first else "or"
        return reduce(lambda a, b: ast.Binary(op=joint, left=a, right=b, span=test.span), sides)

    def name(self, k: int, node: ast.SyntaxNode, suffix: str = "") -> ast.Name:
        """A dimension by its name in the function."""
        return ast.Name(name=self.local(k) + suffix, span=node.span)

    def refused(self, node: ast.SyntaxNode) -> Diagnostic:
        """The error of a place that does not go on from one step to the next."""
        return type_errors.not_one_step(self.call, self.function, self.parameter, node.span)


def _within(node: object) -> Iterator[object]:
    """A node and all that it holds."""
    yield node
    if isinstance(node, tuple):
        for part in node:
            yield from _within(part)
    elif isinstance(node, ast.SyntaxNode):
        for f in fields(node):
            if f.name != "span":
                yield from _within(getattr(node, f.name))


def _step(entry: ast.BracketEntry, parameter: str) -> int | None:
    """How far from its own point an entry `i`, `i-1` reads; `None` for any other one."""
    match entry.value:
        case ast.Name(name=name) if name == parameter:
            return 0
        case ast.Binary(op="-", left=ast.Name(name=name), right=ast.NumberExpr(text="1")) if (
            name == parameter
        ):
            return -1
        case _:
            return None
