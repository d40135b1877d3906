"""Reverse-mode derivatives of lists of steps, the functions inside of operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tempoc.ops.control.cond import Cond
from tempoc.ops.control.steps import OpStep
from tempoc.ops.definition.operator import Op, ShapeFacts
from tempoc.ops.definition.types import TensorType
from tempoc.ops.gradients.calculus import Calculus, Derivatives, Rules, Term

NeededValue = tuple[int, bool]
"""The number of a condition, and whether it is to hold."""


@dataclass(slots=True)
class Steps:
    """A `Build` that makes steps; the handle of a term is the number of its value."""

    facts: ShapeFacts
    count: int = 0
    steps: list[OpStep] = field(default_factory=list)

    def value(self, type: TensorType) -> Term:
        """A new parameter of the steps."""
        self.count += 1
        return Term(TensorType(type.dtype, type.shape), self.count - 1)

    def single(self, stacked: Term) -> Term:
        """A new parameter: one element of a stacked tensor."""
        return self.value(TensorType(stacked.type.dtype, stacked.shape[1:]))

    def make(self, op: Op, args: Sequence[Term]) -> tuple[Term, ...]:
        """The results of an operator."""
        types = op.infer(tuple(a.type for a in args), self.facts)
        taken = tuple(a.handle for a in args if isinstance(a.handle, int))
        self.steps.append((op, taken, tuple(t.dtype for t in types)))
        return tuple(self.value(t) for t in types)


def backpropagate(
    rules: Rules,
    c: Calculus,
    steps: Sequence[OpStep],
    given: Sequence[Term],
    cots: Mapping[int, list[Term]],
) -> dict[int, list[Term]]:
    """The cotangents of the values of steps, by number, from those of their results (``cots``).

    The steps are rematerialized. A branch of `cond` that is not taken gets a cotangent of 0.
    """
    values, uses = list(given), []
    for op, taken, _ in steps:
        operands = tuple(values[k] for k in taken)
        results = c.several(op, *operands)
        uses.append((op, taken, operands, len(values), results))
        values += results
    around, inside = _conditions(steps, len(given), cots)
    cotangents = {k: list(terms) for k, terms in cots.items()}
    for number in reversed(range(len(uses))):
        op, taken, operands, at, results = uses[number]
        result_cots = [cotangents.get(at + k) for k in range(len(results))]
        if type(op) not in rules or not any(result_cots):
            continue
        totals = tuple(sum_cotangents(c, m, t) for m, t in zip(result_cots, results, strict=True))
        if isinstance(op, Cond):
            parts: Derivatives = (None, totals[0], totals[0])
        else:
            parts = rules[type(op)](op, c, operands, results, totals)
        for slot, (k, part) in enumerate(zip(taken, parts, strict=True)):
            if part is not None:
                leaving = [n for n in _use(around[number], op, taken, slot) if n not in inside[k]]
                for condition, holds in reversed(leaving):
                    part = _if_taken(c, values[condition], holds, part)
                cotangents.setdefault(k, []).append(part)
    return cotangents


def sum_cotangents(c: Calculus, terms: list[Term] | None, like: Term) -> Term:
    """The sum of a value's cotangent terms."""
    cotangent = c.number(0.0, like.type.dtype, like.shape)
    for term in terms or ():
        cotangent = c.add(cotangent, term)
    return c.held(cotangent)


def _if_taken(c: Calculus, condition: Term, holds: bool, x: Term) -> Term:
    zero = c.number(0.0, x.type.dtype, x.shape)
    return c.op(Cond(), condition, *((x, zero) if holds else (zero, x)))


def _conditions(
    steps: Sequence[OpStep], start: int, outputs: Iterable[int]
) -> tuple[list[tuple[NeededValue, ...]], dict[int, tuple[NeededValue, ...]]]:
    """The conditions of `cond` under which alone each step, and each value, is needed."""
    values: dict[int, tuple[NeededValue, ...]] = dict.fromkeys(outputs, ())
    around: list[tuple[NeededValue, ...]] = []
    end = start + sum(len(dtypes) for _, _, dtypes in steps)
    for op, taken, dtypes in reversed(steps):
        end -= len(dtypes)
        own = [values[end + k] for k in range(len(dtypes)) if end + k in values]
        around.append(tuple(n for n in own[0] if all(n in o for o in own)) if own else ())
        if not own:
            continue  # dead
        for slot, k in enumerate(taken):
            use = _use(around[-1], op, taken, slot)
            values[k] = tuple(n for n in values.get(k, use) if n in use and k >= start)
    return around[::-1], values


def _use(
    around: tuple[NeededValue, ...], op: Op, taken: Sequence[int], slot: int
) -> tuple[NeededValue, ...]:
    """The conditions under which an operand of a step is needed."""
    if not isinstance(op, Cond) or slot == 0:
        return around
    return tuple(dict.fromkeys((*around, (taken[0], slot == 1))))
