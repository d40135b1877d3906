"""The derivative of a fold: a fold in reverse order over the carries before each element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tempoc.ops.control.fold import Fold
from tempoc.ops.definition.types import TensorType
from tempoc.ops.gradients.calculus import Calculus, DerivativeRule, Derivatives, Rules, Term, Terms
from tempoc.ops.gradients.steps import Steps, backpropagate, sum_cotangents
from tempoc.ops.tensor import arithmetic as binary
from tempoc.ops.tensor.source import Arange, IndexValue
from tempoc.symbolic import expr as ix


def fold(rules: Rules) -> DerivativeRule:
    """The rule for ``Fold``, given the rules of the operators in its steps."""

    def rule(op: Fold, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
        """The carries are recomputed first, by the same fold."""
        return _FoldDerivative(rules, op, c, args, cots).run()

    return rule


@dataclass(frozen=True, slots=True)
class _FoldDerivative:
    rules: Rules
    op: Fold
    c: Calculus
    args: Terms
    cots: Terms

    def run(self) -> Derivatives:
        """The cotangents of the operands."""
        c, op = self.c, self.op
        first, xs, constants = op.parts(self.args)
        carries = replace(op, outputs=tuple(range(len(first))), pairs=(), combined=())
        before = c.several(carries, *self.args) if first else ()
        floats = [k for k, a in enumerate(first) if a.type.dtype.is_float]
        gs = [k for k, g in enumerate(self.cots) if g.type.dtype.is_float]
        elements = [*before, *xs, *(c.held(self.cots[k]) for k in gs)]
        back, reached = self.back(elements, floats, gs)
        zeros = [c.number(0.0, first[k].type.dtype, first[k].shape) for k in floats]
        cotangents = c.several(back, *zeros, *elements, *constants)
        parts: list[Term | None] = [None] * len(self.args)
        for k, term in zip(floats, cotangents, strict=False):
            parts[k] = c.fit(self.last(term), self.args[k])
        for k, term in zip(reached, cotangents[len(floats) :], strict=True):
            inner = k >= len(first) + len(xs)
            parts[k] = c.fit(c.sum(term, [0]) if inner else term, self.args[k])
        return tuple(parts)

    def back(
        self, elements: Sequence[Term], floats: list[int], gs: list[int]
    ) -> tuple[Fold, list[int]]:
        """The reverse fold, and the operands after the first ones that get a cotangent.

        Its results are the cotangents of the carries, then those of these operands.
        """
        op, build = self.op, Steps(self.c.build.facts)
        c = Calculus(build)
        first, xs, constants = op.parts(self.args)
        carried = [build.value(first[k].type) for k in floats]
        single = [build.single(e) for e in elements]
        outside = [build.value(TensorType(a.type.dtype, a.shape)) for a in constants]
        count = len(first) + len(xs)
        given = [*single[:count], *outside]
        cots: dict[int, list[Term]] = {}
        for k, term in zip(floats, carried, strict=True):
            cots.setdefault(op.carried[k], []).append(term)
        for k, term in zip(gs, single[count:], strict=True):
            cots.setdefault(op.outputs[k], []).append(term)
        got = backpropagate(self.rules, c, op.steps, given, cots)
        reached = [k for k in range(len(first), len(given)) if k in got]
        outputs = [sum_cotangents(c, got.get(k), given[k]) for k in (*floats, *reached)]
        numbers = tuple(t.handle for t in outputs if isinstance(t.handle, int))
        values = Fold(
            steps=tuple(build.steps),
            carried=numbers[: len(floats)],
            outputs=numbers,
            elements=len(elements),
            reverse=not op.reverse,
        )
        return values, reached

    def last(self, term: Term) -> Term:
        """The cotangent of the initial carry; 0 if there is no element."""
        c = self.c
        n = term.shape[0]
        places = c.op(Arange(stop=n))
        first = c.op(IndexValue(expr=ix.sub(n, ix.ONE) if self.op.reverse else ix.ZERO))
        at_first = c.expand(c.op(binary.Equal(), places, first), range(1, term.type.ndim))
        return c.sum(c.masked(at_first, term), [0])
