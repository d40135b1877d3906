"""Arithmetic that takes long for what it computes: powers, divisions of integers, diagonals."""

from __future__ import annotations

from collections.abc import Iterator

from tempoc.base.cost_model import MODEL
from tempoc.base.graphs import reachable
from tempoc.driver.report.cost import thousands_text
from tempoc.driver.slow.host_loops import Finding
from tempoc.driver.slow.words import Words
from tempoc.driver.timing.estimate import TimedKernel
from tempoc.driver.timing.rates import divides_by_any_integer, operand_ops, raises_to_any_power
from tempoc.ops.control.recurrence import Recurrence
from tempoc.ops.tensor.arithmetic import Multiply
from tempoc.ops.tensor.elementwise import Cast
from tempoc.ops.tensor.source import Eye
from tempoc.sdg.graph.graph import Node
from tempoc.sdg.graph.query import operand_types
from tempoc.symbolic.walk import evaluate


class ArithmeticFindings:
    """Explains arithmetic of one program."""

    def __init__(self, words: Words) -> None:
        self.graph = words.graph
        self.words = words

    def of(self, kernel: TimedKernel, node: Node) -> Iterator[Finding]:
        """The findings about a node that takes a good part of the time."""
        made_by = operand_ops(self.graph, node)
        each = f" at each `{kernel.loops[-1].var}`" if kernel.loops else ""
        if raises_to_any_power(node.op, node.types, made_by):
            count = thousands_text(self.work(node, kernel) * kernel.points)
            yield Finding(
                why=f"{self.words.line(node)} raises {count} numbers to a power that is not known "
                f"to be an integer{each}",
                help="of positive numbers `exp(p * log(x))` takes a quarter of the time, with an "
                "error that is a little larger; `sqrt(x)` and products (`x * x`) take less",
            )
        if divides_by_any_integer(node.op, node.types, made_by):
            count = thousands_text(self.work(node, kernel) * kernel.points)
            yield Finding(
                why=f"{self.words.line(node)} divides {count} integers by what is no "
                f"constant{each}",
                help="a constant divisor (`const`) takes a third of the time or less, and so does "
                "`i32(floor(f32(x) / f32(d)))`, which is the same up to 2 ** 24",
            )
        yield from self.diagonal(kernel, node)

    def diagonal(self, kernel: TimedKernel, node: Node) -> Iterator[Finding]:
        """A product with a matrix that `eye` makes diagonal, as the source has it."""
        if not node.op.contraction and not isinstance(node.op, Recurrence):
            return
        total = self.work(node, kernel)
        for written in self.products(node):
            steps = evaluate(node.op.count, kernel.at) if isinstance(node.op, Recurrence) else 1
            size = self.diagonal_size(written, kernel)
            if (
                size >= MODEL.spread_elements
                and steps * 2 * size * size >= MODEL.main_share * total
            ):
                yield Finding(
                    why=f"{self.words.line(written)} multiplies with a matrix that `eye` makes "
                    f"diagonal: sums of {size} products, of which one counts",
                    help="multiply with what stands on the diagonal (`d * x` for `(eye(n) * d) @ "
                    "x`), which is the same for finite numbers",
                )
                return

    def work(self, node: Node, kernel: TimedKernel) -> int:
        """The operations of a node at a point."""
        return evaluate(node.op.work(operand_types(self.graph, node), node.types), kernel.at)

    def products(self, node: Node) -> list[Node]:
        """The products of the source that a node, or a scan, computes."""
        nodes = self.words.source.nodes
        if not isinstance(node.op, Recurrence):
            return [nodes[node.name]] if node.name in nodes else []
        name = self.words.name(node.name)
        return [n for n in nodes.values() if n.op.contraction and self.words.name(n.name) == name]

    def diagonal_size(self, written: Node, kernel: TimedKernel) -> int:
        """The rows of an operand that is `eye`, or a product with it; 0 if there is none."""
        nodes = self.words.source.nodes

        def factors(name: str) -> list[str]:
            made = nodes[name]
            return [*made.sources] if isinstance(made.op, Multiply | Cast) else []

        for made in (nodes[n] for n in reachable(written.sources, factors)):
            if isinstance(made.op, Eye):
                return evaluate(made.types[0].shape[0], kernel.at)
        return 0
