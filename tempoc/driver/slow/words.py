"""Nodes of a graph in words of the source: names, what is read, and lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tempoc.base.names import COTANGENT
from tempoc.diagnostics.source import Span
from tempoc.driver.compilation import Compilation
from tempoc.driver.report.equations import StatementPlaces, equation_texts, statement_places
from tempoc.ops.control.effects import EffectOp
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import show

LONGEST = 32
"""The most characters of a piece of source that is quoted within a sentence."""


class Words:
    """Names nodes of the last graph as the source does."""

    def __init__(self, compilation: Compilation) -> None:
        self.main = compilation.loaded.main.source.path
        self.source: Graph = compilation.graph
        self.graph: Graph = compilation.optimized
        self.places: StatementPlaces = statement_places(compilation)
        self.roots = {name.split(".")[0] for name in self.source.nodes}
        self.equations = equation_texts(compilation)

    def name(self, name: str) -> str:
        """The tensor of the source of which a node is a part."""
        node = self.graph.nodes.get(name)
        start = 1 if node is not None and isinstance(node.op, EffectOp) else 0
        parts = name.split(".")[start:] or [name]
        if len(parts) > 2 and parts[1] == COTANGENT and parts[2] in self.roots:
            return f"grad({parts[0]}, {parts[2]})"
        return parts[0]

    def origin(self, name: str) -> str:
        """The tensor of the source whose value, or whose cotangent, a node is a part of."""
        return name.split(".")[2] if self.name(name).startswith("grad(") else self.name(name)

    def dims(self, name: str) -> set[str] | None:
        """The dimensions of that tensor; of a record those of all it is made of."""
        root = self.origin(name)
        if root in self.source.nodes:
            return {*self.source.nodes[root].domain.dims}
        domains = [n.domain for n in self.source.nodes.values() if n.name.split(".")[0] == root]
        return {d for x in domains for d in x.dims} if domains else None

    def span(self, node: Node) -> Span | None:
        """Where a node comes from: in the main file if any of it does, in the tensor's equation.

        Of several equations the last, since recurrences are written after their start; what other
        tensors share with this one stands in its own equations too.
        """
        name = self.name(node.name)
        same = self.source.nodes.get(name)
        own, all_ = self.mine(node.spans), (*node.spans, *(same.spans if same else ()))
        if same is not None and not own:
            own = [] if any(s.source.path == self.main for s in node.spans) else self.mine(all_)
        own = [s for s in own if self.defines(s, name)] or own
        effect = isinstance(node.op, EffectOp)
        inside = [s for s in all_ if s.source.path == self.main]
        ordered = [*(() if effect else own[::-1]), *inside, *all_]
        return ordered[0] if ordered else None

    def defines(self, span: Span, name: str) -> bool:
        """Whether a place is within an equation of a tensor."""
        equation = self.equations.get(self.places.around(span))
        return equation is not None and name in equation.targets

    def mine(self, spans: Iterable[Span]) -> list[Span]:
        """The places within an equation of the main file."""
        return [
            s
            for s in spans
            if s.source.path == self.main and self.places.around(s) in self.equations
        ]

    def statement(self, node: Node) -> Span | None:
        """The statement of the source that a node comes from."""
        return self.places.around(self.span(node))

    def line(self, node: Node) -> str:
        """`line 7`, or the file and line of a function of a library; empty if it has no place."""
        return self.line_of(self.span(node))

    def line_of(self, span: Span | None) -> str:
        """The same for a place."""
        if span is None:
            return ""
        return (
            f"line {span.line}"
            if span.source.path == self.main
            else f"{span.source.path}:{span.line}"
        )

    def lines(self, nodes: Iterable[Node]) -> str:
        """`line 7`, or `lines 7 and 9`, of several nodes; empty without a place."""
        spans = [s for n in nodes if (s := self.span(n)) is not None and s.source.path == self.main]
        numbers = sorted({s.line for s in spans})
        shown = listed([str(n) for n in numbers])
        return shown and f"line{'s' * (len(numbers) > 1)} {shown}"

    def written(self, node: Node) -> str:
        """What a node is a part of, as the left side of its equation: `h[t+1]`."""
        name = self.name(node.name)
        equation = self.equations.get(self.statement(node))
        text = equation.targets.get(name, "") if equation is not None else ""
        if "[" in text and fits(text):
            return text
        same = self.source.nodes.get(name, node)
        return bracketed(name, [ix.Sym(d) for d in same.domain.dims])

    def defined(self, node: Node) -> str:
        """The first tensor that the equation of a node defines."""
        equation = self.equations.get(self.statement(node))
        return next(iter(equation.targets), "") if equation else self.name(node.name)

    def guard(self, node: Node) -> str:
        """The condition of a node's equation, as it is written; empty without one."""
        equation = self.equations.get(self.statement(node))
        return equation.guard if equation is not None else ""

    def guards(self, name: str) -> list[str]:
        """The short conditions of all equations of a tensor."""
        texts = [e.guard for e in self.equations.values() if name in e.targets]
        return [t for t in texts if t and fits(t)]

    def read(self, edge: Edge) -> str:
        """What an edge reads, as the source spells it if that is short: `h[t-1]`."""
        name = self.name(edge.source)
        text = edge.span.text if edge.span is not None else ""
        if text.startswith(f"{name}[") and fits(text) and text.find("]") == len(text) - 1:
            return text
        if text == name and self.source.nodes.get(name) is not None:
            dims = [ix.Sym(d) for d in self.source.nodes[name].domain.dims]
            return bracketed(name, dims)
        return bracketed(name, edge.entries)

    def read_by(self, node: Node, edge: Edge) -> str:
        """What a node reads; where that is a part of its own equation, the range that this part
        reads, as the source has it: of `sum(tanh(x[0:t+1]))` it is `x[0:t+1]`."""
        name = self.name(node.name)
        if edge.source in self.source.nodes or self.name(edge.source) != name:
            return self.read(edge)
        own = [n for n in self.source.nodes.values() if self.name(n.name) == name]
        ranges = [
            e for n in own for e in n.inputs if any(isinstance(x, ix.Slice) for x in e.entries)
        ]
        return self.read(ranges[0]) if ranges else self.read(edge)


def bracketed(name: str, entries: Sequence[ix.Entry]) -> str:
    """`x[t, 0:T]`."""
    return f"{name}[{', '.join(show(e) for e in entries)}]" if entries else name


def fits(text: str) -> bool:
    """Whether a piece of source can stand within a sentence."""
    return len(text) <= LONGEST and "\n" not in text


def listed(items: Sequence[str], most: int = 4) -> str:
    """`a, b and c`; of very many the first."""
    shown = list(dict.fromkeys(items))
    if len(shown) > most:
        shown = [*shown[: most - 1], f"{len(shown) - most + 1} more"]
    return " and ".join(part for part in (", ".join(shown[:-1]), *shown[-1:]) if part)


def quoted(names: Sequence[str]) -> str:
    """`a`, `b` and `c`, in backquotes."""
    return listed([f"`{n}`" for n in dict.fromkeys(names)])


def time_text(seconds: float) -> str:
    """`1.2 us`, `34 ms`, `5 s`: two digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{_two(seconds / size)} {unit}"
    return f"{_two(seconds * 1e9)} ns"


def _two(value: float) -> str:
    """Two digits, and zeros behind them."""
    return f"{float(f'{value:.2g}'):.12g}"
