"""Nodes of a graph in words of the source: names, what is read, and lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tempoc.diagnostics.source import Span
from tempoc.driver.compilation import Compilation
from tempoc.driver.report.equations import StatementPlaces, statement_places
from tempoc.ops.control.control import Merge
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
        self.merges = {
            e.source: (n, k)
            for n in self.graph.nodes.values()
            if isinstance(n.op, Merge)
            for k, e in enumerate(n.inputs)
        }

    def name(self, name: str) -> str:
        """The tensor of the source of which a node is a part."""
        node = self.graph.nodes.get(name)
        start = 1 if node is not None and isinstance(node.op, EffectOp) else 0
        return (name.split(".")[start:] or [name])[0]

    def span(self, node: Node) -> Span | None:
        """Where a node comes from: in the main file if any of it does."""
        same = self.source.nodes.get(self.name(node.name))
        spans = [*node.spans, *(same.spans if same else ())]
        return next((s for s in spans if s.source.path == self.main), spans[0] if spans else None)

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
        return f"line {span.line}" if span.source.path == self.main else f"{span.source.path}:{span.line}"

    def lines(self, nodes: Iterable[Node]) -> str:
        """`line 7`, or `lines 7 and 9`, of several nodes."""
        spans = [s for n in nodes if (s := self.span(n)) is not None and s.source.path == self.main]
        numbers = sorted({s.line for s in spans})
        return f"line{'s' * (len(numbers) > 1)} {listed([str(n) for n in numbers])}"

    def written(self, node: Node) -> str:
        """What a node computes, as the left side of its equation: `h[t+1]`."""
        merge, k = self.merges.get(node.name, (None, 0))
        if merge is not None and isinstance(merge.op, Merge):
            span = merge.inputs[k].span
            if span is not None and self.name(merge.name) in span.text and fits(span.text):
                return span.text
            return bracketed(self.name(merge.name), merge.op.targets[k])
        return bracketed(self.name(node.name), [ix.Sym(d) for d in node.domain.dims])

    def read(self, edge: Edge) -> str:
        """What an edge reads, as the source spells it if that is short: `h[t-1]`."""
        name = self.name(edge.source)
        text = edge.span.text if edge.span is not None else ""
        if text.startswith(f"{name}[") and fits(text):
            return text
        if text == name and self.source.nodes.get(name) is not None:
            dims = [ix.Sym(d) for d in self.source.nodes[name].domain.dims]
            return bracketed(name, dims)
        return bracketed(name, edge.entries)


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
