"""What the kernels of a part do that costs much: ranges, matrices, copies, strides, fixed costs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import prod

from tempoc.base.cost_model import MODEL
from tempoc.base.report_thresholds import REPORTED
from tempoc.driver.compilation import Compilation
from tempoc.driver.report.cost import thousands_text
from tempoc.driver.slow.choices import ChoiceFindings
from tempoc.driver.slow.findings import NOTHING
from tempoc.driver.slow.host_loops import Finding
from tempoc.driver.slow.operators import OperatorFindings
from tempoc.driver.slow.unread import UnreadFindings
from tempoc.driver.slow.words import Words, quoted, time_text
from tempoc.driver.timing.estimate import Estimator, ProgramPart, TimedKernel
from tempoc.ops.control.recurrence import Recurrence
from tempoc.ops.indexing.indexing import OneHot, SpatialIndex
from tempoc.ops.indexing.scatter import ScatterAdd
from tempoc.ops.tensor.joining import Concat
from tempoc.ops.tensor.reduction import Max, Min, Reduction
from tempoc.ops.tensor.source import Input
from tempoc.runtime.messages.units import size_text
from tempoc.sdg.graph.graph import Edge, Node
from tempoc.sdg.graph.query import node_operations, operand_types
from tempoc.sdg.statements.accessed import bytes_at
from tempoc.sdg.statements.statements import Read
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import evaluate, extent, symbols


class KernelFindings:
    """Explains the kernels of one program."""

    def __init__(self, compilation: Compilation, estimator: Estimator, words: Words) -> None:
        self.compilation = compilation
        self.graph = compilation.optimized
        self.estimator = estimator
        self.words = words
        self.operators = OperatorFindings(compilation, estimator, words)
        self.choices = ChoiceFindings(compilation, words)
        self.unread = UnreadFindings(estimator, words)

    def of(self, part: ProgramPart) -> Iterator[Finding]:
        """The findings about the kernels that take most of a part's time."""
        for kernel in part.dearest:
            if part.share(kernel) >= REPORTED.telling_share:
                yield from self.range(kernel)
                yield from self.concatenation(kernel)
                yield from self.shifted(part, kernel)
                yield from self.matrix(kernel)
                yield from self.spread(kernel)
                yield from self.turned(part, kernel)
                yield from self.sent(kernel)
                yield from self.scan(kernel)
                yield from self.choices.of(part, kernel)
                yield from self.unread.of(part, kernel)
                known = [*self.operators.of(part, kernel)]
                yield from known or self.operator(part, kernel)
        whole = self.whole(part)
        if whole is not None:
            yield whole

    def nodes(self, kernel: TimedKernel) -> list[Node]:
        """The operators of a kernel."""
        return [self.graph.nodes[m] for m in kernel.statement.members]

    # ------------------------------------------------------------ ranges

    def range(self, kernel: TimedKernel) -> Iterator[Finding]:
        """A range that grows with the step, gone through anew at each."""
        grows = [
            (n, e, dim)
            for n in self.nodes(kernel)
            for e in n.inputs
            if not n.op.picks
            for dim in self.growing(n, e, kernel)
        ]
        if not grows:
            return
        node, edge, dim = grows[-1]
        names = [self.words.read_by(n, e) for n, e, d in grows if d == dim]
        bound = self.estimator.values[self.graph.universe.dim(dim).bound]
        pairs = thousands_text(bound * bound // 2)
        line = self.words.line(node)
        yield Finding(
            why=f"`{self.words.name(node.name)}` ({line}) goes through all of {quoted(names)} "
            f"anew at each `{dim}`: {pairs} elements in all, not {bound}",
            help=self.shorter(kernel, node, edge, dim),
        )

    def shorter(self, kernel: TimedKernel, node: Node, edge: Edge, dim: str) -> str:
        """What helps against a range from the first step on, or up to the last one."""
        if self.words.name(node.name).startswith("grad("):
            origin = self.words.origin(node.name)
            return f"it is that of what reads `{origin}`: a window there bounds both"
        entry = next(e for e in edge.entries if isinstance(e, ix.Slice) and dim in symbols(e))
        ahead = dim in symbols(entry.lo) and dim not in symbols(entry.hi)
        last = show(entry.hi)
        window = f"[{dim}:min({dim}+256, {last})]" if ahead else f"[max(0, {dim}-255):{dim}+1]"
        other = f"S[{dim}+1]" if ahead else f"S[{dim}-1]"
        same = [
            n.op
            for n in self.nodes(kernel)
            if self.words.name(n.name) == self.words.name(node.name)
        ]
        reducing = [op for op in same if op.contraction or isinstance(op, Reduction)]
        if reducing and all(isinstance(op, Max) for op in reducing):
            greater = "minimum" if isinstance(reducing[0], Min) else "maximum"
            return (
                f"if what is compared does not depend on `{dim}`, keep a running value "
                f"(`S[{dim}] = {greater}({other}, ...)`); else a window (`{window}`) bounds it"
            )
        return (
            f"if what is summed does not depend on `{dim}` but by factors, keep a running "
            f"value (`S[{dim}] = {other} + ...`); else a window (`{window}`) bounds it; of factors "
            "that are tensors, sums at a lag (`h[t-s] * x[s]`) are quick"
        )

    def growing(self, node: Node, edge: Edge, kernel: TimedKernel) -> Iterator[str]:
        """The dimensions with which the range of a read grows."""
        for entry in edge.entries:
            if not isinstance(entry, ix.Slice):
                continue
            size = extent(entry)
            for dim in symbols(size):
                if dim in node.domain.dims and self.graph.universe.is_dim(dim):
                    last = self.estimator.values[self.graph.universe.dim(dim).bound] - 1
                    at = {**self.estimator.values, **kernel.at}
                    half, whole = (
                        evaluate(size, {**at, dim: value}) for value in (last // 2, last)
                    )
                    long = evaluate(size, at) >= MODEL.long_range
                    if long and 2 * abs(whole - half) > min(whole, half):
                        yield dim

    # ------------------------------------------------------------ copies

    def concatenation(self, kernel: TimedKernel) -> Iterator[Finding]:
        """Parts whose lengths vary with the step, put together at each."""
        dims = {x for loop in kernel.loops for x in (loop.var,)} | {*kernel.statement.domain.dims}
        dims |= {v.dim for v in kernel.statement.vector}
        for node in self.nodes(kernel):
            if not isinstance(node.op, Concat):
                continue
            types = operand_types(self.graph, node)
            varying = [s for t in types for e in t.shape for s in symbols(e) if s in dims]
            if varying:
                size = prod(max(1, evaluate(e, kernel.at)) for e in node.types[0].shape)
                if size < MODEL.long_range:
                    continue
                yield Finding(
                    why=f"`{self.words.name(node.name)}` ({self.words.line(node)}) concatenates "
                    f"parts whose lengths vary with `{varying[0]}`: all {thousands_text(size)} "
                    f"elements are copied at each `{varying[0]}`",
                    help="leave the parts where they are and read a slice of them "
                    f"(`x[0:{varying[0]}+1]`)",
                )
                return

    def shifted(self, part: ProgramPart, kernel: TimedKernel) -> Iterator[Finding]:
        """The latest of a tensor, moved along by one place at each step."""
        for node in self.nodes(kernel) if kernel.loops else ():
            if not isinstance(node.op, Concat):
                continue
            name, edges = self.words.name(node.name), node.inputs
            old = [e for e in edges if self.shifts(self.graph.nodes[e.source], name)]
            new = [e for e in edges if e not in old]
            if len(old) != 1 or len(new) != 1:
                continue
            type_, dim = node.types[0], kernel.loops[-1].var
            size = prod(evaluate(e, kernel.at) for e in type_.shape)
            moved = 2 * size * type_.dtype.itemsize * kernel.count
            if moved / MODEL.bytes_per_ns < REPORTED.telling_share * part.time:
                continue
            length = evaluate(type_.shape[node.op.axis], kernel.at)
            order = " and last to first (`flip`)" if edges[0] is new[0] else ""
            yield Finding(
                why=f"`{name}` ({self.words.line(node)}) is copied at each `{dim}`, moved along "
                f"by what is new: {thousands_text(size)} elements",
                help="leave what is new where it is, and read a window of it "
                f"(`x[max(0, {dim}-{length - 1}):{dim}+1]`), which is shorter at first{order}",
            )
            return

    def shifts(self, node: Node, name: str) -> bool:
        """Whether a node is a part of the tensor as it was at another step.

        What an equation reads of its own tensor is one: of ``c[t+1]`` it may be ``c[t]``.
        """
        own = [e for e in node.inputs if self.words.name(e.source) == name]
        identity = [ix.Sym(d) for d in node.domain.dims]
        return isinstance(node.op, SpatialIndex) and any(
            e.source == name or [*e.entries] != identity for e in own
        )

    # ------------------------------------------------------------ operations

    def operator(self, part: ProgramPart, kernel: TimedKernel) -> Iterator[Finding]:
        """One operator that does most of what a kernel does."""
        if kernel.work < REPORTED.main_share * part.time:
            return
        portions = {n: self.estimator.portion(kernel, [n.name]) for n in self.nodes(kernel)}
        node = max(portions, key=lambda n: portions[n])
        if portions[node] < REPORTED.main_share or len(portions) == 1 or not node.op.pure:
            return
        count = evaluate(node_operations(self.graph, node), kernel.at)
        if not count:
            return
        often = "at a step" if part.loop is not None else "in all"
        yield Finding(
            why=f"{portions[node]:.0%} of the operations are those of {self.words.line(node)}: "
            f"{thousands_text(count * kernel.points)} {often}",
            minor=part.loop is None,
        )

    # ------------------------------------------------------------ memory

    def matrix(self, kernel: TimedKernel) -> Iterator[Finding]:
        """A large matrix, read again at each step for a product with one vector."""
        if not kernel.loops or kernel.moved < kernel.work:
            return
        statement, tensors = kernel.statement, self.compilation.statements.tensors
        dims = {*statement.domain.dims}
        for node in self.nodes(kernel):
            edges = {e.source: e for e in node.inputs} if node.op.contraction else {}
            for read in statement.reads:
                e = edges.get(tensors[read.tensor].node)
                moving = any(d in dims for x in read.entries for d in symbols(x))
                size = self.size(read, kernel)
                if e is None or moving or size < MODEL.weighty_bytes or self.picks(node):
                    continue
                if size * kernel.count / MODEL.bytes_per_ns < kernel.moved / 2:
                    continue
                yield Finding(
                    why=f"each step reads all of `{self.words.name(read.tensor)}` "
                    f"({size_text(size)}) for a product with one vector ({self.words.line(node)})",
                    help="several runs at once, a further dimension (`dim b < B`), would read it "
                    "once for all of them",
                )
                return

    def picks(self, node: Node) -> bool:
        """Whether a product takes a row, of which `one_hot` says which one."""
        return any(isinstance(self.graph.nodes[e.source].op, OneHot) for e in node.inputs)

    def size(self, read: Read, kernel: TimedKernel) -> int:
        """The bytes that a read takes from a store."""
        tensor = self.compilation.statements.tensors[read.tensor]
        return evaluate(bytes_at(tensor, read.entries), kernel.at)

    def spread(self, kernel: TimedKernel) -> Iterator[Finding]:
        """Elements of one step that do not lie side by side."""
        stores, loops = self.compilation.plan.stores, {x.var for x in kernel.loops}
        tensors = self.compilation.statements.tensors
        for read in kernel.statement.reads:
            store, tensor = stores[read.tensor], tensors[read.tensor]
            axes = [store.axes[k] for k in store.order if k < len(store.axes)]
            entry_of = tensor.domain.at(read.entries)
            steps = [k for k, a in enumerate(axes) if loops & {*symbols(entry_of[a.dim])}]
            if not steps or axes[steps[-1]].ring:
                continue
            if isinstance(entry_of[axes[steps[-1]].dim], ix.Slice):
                continue  # a diagonal is spread in each order of the axes
            before = [a for a in axes[: steps[-1]] if isinstance(entry_of[a.dim], ix.Slice)]
            count = prod(evaluate(a.size, self.estimator.values) for a in before)
            inner = prod(evaluate(e, self.estimator.values) for e in store.shape)
            if count < REPORTED.spread_elements or inner >= REPORTED.spread_elements:
                continue
            if (
                self.size(read, kernel) * kernel.count / MODEL.bytes_per_ns
                < kernel.moved * REPORTED.telling_share
            ):
                continue
            outer, dim = before[0].dim, axes[steps[-1]].dim
            yield Finding(
                why=f"`{self.words.name(read.tensor)}` lies in memory with `{dim}` innermost, so "
                f"what a step reads for all `{outer}` is spread over all of it",
                help=f"declare `dim {dim}` before `dim {outer}`: what stays a loop first",
            )
            return

    def turned(self, part: ProgramPart, kernel: TimedKernel) -> Iterator[Finding]:
        """An input that is given in another order of its axes than a loop reads it in."""
        for read in kernel.statement.reads if kernel.loops else ():
            tensor = self.compilation.statements.tensors[read.tensor]
            order, dims = self.compilation.plan.stores[read.tensor].order, tensor.domain.dims
            given = isinstance(self.graph.nodes[tensor.node].op, Input)
            outer = [d for d, k in zip(dims, order, strict=False) if k != dims.index(d)]
            if not given or not outer or sorted(order) == [*order]:
                continue
            ends = [ix.Sym(self.graph.universe.dim(d).bound) for d in dims]
            whole = bytes_at(tensor, tuple(ix.Slice(ix.ZERO, e) for e in ends))
            size = evaluate(whole, self.estimator.values)
            if (
                REPORTED.turned_factor * size / MODEL.bytes_per_ns
                < REPORTED.telling_share * part.time
            ):
                continue
            first, last = dims[order[0]], outer[0]
            yield Finding(
                why=f"`{self.words.name(read.tensor)}` ({size_text(size)}) is given with `{last}` "
                f"before `{first}`, and turned over before the loop, which reads all `{last}` of "
                f"one `{first}` at once",
                help=f"declare `dim {first}` before `dim {last}`, and give it in that order: what "
                "stays a loop first",
            )
            return

    def sent(self, kernel: TimedKernel) -> Iterator[Finding]:
        """A gradient of rows picked by position, which has zeros for all rows that were not."""
        for node in self.nodes(kernel) if kernel.loops else ():
            if not isinstance(node.op, ScatterAdd):
                continue
            given, made = operand_types(self.graph, node)[0], node.types[0]
            count, size = (
                prod(max(1, evaluate(e, kernel.at)) for e in t.shape) for t in (given, made)
            )
            if size < MODEL.weighty_bytes or size < REPORTED.sparse_factor * count:
                continue
            dim = kernel.loops[-1].var
            yield Finding(
                why=f"`{self.words.name(node.name)}` ({self.words.line(node)}) has "
                f"{thousands_text(size)} elements, and so has what is made of it, though only "
                f"{thousands_text(count)} are not zero: all are written at each `{dim}`",
                help="more positions in each step, a larger batch, cost little more",
            )
            return

    def whole(self, part: ProgramPart) -> Finding | None:
        """A kernel outside of loops that memory limits."""
        if part.loop is not None:
            return None
        kernel = part.kernels[0]
        if any(isinstance(n.op, Recurrence) for n in self.nodes(kernel)):
            return None
        most = max(
            kernel.statement.writes, key=lambda w: self.written(w.tensor, kernel), default=None
        )
        if kernel.moved <= kernel.work or most is None:
            return Finding(why="its operations take the time, for all points at once", minor=True)
        size = self.written(most.tensor, kernel)
        largest = max(kernel.statement.reads, key=lambda r: self.size(r, kernel), default=None)
        if largest and REPORTED.telling_share * self.size(largest, kernel) > size:
            return Finding(
                why=f"memory limits it: of `{self.words.name(largest.tensor)}` "
                f"{size_text(self.size(largest, kernel))} are read"
            )
        readers = self.compilation.statements.readers(most.tensor)
        lines = self.words.lines([self.graph.nodes[read.member] for _, read in readers])
        used = f" (read by {lines})" if lines else "" if readers else " (an output)"
        return Finding(
            why=f"memory limits it: `{self.words.name(most.tensor)}` is written as a whole, "
            f"{size_text(size)}{used}",
        )

    def written(self, name: str, kernel: TimedKernel) -> int:
        """The bytes that a kernel writes of a tensor."""
        tensor = self.compilation.statements.tensors[name]
        entries = next(w.entries for w in kernel.statement.writes if w.tensor == name)
        return evaluate(bytes_at(tensor, entries), kernel.at)

    # ------------------------------------------------------------ steps

    def scan(self, kernel: TimedKernel) -> Iterator[Finding]:
        """A recurrence that runs within a kernel."""
        for node in self.nodes(kernel):
            if isinstance(node.op, Recurrence):
                count = evaluate(node.op.count, kernel.at)
                each = time_text(kernel.time / max(1, count * kernel.count) * 1e-9)
                name = self.words.name(node.name)
                names = quoted([name if name.startswith("grad(") else self.words.defined(node)])
                yield Finding(
                    why=f"{names} ({self.words.line(node)}) is a scan: {count} steps of "
                    f"{each}, one after the other",
                    is_scan=True,
                )
                return


def fixed_cost(part: ProgramPart, ended: Collection[str]) -> Finding | None:
    """Steps that compute so little that most of the time is what a step costs anyway.

    ``ended`` are the bounds that data decide while a loop runs: it tests at each step whether to go
    on.
    """
    if part.loop is None or 2 * sum(k.fixed for k in part.kernels) < part.time:
        return None
    fewer = (
        "; where a number of steps is known that is enough, a bound in place of `until` spares the "
        "test at each"
    ) * any(s in ended for s in symbols(part.loop.upper))
    return Finding(
        why="a step computes so little that most of its time is what any step takes",
        help=f"{NOTHING}; more in each, such as several runs at once (`dim b < B`), costs "
        f"little more{fewer}",
    )
