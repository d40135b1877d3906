"""The derivative of a scan with a function of the program: the chain rule, from the end.

With ``y[k] = f(y[k-1], x[k])`` and the cotangents ``g``, what flows back into ``y[k]`` is ``g[k]``
and what ``y[k+1]`` passes on. The function's own derivative is a list of steps too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tempoc.ops.control.associative_scan import AssociativeScan
from tempoc.ops.control.cond import Cond
from tempoc.ops.control.fold import Fold
from tempoc.ops.control.steps import OpStep
from tempoc.ops.definition.shapes import axis_of
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.gradients.calculus import Calculus, DerivativeRule, Derivatives, Rules, Term, Terms
from tempoc.ops.gradients.steps import Steps, backpropagate, sum_cotangents
from tempoc.ops.indexing.indexing import Take
from tempoc.ops.tensor.arithmetic import Add, Equal, Maximum, Subtract
from tempoc.ops.tensor.movement import Transpose
from tempoc.ops.tensor.source import Arange


def associative_scan(rules: Rules) -> DerivativeRule:
    """The rule, given those of the operators that functions are made of."""

    def rule(
        op: AssociativeScan, c: Calculus, args: Terms, results: Terms, cots: Terms
    ) -> Derivatives:
        """One element after the other, from the last."""
        return _ScanDerivative(rules, op, c, args, results, cots).run()

    return rule


@dataclass(frozen=True, slots=True)
class _ScanDerivative:
    rules: Rules
    op: AssociativeScan
    c: Calculus
    args: Terms
    results: Terms
    cots: Terms

    def run(self) -> Derivatives:
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
        build = Steps(c.build.facts)
        fold, read = self.fold(build, floats, elements)
        starts = [c.number(0.0, xs[k].type.dtype, xs[k].shape[1:]) for k in floats]
        cotangents = c.several(fold, *starts, *elements, *self.args[n:])
        parts: list[Term | None] = [None] * len(self.args)
        for k, term in zip(floats, cotangents, strict=False):
            parts[k] = c.fit(self.back(term, k), self.args[k])
        for k, term in zip(read, cotangents[len(floats) :], strict=True):
            parts[n + k] = c.fit(c.sum(term, [0]), self.args[n + k])
        return tuple(parts)

    def fold(
        self, build: Steps, floats: list[int], elements: Sequence[Term]
    ) -> tuple[Fold, list[int]]:
        """The steps at one element; which operands from outside get something."""
        n, c = self.op.leaves, Calculus(build)
        carried = [
            build.value(TensorType(elements[n + k].type.dtype, elements[n + k].shape[1:]))
            for k in floats
        ]
        single = [build.single(e) for e in elements]
        outside = [build.value(a.type) for a in self.args[n:]]
        earlier, later, gs, first = single[:n], single[n : 2 * n], single[2 * n : -1], single[-1]
        sums = [c.add(a, b) for a, b in zip(carried, gs, strict=True)]
        cots: dict[int, list[Term]] = {}
        for k, term in zip(floats, sums, strict=True):
            cots.setdefault(self.op.results[k], []).append(term)
        got = backpropagate(self.rules, c, self.op.steps, [*earlier, *later, *outside], cots)

        def unless_first(x: Term, instead: Term | None = None) -> Term:
            zero = c.number(0.0, x.type.dtype, x.shape)
            return c.op(Cond(), first, zero if instead is None else instead, x)

        passed, outputs = [], []
        for k, term in zip(floats, sums, strict=True):
            passed.append(unless_first(sum_cotangents(c, got.get(k), earlier[k])))
            outputs.append(unless_first(sum_cotangents(c, got.get(n + k), later[k]), term))
        read = [k for k in range(len(outside)) if 2 * n + k in got]
        outputs += [unless_first(sum_cotangents(c, got[2 * n + k], outside[k])) for k in read]
        numbers = [[t.handle for t in ts if isinstance(t.handle, int)] for ts in (passed, outputs)]
        alone = n == len(floats) == len(self.args) and _is_polynomial(self.op.steps)
        fold = Fold(
            steps=tuple(build.steps),
            carried=tuple(numbers[0]),
            outputs=tuple(numbers[1]),
            elements=len(elements),
            reverse=True,
            pairs=self.op.steps if alone else (),
            combined=self.op.results if alone else (),
        )
        return fold, read

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


def _is_polynomial(steps: Sequence[OpStep]) -> bool:
    """Whether values have one derivative each; a maximum of equal operands has more."""
    return all(
        op.differentiable and (op.multilinear or op.moves or isinstance(op, Add | Subtract))
        for op, taken, _ in steps
        if taken
    )
