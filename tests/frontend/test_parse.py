from pathlib import Path

import pytest

from tempoc.base.doc import render
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Source, Span
from tempoc.frontend.format.expressions import expression
from tempoc.frontend.syntax import ast
from tempoc.frontend.syntax.parse import MAX_DEPTH, children, parse

NOWHERE = Span(Source("", ""), 0, 0)
PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.rt"))


def program(text: str) -> ast.Module:
    return parse(Source("m.rt", text))


def value(text: str) -> ast.Expression:
    """The right side of an equation."""
    (item,) = program(f"y = {text}").items
    assert isinstance(item, ast.Equation)
    return item.values[0]


def shape(node: ast.Expression) -> str:
    """An expression with all its parentheses."""
    match node:
        case ast.Binary() | ast.ComparisonExpr():
            return f"({shape(node.left)} {node.op} {shape(node.right)})"
        case ast.UnaryExpr():
            return f"({node.op} {shape(node.operand)})"
        case ast.IfExpr():
            return f"({shape(node.then)} if {shape(node.condition)} else {shape(node.orelse)})"
        case ast.AsType():
            return f"({shape(node.value)} as {node.type.dtype})"  # type: ignore[union-attr]
        case _:
            return render(expression(node))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_programs_parse_and_spans_nest(path: Path) -> None:
    source = Source(str(path), path.read_text(encoding="utf-8"))
    work: list[ast.SyntaxNode] = [parse(source)]
    while work:
        node = work.pop()
        assert node.span.text.strip() == node.span.text or isinstance(node, ast.Module)
        for child in children(node):
            assert node.span.start <= child.span.start <= child.span.end <= node.span.end
            work.append(child)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a + b - c", "((a + b) - c)"),
        ("a + b * c @ d", "(a + ((b * c) @ d))"),
        ("-a ** b", "(- (a ** b))"),
        ("a ** -b ** c", "(a ** (- (b ** c)))"),
        ("-a * b", "((- a) * b)"),
        ("not a == b and c or d", "(((not (a == b)) and c) or d)"),
        ("a + b < c * d", "((a + b) < (c * d))"),
        ("a if b or c else d if e else f", "(a if (b or c) else (d if e else f))"),
        ("a if b else c as f32", "((a if b else c) as f32)"),
        ("a // b % c / d", "(((a // b) % c) / d)"),
        ("2 ** x[t].w.T(3)", "(2 ** x[t].w.T(3))"),
        ("(a + b) * c", "((a + b) * c)"),
        ("(a < b) == c", "((a < b) == c)"),
    ],
)
def test_precedence(text: str, wanted: str) -> None:
    assert shape(value(text)) == wanted


def test_numbers() -> None:
    texts = ("12", "0", "1.5", "0.", ".5", "1e-3", "2E5", "inf")
    numbers = [value(text) for text in texts]
    assert [n.value for n in numbers if isinstance(n, ast.NumberExpr)] == [
        12, 0, 1.5, 0.0, 0.5, 1e-3, 2e5, float("inf"),
    ]  # fmt: skip
    assert isinstance(numbers[0].value, int) and isinstance(numbers[3].value, float)  # type: ignore[union-attr]


def test_strings() -> None:
    assert value(r'"a\"b\\c\n{l}"') == ast.String(span=NOWHERE, value='a"b\\c\n{l}')
    assert value('""') == ast.String(span=NOWHERE, value="")


def test_brackets() -> None:
    node = value("x[0:t+1, :, ::2, j in 1:T]")
    assert isinstance(node, ast.Access)
    kinds = [type(entry.value).__name__ for entry in node.entries]
    assert kinds == ["SliceExpr", "SliceExpr", "SliceExpr", "DataPoint"]
    inner = value("x[t = j in 0:T][0]")
    assert isinstance(inner, ast.Access) and isinstance(inner.base, ast.Access)
    assert inner.base.entries[0].name == ast.Ident(span=NOWHERE, name="t")


def test_a_parenthesized_name_is_told_from_the_name() -> None:
    assert isinstance(value("(x)[0]").base, ast.GroupExpr)  # type: ignore[union-attr]
    assert isinstance(value("x[0]").base, ast.Name)  # type: ignore[union-attr]
    assert isinstance(value("(x + 1)[0]").base, ast.Binary)  # type: ignore[union-attr]


def test_parentheses_belong_to_the_span() -> None:
    node = value("(a + b) * c")
    assert isinstance(node, ast.Binary)
    assert (node.span.text, node.left.span.text) == ("(a + b) * c", "(a + b)")


def test_trailing_commas() -> None:
    assert value("f(a, b = 1,)") == value("f(a, b = 1)")
    assert value("[a, b,]") == value("[a, b]")
    assert value("{a: 1,}") == value("{a: 1}")


DECLARATIONS = """\
\"\"\"doc\"\"\"
import nn, optim as o, "my/blocks.rt" as blocks
dim t < T; dim l < L = 30
dim n < N = (T + 3) // 4 until stop
assume P <= T
input x[b, t]: f32[D, t+1]
param W[l]: {w: f32[D], b: f32} from "layers.{l}.w"
param V = nn.init([4]) from "v"
extern host f(a: f32, k: key) -> (r: f32, s: bool) from "m:f" over b
output a, net[I-1].w as policy
save net[i] to "net-{i}" when i % 10 == 0
print loss[i]
def g(x, dim i, lr = 1e-3) {
  \"\"\"about g\"\"\"
  for k in range(3) { x = x + k }
  m[i+1]: f32, q = f(x) when i >= 1
  return m, q
}
def h() = 3
s[b, 0], o[t = 1] = s2, o2
"""


def test_declarations() -> None:
    module = program(DECLARATIONS)
    assert module.doc == "doc"
    assert [type(item).__name__ for item in module.items] == [
        "ImportDecl", "DimDecl", "DimDecl", "DimDecl", "Assume", "InputDecl", "ParamDecl",
        "ParamDecl", "ExternDecl", "OutputDecl", "SaveDecl", "PrintDecl", "Def", "Def", "Equation",
    ]  # fmt: skip
    imports, _, _, n, _, x, w, v, extern, output, save, _, g, h, last = module.items
    assert isinstance(imports, ast.ImportDecl)
    assert [(i.module, i.path, i.alias.name) for i in imports.items] == [
        ("nn", None, "nn"), ("optim", None, "o"), (None, "my/blocks.rt", "blocks"),
    ]  # fmt: skip
    assert isinstance(n, ast.DimDecl) and n.until is not None and n.until.name == "stop"
    assert isinstance(x, ast.InputDecl) and [d.name for d in x.dims] == ["b", "t"]
    assert isinstance(w, ast.ParamDecl) and isinstance(w.type, ast.RecordType)
    assert w.template is not None and w.template.value == "layers.{l}.w"
    assert isinstance(v, ast.ParamDecl) and v.type is None and v.template is not None
    assert isinstance(extern, ast.ExternDecl) and extern.kind == "host" and extern.over is not None
    assert [f.name for f in extern.results] == ["r", "s"]
    assert isinstance(output, ast.OutputDecl) and output.items[1].alias is not None
    assert isinstance(save, ast.SaveDecl) and save.guard is not None
    assert isinstance(g, ast.Def) and g.doc == "about g" and not g.inline
    assert [(p.name.name, p.is_dim) for p in g.params] == [("x", False), ("i", True), ("lr", False)]
    assert [type(s).__name__ for s in g.body] == ["ForLoop", "Equation", "Return"]
    assert isinstance(h, ast.Def) and h.inline and isinstance(h.body[0], ast.Return)
    assert isinstance(last, ast.Equation) and len(last.targets) == len(last.values) == 2


@pytest.mark.parametrize(
    "text",
    [
        "y = f(\n a,\n b\n)",
        "y =\n f(a, b)",
        "y = f(a, b) # c",
        "\n\n# c\ny = f(a,b);;\n",
        "y = f[\na, b] ".replace("[\n", "(\n").replace("]", ")"),
        "y = f(a,# c\n\n# d\n b)",
        "y = f(a, b)\r\n",
    ],
)
def test_line_breaks_that_mean_nothing(text: str) -> None:
    assert program(text) == program("y = f(a, b)")


def test_line_breaks_after_operators_and_before_words() -> None:
    long = program("y[t] = a +\n b *\n\n # c\n c and\n not\n d\n # e\n when t >= 1\ny[0] = 1")
    assert long == program("y[t] = a + b * c and not d when t >= 1; y[0] = 1")
    assert program("y = a +\n b; z = c +\n d") == program("y = a + b; z = c + d")
    extern = 'extern host f(a: f32)\n -> (b: f32)\n from "m:f"\n over b'
    assert program(extern) == program(extern.replace("\n", ""))
    turned = 'extern host f(a: f32)\n -> (b: f32)\n over b\n from "m:f"'
    assert program(extern) == program(turned)
    assert program(extern) == program(turned.replace("\n", ""))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
@pytest.mark.parametrize("gap", ["    ", "\t", " \t  "])
def test_indentation_means_nothing(path: Path, gap: str) -> None:
    """Nor does its absence; only what strings hold stands as it is."""
    text = path.read_text()
    head, quotes, rest = text.partition('"""') if '"""' in text else ("", "", text)
    documentation, end, body = rest.partition('"""') if quotes else ("", "", rest)
    if '"""' in body:
        pytest.skip("documentation inside of functions keeps its lines")
    lines = body.splitlines(keepends=True)
    for changed in ([gap + line for line in lines], [line.lstrip(" \t") for line in lines]):
        same = program(head + quotes + documentation + end + "".join(changed))
        assert same == program(text)


@pytest.mark.parametrize("operator", ["+", "-", "*", "**", "=="])
def test_no_line_begins_with_an_operator(operator: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        program(f"x = y\n    {operator} z")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "RT001"
    assert f"end the line before with `{operator}`" in (diagnostic.help or "")


def test_braces_of_records_and_of_bodies() -> None:
    text = "def f(x, r = {a: 1}) {\n y = {a:\n x,\n b: 2}\n return y }\nz = {\n a: 1\n}"
    module = program(text)
    assert [type(item).__name__ for item in module.items] == ["Def", "Equation"]
    record = program("def f(x) = {a: x}").items[0]
    assert isinstance(record, ast.Def) and record.inline


def test_an_empty_file_is_an_empty_program() -> None:
    for text in ("", "\n", "# only this", ";"):
        assert program(text) == ast.Module(span=NOWHERE, items=())


def test_equality_ignores_spans_but_not_meaning() -> None:
    assert program("y = a+b") == program("\n y   = (a +  b)")
    assert program("y = a") != program("y = (a)")
    assert program("y = 1.0") != program("y = 1.")


@pytest.mark.parametrize(
    "text",
    ["+".join(["a"] * 3000), "(" * 3000 + "a" + ")" * 3000, "-" * 5000 + "a", "a" + "[0]" * 3000,
     "f(" * 999 + ")" * 999, "[" * 999 + "]" * 999, "a ** " * 999 + "a"],
)  # fmt: skip
def test_deep_nesting_is_refused_or_harmless(text: str) -> None:
    try:
        program(f"y = {text}")
    except DiagnosticError as error:
        assert [d.code for d in error.diagnostics] == ["RT006"]
        assert len(str(error)) < 200


def test_a_moderate_chain_is_fine() -> None:
    program("y = " + " + ".join(["a"] * (MAX_DEPTH - 2)))
