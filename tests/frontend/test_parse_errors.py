"""Mistakes: what is said about each, and that one does not hide another."""

import pytest

from tempoc.base.parsing.grammar import Mismatch
from tempoc.diagnostics.diagnostic import Diagnostic, DiagnosticError
from tempoc.diagnostics.render import render_all
from tempoc.diagnostics.source import Source
from tempoc.frontend.syntax.error_samples import SAMPLES
from tempoc.frontend.syntax.explain_error import _sample_mismatch
from tempoc.frontend.syntax.parse import parse, rt_grammar
from tests.support.golden import Golden

MISTAKES = (
    "dim t", "dim t < 5", "dim e < 4", "dim in < T", "dim b <\ndim t < T", "const D",
    "const D: i32 = 3",
    "input x", "input x = 3", "input x[t]", "input x[t+1]: f32", "param W", "param W[0]: f32",
    'import "a.rt"', "import", "import 3", "extern foo f(x: f32) -> (y: f33) from \"a:b\"",
    "extern jax f(x: f32)", "extern jax f(x: f32) -> f32", "extern jax f(x: f32) -> (y: f32)",
    'extern jax f(x) -> (y: f32) from "a:b"', "def f(x)", "def f(x):\n  return x", "def f x = 3",
    "def f(x, x, y = 1, z) = 3", "def f(x) { y = x }", "def f(x) { return x; y = 3 }",
    "def f(x) {\n  for k in range(3) { return k }\n  return x\n}",
    "def f(x) {\n  dim t < T\n  return x\n}",
    "return x", "for k in range(3) { x = k }", "if x > 3", "output x + 1", "output x as", "save x",
    'save x + 1 to "f"', "print x when", "f(x) = 3", "x", "x == 3", "x += 1", "x[t] -= 1",
    "x[0:3] = 4", "x[t = 3, 0] = 1", "a, b = c, d, e", "a = b, c", "in = 3", "y = for",
    "y = a + to", "y = inf = 3", "inf = 3", "y[t] = x[t", "y[t = x[t]\nz = 1",
    "y = f(x[t]\ndim t < T", "y = (x[t]]", "y = (x[t", "y = x[t])", "y = {a: 1", "}",
    "def f(x) {\n  y = x\n\ndim t < T", "def f(x {\n  return x\n}", 'y = "abc', "y = 'abc'",
    'y = "a\\qb"', '"""doc', 'x = 1\n"""doc"""', "y = 12ab", "y = 1.2.3", "y = 007", "y = 1e",
    "y = x $ z", "y = x && z", "y = !x", "y = x << 2", "y = x >> 2", "y = x ? 1 : 2",
    "y = \N{GREEK SMALL LETTER ALPHA}",
    "y = a < b < c", "y = a < (b < c) == d", "y = x z", "y = f(x z)", "y = [1 2]", "y = a = b",
    "y = x +", "y = x + * 2", "y = x +\nz = 3", "y =", "y = -", "y = x + when t >= 1", "y = (a, b)",
    "y = x if t >= 1", "y = if x then 1 else 2", "y = x[]", "y = {}",
    "y = {a: 1, a: 2}", "y = [1:2]", "y = f(a = 1, 2)",
    "y = f(a = 1, a = 2)", "y = x[t = 1, t = 2]", "y = x as f31", "y = x as 3", "y = x.3", "y = x.",
    "y = lambda x: x", "y = x[t = j in 3]",
    "x = 3\nover = 2", "x = 3\nover[b] = 2", "x = 3\nwhen[b] = 2",
    "print = 3", "print a, a + b", 'print "loss" a',
    "print(a)", 'print("loss", a)', "output(a, b)", "output a = 3",
    "output b, a[t]: f32 = 3", 'save a, b to "x"',
    "input x[t, 3]: f32", "input x[t]: f32[3] = ones([3])", "input x: {a: f32} = 1",
    'save a "x"', "output a b", "while x: y = 1", "y = x[..., 0]", "x[t]: f32", "y := 3",
    "y = {a = 1}", "y[t] = x when t > 0 else 3", "dim t = 5", "dim t < T, s < S", "dim t, s < T",
    "input x: f32(3)", "input x[t]: [3]", "param w: f32[3] from w.npy", "from nn import softmax",
    "import nn.softmax", "y = 3x", "f(x)", "y = sum(x, dim = 0)",
    "dim t < N + M", "dim t < T until x < 1", "dim t < T until not x", "assume T > 3, S > 2",
    "// comment", "for i in range(3) { x = i }",
    'extern f(a: f32) -> (r: f32) from "m:f"', 'extern host f(a: f32) -> (r: f32) over b',
)  # fmt: skip


def refused(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(DiagnosticError) as caught:
        parse(Source("m.rt", text))
    return caught.value.diagnostics


def test_every_mistake_is_explained(golden: Golden) -> None:
    parts = []
    for text in MISTAKES:
        shown = "\n".join(f"    {line}".rstrip() for line in text.split("\n"))
        parts.append(f"{shown}\n\n{render_all(refused(text))}")
    golden("errors/syntax.txt", ("-" * 80 + "\n").join(parts))


@pytest.mark.parametrize("text", MISTAKES)
def test_one_mistake_gives_one_error_whatever_follows(text: str) -> None:
    """The statements around a mistake are read as if it were not there."""
    alone = [(d.code, d.message) for d in refused(text)]
    after = [(d.code, d.message) for d in refused(f"a = 1\n{text}")]
    if text.startswith('"""'):
        return
    assert after == alone


def test_all_independent_mistakes_are_reported() -> None:
    text = "a = 1 2\nb = (x\nc = 3\ndef f(x) {\n  y = +\n  z = 4 5\n  return y\n}\nd = )\noutput 3"
    found = [(d.code, d.primary.span.line) for d in refused(text) if d.primary]
    assert found == [
        ("RT001", 1), ("RT002", 2), ("RT001", 5), ("RT001", 6), ("RT002", 9), ("RT012", 10),
    ]  # fmt: skip


def test_a_broken_return_is_not_called_missing() -> None:
    assert [d.code for d in refused("def f(x) {\n  return x +\n}")] == ["RT001"]


def test_text_that_is_none() -> None:
    assert [d.code for d in refused("a = 1\0")] == ["RT013"]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.texts[0])
def test_every_sample_still_stops_the_parser(sample: object) -> None:
    for text in sample.texts:  # type: ignore[attr-defined]
        assert isinstance(_sample_mismatch(rt_grammar(), Source("", text)), Mismatch)


def test_every_sample_is_told_by_its_own_message() -> None:
    for sample in SAMPLES:
        for text in sample.texts:
            assert refused(text)[0].message.split("`")[-1] == sample.message.split("`")[-1]
