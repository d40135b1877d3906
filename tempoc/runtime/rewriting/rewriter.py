"""Functions of JAX with some of their operators computed in another way, in nested ones too."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, jaxpr_as_fun

LOOPS = frozenset(("while", "scan"))
CALLS = frozenset(("jit", "pjit", "closed_call", "custom_jvp_call", "custom_vmap_call"))
NESTED = LOOPS | CALLS | {"cond"}
"""Operators that have functions in them."""


class JaxprRewriter(ABC):
    """Computes what functions of JAX compute, by other operators in place of some.

    ``enters``: in the functions of which operators it looks for these.
    """

    enters: ClassVar[frozenset[str]] = NESTED

    @abstractmethod
    def takes(self, eqn: JaxprEqn) -> bool:
        """Whether an operator itself is computed in another way."""

    @abstractmethod
    def computed(self, eqn: JaxprEqn, given: Sequence[Any]) -> Sequence[Any]:
        """The results of an operator that it takes. Results that nothing uses have no variable."""

    def results(self, closed: ClosedJaxpr, given: Sequence[Any]) -> list[Any]:
        """The results of a function for these arguments; what they do not need is left out."""
        jaxpr = closed.jaxpr
        used = _needed(jaxpr)
        known: dict[Var, Any] = dict(zip(jaxpr.constvars, closed.consts, strict=True))
        known |= zip(jaxpr.invars, given, strict=True)
        plain: list[JaxprEqn] = []
        for eqn in (e for e in jaxpr.eqns if e.effects or not used.isdisjoint(e.outvars)):
            if not self._differs(eqn):
                plain.append(eqn)
                continue
            _compute(jaxpr, plain, known)
            plain = []
            eqn = eqn.replace(outvars=[v if v in used else None for v in eqn.outvars])
            values = self.results_of(eqn, [_value(v, known) for v in eqn.invars])
            known |= zip(eqn.outvars, values, strict=True)
        _compute(jaxpr, plain, known)
        return [_value(v, known) for v in jaxpr.outvars]

    def results_of(self, eqn: JaxprEqn, given: Sequence[Any]) -> Sequence[Any]:
        """The results of one operator."""
        if self.takes(eqn):
            return self.computed(eqn, given)
        how = eqn.params
        if self._differs(eqn):
            if eqn.primitive.name in CALLS:
                return self.results(next(iter(functions(eqn))), given)
            how = {key: self._rewritten(value) for key, value in how.items()}
        results: Any = eqn.primitive.bind(*given, **how)
        return results if eqn.primitive.multiple_results else (results,)

    def _differs(self, eqn: JaxprEqn) -> bool:
        """Whether it takes an operator, or one in it."""
        if self.takes(eqn):
            return True
        inside = eqn.primitive.name in self.enters and not eqn.effects
        return inside and any(self._differs(e) for f in functions(eqn) for e in f.jaxpr.eqns)

    def _rewritten(self, value: Any) -> Any:
        """A parameter of an operator, with functions that compute the same."""
        if isinstance(value, tuple):
            return tuple(map(self._rewritten, value))
        if not isinstance(value, ClosedJaxpr):
            return value
        return jax.make_jaxpr(lambda *given: self.results(value, given))(*value.in_avals)


def functions(eqn: JaxprEqn) -> Iterable[ClosedJaxpr]:
    """The functions that are parts of an operator."""
    for value in eqn.params.values():
        many = value if isinstance(value, tuple) else (value,)
        yield from (f for f in many if isinstance(f, ClosedJaxpr))


def _needed(jaxpr: Jaxpr) -> set[Var]:
    """The variables of which the results of a function, or its effects, are computed."""
    needed = {v for v in jaxpr.outvars if isinstance(v, Var)}
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or not needed.isdisjoint(eqn.outvars):
            needed |= {v for v in eqn.invars if isinstance(v, Var)}
    return needed


def size(v: Any) -> int:
    """The bytes of a variable."""
    return int(math.prod(v.aval.shape)) * int(v.aval.dtype.itemsize)


def _compute(jaxpr: Jaxpr, eqns: list[JaxprEqn], known: dict[Var, Any]) -> None:
    """Compute what operators give that stay as they are."""
    if not eqns:
        return
    made = [v for e in eqns for v in e.outvars]
    own = {*made}
    used = {v: None for e in eqns for v in e.invars if isinstance(v, Var) and v not in own}
    part = jaxpr.replace(constvars=[], invars=[*used], outvars=made, eqns=eqns)
    values = jaxpr_as_fun(ClosedJaxpr(part, []))(*(known[v] for v in used))
    known |= zip(made, values, strict=True)


def _value(v: Var | Literal, known: Mapping[Var, Any]) -> Any:
    return v.val if isinstance(v, Literal) else known[v]
