"""Functions of JAX whose sizes and numbers depend on lengths, by some that JAX has traced.

Of a function that is traced for 37 rows and for 50, everything is the same but some numbers. Where
one has 36 and the other 49, this says ``n - 1``. Whether a third trace, for 64 rows, is the same
function for 64 is not guessed: it is compared with this form for 64, number by number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var

from tempoc.runtime.rewriting.lengths.padding import require
from tempoc.runtime.rewriting.lengths.sizes import (
    Lengths,
    PaddedShape,
    PaddedSize,
    Probes,
    UnlikeError,
    VaryingSize,
    grows,
)

CALLS = frozenset(("jit", "pjit", "closed_call", "custom_jvp_call", "custom_vmap_call"))
"""Operators that compute the function that they have."""
_OWN = frozenset(("computation", "update_jaxpr", "update_consts"))
"""Parameters that follow from the operator, and are new objects in each trace."""


@dataclass(frozen=True, slots=True)
class FormConstant:
    """A constant: its dtype, and its bytes and shape or the number that it is."""

    dtype: str
    shape: tuple[int, ...]
    content: bytes | VaryingSize

    def array(self) -> Any:
        """The array of one that depends on no length."""
        assert isinstance(self.content, bytes)
        return np.frombuffer(self.content, np.dtype(self.dtype)).reshape(self.shape)


@dataclass(frozen=True, slots=True)
class FormVariable:
    """Shape and dtype of a variable."""

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

    def at(self, lengths: Lengths) -> Form:
        """The form of its trace for lengths. Raises ``UnlikeError`` where sizes are no integers."""
        at: Form = _at(self, lengths)
        return at

    @property
    def divisor(self) -> int:
        """Lengths whose remainders by this are the same make integers of the same sizes."""
        return math.lcm(*(size.divisor for size in _sizes(self)))


def _at(value: Any, lengths: Lengths) -> Any:
    match value:
        case VaryingSize():
            if not value.is_whole(lengths):
                raise UnlikeError
            return value.at(lengths)
        case FormConstant(content=VaryingSize() as size):
            with np.errstate(over="ignore"):  # beyond its dtype it is what it is on the device
                number = np.array(_at(size, lengths), np.int64).astype(np.dtype(value.dtype))
            return FormConstant(value.dtype, (), number.tobytes())
        case Form() | FormStep() | FormVariable():
            named = {f.name: _at(getattr(value, f.name), lengths) for f in fields(value)}
            return type(value)(**named)
        case dict():
            return {key: _at(part, lengths) for key, part in value.items()}
        case tuple():
            parts = [_at(part, lengths) for part in value]
            return tuple(parts) if type(value) is tuple else type(value)(*parts)
        case _:
            return value


def _sizes(value: Any) -> Iterator[VaryingSize]:
    match value:
        case VaryingSize():
            yield value
        case FormConstant(content=content):
            yield from _sizes(content)
        case Form() | FormStep() | FormVariable():
            for f in fields(value):
                yield from _sizes(getattr(value, f.name))
        case dict():
            yield from _sizes((*value.values(),))
        case tuple():
            for part in value:
                yield from _sizes(part)
        case _:
            pass


def form_of(closed: Sequence[ClosedJaxpr], probes: Probes) -> Form:
    """The form of a function that is traced for all lengths of probes. Raises ``UnlikeError``.

    That of a single trace has numbers only.
    """
    return _Former(probes).form(closed)


@dataclass(frozen=True, slots=True)
class _Former:
    probes: Probes
    sizes: dict[tuple[int, ...], PaddedSize] = field(default_factory=dict)

    def form(self, closed: Sequence[ClosedJaxpr]) -> Form:
        traces = [c.jaxpr for c in closed]
        kinds: list[FormVariable] = []
        numbers: list[dict[Var, int]] = [{} for _ in traces]
        require(not any(t.effects for t in traces))
        constants = self._constants(closed)

        def named(variables: Sequence[Sequence[Var]]) -> tuple[int, ...]:
            for like in _rows(variables):
                for known, v in zip(numbers, like, strict=True):
                    known[v] = len(kinds)
                kinds.append(self._kind([v.aval for v in like]))
            return tuple(range(len(kinds) - len(variables[0]), len(kinds)))

        def read(like: Sequence[Var | Literal]) -> int | FormConstant:
            first = like[0]
            if isinstance(first, Literal):
                require(all(isinstance(v, Literal) for v in like))
                return self._constant([v.val for v in like], [v.aval for v in like])
            if first in constants:
                require(all(constants[first] is constants.get(v) for v in like))
                return constants[first]
            number: int = _only([known.get(v) for known, v in zip(numbers, like, strict=True)])
            return number

        named([t.invars for t in traces])
        steps = []
        for like in _rows([t.eqns for t in traces]):
            primitive = like[0].primitive
            require(all(e.primitive is primitive for e in like))
            given = tuple(map(read, _rows([e.invars for e in like])))
            how = self._how(like)
            steps.append(FormStep(primitive, given, named([e.outvars for e in like]), how))
        results = tuple(map(read, _rows([t.outvars for t in traces])))
        return Form(len(traces[0].invars), tuple(kinds), tuple(steps), results)

    def _constants(self, closed: Sequence[ClosedJaxpr]) -> dict[Var, FormConstant]:
        constants: dict[Var, FormConstant] = {}
        variables = _rows([c.jaxpr.constvars for c in closed])
        for like, values in zip(variables, _rows([c.consts for c in closed]), strict=True):
            constant = self._constant(values, [v.aval for v in like])
            constants |= dict.fromkeys(like, constant)
        return constants

    def _kind(self, like: Sequence[Any]) -> FormVariable:
        shape = self._joined([tuple(a.shape) for a in like])
        require(all(map(grows, shape)))
        return FormVariable(shape, _only([a.dtype for a in like]))

    def _constant(self, values: Sequence[Any], like: Sequence[Any]) -> FormConstant:
        dtype, shape = _only([a.dtype for a in like]), _only([a.shape for a in like])
        arrays = [np.asarray(value, dtype) for value in values]
        contents = [a.tobytes() for a in arrays]
        if contents.count(contents[0]) == len(contents):
            return FormConstant(str(dtype), shape, contents[0])
        require(not shape and dtype.kind != "b")
        require(all(bool(np.isfinite(a)) and a == np.floor(a) for a in arrays))
        number = self._joined([int(a) for a in arrays])
        require(isinstance(number, VaryingSize))  # zeros of different signs are one integer
        return FormConstant(str(dtype), (), number)

    def _how(self, like: Sequence[JaxprEqn]) -> dict[str, Any]:
        if like[0].primitive.name in CALLS:
            alone = like[0].params.get("name") == "optimization_barrier"
            return {"function": self.form([_function(e) for e in like]), "alone": alone}
        require(all(e.params.keys() == like[0].params.keys() for e in like))
        return {
            key: None if key in _OWN else self._joined([e.params[key] for e in like])
            for key in like[0].params
        }

    def _joined(self, like: Sequence[Any]) -> Any:
        first = like[0]
        require(all(type(x) is type(first) for x in like))
        if isinstance(first, ClosedJaxpr):
            return self.form(like)
        if isinstance(first, Jaxpr):
            return self.form([ClosedJaxpr(jaxpr, []) for jaxpr in like])
        if type(first) is int and any(x != first for x in like):
            key = tuple(like)
            if key not in self.sizes:
                self.sizes[key] = self.probes.size(key)
            return self.sizes[key]
        if isinstance(first, tuple):
            parts = [*map(self._joined, _rows(like))]
            return tuple(parts) if type(first) is tuple else type(first)(*parts)
        return _only(like)


def _rows(parts: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """The first parts of all, the second ones, and so on; of as many each."""
    require(all(len(part) == len(parts[0]) for part in parts))
    return [*zip(*parts, strict=True)]


def _only(like: Sequence[Any]) -> Any:
    """What all are; NaN, with which gathers fill, is only equal as an object."""
    require(all(x is like[0] or bool(x == like[0]) for x in like))
    return like[0]


def _function(e: JaxprEqn) -> ClosedJaxpr:
    parts = [v for v in e.params.values() if isinstance(v, ClosedJaxpr)]
    require(bool(parts))
    return parts[0]
