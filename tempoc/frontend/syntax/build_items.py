"""The semantic actions of `grammar/rt.lark`: build statements, declarations, modules."""

import re
from typing import Any

from tempoc.diagnostics.source import Span
from tempoc.frontend.syntax import ast, errors as syntax_errors
from tempoc.frontend.syntax.build_expressions import (
    ExpressionActions,
    ListPart,
    after,
    names,
    nodes,
)

_KINDS = ("jax", "host")


class Broken(ast.SyntaxNode):
    """A placeholder of a statement whose error has been reported."""

    __slots__ = ()


class ItemActions(ExpressionActions):
    """Builds statements, declarations and modules; see `ExpressionActions`."""

    # The file

    def module(self, c: list[Any]) -> ast.Module:
        """A whole file."""
        items = tuple(item for item in c[1].items if not isinstance(item, Broken))
        self.check_dtypes({item.name.name for item in items if isinstance(item, ast.ConstDecl)})
        return ast.Module(span=self.source.whole(), doc=_doc(c[0]), items=items)

    def module_doc(self, c: list[Any]) -> ListPart:
        """The string that opens a file, if there is one."""
        return ListPart(-1, -1, tuple(c[:1]))

    def items(self, c: list[Any]) -> ListPart:
        """The items of a file."""
        return self.part(c)

    def broken(self, c: list[Any]) -> Broken:
        """A statement whose error has been reported."""
        return Broken(span=self.span(c))

    # Declarations

    def dim(self, c: list[Any]) -> ast.DimDecl:
        """`dim t < T = e from "entry" until stop`."""
        until = after(c, "until")
        return ast.DimDecl(
            span=self.span(c),
            name=self.ident(c[1]),
            bound=self.ident(c[3]),
            default=after(c, "="),
            entry=self._entry(c),
            until=None if until is None else self.ident(until),
        )

    def const(self, c: list[Any]) -> ast.ConstDecl:
        """`const D = e from "entry"`."""
        name = self.ident(c[1])
        return ast.ConstDecl(span=self.span(c), name=name, value=c[3], entry=self._entry(c))

    def _entry(self, c: list[Any]) -> ast.String | None:
        text = after(c, "from")
        return None if text is None else self.string([text])

    def assume(self, c: list[Any]) -> ast.Assume:
        """`assume e`."""
        return ast.Assume(span=self.span(c), condition=c[1])

    def import_items(self, c: list[Any]) -> ast.ImportDecl:
        """`import nn, optim`."""
        return ast.ImportDecl(span=self.span(c), items=nodes(c))

    def import_item(self, c: list[Any]) -> ast.ImportItem:
        """`nn`, `"file.rt" as name`."""
        alias = self.ident(c[-1])
        if c[0].type == "NAME":
            return ast.ImportItem(span=self.span(c), module=str(c[0]), alias=alias)
        path = self.string(c[:1]).value
        return ast.ImportItem(span=self.span(c), path=path, alias=alias)

    def dims(self, c: list[Any]) -> ListPart:
        """`[b, t]` in a declaration."""
        start, end = self.span(c).start, self.span(c).end
        idents = tuple(self.ident(token) for token in names(c))
        self.distinct("dimension", ((d.name, d.span) for d in idents))
        return ListPart(start, end, idents)

    def input(self, c: list[Any]) -> ast.InputDecl:
        """`input x[t]: f32`."""
        return ast.InputDecl(
            span=self.span(c), name=self.ident(c[1]), dims=_dims(c), type=after(c, ":")
        )

    def param(self, c: list[Any]) -> ast.ParamDecl:
        """`param W[l]: f32 from "w" = e`."""
        node = ast.ParamDecl(
            span=self.span(c),
            name=self.ident(c[1]),
            dims=_dims(c),
            type=after(c, ":"),
            template=self._entry(c),
            default=after(c, "="),
        )
        if node.type is None and node.default is None:
            self.errors.add(syntax_errors.untyped_param(node.span, node.name.name))
        return node

    def signature(self, c: list[Any]) -> ListPart:
        """The arguments or results of an extern."""
        part = self.part(c)
        self.distinct("name", ((f.name, f.span) for f in part.items))
        return part

    def extern(self, c: list[Any]) -> ast.ExternDecl:
        """`extern host f(...) -> (...) from "..." over b`."""
        kind = str(c[1])
        if kind not in _KINDS:
            self.errors.add(syntax_errors.unknown_extern_kind(self.token_span(c[1]), kind))
            kind = "host"
        signatures = [part for part in c if isinstance(part, ListPart)]
        over = after(c, "over")
        return ast.ExternDecl(
            span=self.span(c),
            kind="jax" if kind == "jax" else "host",
            name=self.ident(c[2]),
            args=signatures[0].items,
            results=signatures[1].items,
            path=self.string([after(c, "from")]),
            over=None if over is None else self.ident(over),
        )

    # Results

    def output_item(self, c: list[Any]) -> ast.OutputItem:
        """`net[I-1] as policy`."""
        alias = after(c, "as")
        self.check_item("output", c[0])
        return ast.OutputItem(
            span=self.span(c), value=c[0], alias=None if alias is None else self.ident(alias)
        )

    def output(self, c: list[Any]) -> ast.OutputDecl:
        """`output a, b`."""
        return ast.OutputDecl(span=self.span(c), items=nodes(c))

    def save(self, c: list[Any]) -> ast.SaveDecl:
        """`save x to "file" when e`."""
        self.check_item("save", c[1])
        return ast.SaveDecl(
            span=self.span(c), value=c[1], path=self.string([c[3]]), guard=after(c, "when")
        )

    def print(self, c: list[Any]) -> ast.PrintDecl:
        """`print "text", x when e`."""
        guard = after(c, "when")
        items = tuple(item for item in nodes(c) if item is not guard)
        if not any(isinstance(item, ast.String) for item in items):
            for item in items:
                self.check_item("print", item)
        return ast.PrintDecl(span=self.span(c), items=items, guard=guard)

    def check_item(self, word: str, value: ast.Expression) -> None:
        """A result is a name with brackets and fields after it."""
        inner = value
        while isinstance(inner, ast.Access | ast.Field):
            inner = inner.base
        if not isinstance(inner, ast.Name):
            self.errors.add(syntax_errors.not_an_item(value.span, word, _bare(value.span.text)))

    # Functions

    def def_param(self, c: list[Any]) -> ast.DefParam:
        """`x`, `x: f32[n]`, `lr = e`, `dim i`."""
        is_dim = c[0] == "dim"
        return ast.DefParam(
            span=self.span(c),
            name=self.ident(c[1] if is_dim else c[0]),
            is_dim=is_dim,
            type=after(c, ":"),
            default=after(c, "="),
        )

    def def_params(self, c: list[Any]) -> ListPart:
        """The parameters of a def."""
        part = self.part(c)
        self.distinct("parameter", ((p.name.name, p.name.span) for p in part.items))
        optional = False
        for param in part.items:
            if optional and param.default is None:
                self.errors.add(syntax_errors.default_order(param.span, param.name.name))
            optional = optional or param.default is not None
        return part

    def def_results(self, c: list[Any]) -> ListPart:
        """The types of the results of a def, if they are given."""
        return self.part(c)

    def block_doc(self, c: list[Any]) -> ListPart:
        """The string that opens a body, if there is one."""
        return self.module_doc(c)

    def statements(self, c: list[Any]) -> ListPart:
        """The statements of a body."""
        return self.part(c)

    def for_loop(self, c: list[Any]) -> ast.ForLoop:
        """`for k in range(n) { ... }`."""
        body = c[5].items
        for statement in body:
            if isinstance(statement, ast.Return):
                self.errors.add(syntax_errors.misplaced_return(statement.span))
        statements = tuple(s for s in body if isinstance(s, ast.Equation | ast.ForLoop))
        return ast.ForLoop(span=self.span(c), name=self.ident(c[1]), over=c[3], body=statements)

    def return_values(self, c: list[Any]) -> ast.Return:
        """`return a, b`."""
        return ast.Return(span=self.span(c), values=c[1].items)

    def inline_def(self, c: list[Any]) -> ast.Def:
        """`def f(x: f32[n]) -> f32[n] = e`."""
        return ast.Def(
            span=self.span(c),
            name=self.ident(c[1]),
            params=c[3].items,
            results=c[5].items,
            body=(ast.Return(span=c[7].span, values=(c[7],)),),
            inline=True,
        )

    def block_def(self, c: list[Any]) -> ast.Def:
        """`def f(x: f32[n]) -> f32[n] { ... }`."""
        name, body = self.ident(c[1]), c[8].items
        check_return = not any(isinstance(s, Broken) for s in body)
        for statement in body[:-1]:
            if isinstance(statement, ast.Return):
                self.errors.add(syntax_errors.misplaced_return(statement.span))
                check_return = False
        if check_return and not (body and isinstance(body[-1], ast.Return)):
            self.errors.add(syntax_errors.missing_return(name.span, name.name))
        return ast.Def(
            span=self.span(c),
            name=name,
            params=c[3].items,
            results=c[5].items,
            doc=_doc(c[7]),
            body=_without_broken(body),
        )

    # Equations

    def values(self, c: list[Any]) -> ListPart:
        """The right side."""
        return self.part(c)

    def targets(self, c: list[Any]) -> ListPart:
        """The left side."""
        return self.part(c)

    def target(self, c: list[Any]) -> ast.EquationTarget:
        """`x[t+1]: f32`."""
        entries = next((part.items for part in c if isinstance(part, ListPart)), None)
        for entry in entries or ():
            if isinstance(entry.value, ast.SliceExpr | ast.DataPoint):
                self.errors.add(syntax_errors.target_entry(entry.span))
        return ast.EquationTarget(
            span=self.span(c), name=self.ident(c[0]), entries=entries, type=after(c, ":")
        )

    def equation(self, c: list[Any]) -> ast.Equation:
        """`targets = values when e`."""
        targets, values = c[0].items, c[2].items
        if len(values) not in (1, len(targets)):
            span = Span(self.source, c[2].start, c[2].end)
            self.errors.add(syntax_errors.value_count(span, len(targets), len(values)))
        return ast.Equation(
            span=self.span(c), targets=targets, values=values, guard=after(c, "when")
        )


def _doc(part: ListPart) -> str | None:
    """The text between the quotes of a documentation string, as written."""
    return str(part.items[0])[3:-3] if part.items else None


def _dims(c: list[Any]) -> tuple[ast.Ident, ...]:
    return next((part.items for part in c if isinstance(part, ListPart)), ())


def _without_broken(body: tuple[Any, ...]) -> tuple[ast.BodyStatement, ...]:
    return tuple(s for s in body if not isinstance(s, Broken))


def _bare(text: str) -> str:
    """What stands in parentheses, as with a call of `print`; empty for anything else."""
    inner = text[1:-1].strip() if text.startswith("(") and text.endswith(")") else ""
    return inner if re.fullmatch(r"\w+(\[[^()]*\])?", inner) else ""
