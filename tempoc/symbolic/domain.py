"""Domains: the set of points at which something is computed or defined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tempoc.base.interned import Interned
from tempoc.symbolic.expr import TRUE, Const, Entry, Expr, Sym
from tempoc.symbolic.walk import substitute, symbols


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Domain(metaclass=Interned):
    """The points of the box of ``dims`` at which ``where`` holds.

    ``dims`` are names of declared dimensions in declaration order; each runs over
    ``0 <= d < bound(d)``, which the declarations (not the domain) know. ``where`` is a condition
    over these dimensions and the bounds; ``TRUE`` for the full box.
    """

    dims: tuple[str, ...]
    where: Expr = TRUE


Point = tuple[int, ...]
"""An index for each dimension of a domain."""
SCALAR = Domain(())


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A bound ``T >= 1``: given at run time, or ``value``, a constant or derived from others.

    With ``until`` (the tensor that ends it) the name stands for a *length* that is found out during
    the run, one for each point of ``outer``. What is given, or ``value``, is then only the largest
    length that it may have.
    """

    name: str
    value: Expr | None = None
    until: str = ""
    outer: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dim:
    """A temporal dimension ``0 <= name < bound``; ``bound`` is the name of a bound."""

    name: str
    bound: str


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Universe(metaclass=Interned):
    """What a program declares about time: bounds, dimensions in order, facts about the bounds."""

    bounds: tuple[Bound, ...] = ()
    dims: tuple[Dim, ...] = ()
    assumptions: tuple[Expr, ...] = ()

    def dim(self, name: str) -> Dim:
        """The dimension of that name; ``KeyError`` if there is none."""
        for d in self.dims:
            if d.name == name:
                return d
        raise KeyError(name)

    def ordered(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The dimensions among the names, each once, in declaration order.

        With them come those over which their lengths vary, and those of lengths among the names.
        """
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

    def moves(self, e: Entry, points: Mapping[str, Entry]) -> str:
        """A length in an expression that is another one at ``points``; empty if there is none."""
        elsewhere = [d for d, p in points.items() if p != Sym(d)]
        if not elsewhere or not any(b.outer for b in self.bounds):
            return ""
        varying = (n for n in symbols(e) if any(d in elsewhere for d in self.outer(n)))
        return next((n for n in varying if not self.is_dim(n)), "")

    def has_lengths(self, e: Entry, dims: tuple[str, ...]) -> bool:
        """Whether a point of these dimensions has all lengths that an expression names."""
        if not any(b.outer for b in self.bounds):
            return True
        return all(d in dims for n in symbols(e) for d in self.outer(n))

    @property
    def ended(self) -> tuple[Bound, ...]:
        """The bounds that a tensor ends during the run."""
        return tuple(b for b in self.bounds if b.until)

    @property
    def lengths(self) -> tuple[str, ...]:
        """The names of these bounds, and of those derived from them."""
        return tuple(b.name for b in self.bounds if self.roots(b.name)) if self.ended else ()

    def roots(self, name: str) -> tuple[Bound, ...]:
        """The ended bounds from which the value of a bound follows."""
        found = next((b for b in self.bounds if b.name == name), None)
        if found is None or found.until or found.value is None:
            return (found,) if found is not None and found.until else ()
        return tuple(dict.fromkeys(r for n in symbols(found.value) for r in self.roots(n)))

    def at_lengths(self, lengths: Mapping[str, Expr]) -> dict[str, Expr]:
        """The values of all bounds that follow from ``lengths`` of ended bounds, these included."""
        found = dict(lengths)
        for _ in self.bounds:
            for b in self.bounds:
                if b.name not in found and not b.until and b.value is not None:
                    names = symbols(b.value)
                    if any(n in found for n in names) and not any(
                        n not in found and self.roots(n) for n in names
                    ):
                        found[b.name] = substitute(b.value, found)
        return found

    def settled(self, e: Expr) -> Expr:
        """The expression with the values of all bounds that have one at compile time."""
        found: dict[str, Expr] = {}
        for _ in self.bounds:
            for b in self.bounds:
                if b.name not in found and b.value is not None and not b.until:
                    value = substitute(b.value, found)
                    found |= {b.name: value} if isinstance(value, Const) else {}
        return substitute(e, found) if found else e

    def is_dim(self, name: str) -> bool:
        """Whether a symbol names a dimension (else it names a bound)."""
        return any(d.name == name for d in self.dims)
