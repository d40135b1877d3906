"""Whatever a text is, as a part of generated Python it means itself and does nothing."""

from __future__ import annotations

import ast
import inspect
import keyword

import pytest
from hypothesis import example, given, settings, strategies as st

from tempoc.base import python_text as py
from tests.support.session.long import examples

NASTY = "\"\\'{}%#\n\r\t\x00\x1b\x0c\x85\u2028\u202e\udcff\ufb01ab.[]"
TEXTS = st.text(st.characters() | st.characters(categories=["Cs"]) | st.sampled_from(NASTY))


@settings(max_examples=examples(17, long=60), deadline=None)
@given(TEXTS)
@example('m"""+__import__("os").system("true")+""".rt')
@example('""""""')
@example('"\n"')
@example("\\")
@example('"\\"')
@example("\n")
def test_a_docstring_is_the_text(text: str) -> None:
    lines = py.docstring(text)
    value = text + "\n" * ("\n" in text)
    assert ast.literal_eval("\n".join(lines)) == value
    assert all(line.isprintable() for line in lines)
    # Also where it stands in a function, indented.
    code = "\n".join(["def f():", *(f"    {line}" for line in lines)])
    (function,) = ast.parse(code).body
    assert isinstance(function, ast.FunctionDef) and len(function.body) == 1
    indented = value if "\n" not in text else text.replace("\n", "\n    ") + "\n"
    document = ast.get_docstring(function, clean=False) or ""
    # Lines of nothing but blanks at the end may be indented or not.
    assert inspect.cleandoc(document).rstrip() == inspect.cleandoc(indented).rstrip()


@settings(max_examples=examples(17, long=60), deadline=None)
@given(TEXTS)
def test_a_literal_evaluates_to_the_text(text: str) -> None:
    shown = py.literal(text)
    assert ast.literal_eval(shown) == text
    assert shown.isprintable()


@settings(max_examples=examples(17, long=60), deadline=None)
@given(TEXTS | st.from_regex(r"\w+", fullmatch=True))
@example("²½௰")
@example("\ufb01x")
def test_an_identifier_is_one_name_for_python_too(text: str) -> None:
    name = py.identifier(text)
    assert name.isidentifier()
    if not keyword.iskeyword(name):
        (statement,) = ast.parse(name).body
        assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Name)
        assert statement.value.id == name


@settings(max_examples=examples(17, long=60), deadline=None)
@given(TEXTS | st.from_regex(r"\w+", fullmatch=True))
def test_what_is_an_identifier_is_imported_by_that_name(text: str) -> None:
    if py.is_identifier(text):
        (statement,) = ast.parse(py.import_line(text, "f", text)).body
        assert isinstance(statement, ast.ImportFrom)
        (alias,) = statement.names
        assert (statement.module, alias.name, alias.asname or alias.name) == (text, "f", text)
    else:
        with pytest.raises(ValueError, match="cannot be imported"):
            py.import_line("m", text, "f")


@pytest.mark.parametrize(
    ("name", "fine"),
    [("f", True), ("class", False), ("\ufb01", False), ("fi", True), ("a b", False), ("", False),
     ("é", True), ("e\u0301", False), ("a\n", False), ("None", False)],
)  # fmt: skip
def test_what_python_reads_as_another_name_is_none(name: str, fine: bool) -> None:
    assert py.is_identifier(name) is fine
