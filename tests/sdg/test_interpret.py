"""The reference evaluator: plain programs against NumPy, long chains, cycles, holes."""

from __future__ import annotations

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.sdg.evaluation.given_data import all_bounds
from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.sdg.text.parse import parse_graph

HEAD = "sdg test\nbound T\ndim t < T\n"
X = "%x = input{dtype=f32} : [t] f32\n"


def run(text: str, size: int, **given: np.ndarray) -> dict[str, np.ndarray]:
    return evaluate(parse_graph(HEAD + text, "test.sdg"), {"T": size}, given, given)


def code(text: str, size: int, **given: np.ndarray) -> str:
    with pytest.raises(DiagnosticError) as caught:
        run(text, size, **given)
    (diagnostic,) = caught.value.diagnostics
    return f"{diagnostic.code}: {diagnostic.message} {' '.join(diagnostic.notes)}"


COUNT = """
%zero = literal{value=0, dtype=i32} : [] i32
%one = literal{value=1, dtype=i32} : [] i32
%n.1 = add %n, %one : [t | t+1 < T] i32
%n = merge{targets=((0,), (t+1,))} %zero when t == 0, %n.1[t-1] when t >= 1 : [t] i32
output n = %n[T-1]
"""


def test_a_chain_longer_than_the_stack() -> None:
    assert run(COUNT, 5_000)["n"] == 4_999


@pytest.mark.long("5000 are more than a stack holds as well")
def test_a_chain_of_twenty_thousand() -> None:
    assert run(COUNT, 20_000)["n"] == 19_999


def test_fibonacci() -> None:
    text = """
%zero = literal{value=0, dtype=i32} : [] i32
%one = literal{value=1, dtype=i32} : [] i32
%f.2 = add %f[t-1], %f[t-2] : [t | t >= 2] i32
%f = merge{targets=((0,), (1,), (t,))} %zero when t == 0, %one when t == 1, %f.2 when t >= 2 : [t]\
 i32
output f = %f[0:T]
output odd = %f[1:T:2]
"""
    assert run(text, 8)["f"].tolist() == [0, 1, 1, 2, 3, 5, 8, 13]
    assert run(text, 8)["odd"].tolist() == [1, 2, 5, 13]
    assert run(text, 1)["odd"].shape == (0,)


def test_slices_add_leading_axes() -> None:
    text = """
dim s < T
%m = input{dtype=f32, shape=(3,)} : [t, s] f32[3]
%a = copy %m[0:t+1, 0:T:2] : [t] f32[t+1, (T+1)//2, 3]
%b = copy %m[t, 0:t] : [t] f32[t, 3]
output a = %a[T-1]
output b = %b[0]
output c = %b[2]
output d = %m[1, 0:T]
"""
    m = np.random.default_rng(0).normal(size=(5, 5, 3)).astype(np.float32)
    found = run(text, 5, m=m)
    np.testing.assert_array_equal(found["a"], m[:, ::2])
    assert found["b"].shape == (0, 3)
    np.testing.assert_array_equal(found["c"], m[2, :2])
    np.testing.assert_array_equal(found["d"], m[1])


def test_params_and_defaults() -> None:
    text = """
%seven = literal{value=7.0, dtype=f32} : [] f32
%w = param{template="w", dtype=f32, has_default=true} %seven : [] f32
output w = %w
"""
    assert run(text, 1)["w"] == 7
    assert run(text, 1, w=np.float32(3))["w"] == 3


def test_a_bound_of_one_that_is_declared_later() -> None:
    text = "sdg a\nbound S = N+1\nbound N = 2*T\nbound T\ndim t < T\n%n = index{expr=t} : [t] i32\n"
    graph = parse_graph(f"{text}output n = %n[T-1]\n", "a.sdg")
    assert all_bounds(graph, {"T": 2}) == {"S": 5, "N": 4, "T": 2}


def test_derived_bounds_and_double_precision() -> None:
    graph = parse_graph(
        """sdg a
bound T
bound N = (T+3)//4
dim n < N
%n = index{expr=n} : [n] i32
%third = literal{value=0.1, dtype=f32, weak=true} : [] ~f32
%y = mul %n, %third : [n] f32
output y = %y[0:N]
""",
        "a.sdg",
    )
    single = evaluate(graph, {"T": 9}, {}, {})["y"]
    double = evaluate(graph, {"T": 9}, {}, {}, float64=True)["y"]
    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    assert single.shape == (3,)
    assert double.tolist() == [0.0, 0.1, 0.2]


def test_what_needs_itself() -> None:
    text = """
%a = neg %b[t] : [t] f32
%b = neg %a[T-1-t] : [t] f32
output a = %a[0]
"""
    message = code(text, 3)
    assert message.startswith("RT310: a[t=0] cannot be computed, because it needs itself")
    assert "a[t=0] -> b[t=0] -> a[t=2] -> b[t=2] -> a[t=0]" in message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (X + "%y = neg %x[t+1] : [t] f32\noutput y = %y[0:T]", "RT311: y[t=2] reads x[t=3]"),
        (X + "%y = neg %x : [t | t >= 1] f32\noutput y = %y[0:T]", "RT311: output y reads y[t=0]"),
        ("%z = input{dtype=f32} : [t] f32\noutput z = %z[0]", "RT312: the input `z` is not given"),
        ('%w = param{template="w", dtype=f32} : [] f32\noutput w = %w', "RT312: the param `w`"),
        (
            "%x = input{dtype=f32, shape=(2,)} : [t] f32[2]\noutput x = %x[0]",
            "RT313: the input `x`",
        ),
        (X + "%y = ensure{shape=(2,)} %x[0:T] : [] f32[2]\noutput y = %y", "RT315: y cannot be"),
        (X + "%y = copy %x[0:T] : [] f32[2]\noutput y = %y", "RT314: y has shape [3]"),
        (
            X + "%m = merge{targets=((t,),)} %x when t >= 1 : [t] f32\noutput m = %m[0]",
            "RT311: the program reads m[t=0]",
        ),
    ],
)
def test_clean_errors(text: str, expected: str) -> None:
    assert expected in code(text, 3, x=np.zeros(3, np.float32))


def test_a_bound_is_missing() -> None:
    with pytest.raises(DiagnosticError, match="RT312: the bound `T` is not given"):
        evaluate(parse_graph(HEAD + COUNT, "test.sdg"), {}, {}, {})
