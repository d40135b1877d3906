"""Domains: the set of points at which something is computed or defined."""

from __future__ import annotations

from dataclasses import dataclass

from tempoc.symbolic.expr import TRUE, Expr


@dataclass(frozen=True, slots=True)
class Domain:
    """The points of the box of ``dims`` at which ``where`` holds.

    ``dims`` are names of declared dimensions in declaration order; each runs over
    ``0 <= d < bound(d)``, which the declarations (not the domain) know. ``where`` is a condition
    over these dimensions and the bounds; ``TRUE`` for the full box.
    """

    dims: tuple[str, ...]
    where: Expr = TRUE


SCALAR = Domain(())


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A bound ``T >= 1``: given at run time, or ``value``, a constant or derived from others."""

    name: str
    value: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dim:
    """A temporal dimension ``0 <= name < bound``; ``bound`` is the name of a bound."""

    name: str
    bound: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Universe:
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
        """The names, each once, in declaration order."""
        return tuple(d.name for d in self.dims if d.name in names)

    def is_dim(self, name: str) -> bool:
        """Whether a symbol names a dimension (else it names a bound)."""
        return any(d.name == name for d in self.dims)
