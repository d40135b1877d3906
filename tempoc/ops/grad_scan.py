"""The derivative of a scan with a function of the program: the chain rule, from the end.

With ``y[k] = f(y[k-1], x[k])`` and the cotangents ``g``, what flows back into ``y[k]`` is ``g[k]``
and what ``y[k+1]`` passes on. The function's own derivative is a list of steps too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tempoc.ops.arithmetic import Equal, Maximum, Subtract
from tempoc.ops.calculus import Calculus, Term
from tempoc.ops.combining import AssociativeScan
from tempoc.ops.folding import Fold
from tempoc.ops.grad_arithmetic import Found, Terms
from tempoc.ops.indexing import Take
from tempoc.ops.movement import Transpose
from tempoc.ops.opdef import Facts, Op
from tempoc.ops.shapes import axis_of
from tempoc.ops.source import Arange
from tempoc.ops.steps import Step
from tempoc.ops.types import DType, TensorType

Rule = Callable[[Op, Calculus, Terms, Terms, Terms], Found]
Rules = Mapping[str, Rule]


@dataclass(slots=True)
class _Steps:
    """A `Build` that makes steps; the handle of a term is the number of its value."""

    facts: Facts
    count: int = 0
    steps: list[Step] = field(default_factory=list)

    def value(self, type: TensorType) -> Term:
        """The next value that the steps start with."""
        self.count += 1
        return Term(TensorType(type.dtype, type.shape), self.count - 1)

    def make(self, op: Op, args: Sequence[Term]) -> tuple[Term, ...]:
        """The results of an operator."""
        types = op.infer(tuple(a.type for a in args), self.facts)
        taken = tuple(a.handle for a in args if isinstance(a.handle, int))
        self.steps.append((op, taken, tuple(t.dtype for t in types)))
        return tuple(self.value(t) for t in types)


def associative_scan(rules: Rules) -> Rule:
    """The rule, given those of the operators that functions are made of."""

    def rule(op: Op, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Found:
        """One element after the other, from the last."""
        assert isinstance(op, AssociativeScan)
        return _Scan(rules, op, c, args, results, cots).run()

    return rule


@dataclass(frozen=True, slots=True)
class _Scan:
    rules: Rules
    op: AssociativeScan
    c: Calculus
    args: Terms
    results: Terms
    cots: Terms

    def run(self) -> Found:
        """The cotangents of the operands."""
        c, n = self.c, self.op.leaves
        floats = [k for k in range(n) if self.args[k].type.dtype.is_float]
        xs = [self.front(x) for x in self.args[:n]]
        gs = [self.front(c.held(self.cots[k])) for k in floats]
        places = c.op(Arange(stop=xs[0].shape[0]))
        zero = c.number(0, DType.I32)
        before = c.op(Maximum(), c.op(Subtract(), places, c.number(1, DType.I32)), zero)
        earlier = [c.op(Take(axis=0), self.front(y), before) for y in self.results]
        elements = [*earlier, *xs, *gs, c.op(Equal(), places, zero)]
        build = _Steps(c.build.facts)
        fold, read = self.fold(build, floats, elements)
        starts = [c.number(0.0, xs[k].type.dtype, xs[k].shape[1:]) for k in floats]
        found = c.several(fold, *starts, *elements, *self.args[n:])
        parts: list[Term | None] = [None] * len(self.args)
        for k, term in zip(floats, found, strict=False):
            parts[k] = c.fit(self.back(term, k), self.args[k])
        for k, term in zip(read, found[len(floats) :], strict=True):
            parts[n + k] = c.fit(c.sum(term, [0]), self.args[n + k])
        return tuple(parts)

    def fold(
        self, build: _Steps, floats: list[int], elements: Sequence[Term]
    ) -> tuple[Fold, list[int]]:
        """The steps at one element; which operands from outside get something."""
        n, c = self.op.leaves, Calculus(build)
        carried = [
            build.value(TensorType(elements[n + k].type.dtype, elements[n + k].shape[1:]))
            for k in floats
        ]
        single = [build.value(TensorType(e.type.dtype, e.shape[1:])) for e in elements]
        outside = [build.value(a.type) for a in self.args[n:]]
        earlier, later, gs, first = single[:n], single[n : 2 * n], single[2 * n : -1], single[-1]
        totals = [c.add(a, b) for a, b in zip(carried, gs, strict=True)]
        cots: dict[int, list[Term]] = {}
        for k, total in zip(floats, totals, strict=True):
            cots.setdefault(self.op.results[k], []).append(total)
        got = self.through(c, [*earlier, *later, *outside], cots)
        passed, outputs = [], []
        for k, total in zip(floats, totals, strict=True):
            passed.append(c.held(self.sum(c, got.get(k), earlier[k])))
            own = self.sum(c, got.get(n + k), later[k])
            outputs.append(c.where(first, total, own))
        read = [k for k in range(len(outside)) if 2 * n + k in got]
        for k in read:
            own = self.sum(c, got[2 * n + k], outside[k])
            outputs.append(c.where(first, c.number(0.0, own.type.dtype, own.shape), own))
        numbers = [[t.handle for t in ts if isinstance(t.handle, int)] for ts in (passed, outputs)]
        fold = Fold(
            steps=tuple(build.steps),
            carried=tuple(numbers[0]),
            outputs=tuple(numbers[1]),
            elements=len(elements),
            reverse=True,
        )
        return fold, read

    def through(
        self, c: Calculus, given: list[Term], cots: dict[int, list[Term]]
    ) -> dict[int, list[Term]]:
        """What the function's steps pass back, by the numbers of its values."""
        known, uses = list(given), []
        for op, taken, _ in self.op.steps:
            operands = tuple(known[k] for k in taken)
            made = c.several(op, *operands)
            uses.append((op, taken, operands, len(known), made))
            known += made
        for op, taken, operands, at, made in reversed(uses):
            rule = self.rules.get(op.name)
            mine = [cots.get(at + k) for k in range(len(made))]
            if rule is None or not any(mine):
                continue
            totals = tuple(self.sum(c, m, t) for m, t in zip(mine, made, strict=True))
            for k, part in zip(taken, rule(op, c, operands, made, totals), strict=True):
                if part is not None:
                    cots.setdefault(k, []).append(part)
        return cots

    def sum(self, c: Calculus, terms: list[Term] | None, like: Term) -> Term:
        """The sum of what a value gets."""
        total = c.number(0.0, like.type.dtype, like.shape)
        for term in terms or ():
            total = c.add(total, term)
        return c.held(total)

    def front(self, x: Term) -> Term:
        """The scanned axis first."""
        axis = axis_of(self.op.axis, x.type.ndim)
        order = (axis, *(k for k in range(x.type.ndim) if k != axis))
        return x if axis == 0 else self.c.op(Transpose(axes=order), x)

    def back(self, x: Term, leaf: int) -> Term:
        """The first axis where the scanned one was."""
        axis = axis_of(self.op.axis, self.args[leaf].type.ndim)
        order = (*range(1, axis + 1), 0, *range(axis + 1, x.type.ndim))
        return x if axis == 0 else self.c.op(Transpose(axes=order), x)
