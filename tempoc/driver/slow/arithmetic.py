"""Arithmetic that takes long for what it computes: powers, divisions of integers."""

from __future__ import annotations

from collections.abc import Iterator

from tempoc.driver.report.cost import thousands_text
from tempoc.driver.slow.host_loops import Finding
from tempoc.driver.slow.words import Words
from tempoc.driver.timing.estimate import TimedKernel
from tempoc.driver.timing.rates import divides_by_any_integer, operand_ops, raises_to_any_power
from tempoc.sdg.graph.graph import Node
from tempoc.sdg.graph.query import node_operations
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

    def work(self, node: Node, kernel: TimedKernel) -> int:
        """The operations of a node at a point."""
        return evaluate(node_operations(self.graph, node), kernel.at)
