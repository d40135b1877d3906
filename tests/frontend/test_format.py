from pathlib import Path

import pytest

from tempoc.base.doc import render
from tempoc.diagnostics.source import Source
from tempoc.frontend.format.expressions import expression
from tempoc.frontend.format.format import format_module
from tempoc.frontend.syntax.parse import parse

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.rt"))


def formatted(text: str) -> str:
    """The canonical text, after a look at whether it is stable and means the same."""
    module = parse(Source("m.rt", text))
    once = format_module(module)
    again = parse(Source("m.rt", once))
    assert again == module
    assert format_module(again) == once
    return once


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_programs_keep_meaning_and_comments(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    once = formatted(text)
    assert once.count("#") == text.count("#")
    assert max(len(line) for line in once.split("\n")) <= 110


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("y=a+b *c**-2;z   = 1", "y = a + b * c ** -2\nz = 1\n"),
        ("y = x[ t + 1,0 : T : 2 ]", "y = x[t+1, 0:T:2]\n"),
        ("y = x[t=j in 0:t]", "y = x[t = j in 0:t]\n"),
        ("y = f(a,b=1)+(c)", "y = f(a, b = 1) + (c)\n"),
        ("y = ((a + b)) + c", "y = (a + b) + c\n"),
        ("y = a - (b - c)", "y = a - (b - c)\n"),
        ("y = (a if t>0 else b) as f32[t + 1]", "y = (a if t > 0 else b) as f32[t+1]\n"),
        ("def f(x,dim i,lr=1e-3)=x", "def f(x, dim i, lr = 1e-3) = x\n"),
        ("def f(x) {return x}", "def f(x) {\n  return x\n}\n"),
        ('param W : f32 = 1 from "w"', 'param W: f32 from "w" = 1\n'),
        ("import optim as optim, nn as n", "import optim, nn as n\n"),
        ('y = "a\\"\\n"', 'y = "a\\"\\n"\n'),
        ("y = {a:1,b:[2]}\n  when  t  >= 1", "y = {a: 1, b: [2]} when t >= 1\n"),
        ("", ""),
        ("\n\n#c \n\n\n\nx = 1\n\n\n", "#c\n\nx = 1\n"),
    ],
)
def test_canonical_forms(text: str, wanted: str) -> None:
    assert formatted(text) == wanted


def test_comments_keep_their_places() -> None:
    text = '''\
"""doc"""  # a
# b
x = 1;  y = 22 # c

def f(x) { # d
    # e
    """about""" # f

    for k in range(3) { x = x + k } # g
    return x # h
    # i
} # j
# k'''
    assert (
        formatted(text)
        == '''\
"""doc"""  # a
# b
x = 1
y = 22  # c

def f(x) {
  # d
  # e
  """about"""  # f

  for k in range(3) {
    x = x + k
  }         # g
  return x  # h
  # i
}  # j
# k
'''
    )


def test_comments_of_neighbouring_lines_are_aligned() -> None:
    assert formatted("x = 1 # a\nlonger = 2 # b\n\ny = 3 # c\n") == (
        "x = 1       # a\nlonger = 2  # b\n\ny = 3  # c\n"
    )


def test_comments_inside_a_statement_keep_its_lines() -> None:
    text = "def f(x) {\n      y = g(x, # first\n            x)  # second\n      return y\n}\n"
    assert formatted(text) == (
        "def f(x) {\n  y = g(x, # first\n        x)  # second\n  return y\n}\n"
    )
    header = "def f(x, # first\n      y) {\n  return x\n}\n"
    assert formatted(header) == header


def test_scalar_types_have_no_brackets() -> None:
    assert formatted("y: f32[] = sum(x) as f32[]\n") == "y: f32 = sum(x) as f32\n"


def test_long_lines_break_in_brackets_and_after_operators() -> None:
    call = "y = " + "f(" + ", ".join(f"argument_{k} = {k}" for k in range(8)) + ")"
    lines = formatted(call).split("\n")
    assert lines[0] == "y = f(" and lines[1] == "  argument_0 = 0," and lines[-2] == ")"
    chain = "y = " + " + ".join(f"something[{k}]" for k in range(12))
    assert formatted(chain).startswith("y = something[0] +\n    something[1] +\n")


def test_a_long_documentation_is_left_alone() -> None:
    text = '"""A\n  long  \n\n\ntext"""\nx = 1\n'
    assert formatted(text) == text


def test_an_expression_alone() -> None:
    (item,) = parse(Source("m.rt", "y = f(a,b)[0:t+1]")).items
    assert render(expression(item.values[0])) == "f(a, b)[0:t+1]"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text",
    ["a" + "[0]" * 98, "(-" * 180 + "a" + ")" * 180, "f(" * 180 + ")" * 180, "[" * 180 + "]" * 180],
)
def test_what_may_be_parsed_can_be_formatted(text: str) -> None:
    formatted(f"y = {text}")
