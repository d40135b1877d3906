"""Steps at which a loop computes what nothing reads: each reader looks at one in several only.

a[t] = tanh(W @ h[t])                                   computed at each `t`
h[t] = h[t-1] + (a[t-1] if t % 16 == 0 else x[t])       which reads one in 16
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from tempoc.base.report_thresholds import REPORTED
from tempoc.driver.slow.host_loops import Finding
from tempoc.driver.slow.words import Words
from tempoc.driver.timing.estimate import Estimator, ProgramPart, TimedKernel, dims_of
from tempoc.ops.control.control import Merge
from tempoc.sdg.graph.graph import Edge
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import evaluate, symbols


class UnreadFindings:
    """Explains such steps of one program."""

    def __init__(self, estimator: Estimator, words: Words) -> None:
        self.graph = words.graph
        self.estimator = estimator
        self.words = words

    def of(self, part: ProgramPart, kernel: TimedKernel) -> Iterator[Finding]:
        """A tensor of a kernel in a loop that takes a good part of the time."""
        if not kernel.loops:
            return
        members = kernel.statement.members
        for name in dict.fromkeys(self.words.name(m) for m in members):
            own = [m for m in members if self.words.name(m) == name]
            dims = dims_of(kernel, kernel.loops[-1])
            time = self.estimator.portion(kernel, own) * kernel.time
            if len(dims) == 1 and time >= REPORTED.telling_share * part.time:
                yield from self.finding(name, own[-1], dims[0], kernel)

    def finding(self, name: str, last: str, dim: str, kernel: TimedKernel) -> Iterator[Finding]:
        """A finding, if of the steps in the middle of the loop every ``k``-th is read."""
        steps = range(self.estimator.values[self.graph.universe.dim(dim).bound])
        middle = steps[: REPORTED.read_steps]
        at = {**self.estimator.values, **kernel.at}
        node = self.graph.nodes[last]
        computed = [s for s in middle if evaluate(node.domain.where, {**at, dim: s})]
        if 2 * len(computed) <= len(middle):  # the equation has a guard already
            return
        read = self.read(name, dim, middle, at)
        if read is None or len(read) < 2 or 2 * len(read) > len(computed):
            return
        distances = {b - a for a, b in pairwise(sorted(read))}
        if len(distances) > 1:
            return
        every = distances.pop()
        yield Finding(
            why=f"`{name}` ({self.words.line(node)}) is computed at each `{dim}`, of which others "
            f"read one in {every}",
            help=f"`when {dim} % {every} == {min(read) % every}` behind its equation computes it "
            "only where it is read",
        )

    def read(self, name: str, dim: str, steps: range, at: Mapping[str, int]) -> set[int] | None:
        """At which of some steps others, or its own next steps, read a tensor, if that is known."""
        edges = [(Domain(()), o.edge) for o in self.graph.outputs]
        for node in self.graph.nodes.values():
            own = self.words.name(node.name) == name
            here = tuple(ix.Sym(d) for d in node.domain.dims)
            edges += [(node.domain, e) for e in node.inputs if not own or e.entries != here]
        read: set[int] = set()
        for domain, edge in edges:
            source = self.graph.nodes[edge.source]
            if not any(self.words.name(s) == name for s in (source.name, *source.sources)):
                continue
            if self.words.name(source.name) != name and not isinstance(source.op, Merge):
                continue
            points = self.points(domain, edge, dim, at)
            if points is None:
                return None
            read |= points.intersection(steps)
        return read

    def points(
        self, domain: Domain, edge: Edge, dim: str, at: Mapping[str, int]
    ) -> set[int] | None:
        """Where a reader in a domain looks along a dimension, if at most one of its own says so.

        Nothing is known of places that vary with a bound: a guard behind the equation would have to
        hold there for all bounds. Of long loops only reads at a distance are looked up.
        """
        dims, universe = self.graph.nodes[edge.source].domain.dims, self.graph.universe
        if dim not in dims:
            return None
        entry = edge.entries[dims.index(dim)]
        condition = ix.conjunction(domain.where, edge.guard)
        named = {*symbols(condition), *symbols(entry)}
        free = [s for s in named if universe.is_dim(s)]
        if len(free) > 1 or not {*symbols(entry)} <= {*free}:
            return None
        steps = range(at[universe.dim(free[0]).bound] if free else 1)
        if len(steps) > REPORTED.read_steps:
            distance = None if isinstance(entry, ix.Slice) else ix.sub(entry, ix.Sym(free[0]))
            if not isinstance(distance, ix.Const):
                return None
            steps = steps[max(0, -distance.value) :][: REPORTED.read_steps]
        points: set[int] = set()
        for step in steps:
            here = {**at, **dict.fromkeys(free, step)}
            if evaluate(condition, here):
                points.update(
                    range(evaluate(entry.lo, here), evaluate(entry.hi, here), entry.step)
                    if isinstance(entry, ix.Slice)
                    else (evaluate(entry, here),)
                )
        return points
