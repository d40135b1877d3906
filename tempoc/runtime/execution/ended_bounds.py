"""What is checked of the lengths that a run, or the evaluator, finds out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tempoc.diagnostics.diagnostic import RunError
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import bound_order, bounds_set_by_run
from tempoc.runtime.data.bindings import PointIndex
from tempoc.runtime.host.failure import place
from tempoc.runtime.messages import run as errors
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import spelled
from tempoc.symbolic.walk import evaluate, substitute, symbols

BoundEnds = Mapping[str, Mapping[PointIndex, int]]
"""The lengths of each bound that has ended, by point of the dimensions with which it varies."""


@dataclass(slots=True)
class EndedBounds:
    """The bounds that follow from lengths: ``formulas`` of lengths and of what is given."""

    program: prog.Program
    formulas: dict[str, ix.Expr] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the formulas."""
        given = {name for n in self.program.lengths for name in (n.bound, n.largest)}
        values = {b.name: b.value for b in self.program.bounds if b.name not in given}
        following = bounds_set_by_run(self.program.bounds, self.program.lengths)
        for name in bound_order(self.program.bounds) if following - given else ():
            if name in following and (value := values.get(name)) is not None:
                self.formulas[name] = substitute(value, self.formulas)

    def derive(self, bounds: Mapping[str, int]) -> dict[str, int]:
        """The bounds, with those that follow from them."""
        return {**bounds, **{name: evaluate(e, bounds) for name, e in self.formulas.items()}}

    def check(
        self, bounds: Mapping[str, int], ends: BoundEnds, bound: str, outer: PointIndex
    ) -> None:
        """Check what is known since a bound has ended at a point; ``ends`` has its length.

        Raises ``RunError`` if an assumption is violated, or a derived bound is below 1.
        """
        dims = next(n.outer for n in self.program.lengths if n.bound == bound)
        at, point = dict(zip(dims, outer, strict=True)), place(dims, outer)
        end = f"{bound} ended at {ends[bound][outer]}" + (f" where {point}" if point else "")

        def values(e: ix.Expr) -> Iterator[dict[str, int]]:
            """Those of all bounds wherever the lengths of an expression are known, now this one."""
            names = symbols(substitute(e, self.formulas))
            for lengths in self._ended(names, ends, at) if bound in names else ():
                yield self.derive({**bounds, **lengths})

        for a in self.program.assumptions:
            for now in values(a.condition):
                if not evaluate(a.condition, now):
                    text = ", ".join(f"{n} = {now[n]}" for n in symbols(a.condition))
                    raise RunError(errors.violated_at_end(a.text, text, end))
        for b in (b for b in self.program.bounds if b.name in self.formulas):
            for now in values(ix.Sym(b.name)):
                if now[b.name] < 1 and b.value is not None:
                    raise RunError(errors.small_bound(b.name, spelled(b.value), now[b.name], end))

    def _ended(
        self, names: Collection[str], ends: BoundEnds, point: Mapping[str, int]
    ) -> Iterator[Mapping[str, int]]:
        """The lengths among names wherever all of them have ended, at a point or together with it.

        The last one that ends finds all the others.
        """
        states: list[tuple[Mapping[str, int], Mapping[str, int]]] = [(point, {})]
        for length in (n for n in self.program.lengths if n.bound in names):
            states = [
                ({**at, **dict(zip(length.outer, outer, strict=True))}, {**values, length.bound: n})
                for at, values in states
                for outer, n in _agreeing(ends[length.bound], length.outer, at)
            ]
        for _, values in states:
            yield values


def _agreeing(
    ends: Mapping[PointIndex, int], dims: Sequence[str], at: Mapping[str, int]
) -> Iterator[tuple[PointIndex, int]]:
    """The points of these dimensions that have ended and agree with what is known of one."""
    known = tuple(at[d] for d in dims if d in at)
    for point in (known,) if len(known) == len(dims) else ends:
        if point in ends and all(at.get(d, k) == k for d, k in zip(dims, point, strict=True)):
            yield point, ends[point]
