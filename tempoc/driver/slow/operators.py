"""Operators that cost much, with one that costs less: text, sorts, picked rows, checks, 64 bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from math import prod

from tempoc.base.cost_model import MODEL
from tempoc.base.graphs import reachable
from tempoc.base.report_thresholds import REPORTED
from tempoc.driver.compilation import Compilation
from tempoc.driver.report.cost import thousands_text
from tempoc.driver.slow.arithmetic import ArithmeticFindings
from tempoc.driver.slow.host_loops import Finding
from tempoc.driver.slow.matrices import MatrixFindings
from tempoc.driver.slow.words import Words, fits, listed, time_text
from tempoc.driver.timing.estimate import Estimator, ProgramPart, TimedKernel, dims_of
from tempoc.driver.timing.rates import extent_sorted, numbers_shown, wide_share
from tempoc.ops.control.effects import Print
from tempoc.ops.definition.types import DType
from tempoc.ops.indexing.indexing import OneHot
from tempoc.ops.indexing.search import Ordering
from tempoc.ops.random.draws import Draw, Permutation
from tempoc.ops.tensor.source import Input, Literal, Param
from tempoc.sdg.graph.graph import Node
from tempoc.sdg.graph.query import operand_types
from tempoc.symbolic.walk import evaluate, symbols


class OperatorFindings:
    """Explains operators of one program for which there is another way."""

    def __init__(self, compilation: Compilation, estimator: Estimator, words: Words) -> None:
        self.graph = compilation.optimized
        self.estimator = estimator
        self.words = words
        self.arithmetic = ArithmeticFindings(words)
        self.matrices = MatrixFindings(words)

    def of(self, part: ProgramPart, kernel: TimedKernel) -> Iterator[Finding]:
        """The findings about one kernel of a part."""
        nodes = [self.graph.nodes[m] for m in kernel.statement.members]
        for node in nodes:
            if self.tells(part, kernel, [node]):
                yield from self.lines(kernel, node)
                yield from self.sort(kernel, node)
                yield from self.picked(kernel, node)
                yield from self.shuffled(kernel, node)
                yield from self.arithmetic.of(kernel, node)
                yield from self.matrices.of(kernel, node)
        yield from self.drawn(part, kernel, nodes)
        yield from self.checks(part, kernel, nodes)
        yield from self.wide(part, kernel, nodes)
        yield from self.copies(nodes)

    def tells(self, part: ProgramPart, kernel: TimedKernel, nodes: Sequence[Node]) -> bool:
        """Whether operators take a good part of the time."""
        portion = self.estimator.portion(kernel, [n.name for n in nodes])
        return portion * max(kernel.work, kernel.moved) >= REPORTED.telling_share * part.time

    def lines(self, kernel: TimedKernel, node: Node) -> Iterator[Finding]:
        """Numbers that are written as text; for loops of the host it is what makes them such."""
        loops = kernel.loops
        if not isinstance(node.op, Print):
            return
        if loops and self.estimator.is_on_host(loops[-1], loops):
            return
        each = numbers_shown(operand_types(self.graph, node), kernel.at)
        every = f" in all, {thousands_text(each)} at each `{loops[-1].var}`" if loops else ""
        yield Finding(
            why=f"{self.words.line(node)} prints {thousands_text(round(kernel.count) * each)} "
            f"numbers{every}, which become text",
            help=f"print {'less of it, such as a sum or an element, or ' * (each > 1)}less often "
            "(`when`), or make it an output",
        )

    def sort(self, kernel: TimedKernel, node: Node) -> Iterator[Finding]:
        """Many elements that are put in order."""
        if not isinstance(node.op, Ordering):
            return
        count = extent_sorted(node.op, operand_types(self.graph, node), kernel.at)
        if count >= MODEL.long_range:
            each = f" at each `{kernel.loops[-1].var}`" if kernel.loops else ""
            yield Finding(
                why=f"{self.words.line(node)} puts {count} elements in order{each}",
                help="where few are needed, `top_k(x, k)` finds the greatest and "
                "`-top_k(-x, k)[0]` the least in less time, `max` and `min` one of them",
            )

    def shuffled(self, kernel: TimedKernel, node: Node) -> Iterator[Finding]:
        """Places in a random order."""
        if not isinstance(node.op, Permutation):
            return
        loop = f"`{kernel.loops[-1].var}`" if kernel.loops else ""
        each = f" at each {loop}" if loop else ""
        once = f"; one order, drawn in an equation without {loop}, serves all {loop}"
        once = once if loop else ""
        yield Finding(
            why=f"{self.words.line(node)} puts {thousands_text(self.draws(kernel, node))} places "
            f"in a random order{each}, which sorts as many random numbers",
            help="where a place may come twice, `random.integers` draws places without a sort"
            + once,
        )

    def drawn(
        self, part: ProgramPart, kernel: TimedKernel, nodes: Sequence[Node]
    ) -> Iterator[Finding]:
        """Random numbers, each of which is a dozen rounds of a cipher; those of a line together."""
        draws = [n for n in nodes if isinstance(n.op, Draw) and not isinstance(n.op, Permutation)]
        if not draws or not self.tells(part, kernel, draws):
            return
        each = f" at each `{kernel.loops[-1].var}`" if kernel.loops else ""
        counts = Counter[str]()
        for node in draws:
            share = self.estimator.read_portion(node, kernel.at)
            counts[self.words.line(node)] += round(self.draws(kernel, node) * kernel.points * share)
        for line, count in counts.items():
            yield Finding(
                why=f"{line} draws {thousands_text(count)} random numbers{each}, which "
                f"take about {time_text(MODEL.drawn_ns * 1e-9)} each",
            )

    def draws(self, kernel: TimedKernel, node: Node) -> int:
        """How many numbers a draw takes at a point: one for each element, or for each weight."""
        types = (*operand_types(self.graph, node)[1:], *node.types)
        return max(prod(evaluate(e, kernel.at) for e in t.shape) for t in types)

    def picked(self, kernel: TimedKernel, node: Node) -> Iterator[Finding]:
        """A product with `one_hot`, which takes a row of a matrix."""
        for edge in node.inputs if node.op.contraction else ():
            source = self.graph.nodes[edge.source]
            if not isinstance(source.op, OneHot):
                continue
            rows = evaluate(source.op.n, kernel.at)
            others = [e for e in node.inputs if e is not edge]
            if rows < MODEL.long_range or len(others) != 1:
                continue
            table = self.words.name(others[0].source)
            shown = f"({table})" if self.graph.nodes[others[0].source].domain.dims else table
            yield Finding(
                why=f"{self.words.line(node)} multiplies `{table}` with `one_hot`: sums of "
                f"{rows} products, of which one counts",
                help=f"read the row instead: `{shown}[{self.position(source)}]`, for positions "
                "that lie inside",
            )

    def position(self, node: Node) -> str:
        """What says which row `one_hot` takes, as the source has it if that is short."""
        source = node.inputs[0].source
        spans = self.graph.nodes[source].spans
        name = self.words.name(source)
        return name if source == name or not spans or not fits(spans[-1].text) else spans[-1].text

    def checks(
        self, part: ProgramPart, kernel: TimedKernel, nodes: Sequence[Node]
    ) -> Iterator[Finding]:
        """Positions that are checked; those that do not vary with a loop, once."""
        checking = [n for n in nodes if n.op.checks]
        moving = {d for loop in kernel.loops for d in dims_of(kernel, loop)}
        counts = [self.positions(n, kernel, moving) for n in checking]
        count = kernel.points * sum(counts)
        each = REPORTED.checks_ns + count * REPORTED.checked_ns
        if count and each * kernel.count >= REPORTED.telling_share * part.time:
            lines = self.words.lines(checking)
            verb = "check" if lines.startswith("lines") else "checks"
            often = f" at each `{kernel.loops[-1].var}`" if kernel.loops else ""
            positions = f"{thousands_text(count)} positions lie" if count > 1 else "a position lies"
            yield Finding(
                why=f"{lines} {verb}{often} whether {positions} inside",
                help="what is proved is not checked: `clip(k, 0, n - 1)` for a position `k` of "
                "`n`, which takes the nearest one for what lies outside",
            )

    def positions(self, node: Node, kernel: TimedKernel, moving: Collection[str]) -> int:
        """How many positions a point of a node checks in each step of the loops around it."""
        given = zip(node.inputs, operand_types(self.graph, node), strict=True)
        first = node.op.picks or node.op.changes_part  # takes or changes elements of it
        indices = [(e, t) for e, t in list(given)[first:] if t.dtype.is_int]
        return sum(
            prod(max(0, evaluate(size, kernel.at)) for size in t.shape)
            for e, t in indices
            if not kernel.loops or any(d in moving for x in e.entries for d in symbols(x))
        )

    def wide(
        self, part: ProgramPart, kernel: TimedKernel, nodes: Sequence[Node]
    ) -> Iterator[Finding]:
        """Numbers of 64 bits, and what in the program makes them so."""
        wide = [
            n
            for n in nodes
            if wide_share(n.op, operand_types(self.graph, n), n.types, kernel.at)
            >= REPORTED.main_share
        ]
        if kernel.time < REPORTED.main_share * part.time or (
            self.estimator.portion(kernel, [n.name for n in wide]) < REPORTED.main_share
        ):
            return
        dtypes = {t.dtype for n in wide for t in n.types}
        dtype = DType.F64 if DType.F64 in dtypes else DType.I64
        lines = self.words.lines(wide)
        verb = "compute" if lines.startswith("lines") else "computes"
        origins = self.origins(wide, dtype)
        cause = f", as {listed(origins)} {'are' if len(origins) > 1 else 'is'}" if origins else ""
        enough = "seven digits are enough" if dtype is DType.F64 else "numbers stay below 2 ** 31"
        narrow = "f32" if dtype is DType.F64 else "i32"
        yield Finding(
            why=f"{lines} {verb} in `{dtype.value}`{cause}",
            help=f"where {enough}, `{narrow}`{' there' * bool(origins)} takes half of the time and "
            "of the memory",
        )

    def origins(self, wide: Sequence[Node], dtype: DType) -> list[str]:
        """What of the source has a dtype that none of its operands has: inputs, casts, constants.

        All that meets them has it as well, so that numbers do not count, which take what they meet.
        Named are those of which ``wide`` is made.
        """
        source = self.words.source.nodes
        typed = [n for n in source.values() if any(t.dtype is dtype for t in n.types)]
        same = {n.name for n in typed if not isinstance(n.op, Literal)}
        operands = {name: [s for s in source[name].sources if s in same] for name in same}
        names = {self.words.name(n.name) for n in wide}
        starts = [name for name in source if name in same and self.words.name(name) in names]
        made_of = reachable(starts or sorted(same), lambda name: operands[name])
        origins = sorted(name for name in made_of if not operands[name])
        texts = dict.fromkeys(self.origin(source[name], dtype) for name in origins)
        return [text for text in texts if text]

    def origin(self, node: Node, dtype: DType) -> str:
        """What is declared with a dtype, or asks for it; empty if neither is so."""
        text = node.spans[-1].text if node.spans else ""
        if isinstance(node.op, Input | Param):
            shown = node.name
        elif text.startswith(f"{dtype.value}(") or "dtype" in text:
            is_part = fits(text) and node.name not in self.words.roots
            shown = text if is_part else self.words.name(node.name)
        else:
            return ""
        line = self.words.line(node)
        return f"`{shown}`" + (f" ({line})" if line else "")

    def copies(self, nodes: Sequence[Node]) -> Iterator[Finding]:
        """What a `for` or a list writes out again and again within one kernel."""
        compiled = MODEL.compile_seconds(len(nodes))
        often = Counter((n.op.name, n.spans) for n in nodes if n.spans and not n.op.cheap)
        if not often or compiled < REPORTED.named_compile_seconds:
            return
        (name, spans), count = often.most_common(1)[0]
        if count < REPORTED.named_copies:
            return
        node = next(n for n in nodes if (n.op.name, n.spans) == (name, spans))
        yield Finding(
            why=f"{self.words.line(node)} is written out {count} times in one kernel, which XLA "
            f"compiles in about {time_text(compiled)}",
            help=f"where a `for` or a list does that, a dimension of {count} steps, each of "
            "which reads the one before, is compiled once, or an axis where none does",
        )
