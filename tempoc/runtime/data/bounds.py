"""Resolves the values of all bounds: given, inferred from shapes, fixed or derived; then checks the
assumptions on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tempoc.diagnostics.diagnostic import Collector, Diagnostic, RunError
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import ProgramBound, bound_order
from tempoc.runtime.messages import run as errors
from tempoc.runtime.messages.units import INTEGER
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import spelled
from tempoc.symbolic.walk import evaluate, substitute, symbols

# Indices are 32-bit integers on the device.
LIMIT = 2**31
"""Bounds are below."""
POWERS = [1 << k for k in range(LIMIT.bit_length() - 1)]
"""The bounds that are powers of 2."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A value of a bound and its source, such as ``axis 0 of x``."""

    bound: str
    value: int
    source: str


@dataclass(frozen=True, slots=True)
class AffineBound:
    """``start + slope * name`` with a positive slope."""

    name: str
    slope: int
    start: int


def affine_bound(e: ix.Expr, settled: Mapping[str, ix.Expr]) -> AffineBound | None:
    """An extent as a linear function of one free bound; ``settled`` are the derived bounds."""
    while not settled.keys().isdisjoint(symbols(e)):
        e = substitute(e, settled)
    match e:
        case ix.Sym(name=name):
            return AffineBound(name, 1, 0)
        case ix.IndexSum(terms=((slope, ix.Sym(name=name)),), const=start) if slope > 0:
            return AffineBound(name, slope, start)
        case _:
            return None


@dataclass(slots=True, kw_only=True)
class BoundValues:
    """The values of bounds and the ``errors``; conflicting or unknown bounds have no value."""

    values: dict[str, int] = field(default_factory=dict)
    errors: Collector = field(default_factory=Collector)

    @property
    def problems(self) -> list[Diagnostic]:
        """What is wrong with the bounds."""
        return self.errors.diagnostics

    def value(self, e: ix.Expr) -> int | None:
        """The value of an expression of bounds, if all of them are known."""
        return evaluate(e, self.values) if set(symbols(e)) <= set(self.values) else None


def bound_values(program: prog.Program, given: Mapping[str, object]) -> dict[str, int]:
    """The values of all bounds of a program, given the free ones. Raises ``RunError``."""
    resolved = resolve(program, given, (), {})
    if resolved.problems:
        raise RunError(*resolved.problems)
    return resolved.values


def resolve(
    program: prog.Program,
    given: Mapping[str, object],
    claims: Sequence[Claim],
    hints: Mapping[str, Sequence[str]],
) -> BoundValues:
    """Resolve all bounds of a program.

    ``given``: the values of the user; ``claims``: inferred from shapes; ``hints``: for each bound,
    the axes from which it could be inferred, for messages.
    """
    result = BoundValues()
    by_name = {b.name: b for b in program.bounds}
    free = [b.name for b in program.bounds if b.value is None]
    user_claims = _user_claims(by_name, free, given, result)
    for name in free:
        own = ([user_claims[name]] if name in user_claims else []) + [
            c for c in claims if c.bound == name
        ]
        _merge_claims(name, own, name in given, hints.get(name, ()), result)
    small = [*_derived(program, result)]
    violated = [a for a in program.assumptions if result.value(a.condition) == 0]
    for a in violated:
        values = ", ".join(f"{n} = {result.values[n]}" for n in symbols(a.condition))
        result.errors.add(errors.violated(a.text, values, a.where))
    # What follows from assumptions, as numbers of tiles do, is no second mistake.
    for problem in small if not violated else ():
        result.errors.add(problem)
    return result


def _user_claims(
    by_name: Mapping[str, ProgramBound],
    free: list[str],
    given: Mapping[str, object],
    result: BoundValues,
) -> dict[str, Claim]:
    """The user's values as claims."""
    claims = {}
    for name, value in given.items():
        bound = by_name.get(name)
        if bound is None:
            result.errors.add(errors.unknown_bound(name, free))
        elif bound.value is not None:
            fixed = isinstance(bound.value, ix.Const)
            result.errors.add(errors.settled_bound(name, spelled(bound.value), fixed))
        else:
            number = _integer(value)
            if number is None or not 1 <= number < LIMIT:
                result.errors.add(errors.bad_bound(name, value))
            else:
                claims[name] = Claim(name, number, f"--bounds {name}={number}")
    return claims


def _integer(value: object) -> int | None:
    """Integers of any kind (numpy's too), and integers in text."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return int(value) if INTEGER.fullmatch(value.strip()) else None
    try:
        return int(value.__index__())  # type: ignore[attr-defined]
    except (ValueError, TypeError, AttributeError):
        return None


def _merge_claims(
    name: str, claims: list[Claim], is_given: bool, hints: Sequence[str], result: BoundValues
) -> None:
    """Merge all claims about a free bound into one value, or report the conflict."""
    first: dict[int, str] = {}
    for claim in claims:
        first.setdefault(claim.value, claim.source)
    if len(first) > 1:
        result.errors.add(errors.bound_clash(name, list(first.items())))
    elif not first:
        if not is_given:
            result.errors.add(errors.missing_bound(name, hints))
    else:
        value, source = next(iter(first.items()))
        if not 1 <= value < LIMIT:
            result.errors.add(errors.bad_bound(name, f"{value} ({source})"))
        else:
            result.values[name] = value


def _derived(program: prog.Program, result: BoundValues) -> Iterator[Diagnostic]:
    """Add the values of derived bounds; what is wrong with those that are too small.

    What follows from a largest length has the value of what follows from the length itself.
    """
    by_name = {b.name: b for b in program.bounds}
    largest = {n.largest for n in program.lengths}
    for name in bound_order(program.bounds):
        formula = by_name[name].value
        value = None if formula is None else result.value(formula)
        if formula is not None and value is not None and value < 1:
            if largest.isdisjoint(symbols(formula)):
                yield errors.small_bound(name, spelled(formula), value)
        elif value is not None:
            result.values[name] = value
