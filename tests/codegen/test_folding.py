"""Values that are used once move to where they are used, and the function computes the same."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings, strategies as st

from tempoc.codegen.text.inline_values import inlined
from tempoc.codegen.text.naming import is_source_name, local_names, names_in
from tempoc.codegen.text.wrap_lines import wrapped
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tests.support.session.long import examples

FOLDED = {
    "used once": ("a = x * x\nb = jnp.sum(a)\nreturn b", "return jnp.sum(x * x)"),
    "used twice": ("a = x * x\nreturn a + a", "a = x * x\nreturn a + a"),
    "a name of the source": ("h = x * x\nreturn h", "h = x * x\nreturn h"),
    "brackets": ("a = x - y\nb = z - a\nreturn b * a2", "return (z - (x - y)) * a2"),
    "no brackets": ("a = x - y\nb = a - z\nreturn f(b)", "return f(x - y - z)"),
    "a sign": ("a = x * y\nb = -a\nreturn b.T", "return (-(x * y)).T"),
    "comparisons": ("a = x < y\nb = a == z\nreturn ~b", "return ~((x < y) == z)"),
    "an index": ("a = x + y\nreturn a[i]", "return (x + y)[i]"),
    "within an index": ("a = i + 1\nreturn x[a, 0]", "return x[i + 1, 0]"),
    "a keyword": ("a = x - y\nreturn f(z, axis=a)", "return f(z, axis=x - y)"),
    "past an update": (
        "a = x[t]\nx = updated(x, y, (t,))\nreturn x, a",
        "a = x[t]\nx = updated(x, y, (t,))\nreturn x, a",
    ),
    "into an update": (
        "a = x[t] + y\nx = updated(x, a, (t,))\nreturn x",
        "x = updated(x, x[t] + y, (t,))\nreturn x",
    ),
    "past a new meaning": ("a = f(x)\nx = y\nreturn a + x", "a = f(x)\nx = y\nreturn a + x"),
    "into a lambda": ("a = f(x)\nreturn g(lambda: a)", "a = f(x)\nreturn g(lambda: a)"),
    "into a function": (
        "a = f(x)\ndef g(y):\n    b = y * 2\n    return b + a\nreturn g(z)",
        "a = f(x)\ndef g(y):\n    return y * 2 + a\nreturn g(z)",
    ),
    "past a function": (
        "a = f(x)\ndef g(y):\n    return y\nreturn g(a)",
        "def g(y):\n    return y\nreturn g(f(x))",
    ),
    "brackets around": ("a = (x - y)\nb = 2 * a\nreturn f(a2, b)", "return f(a2, 2 * (x - y))"),
    "a tuple without": ("a = x, y\nreturn f(a)", "return f((x, y))"),
    "several results": ("a, b = f(x)\nreturn a", "a, b = f(x)\nreturn a"),
    "a tuple": ("a = (x, y)\nreturn f(a)", "return f((x, y))"),
    "too long": (f"a = {'x' * 60}\nreturn f({'y' * 30}, a)",) * 2,
}


@pytest.mark.parametrize("name", FOLDED)
def test_folded(name: str) -> None:
    before, after = FOLDED[name]
    lines, names = inlined(before.split("\n"), {"h"}, 96)
    assert "\n".join(lines) == after
    assert names == names_in(lines)


OPERATIONS = (
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "-{a}", "~{a}", "{a} & {b}", "{a} | {b}",
    "{a} if {a} < {b} else {b}", "({a} < {b}) + {a}", "({a} - {b})", "({a} + {b}) * 2",
    "f({a}, {b})", "f({a}, b={b})",
    "{a} % 7", "(lambda: {a})() - {b}",
)  # fmt: skip


@st.composite
def functions(draw: st.DrawFn) -> list[str]:
    """Lines that compute with numbers, each from any before it."""
    names, lines = ["x", "y"], []
    for k in range(draw(st.integers(1, 9))):
        a, b = draw(st.sampled_from(names[-4:])), draw(st.sampled_from(names[-4:]))
        text = draw(st.sampled_from(OPERATIONS)).format(a=a, b=b)
        again = k > 2 and draw(st.integers(0, 5)) == 0
        names.append("x" if again else f"v{k}")
        lines.append(f"{names[-1]} = {text}")
    return [*lines, f"return {names[-1]}"]


@settings(derandomize=True, max_examples=examples(43, long=150), deadline=None)
@given(functions())
def test_the_same_is_computed(lines: list[str]) -> None:
    after, names = inlined(lines, (), 60)
    assert run(after) == run(lines), lines
    assert names == names_in(after)


def test_names_that_only_begin_a_function_are_not_among_them() -> None:
    lines = ["def point(t, h):", "    return h * x", "return jax.vmap(point)(at)"]
    _, names = inlined(lines, (), 96)
    assert names == names_in(lines) == {"h", "x", "jax", "point", "at"}


def test_kernels_are_parsed_once_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which names a kernel mentions is known of its lines, and needs no further tree of all."""
    texts: list[str] = []
    parse = ast.parse

    def counted(source: str, *args: str, **options: bool) -> ast.Module:
        texts.append(source)
        return parse(source, *args, **options)

    text = "dim t < T\ninput x[t]: f32\ny[0] = x[0]\ny[t] = tanh(y[t-1]) + 3 * x\noutput y\n"
    compilation = Compilation(load_source(Source("m.rt", text)), Options(level=1, regions=False))
    assert compilation.plan.stores
    with monkeypatch.context() as patch:
        patch.setattr(ast, "parse", counted)
        kernels = compilation.emitted.program.kernels
    wholes = [t for t in texts if "\n" in t]
    assert 0 < len(wholes) <= len(kernels) + 1  # and the module of them


def run(lines: list[str]) -> int:
    scope: dict[str, object] = {"f": lambda a, b: 3 * a - 5 * b}
    body = (f"    {line}" for line in lines)
    exec("\n".join(["def g(x, y):", *body, "found = g(11, -4)"]), scope)
    found = scope["found"]
    assert isinstance(found, int)
    return found


def test_names_of_results() -> None:
    names = ["z.late", "a.attention.softmax.e.exp.late", "a.attention.scores.einsum", "n.mul2"]
    found = local_names([*names, "k.late", "b.attention.scores.einsum"], ["k", "x.early"])
    assert list(found.values()) == [
        "k", "x", "z", "e_exp", "a_attention_scores_einsum", "n_mul2", "k_late",
        "b_attention_scores_einsum",
    ]  # fmt: skip
    assert local_names(["w.blocks.0.q", "w.blocks.1.q"], ()) == {
        "w.blocks.0.q": "blocks_0_q", "w.blocks.1.q": "blocks_1_q",
    }  # fmt: skip
    assert local_names(["l.d.y.x.mul", "l.d.net.w", "m.d.net.b", "l.d.h.1"], ["l.d.net.b"]) == {
        "l.d.net.b": "l_d_net_b", "l.d.y.x.mul": "d_x_mul", "l.d.net.w": "d_net_w",
        "m.d.net.b": "m_d_net_b", "l.d.h.1": "d_h",
    }  # fmt: skip
    assert [is_source_name(n) for n in ("h.1", "h.early", "h.mul")] == [True, True, False]


LONG = {
    "a call": "y = function_of_much(first_operand, second_operand)",
    "an outer call": "y = outer(inner_of_all(first_operand), rest)",
    "calls of calls": "y = jax.vmap(point, in_axes=(0, None, None))(first_operand, second)",
    "a tuple of one": "return (function_of_much(first_operand, second_operand),)",
    "a lambda": "y = lax.cond(finite, lambda a, b: f(a, b), lambda: function(a, b, c))",
    "strings": 'y = jnp.einsum("kgd,skd->kgs", first_operand, "(", second_operand)',
    "results": "return first_result, f(second_result), third_result",
    "two calls": "y = in_windows(point, lambda t: t, axes=(0, 0))(first_operand, second_operand)",
    "three calls": "y = g(point, (0, None), (0,))(first, h(x))(first_operand, second_operand)",
    "an index": "y = first_operand[:, second_operand + third_operand, None, 0]",
    "a function": "def point(first_operand, second_operand, third_operand): pass",
    "many targets": "first_result, second_result, third = function(x)",
    "targets, operands": "first_result, second_result, third = function(operands, many_operands)",
    "places as targets": "a[d % max(1, Q - 2)], second_result, b[0 % 2] = function(d, operands)",
    "places, long": "r[(d - 1) % max(1, Q - 2)], s_of_the_step, more[(d + 1) % 2] = f(x)",
    "one tuple of targets": "((first_result, second_result, third),) = function(x, y)",
    "no brackets": "y = first_operand_of_the_sum + second_operand_of_the_sum",
    "one operand": "y = function_of_much(first_operand_of_the_sum_that_is_long)",
}


@pytest.mark.parametrize("name", LONG)
def test_long_lines(name: str) -> None:
    found = wrapped(LONG[name], 40)
    assert ast.dump(ast.parse("\n".join(found))) == ast.dump(ast.parse(LONG[name]))
    assert len(found) > 1 or name == "no brackets"
    assert all(len(line) <= 40 for line in found) or name in ("no brackets", "one operand")


def test_lines_that_fit_stay() -> None:
    assert wrapped("    y = f(x)", 12) == ["    y = f(x)"]
    assert wrapped("    y = f(x, zz)", 12) == ["    y = f(", "        x,", "        zz,", "    )"]


def test_names_of_a_body() -> None:
    lines = ("def step(i, t):", '    return x.t + f("u", axis=i)', "return step(0, 1)")
    assert names_in(lines) == {"x", "f", "i", "step"}
