"""The parser of graphs (``grammar/sdg.lark``); ``text.py`` describes the format.

Operators are looked up in the catalog, and their attributes parsed by the types of their fields.
The span of a node is its line. Only names and attributes are checked here; the graph is checked by
``verification/verify.py``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import get_type_hints

from tempoc.base.parsing.grammar import Grammar, Mismatch, ParseTree, Token, branches, load
from tempoc.diagnostics.source import Source, Span
from tempoc.ops.catalog import OPS
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType, TensorType
from tempoc.sdg.graph import errors
from tempoc.sdg.graph.graph import Edge, Graph, Group, Node, Output
from tempoc.sdg.text.attribute import Attribute, AttributePart, read_attribute
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Bound, Dim, Domain, Universe
from tempoc.symbolic.parse import parse as parse_entry


def parse_graph(text: str, path: str) -> Graph:
    """The graph of a text. Raises ``DiagnosticError`` (RT300, RT301)."""
    source = Source(path, text)
    try:
        tree = _grammar().tree(text, "graph")
    except Mismatch as error:
        span = source.span(error.offset, error.offset + len(error.text))
        expected = tuple(_spelled(kind) for kind in error.expected)
        raise errors.unreadable(span, error.text, expected) from None
    return _GraphReader(source).graph(tree)


def _spelled(kind: str) -> str:
    """A token type as shown in diagnostics."""
    text = _grammar().spelling(kind)
    return f"`{text}`" if text is not None else kind.replace("NEWLINE", "line break").lower()


@cache
def _grammar() -> Grammar:
    return load(("sdg",), start=("graph",))


@cache
def _types_of_attributes(op: str) -> Mapping[str, object]:
    """The types of an operator's attributes, which its class has as texts."""
    return get_type_hints(OPS[op])


def _tokens(tree: ParseTree, kind: str) -> list[Token]:
    return [c for c in tree.children if isinstance(c, Token) and c.type == kind]


@dataclass(frozen=True, slots=True)
class _GraphReader:
    """Builds the graph from the parse tree of one text."""

    source: Source

    def graph(self, tree: ParseTree) -> Graph:
        """The whole graph: declarations first, then their uses."""
        (header,) = branches(tree, "header")
        (label,) = branches(header, "label")
        universe = Universe(
            bounds=tuple(self.bound(b) for b in branches(tree, "bound")),
            dims=tuple(self.dim(d) for d in branches(tree, "dim")),
            assumptions=tuple(self.expr(branches(a, "expr")[0]) for a in branches(tree, "assume")),
        )
        lines: dict[str, tuple[ParseTree, Domain]] = {}
        for line in branches(tree, "node"):
            name = self.node_name(line)
            if name in lines:
                raise errors.meaningless(self.span(line), f"there are two nodes `%{name}`")
            lines[name] = (line, self.domain(branches(line, "domain")[0], universe))
        domains = {name: domain for name, (_, domain) in lines.items()}
        docs = [self.quoted(_tokens(d, "STRING")[0]) for d in branches(tree, "doc")]
        return Graph(
            name=self.label(label),
            universe=universe,
            nodes={name: self.node(name, line, domains) for name, (line, _) in lines.items()},
            outputs=tuple(self.output(o, domains) for o in branches(tree, "output")),
            groups=tuple(self.group(g, domains) for g in branches(tree, "group")),
            doc="\n".join(docs),
        )

    # ------------------------------------------------------------ universe

    def bound(self, tree: ParseTree) -> Bound:
        """``bound N = (T+3)//4``, ``bound T until stop over i, b* = 9``."""
        (name,) = branches(tree, "name")
        values = branches(tree, "expr")
        untils = branches(tree, "until")
        axes = [axis for until in untils for axis in branches(until, "axis")]
        dims = [(self.words(branches(a, "name")[0]), bool(_tokens(a, "SIGN"))) for a in axes]
        stops = [self.words(n) for until in untils for n in branches(until, "name")]
        return Bound(
            name=self.words(name),
            value=self.expr(values[0]) if values else None,
            until="".join(stops),
            outer=tuple(d for d, starred in dims if not starred),
            common=tuple(d for d, starred in dims if starred),
        )

    def dim(self, tree: ParseTree) -> Dim:
        """``dim t < T``."""
        name, bound = branches(tree, "name")
        return Dim(name=self.words(name), bound=self.words(bound))

    def domain(self, tree: ParseTree, universe: Universe) -> Domain:
        """``[b, t | t >= 1]``."""
        names = [n for axis in branches(tree, "axis") for n in branches(axis, "name")]
        dims = tuple(self.words(n) for n in names)
        for name, branch in zip(dims, names, strict=True):
            if not universe.is_dim(name):
                raise errors.meaningless(self.span(branch), f"there is no dimension `{name}`")
        where = branches(tree, "expr")
        return Domain(dims, self.expr(where[0]) if where else ix.TRUE)

    def vector(self, tree: ParseTree) -> tuple[str, ...]:
        """The dimensions of a node's domain that are marked by a star."""
        axes = [a for d in branches(tree, "domain") for a in branches(d, "axis")]
        for axis in axes:
            for sign in _tokens(axis, "SIGN"):
                if sign != "*":
                    why = f"`{sign}` does not fit here, only a star"
                    raise errors.meaningless(self.span(axis), why)
        return tuple(self.words(branches(a, "name")[0]) for a in axes if _tokens(a, "SIGN"))

    # ------------------------------------------------------------ nodes

    def node_name(self, tree: ParseTree) -> str:
        """The name on the left of a line."""
        name, out = self.port(_tokens(tree, "NODE")[0])
        if out:
            raise errors.meaningless(self.span(tree), "a node is named without `@`")
        return name

    def node(self, name: str, tree: ParseTree, domains: dict[str, Domain]) -> Node:
        """``%h = add %x, %y[t-1] : [t] f32[8]``."""
        (operands,) = branches(tree, "operands")
        (types,) = branches(tree, "types")
        span = self.span(tree)
        return Node(
            name=name,
            op=self.op(tree),
            domain=domains[name],
            inputs=tuple(self.edge(o, domains) for o in branches(operands, "operand")),
            types=tuple(self.type(t) for t in branches(types, "type")),
            vector=self.vector(tree),
            spans=(span,),
        )

    def op(self, tree: ParseTree) -> Op:
        """``reduce{kind="sum", axis=0}``."""
        (name,) = branches(tree, "name")
        cls = OPS.get(self.words(name))
        if cls is None:
            raise errors.meaningless(self.span(name), f"no operator `{self.words(name)}`")
        hints = _types_of_attributes(cls.name)
        known = [f.name for f in fields(cls)]
        given: dict[str, Attribute] = {}
        for tree_ in branches(tree, "attributes"):
            for item in branches(tree_, "attribute"):
                key = self.words(branches(item, "name")[0])
                if key not in known:
                    why = f"operator `{cls.name}` has no attribute `{key}`"
                    raise errors.meaningless(self.span(item), why)
                try:
                    given[key] = read_attribute(self.part(item.children[-1]), hints[key])
                except ValueError as error:
                    raise errors.meaningless(self.span(item), str(error)) from None
        try:
            op: Op = cls(**given)
        except (TypeError, ValueError) as error:
            raise errors.meaningless(self.span(name), f"`{cls.name}`: {error}") from None
        return op

    def part(self, tree: ParseTree | Token) -> AttributePart:
        """A value as text, and its members if it is a tuple."""
        if isinstance(tree, Token):
            return AttributePart(str(tree))
        if tree.data == "op":
            return AttributePart(self.words(tree), op=self.op(tree))
        only = tree.children[0] if len(tree.children) == 1 else None
        if isinstance(only, ParseTree) and only.data == "tuple":
            members = [c for c in only.children if isinstance(c, ParseTree)]
            return AttributePart(self.words(tree), tuple(self.part(m) for m in members))
        return AttributePart(self.words(tree))

    def type(self, tree: ParseTree) -> TensorType:
        """``~f32[8, t+1]``."""
        (name,) = branches(tree, "name")
        try:
            dtype = DType(self.words(name))
        except ValueError:
            raise errors.meaningless(self.span(name), f"no dtype `{self.words(name)}`") from None
        extents = [e for x in branches(tree, "extents") for e in branches(x, "expr")]
        weak = not isinstance(tree.children[0], ParseTree)
        return TensorType(dtype, tuple(self.expr(e) for e in extents), weak)

    # ------------------------------------------------------------ accesses

    def edge(self, tree: ParseTree, domains: dict[str, Domain]) -> Edge:
        """``%h@1[t-1] when t >= 1``."""
        source, out = self.port(_tokens(tree, "NODE")[0])
        entries = self.entries(tree)
        if entries is None:
            domain = self.known(source, tree, domains)
            entries = tuple(ix.Sym(d) for d in domain.dims)
        self.known(source, tree, domains)
        guards = [self.expr(branches(g, "expr")[0]) for g in branches(tree, "guard")]
        return Edge(
            source=source,
            out=out,
            entries=entries,
            guard=guards[0] if guards else ix.TRUE,
            span=self.span(tree),
        )

    def output(self, tree: ParseTree, domains: dict[str, Domain]) -> Output:
        """``output h = %h[0:T]``."""
        (label,) = branches(tree, "label")
        source, out = self.port(_tokens(tree, "NODE")[0])
        self.known(source, tree, domains)
        return Output(
            name=self.label(label),
            source=source,
            out=out,
            entries=self.entries(tree) or (),
            span=self.span(tree),
        )

    def group(self, tree: ParseTree, domains: dict[str, Domain]) -> Group:
        """``group h = %h.mul, %h.add``."""
        (label,) = branches(tree, "label")
        members = tuple(self.port(t)[0] for t in _tokens(tree, "NODE"))
        for member in members:
            self.known(member, tree, domains)
        return Group(name=self.label(label), members=members)

    def known(self, name: str, tree: ParseTree, domains: dict[str, Domain]) -> Domain:
        """The domain of a node that must exist."""
        if name not in domains:
            raise errors.meaningless(self.span(tree), f"there is no node `%{name}`")
        return domains[name]

    def entries(self, tree: ParseTree) -> tuple[ix.Entry, ...] | None:
        """What stands in brackets; None without brackets."""
        for entries in branches(tree, "entries"):
            return tuple(self.entry(c) for c in entries.children if isinstance(c, ParseTree))
        return None

    # ------------------------------------------------------------ tokens

    def port(self, token: Token) -> tuple[str, int]:
        """``%top@1``: node and output."""
        name, _, out = str(token)[1:].partition("@")
        return name, int(out) if out else 0

    def label(self, tree: ParseTree) -> str:
        """A name, plain or quoted."""
        quoted = _tokens(tree, "STRING")
        return self.quoted(quoted[0]) if quoted else self.words(tree)

    def quoted(self, token: Token) -> str:
        """What a quoted text says."""
        try:
            return str(json.loads(token))
        except ValueError:
            span = self.source.span(token.start_pos, token.end_pos)
            raise errors.meaningless(span, f"{token} is no text of JSON") from None

    def expr(self, tree: ParseTree) -> ix.Expr:
        """An index expression or condition."""
        entry = self.entry(tree)
        if isinstance(entry, ix.Slice):
            raise errors.meaningless(self.span(tree), "a slice cannot stand here")
        return entry

    def entry(self, tree: ParseTree) -> ix.Entry:
        """An index expression or slice."""
        try:
            return parse_entry(self.words(tree))
        except ValueError as error:
            raise errors.meaningless(self.span(tree), str(error)) from None

    def words(self, tree: ParseTree) -> str:
        """The text of a branch."""
        return self.span(tree).text

    def span(self, tree: ParseTree) -> Span:
        """The place of a branch."""
        return self.source.span(tree.start_pos, tree.end_pos)
