"""Expressions and types as documents of the pretty printer.

Parentheses are printed where necessary and where the user wrote them. Arithmetic in brackets is
printed without spaces (`x[t+1]`), elsewhere with spaces (`a + b`).
"""

from typing import assert_never

from tempoc.base.doc import SPACE, Doc, DocGroup, DocNest, bracket, concat
from tempoc.frontend.syntax import ast

# Precedence levels, weakest first; a node in a context of a higher level needs parentheses.
_AS, _IF, _OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _UNARY, _POWER, _POSTFIX, _ATOM = range(12)

_LEVELS = {
    "or": _OR, "and": _AND, "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "//": _PRODUCT,
    "%": _PRODUCT, "@": _PRODUCT, "**": _POWER,
}  # fmt: skip

_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"})


def quoted(text: str) -> str:
    """A string literal."""
    return f'"{text.translate(_ESCAPES)}"'


def expression(node: ast.Expression, level: int = _AS, *, tight: bool = False) -> Doc:
    """An expression in a place that asks for at least `level`."""
    if _level(node) < level or _parenthesized(node):
        return DocGroup(concat("(", DocNest(_bare(node, tight)), ")"))
    return _bare(node, tight)


def type_doc(node: ast.TypeExpr) -> Doc:
    """A type."""
    match node:
        case ast.TensorTypeExpr():
            if not node.extents:
                return node.dtype
            return bracket(f"{node.dtype}[", [expression(e, tight=True) for e in node.extents], "]")
        case ast.RecordType():
            return bracket("{", typed(node.fields), "}")
    assert_never(node)


def typed(fields: tuple[ast.TypeField, ...]) -> list[Doc]:
    """`name: type` for each field."""
    return [concat(f"{field.name}: ", type_doc(field.type)) for field in fields]


def entries_doc(entries: tuple[ast.BracketEntry, ...]) -> Doc:
    """A bracket with its entries."""
    return bracket("[", [_entry(entry) for entry in entries], "]")


def _bare(node: ast.Expression, tight: bool) -> Doc:
    match node:
        case ast.Name():
            return node.name
        case ast.NumberExpr():
            return node.text
        case ast.String():
            return quoted(node.value)
        case ast.Bool():
            return "true" if node.value else "false"
        case ast.GroupExpr():
            return f"({node.value.name})"
        case ast.ListExpr() | ast.ListComp() | ast.RecordExpr():
            return _collection(node)
        case ast.UnaryExpr():
            return _unary(node, tight)
        case ast.Binary():
            return _binary(node, tight)
        case ast.ComparisonExpr():
            left = expression(node.left, _SUM, tight=tight)
            right = expression(node.right, _SUM, tight=tight)
            return concat(left, f" {node.op} ", right)
        case ast.IfExpr():
            then = expression(node.then, _OR, tight=tight)
            condition = expression(node.condition, _OR, tight=tight)
            orelse = expression(node.orelse, _IF, tight=tight)
            return concat(then, " if ", condition, " else ", orelse)
        case ast.AsType():
            return concat(expression(node.value, _AS, tight=tight), " as ", type_doc(node.type))
        case ast.Access() | ast.CallExpr() | ast.Field() | ast.TransposeExpr():
            return _postfix(node, tight)
    assert_never(node)


def _collection(node: ast.ListExpr | ast.ListComp | ast.RecordExpr) -> Doc:
    match node:
        case ast.ListExpr():
            return bracket("[", [expression(item) for item in node.items], "]")
        case ast.ListComp():
            over = expression(node.over)
            return concat("[", expression(node.element), f" for {node.name.name} in ", over, "]")
        case ast.RecordExpr():
            parts = [concat(f"{f.name}: ", expression(f.value)) for f in node.fields]
            return bracket("{", parts, "}")
    assert_never(node)


def _unary(node: ast.UnaryExpr, tight: bool) -> Doc:
    if node.op == "not":
        return concat("not ", expression(node.operand, _NOT, tight=tight))
    return concat("-", expression(node.operand, _UNARY, tight=tight))


def _binary(node: ast.Binary, tight: bool) -> Doc:
    """A chain of operators of one level; it breaks after each of them or after none."""
    level = _LEVELS[node.op]
    if node.op == "**":
        left, right = expression(node.left, _POSTFIX, tight=tight), node.right
        space = "" if tight else " "
        return concat(left, f"{space}**{space}", expression(right, _UNARY, tight=tight))
    links: list[tuple[str, Doc]] = []
    first: ast.Expression = node
    while isinstance(first, ast.Binary) and _LEVELS[first.op] == level:
        if links and _parenthesized(first):
            break
        links.append((first.op, expression(first.right, level + 1, tight=tight)))
        first = first.left
    parts: list[Doc] = [expression(first, level, tight=tight)]
    for op, operand in reversed(links):
        close = tight and level in (_SUM, _PRODUCT)
        parts += [op, operand] if close else [f" {op}", SPACE, operand]
    return DocGroup(DocNest(concat(*parts), 4))


def _postfix(node: ast.Access | ast.CallExpr | ast.Field | ast.TransposeExpr, tight: bool) -> Doc:
    match node:
        case ast.Access():
            return concat(expression(node.base, _POSTFIX, tight=tight), entries_doc(node.entries))
        case ast.CallExpr():
            args = [expression(arg, tight=tight) for arg in node.args]
            for kwarg in node.kwargs:
                value = expression(kwarg.value, tight=tight)
                args.append(concat(f"{kwarg.name.name} = ", value))
            return concat(expression(node.function, _POSTFIX, tight=tight), bracket("(", args, ")"))
        case ast.Field() | ast.TransposeExpr():
            # `2.w` would be read as a number.
            base = expression(node.base, _POSTFIX, tight=tight)
            if isinstance(node.base, ast.NumberExpr) and not _parenthesized(node.base):
                base = concat("(", base, ")")
            return concat(base, ".T" if isinstance(node, ast.TransposeExpr) else f".{node.name}")
    assert_never(node)


def _entry(entry: ast.BracketEntry) -> Doc:
    head = "" if entry.name is None else f"{entry.name.name} = "
    match entry.value:
        case ast.SliceExpr():
            return concat(head, _slice(entry.value))
        case ast.DataPoint():
            index = expression(entry.value.index, tight=True)
            return concat(head, index, " in ", _slice(entry.value.within))
        case _:
            return concat(head, expression(entry.value, tight=True))


def _slice(node: ast.SliceExpr) -> Doc:
    def part(e: ast.Expression | None) -> Doc:
        return "" if e is None else expression(e, tight=True)

    ends = concat(part(node.lo), ":", part(node.hi))
    return ends if node.step is None else concat(ends, ":", part(node.step))


def _level(node: ast.Expression) -> int:
    match node:
        case ast.AsType():
            return _AS
        case ast.IfExpr():
            return _IF
        case ast.Binary():
            return _LEVELS[node.op]
        case ast.ComparisonExpr():
            return _COMPARE
        case ast.UnaryExpr():
            return _NOT if node.op == "not" else _UNARY
        case ast.Access() | ast.CallExpr() | ast.Field() | ast.TransposeExpr():
            return _POSTFIX
        case _:
            return _ATOM


def _parenthesized(node: ast.Expression) -> bool:
    """Whether the user wrote parentheses around this very node.

    A node's span includes its parentheses; an opening one at its start is its own unless its
    first child starts there too.
    """
    span = node.span
    if span.source.text[span.start : span.start + 1] != "(" or isinstance(node, ast.GroupExpr):
        return False
    first = _first(node)
    return first is None or first.span.start != span.start


def _first(node: ast.Expression) -> ast.Expression | None:
    """The child with which the text of a node begins."""
    match node:
        case ast.Binary() | ast.ComparisonExpr():
            return node.left
        case ast.IfExpr():
            return node.then
        case ast.AsType():
            return node.value
        case ast.CallExpr():
            return node.function
        case ast.Access() | ast.Field() | ast.TransposeExpr():
            return node.base
        case _:
            return None
