"""Loops that are such because a step reads the last step of a loop within the one before.

h[l+1, t] = tanh(W @ h[l, t] + U @ h[L-1, t-1])     no `t` begins before all `l` of the last one
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from tempoc.driver.slow.cycles import LoopCycle, LoopCycles
from tempoc.driver.slow.host_loops import Finding
from tempoc.driver.slow.words import Words
from tempoc.ops.control.control import Merge
from tempoc.ops.control.recurrence import Recurrence
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate, symbols


class InnerEndFindings:
    """Explains reads of the ends of inner loops; ``values`` has all bounds."""

    def __init__(
        self, graph: Graph, cycles: LoopCycles, words: Words, values: Mapping[str, int]
    ) -> None:
        self.graph = graph
        self.cycles = cycles
        self.words = words
        self.values = values

    def of(
        self, cycle: LoopCycle, names: Collection[str], telling: Collection[str]
    ) -> Iterator[Finding]:
        """A read without which a loop would hold none of what takes its time.

        ``names`` are the nodes of the loop, ``telling`` those that take the time. A loop within it
        that begins with what only the step before gives is none that could do without.
        """
        ends = [
            (node, edge, inner)
            for node in (self.graph.nodes[n] for n in names if n in cycle.nodes)
            for edge in node.inputs
            for inner in self.inner(node, edge, cycle.dim)
            if self.begins_alone(inner, cycle)
        ]
        if not ends or cycle.nodes.isdisjoint(telling):
            return
        node, edge, inner = ends[0]
        apart = {e.source for _, e, d in ends if d == inner}
        spared = {(n.name, s) for n, e, d in ends if d == inner for s in self.producers(e)}
        others = {
            (n, s)
            for n in {name for name, _ in spared}
            for e in self.graph.nodes[n].inputs
            if e.source not in apart or inner not in self.inner(self.graph.nodes[n], e, cycle.dim)
            for s in self.producers(e)
        }
        if self.cycles.is_free(names, cycle, inner, spared - others, telling):
            yield self.finding(node, edge, inner, cycle.dim)

    def inner(self, node: Node, edge: Edge, dim: str) -> Iterator[str]:
        """The dimensions whose last point a node reads at another step of a loop.

        What goes on from there, in the same tensor, reads no end but its own step before.
        """
        universe, dims = self.graph.universe, self.graph.nodes[edge.source].domain.dims
        entries = dict(zip(dims, edge.entries, strict=True))
        at = entries.get(dim)
        if at is None or at == ix.Sym(dim) or isinstance(at, ix.Slice) or dim not in symbols(at):
            return
        tensor = self.words.dims(node.name) or set()
        for inner, entry in entries.items():
            if isinstance(entry, ix.Slice) or any(universe.is_dim(s) for s in symbols(entry)):
                continue
            last = evaluate(ix.Sym(universe.dim(inner).bound), self.values) - 1
            goes_on = inner in tensor and inner not in node.domain.dims
            if last > 0 and evaluate(entry, self.values) == last and not goes_on:
                yield inner

    def begins_alone(self, inner: str, cycle: LoopCycle) -> bool:
        """Whether what an inner loop begins with is there before the loop of a cycle."""
        for node in self.graph.nodes.values():
            if isinstance(node.op, Merge) and inner in node.domain.dims:
                inside = [s in cycle.nodes for s in node.sources]
                if any(inside) and not all(inside):
                    return True
            if isinstance(node.op, Recurrence) and node.name in cycle.nodes:
                first = node.inputs[: len(node.op.carried)]
                along = inner in (self.words.dims(node.name) or ())
                if along and not any(s in cycle.nodes for e in first for s in self.producers(e)):
                    return True
        return False

    def producers(self, edge: Edge) -> tuple[str, ...]:
        """What an edge reads, through a merge or not."""
        source = self.graph.nodes[edge.source]
        return source.sources if isinstance(source.op, Merge) else (source.name,)

    def finding(self, node: Node, edge: Edge, inner: str, dim: str) -> Finding:
        """The read, and what could be read in its place."""
        name, line = self.words.name(edge.source), self.words.line(node)
        other = f"of what needs none of `{name}`"
        same = f"of the same `{inner}`, or {other}," if inner in node.domain.dims else other
        return Finding(
            why=f"`{self.words.read(edge)}` ({line}) is the last `{inner}` of another `{dim}`: no "
            f"`{dim}` begins before all `{inner}` of that one are done",
            help=f"where a read {same} will do, what needs nothing of other `{dim}` is computed "
            f"for all `{dim}` at once",
        )
