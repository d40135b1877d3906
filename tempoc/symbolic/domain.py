"""Iteration domains, and the dimensions and bounds that a program declares."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from tempoc.symbolic import expr as ix
from tempoc.symbolic.interned import MEMORY, Interned
from tempoc.symbolic.walk import substitute, symbols

V = TypeVar("V")


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Domain(metaclass=Interned):
    """An iteration domain: the points of the box of ``dims`` at which ``where`` holds.

    ``dims`` are names of declared dimensions in declaration order; each ranges over
    ``0 <= d < bound(d)``, where the bound is in the ``Universe``. ``where`` is a condition over
    these dimensions and the bounds; ``TRUE`` for the full box.
    """

    dims: tuple[str, ...]
    where: ix.Expr = ix.TRUE

    def at(self, entries: Iterable[V]) -> dict[str, V]:
        """What stands for each dimension, given in order: the entries of an access, a point.

        Raises ``ValueError`` where these are not as many as the dimensions.
        """
        return dict(zip(self.dims, entries, strict=True))


def grows(condition: ix.Expr, lengths: Collection[str]) -> bool:
    """Whether a condition that holds for some lengths is known to hold for all larger ones."""
    match condition:
        case ix.Conjunction(args=args) | ix.Disjunction(args=args):
            return all(grows(part, lengths) for part in args)
        case ix.Relation(op="<" | "<=" | ">" | ">=" as op, left=left, right=right):
            gap = ix.sub(left, right) if op in (">", ">=") else ix.sub(right, left)
            terms = gap.terms if isinstance(gap, ix.IndexSum) else ((1, gap),)
            named = [(c, e) for c, e in terms if not {*lengths}.isdisjoint(symbols(e))]
            return all(c > 0 and isinstance(e, ix.Sym) for c, e in named)
        case _:
            return {*lengths}.isdisjoint(symbols(condition))


def conjuncts(condition: ix.Expr) -> tuple[ix.Expr, ...]:
    """The parts of a condition that all have to hold: itself, if it is no conjunction."""
    return condition.args if isinstance(condition, ix.Conjunction) else (condition,)


def disjuncts(condition: ix.Expr) -> tuple[ix.Expr, ...]:
    """The parts of a condition of which one has to hold: itself, if it is no disjunction."""
    return condition.args if isinstance(condition, ix.Disjunction) else (condition,)


E = TypeVar("E", bound=ix.Entry)


@lru_cache(MEMORY)
def own_point(dims: tuple[str, ...]) -> tuple[ix.Expr, ...]:
    """The entries of an access at the reader's own point."""
    return tuple(map(ix.Sym, dims))


def entries_at(dims: tuple[str, ...], points: Mapping[str, E]) -> tuple[E | ix.Sym, ...]:
    """The entries of an access at some points, along other dimensions at the reader's own point."""
    return tuple(points.get(d, ix.Sym(d)) for d in dims)


def substitute_entry(e: ix.Entry, env: Mapping[str, ix.Expr]) -> ix.Entry:
    """``substitute`` for an access entry."""
    if isinstance(e, ix.Slice):
        return ix.Slice(substitute(e.lo, env), substitute(e.hi, env), e.step)
    return substitute(e, env)


def slice_count(entries: Iterable[ix.Entry]) -> int:
    """How many entries of an access are slices: so many axes of what is read are dimensions."""
    return sum(isinstance(e, ix.Slice) for e in entries)


Point = tuple[int, ...]
"""An index for each dimension of a domain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A bound ``T >= 1``: given at run time, or ``value``, a constant or derived from others.

    With ``until`` (a stop tensor) the name stands for a *length* determined during the run, one for
    each point of ``outer``. The given bound, or ``value``, is then only the largest length allowed.
    Over ``common`` dimensions it varies in the source; here it is the greatest of their points.
    """

    name: str
    value: ix.Expr | None = None
    until: str = ""
    outer: tuple[str, ...] = ()
    common: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dim:
    """A temporal dimension ``0 <= name < bound``; ``bound`` is the name of a bound."""

    name: str
    bound: str


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Universe(metaclass=Interned):
    """The declarations of a program: bounds, dimensions in order, assumptions about the bounds."""

    bounds: tuple[Bound, ...] = ()
    dims: tuple[Dim, ...] = ()
    assumptions: tuple[ix.Expr, ...] = ()

    def dim(self, name: str) -> Dim:
        """The dimension of that name. Raises ``KeyError``."""
        for d in self.dims:
            if d.name == name:
                return d
        raise KeyError(name)

    def bound(self, name: str) -> Bound:
        """The bound of that name. Raises ``KeyError``."""
        for b in self.bounds:
            if b.name == name:
                return b
        raise KeyError(name)

    def ordered(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The dimensions among the names, each once, in declaration order.

        Includes the dimensions over which their lengths, and lengths among the names, vary.
        """
        if not any(b.outer for b in self.bounds):
            return self.sorted(names)
        more = [n for name in names for n in self.outer(name)]
        return tuple(d.name for d in self.dims if d.name in names or d.name in more)

    def sorted(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The dimensions among the names, each once, in declaration order, and no others."""
        return tuple(d.name for d in self.dims if d.name in names)

    def outer(self, name: str) -> tuple[str, ...]:
        """The dimensions over which a bound, or the bound of a dimension, varies."""
        if not any(b.outer for b in self.bounds):
            return ()
        bound = next((d.bound for d in self.dims if d.name == name), name)
        return tuple(n for b in self.roots(bound) for n in b.outer)

    def moves(self, e: ix.Entry, points: Mapping[str, ix.Entry]) -> str:
        """The name of a length in ``e`` that has another value at ``points``; empty if none."""
        moved_dims = [d for d, p in points.items() if p != ix.Sym(d)]
        if not moved_dims or not any(b.outer for b in self.bounds):
            return ""
        varying = (n for n in symbols(e) if any(d in moved_dims for d in self.outer(n)))
        return next((n for n in varying if not self.is_dim(n)), "")

    def has_lengths(self, e: ix.Entry, dims: tuple[str, ...]) -> bool:
        """Whether a point of ``dims`` determines all lengths that an expression names."""
        if not any(b.outer for b in self.bounds):
            return True
        return all(d in dims for n in symbols(e) for d in self.outer(n))

    @property
    def ended(self) -> tuple[Bound, ...]:
        """The bounds with a stop tensor, whose length is determined during the run."""
        return tuple(b for b in self.bounds if b.until)

    @property
    def lengths(self) -> tuple[str, ...]:
        """The names of these bounds, and of those derived from them."""
        return _lengths(self)

    def is_ended(self, dim: str) -> bool:
        """Whether the data end a dimension, or another one at each of its points."""
        bound = self.dim(dim).bound
        return bool(self.roots(bound)) or any(dim in b.outer for b in self.ended)

    def roots(self, name: str) -> tuple[Bound, ...]:
        """The ended bounds from which a bound is derived; itself if it is one."""
        return _roots(self, name)

    def at_lengths(self, lengths: Mapping[str, ix.Expr]) -> dict[str, ix.Expr]:
        """``lengths`` of ended bounds, and the values of all bounds derived from them."""
        values = dict(lengths)
        for _ in self.bounds:
            for b in self.bounds:
                if b.name not in values and not b.until and b.value is not None:
                    names = symbols(b.value)
                    if any(n in values for n in names) and not any(
                        n not in values and self.roots(n) for n in names
                    ):
                        values[b.name] = substitute(b.value, values)
        return values

    def settled(self, e: ix.Expr) -> ix.Expr:
        """The expression with all bounds that are compile-time constants substituted."""
        return substitute(e, _constants(self))

    @property
    def numbers(self) -> dict[str, ix.Expr]:
        """The bounds that are assumed to be a number."""
        pairs = (
            (a.left, a.right)
            for a in self.assumptions
            if isinstance(a, ix.Relation) and a.op == "=="
        )
        return {a.name: b for a, b in pairs if isinstance(a, ix.Sym) and isinstance(b, ix.Const)}

    def is_dim(self, name: str) -> bool:
        """Whether a symbol names a dimension (else it names a bound)."""
        return name in [d.name for d in self.dims]  # a generator takes twice as long


@lru_cache(MEMORY)
def _constants(universe: Universe) -> Mapping[str, ix.Expr]:
    constants: dict[str, ix.Expr] = {}
    own = [(b.name, b.value) for b in universe.bounds if b.value is not None and not b.until]
    for _ in own:
        values = {name: substitute(value, constants) for name, value in own}
        constants = {name: v for name, v in values.items() if isinstance(v, ix.Const)}
    return constants


@lru_cache(MEMORY)
def _lengths(universe: Universe) -> tuple[str, ...]:
    bounds = universe.bounds if universe.ended else ()
    return tuple(b.name for b in bounds if universe.roots(b.name))


@lru_cache(MEMORY)
def _roots(universe: Universe, name: str) -> tuple[Bound, ...]:
    bound = next((b for b in universe.bounds if b.name == name), None)
    if bound is None or bound.until or bound.value is None:
        return (bound,) if bound is not None and bound.until else ()
    return tuple(dict.fromkeys(r for n in symbols(bound.value) for r in universe.roots(n)))
