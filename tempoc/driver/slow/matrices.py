"""Matrices of which more is computed than is needed: diagonals, inverses, pairs of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod

from tempoc.base.graphs import reachable, strongly_connected_components
from tempoc.base.report_thresholds import REPORTED
from tempoc.driver.report.cost import thousands_text
from tempoc.driver.slow.host_loops import Finding
from tempoc.driver.slow.words import Words
from tempoc.driver.timing.estimate import TimedKernel
from tempoc.ops.control.recurrence import Recurrence
from tempoc.ops.definition.types import TensorType
from tempoc.ops.linear.solve import Solve
from tempoc.ops.tensor.arithmetic import Multiply, Power, Subtract
from tempoc.ops.tensor.contraction import Einsum
from tempoc.ops.tensor.elementwise import Cast
from tempoc.ops.tensor.reduction import Sum
from tempoc.ops.tensor.source import Eye
from tempoc.sdg.graph.graph import Edge, Node
from tempoc.sdg.graph.query import node_operations, operand_types
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate, symbols


class MatrixFindings:
    """Explains products and sums of one program of which little counts, or with another form."""

    def __init__(self, words: Words) -> None:
        self.graph = words.graph
        self.words = words
        self.source = words.source.nodes

    def of(self, kernel: TimedKernel, node: Node) -> Iterator[Finding]:
        """The findings about a node that takes a good part of the time."""
        if node.op.contraction or isinstance(node.op, Recurrence):
            yield from self.diagonal(kernel, node)
            yield from self.diagonal_of_product(kernel, node)
        if isinstance(node.op, Solve):
            yield from self.inverse(node)
        if isinstance(node.op, Sum):
            yield from self.squares(kernel, node)

    def diagonal(self, kernel: TimedKernel, node: Node) -> Iterator[Finding]:
        """A product with a matrix that `eye` makes diagonal, as the source has it."""
        total = self.work(node, kernel)
        for written in self.products(node):
            steps = evaluate(node.op.count, kernel.at) if isinstance(node.op, Recurrence) else 1
            size = self.diagonal_size(written, kernel)
            if (
                size >= REPORTED.spread_elements
                and steps * 2 * size * size >= REPORTED.main_share * total
            ):
                yield Finding(
                    why=f"{self.words.line(written)} multiplies with a matrix that `eye` makes "
                    f"diagonal: sums of {size} products, of which one counts",
                    help="multiply with what stands on the diagonal (`d * x` for `(eye(n) * d) @ "
                    "x`), which is the same for finite numbers",
                )
                return

    def diagonal_of_product(self, kernel: TimedKernel, node: Node) -> Iterator[Finding]:
        """A product of two matrices of which only the diagonal is read."""
        total = self.work(node, kernel)
        for written in self.products(node):
            readers = self.readers(written)
            rows = evaluate(written.types[0].shape[-1], kernel.at) if written.types[0].shape else 0
            steps = evaluate(node.op.count, kernel.at) if isinstance(node.op, Recurrence) else 1
            work = evaluate(node_operations(self.words.source, written), kernel.at)
            if (
                rows >= REPORTED.spread_elements
                and steps * work >= REPORTED.telling_share * total
                and readers
                and all(self.takes_diagonal(n, written) for n in readers)
            ):
                yield Finding(
                    why=f"{self.words.line(written)} multiplies two matrices, of whose product "
                    f"only the diagonal is read: of {rows} rows one element each",
                    help="`sum(a * b.T, axis = 1)` is the diagonal of `a @ b`, for finite numbers",
                )
                return

    def takes_diagonal(self, reader: Node, product: Node) -> bool:
        """Whether a node reads the diagonal of a matrix, or multiplies it with `eye`."""
        if isinstance(reader.op, Einsum):
            return len(reader.inputs) == 1 and reader.op.spec.replace(" ", "")[:4] == "ii->"
        if not isinstance(reader.op, Multiply):
            return False
        others = [s for s in reader.sources if s != product.name]
        return any(isinstance(n.op, Eye) for n in self.eye_factors(others))

    def inverse(self, node: Node) -> Iterator[Finding]:
        """The inverse of a matrix, which is multiplied with something, once for each inverse."""
        source = self.source.get(node.name)
        if source is None or not isinstance(self.source[source.sources[1]].op, Eye):
            return
        readers = self.readers(source)
        if len(readers) != 1 or not readers[0].op.contraction:
            return
        if readers[0].domain != source.domain:
            return
        first = readers[0].sources[0] == node.name
        form = (
            "`solve(a, b)` for `inverse(a) @ b`"
            if first
            else ("`solve(a.T, b.T).T` for `b @ inverse(a)`")
        )
        yield Finding(
            why=f"{self.words.line(node)} inverts a matrix for one product with it",
            help=f"{form} takes fewer operations, and its error is smaller",
        )

    def squares(self, kernel: TimedKernel, node: Node) -> Iterator[Finding]:
        """Squares of differences between all rows of one and all of another, added up."""
        square = self.graph.nodes[node.inputs[0].source]
        if not self.is_square(square):
            return
        between = self.graph.nodes[square.inputs[0].source]
        if not isinstance(between.op, Subtract):
            return
        pairs = self.elements(between.domain.dims, between.types[0].shape, kernel)
        own = [self.elements(self.varying(e), t.shape, kernel) for e, t in self.operands(between)]
        made = self.elements(node.domain.dims, node.types[0].shape, kernel)
        if made and min(pairs // max(*own), pairs // made) >= REPORTED.spread_elements:
            yield Finding(
                why=f"{self.words.line(node)} adds up the squares of "
                f"{thousands_text(pairs * round(kernel.count))} differences, of all rows of one "
                f"matrix to all of another",
                help="`sum(a * a) + sum(b * b) - 2 * (a @ b)`, of which the last is a product of "
                "matrices, takes less; where `a` and `b` are nearly the same its error is larger",
            )

    def readers(self, node: Node) -> list[Node]:
        """What reads a tensor of the source; none if it is an output as well."""
        if any(o.source == node.name for o in self.words.source.outputs):
            return []
        return [n for n in self.source.values() if node.name in n.sources]

    def is_square(self, node: Node) -> bool:
        """`x * x`, or `x ** 2`."""
        return isinstance(node.op, Multiply | Power) and (
            len({(e.source, e.entries) for e in node.inputs}) == 1
        )

    def operands(self, node: Node) -> Iterator[tuple[Edge, TensorType]]:
        """The reads of a node with the types of what they give."""
        return zip(node.inputs, operand_types(self.graph, node), strict=True)

    def varying(self, edge: Edge) -> list[str]:
        """The dimensions with which what is read varies."""
        read = {s for e in edge.entries for s in symbols(e)}
        return [s for s in read if self.graph.universe.is_dim(s)]

    def elements(self, dims: Iterable[str], shape: Iterable[ix.Expr], kernel: TimedKernel) -> int:
        """How many elements there are at all points of a kernel."""
        sizes = self.sizes(kernel)
        return prod(max(1, evaluate(e, kernel.at)) for e in shape) * prod(
            sizes.get(d, 1) for d in dims
        )

    def sizes(self, kernel: TimedKernel) -> dict[str, int]:
        """The points along the dimensions that a kernel computes at once."""
        return {
            v.dim: max(1, evaluate(v.upper, kernel.at) - evaluate(v.lower, kernel.at))
            for v in kernel.statement.vector
        }

    def work(self, node: Node, kernel: TimedKernel) -> int:
        """The operations of a node at a point."""
        return evaluate(node_operations(self.graph, node), kernel.at)

    def products(self, node: Node) -> list[Node]:
        """The products of the source that a node, or a scan with what it has taken in, computes."""
        if not isinstance(node.op, Recurrence):
            return [self.source[node.name]] if node.name in self.source else []
        name = self.words.name(node.name)
        inside = self.recurrence(name) if name in self.source else set()
        nodes = [n for n in self.source.values() if n.op.contraction]
        return [n for n in nodes if self.words.name(n.name) == name or n.name in inside]

    def recurrence(self, name: str) -> set[str]:
        """What a tensor of the source is made of that is made of it, in turn."""

        def sources(node: str) -> Sequence[str]:
            return self.source[node].sources

        parts = strongly_connected_components(self.source, sources)
        return next({*part} for part in parts if name in part)

    def diagonal_size(self, written: Node, kernel: TimedKernel) -> int:
        """The rows of an operand that is `eye`, or a product with it; 0 if there is none."""
        eyes = self.eye_factors(written.sources)
        return evaluate(eyes[0].types[0].shape[0], kernel.at) if eyes else 0

    def eye_factors(self, names: Iterable[str]) -> list[Node]:
        """What `eye` gives among the factors of tensors of the source."""

        def factors(name: str) -> list[str]:
            made = self.source[name]
            return [*made.sources] if isinstance(made.op, Multiply | Cast) else []

        nodes = [self.source[n] for n in reachable(names, factors)]
        return [n for n in nodes if isinstance(n.op, Eye)]
