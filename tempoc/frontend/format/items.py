"""Statements and declarations as documents, but for the bodies of def and for."""

from collections.abc import Sequence
from typing import assert_never

from tempoc.base.doc import SPACE, Doc, DocGroup, DocNest, bracket, concat, join
from tempoc.frontend.format.expressions import entries_doc, expression, quoted, type_doc, typed
from tempoc.frontend.syntax import ast

_CONTINUED = 4


def item_doc(node: ast.Item | ast.BodyStatement) -> Doc:
    """A statement without body, or the head of one with a body, up to its brace."""
    match node:
        case ast.Equation() | ast.Return() | ast.ForLoop() | ast.Def():
            return _statement(node)
        case ast.DimDecl() | ast.ConstDecl() | ast.Assume() | ast.ImportDecl():
            return _declaration(node)
        case ast.InputDecl() | ast.ParamDecl() | ast.ExternDecl():
            return _data(node)
        case ast.OutputDecl() | ast.SaveDecl() | ast.PrintDecl():
            return _result(node)
    assert_never(node)


def _statement(node: ast.Equation | ast.Return | ast.ForLoop | ast.Def) -> Doc:
    match node:
        case ast.Equation():
            left = _listed("", [_target(target) for target in node.targets])
            right = _listed("", [expression(value) for value in node.values])
            return _guarded(concat(left, " = ", right), node.guard)
        case ast.Return():
            return _listed("return ", [expression(value) for value in node.values])
        case ast.ForLoop():
            return concat(f"for {node.name.name} in ", expression(node.over), " {")
        case ast.Def():
            head = bracket(f"def {node.name.name}(", [_parameter(p) for p in node.params], ")")
            head = concat(head, _result_types(node.results))
            body = node.body[0]
            if not (node.inline and isinstance(body, ast.Return)):
                return concat(head, " {")
            value = expression(body.values[0])
            return DocGroup(concat(head, " =", DocNest(concat(SPACE, value), _CONTINUED)))
    assert_never(node)


def _declaration(node: ast.DimDecl | ast.ConstDecl | ast.Assume | ast.ImportDecl) -> Doc:
    match node:
        case ast.DimDecl():
            until = "" if node.until is None else f" until {node.until.name}"
            head = f"dim {node.name.name} < {node.bound.name}"
            return concat(head, _default(node.default), _from(node.entry), until)
        case ast.ConstDecl():
            return concat(f"const {node.name.name}", _default(node.value), _from(node.entry))
        case ast.Assume():
            return concat("assume ", expression(node.condition))
        case ast.ImportDecl():
            return _listed("import ", [_import(item) for item in node.items])
    assert_never(node)


def _data(node: ast.InputDecl | ast.ParamDecl | ast.ExternDecl) -> Doc:
    match node:
        case ast.InputDecl():
            head = f"input {node.name.name}{_dims(node.dims)}: "
            return concat(head, type_doc(node.type))
        case ast.ParamDecl():
            parts: list[Doc] = [f"param {node.name.name}{_dims(node.dims)}"]
            if node.type is not None:
                parts += [": ", type_doc(node.type)]
            parts.append(_from(node.template))
            parts.append(_default(node.default))
            return concat(*parts)
        case ast.ExternDecl():
            opening = f"extern {node.kind} {node.name.name}("
            results = bracket("-> (", typed(node.results), ")")
            path = f"from {quoted(node.path.value)}"
            over = "" if node.over is None else f" over {node.over.name}"
            tail = concat(SPACE, results, SPACE, path, over)
            call = bracket(opening, typed(node.args), ")")
            return DocGroup(concat(call, DocNest(tail, _CONTINUED)))
    assert_never(node)


def _result(node: ast.OutputDecl | ast.SaveDecl | ast.PrintDecl) -> Doc:
    match node:
        case ast.OutputDecl():
            return _listed("output ", [_output(item) for item in node.items])
        case ast.SaveDecl():
            path = quoted(node.path.value)
            return _guarded(concat("save ", expression(node.value), f" to {path}"), node.guard)
        case ast.PrintDecl():
            shown = _listed("print ", [expression(item) for item in node.items])
            return _guarded(shown, node.guard)
    assert_never(node)


def _guarded(head: Doc, guard: ast.Expression | None) -> Doc:
    if guard is None:
        return head
    return DocGroup(concat(head, DocNest(concat(SPACE, "when ", expression(guard)), _CONTINUED)))


def _listed(head: str, parts: Sequence[Doc]) -> Doc:
    """`head a, b, c`, continued on further lines after the commas if need be."""
    if len(parts) == 1:
        return concat(head, parts[0])
    return DocGroup(concat(head, DocNest(join(concat(",", SPACE), parts), _CONTINUED)))


def _target(target: ast.EquationTarget) -> Doc:
    parts: list[Doc] = [target.name.name]
    if target.entries is not None:
        parts.append(entries_doc(target.entries))
    if target.type is not None:
        parts += [": ", type_doc(target.type)]
    return concat(*parts)


def _parameter(param: ast.DefParam) -> Doc:
    head: Doc = f"dim {param.name.name}" if param.is_dim else param.name.name
    if param.type is not None:
        head = concat(head, ": ", type_doc(param.type))
    return concat(head, _default(param.default))


def _result_types(types: tuple[ast.TypeExpr, ...]) -> Doc:
    if len(types) > 1:
        return bracket(" -> (", [type_doc(t) for t in types], ")")
    return concat(" -> ", type_doc(types[0])) if types else ""


def _default(value: ast.Expression | None) -> Doc:
    return "" if value is None else concat(" = ", expression(value))


def _from(name: ast.String | None) -> str:
    return "" if name is None else f" from {quoted(name.value)}"


def _dims(dims: tuple[ast.Ident, ...]) -> str:
    return f"[{', '.join(dim.name for dim in dims)}]" if dims else ""


def _import(item: ast.ImportItem) -> Doc:
    if item.path is not None:
        return f"{quoted(item.path)} as {item.alias.name}"
    if item.module == item.alias.name:
        return item.alias.name
    return f"{item.module} as {item.alias.name}"


def _output(item: ast.OutputItem) -> Doc:
    alias = "" if item.alias is None else f" as {item.alias.name}"
    return concat(expression(item.value), alias)
