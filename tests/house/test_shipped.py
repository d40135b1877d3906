"""How much code travels with every compiled program."""

from __future__ import annotations

import ast
import io
import tokenize

from tempoc.codegen.program.bundle import contents
from tests.codegen.programs import RNN_REGISTER

MOST = 11_408
"""Lines of code, without blank lines, docstrings, comments and imports. Lower it with the code."""
BLANK = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef


def test_little_is_shipped() -> None:
    files = contents(RNN_REGISTER.emit(), {}, {})
    lines = {
        name: len(code_lines(text))
        for name, text in files.items()
        if name.endswith(".py") and name != "kernels.py"
    }
    assert {"__main__.py", "runtime/main.py", "symbolic/expr.py"} <= {*lines}
    assert sum(lines.values()) <= MOST, sorted(lines.items(), key=lambda item: -item[1])[:20]


def code_lines(text: str) -> set[int]:
    """The numbers of lines with code."""
    tree = ast.parse(text)
    left_out: set[int] = set()
    for node in ast.walk(tree):
        parts: list[ast.stmt] = []
        if isinstance(node, ast.Import | ast.ImportFrom):
            parts = [node]
        elif isinstance(node, DOCUMENTED):  # and texts below what they describe
            parts = [s for s in node.body if is_text(s)]
        for part in parts:
            left_out |= {*range(part.lineno, (part.end_lineno or part.lineno) + 1)}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    there = {
        line
        for token in tokens
        if token.type not in BLANK
        for line in range(token.start[0], token.end[0] + 1)
    }
    return there - left_out


def is_text(statement: ast.stmt) -> bool:
    """Whether a statement is nothing but a text."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def test_the_count_can_fail() -> None:
    text = '"""A text\nof two lines."""\n\nimport os  # why\n\n\ndef f(\n    a,\n):\n'
    text += '    """A docstring."""\n    # A comment.\n    return """two\n    lines"""\n'
    assert code_lines(text) == {7, 8, 9, 12, 13}
