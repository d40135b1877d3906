"""Bounds that kernels use as numbers only are told to them behind their coordinates."""

import ast

import pytest

from tempoc.codegen.text.number_bounds import number_bounds, with_numbers
from tempoc.codegen.text.static_values import static_numbers, static_values
from tempoc.symbolic.text import show

TEXT = '''def f(at, x, *, I, N):
    """What it does."""
    i = at[0]
    {}
    return (y,)
'''


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("y = jnp.int32(I-20).astype(jnp.float32)", {"I"}),
        ("y = jnp.float32(2*I + N)", {"I", "N"}),
        ("y = jnp.where(i < I - 1, x, 0)", {"I"}),
        ("y = jnp.int32(I*N)", set()),
        ("y = jnp.int32(min(I, 3))", set()),
        ("y = x[I-1]", set()),
        ("y = jnp.zeros(N) + jnp.int32(N + I)", {"I"}),
        ("y = jnp.arange(N) < I", set()),
        ("y = x if I < 3 else -x", set()),
        ("y = step(x, I=I)", set()),
    ],
)
def test_which_are_numbers(line: str, told: set[str]) -> None:
    assert number_bounds(TEXT.format(line), ("I", "N")) == told


def test_a_text_that_is_asked_about_several_things_is_parsed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = []
    parse = ast.parse
    monkeypatch.setattr(ast, "parse", lambda text: texts.append(text) or parse(text))
    text = TEXT.format("y = jnp.zeros(I) + jnp.int32(N + 17)")
    assert number_bounds(text, ("I", "N")) == {"N"}
    assert show(static_values(text, {"I": "I", "N": "N"})[0]) == "I"
    assert len(static_numbers(text, {"I": "I", "N": "N"})) == 2
    assert texts == [text]


def test_the_text() -> None:
    head = ["def f(at, x, *, N):"]
    text = with_numbers(TEXT.format("y = x / jnp.int32(I)"), ["I"], 1, head)
    assert text.splitlines()[:5] == [
        "def f(at, x, *, N):", '    """What it does."""', "    I = at[1]", "    i = at[0]",
        "    y = x / jnp.int32(I)",
    ]  # fmt: skip
