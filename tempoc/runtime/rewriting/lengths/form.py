"""Functions of JAX whose sizes and numbers are linear in a length, by two that JAX has traced.

Of a function that is traced for 37 rows and for 50, everything is the same but some numbers. Where
one has 36 and the other 49, this says ``n - 1``. Whether a third trace, for 64 rows, is the same
function for 64 is not guessed: its form is compared with this one, number by number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var

CALLS = frozenset(("jit", "pjit", "closed_call", "custom_jvp_call", "custom_vmap_call"))
"""Operators that compute the function that they have."""
_OWN = frozenset(("computation", "update_jaxpr", "update_consts"))
"""Parameters that follow from the operator, and are new objects in each trace."""


class UnlikeError(Exception):
    """Functions that differ in more than sizes that are linear in a length, or cannot be padded."""


@dataclass(frozen=True, slots=True)
class LinearSize:
    """``slope * n + offset`` for a length ``n``."""

    slope: int
    offset: int

    def at(self, n: Any) -> Any:
        """The value for a length."""
        return self.slope * n + self.offset


PaddedSize = int | LinearSize
PaddedShape = tuple[PaddedSize, ...]


@dataclass(frozen=True, slots=True)
class FormConstant:
    """A constant: its dtype, and its bytes and shape or the number that it is."""

    dtype: str
    shape: tuple[int, ...]
    content: bytes | LinearSize

    def array(self) -> Any:
        """The array of one that depends on no length."""
        assert isinstance(self.content, bytes)
        return np.frombuffer(self.content, np.dtype(self.dtype)).reshape(self.shape)


@dataclass(frozen=True, slots=True)
class FormVariable:
    """PaddedShape and dtype of a variable."""

    shape: PaddedShape
    dtype: Any


@dataclass(frozen=True, slots=True)
class FormStep:
    """An operator: what it is given, variables by number or constants, and what it makes."""

    primitive: Any
    given: tuple[int | FormConstant, ...]
    made: tuple[int, ...]
    how: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Form:
    """A function: variables with numbers, of which the first are its arguments."""

    count: int
    kinds: tuple[FormVariable, ...]
    steps: tuple[FormStep, ...]
    results: tuple[int | FormConstant, ...]


def form_of(one: ClosedJaxpr, other: ClosedJaxpr, lengths: tuple[int, int]) -> Form:
    """The form of a function that is traced for two lengths. Raises ``UnlikeError``."""
    return _Former(*lengths).form(one, other)


@dataclass(frozen=True, slots=True)
class _Former:
    first: int
    second: int

    def form(self, one: ClosedJaxpr, other: ClosedJaxpr) -> Form:
        a, b = one.jaxpr, other.jaxpr
        kinds: list[FormVariable] = []
        numbers: tuple[dict[Var, int], dict[Var, int]] = ({}, {})
        _same(len(a.invars) == len(b.invars) and len(a.eqns) == len(b.eqns))
        _same(not a.effects and not b.effects)
        constants: dict[Var, FormConstant] = {}
        self._constants(a, b, one.consts, other.consts, constants)

        def named(variables: Sequence[Var], others: Sequence[Var]) -> tuple[int, ...]:
            _same(len(variables) == len(others))
            for v, w in zip(variables, others, strict=True):
                numbers[0][v] = numbers[1][w] = len(kinds)
                kinds.append(self._kind(v.aval, w.aval))
            return tuple(range(len(kinds) - len(variables), len(kinds)))

        def read(v: Var | Literal, w: Var | Literal) -> int | FormConstant:
            if isinstance(v, Literal) or isinstance(w, Literal):
                _same(isinstance(v, Literal) and isinstance(w, Literal))
                return self._constant(v.val, w.val, v.aval, w.aval)
            if v in constants:
                _same(constants[v] is constants.get(w))
                return constants[v]
            _same(numbers[0].get(v) == numbers[1].get(w))
            return numbers[0][v]

        named(a.invars, b.invars)
        steps = []
        for e, f in zip(a.eqns, b.eqns, strict=True):
            _same(e.primitive is f.primitive and len(e.invars) == len(f.invars))
            given = tuple(read(v, w) for v, w in zip(e.invars, f.invars, strict=True))
            how = self._how(e, f)
            steps.append(FormStep(e.primitive, given, named(e.outvars, f.outvars), how))
        _same(len(a.outvars) == len(b.outvars))
        results = tuple(read(v, w) for v, w in zip(a.outvars, b.outvars, strict=True))
        return Form(len(a.invars), tuple(kinds), tuple(steps), results)

    def _constants(
        self,
        a: Jaxpr,
        b: Jaxpr,
        ours: Iterable[Any],
        theirs: Iterable[Any],
        constants: dict[Var, FormConstant],
    ) -> None:
        _same(len(a.constvars) == len(b.constvars))
        for v, w, x, y in zip(a.constvars, b.constvars, ours, theirs, strict=True):
            constants[v] = constants[w] = self._constant(x, y, v.aval, w.aval)

    def _kind(self, a: Any, b: Any) -> FormVariable:
        _same(a.dtype == b.dtype)
        shape = self._joined(tuple(a.shape), tuple(b.shape))
        _same(all(size.slope > 0 for size in shape if isinstance(size, LinearSize)))
        return FormVariable(shape, a.dtype)

    def _constant(self, x: Any, y: Any, a: Any, b: Any) -> FormConstant:
        _same(a.dtype == b.dtype and a.shape == b.shape)
        here, there = np.asarray(x, a.dtype), np.asarray(y, a.dtype)
        if here.tobytes() == there.tobytes():
            return FormConstant(str(a.dtype), a.shape, here.tobytes())
        whole = not a.shape and here == np.floor(here) and there == np.floor(there)
        _same(whole and bool(np.isfinite(here) and np.isfinite(there)) and here.dtype != bool)
        number = self._joined(int(here), int(there))
        _same(isinstance(number, LinearSize))  # zeros of different signs are one integer
        return FormConstant(str(a.dtype), (), number)

    def _how(self, e: JaxprEqn, f: JaxprEqn) -> dict[str, Any]:
        if e.primitive.name in CALLS:
            one, other = _function(e), _function(f)
            return {"function": self.form(one, other)}
        _same(e.params.keys() == f.params.keys())
        return {
            key: None if key in _OWN else self._joined(value, f.params[key])
            for key, value in e.params.items()
        }

    def _joined(self, x: Any, y: Any) -> Any:
        if isinstance(x, ClosedJaxpr) and isinstance(y, ClosedJaxpr):
            return self.form(x, y)
        if isinstance(x, Jaxpr) and isinstance(y, Jaxpr):
            return self.form(ClosedJaxpr(x, []), ClosedJaxpr(y, []))
        _same(type(x) is type(y))
        if type(x) is int and x != y:
            slope, rest = divmod(y - x, self.second - self.first)
            _same(rest == 0)
            return LinearSize(slope, x - slope * self.first)
        if isinstance(x, tuple):
            _same(len(x) == len(y))
            parts = [self._joined(v, w) for v, w in zip(x, y, strict=True)]
            return tuple(parts) if type(x) is tuple else type(x)(*parts)
        _same(bool(x == y))
        return x


def _function(e: JaxprEqn) -> ClosedJaxpr:
    parts = [v for v in e.params.values() if isinstance(v, ClosedJaxpr)]
    _same(bool(parts))
    return parts[0]


def _same(is_so: bool) -> None:
    if not is_so:
        raise UnlikeError
