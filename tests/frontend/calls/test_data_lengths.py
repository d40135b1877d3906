"""Lengths that the data decide, by the reference evaluator: values and what is checked."""

from __future__ import annotations

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.sdg.text.parse import parse_graph
from tempoc.sdg.text.text import show
from tests.support.elaborated import graph_of, value_of

HEAD = "dim t < T\ninput x[t]: f32\nv = x[0:T]\n"
NAN = float("nan")


@pytest.mark.parametrize(
    ("text", "x", "y"),
    [
        ("y = nonzero(v > 0.0)", [1, -1, 2], [0, 2]),
        ("y = nonzero(v > 0.0)", [-1], []),
        ("y = filter(v, v > 0.0, most = 2)", [1, -1, 2], [1, 2]),
        ("y = filter(stack([v, 2.0 * v], 1), v > 0.0)", [1, -1, 2], [[1, 2], [2, 4]]),
        ("y = unique(v)", [2, 1, 2, 0, 1], [0, 1, 2]),
        ("y = unique(v)", [7], [7]),
        ("y = unique(isnan(unique(v)))", [NAN, 1, NAN], [False, True]),
        ("y = size(unique(v), 0)", [NAN, 1, NAN, -0.0, 0.0], 3),
        ("y = unique(i32(v) % 2)", [0, 1, 2, 3], [0, 1]),
        ("k = length(i32(x[0]), most = T)\ny = v[0:k]", [2, 5, 6], [2, 5]),
        ("k = length(2, most = T)\ny = v[0:k]", [2, 5, 6], [2, 5]),  # no data decide this one
        ("y = sum(filter(v, v > 0.0)) if T > 2 else 0.0", [1, -1, 2], 3),
        ("y[t] = sum(filter(v, v > x[t-1])) when t >= 1\ny[t] = 0.0", [1, -1, 2], [0, 2, 3]),
        ("z = filter(v, v > 0.0) as f32[k]\ny = zeros([k]) + 1.0", [1, -1, 2], [1, 1]),
        ("def f(a: f32[n], m: bool[n]) -> f32[k] = filter(a, m) as f32[k]\ny = f(v, v > 0.0)",
         [1, -1, 2], [1, 2]),
    ],
)  # fmt: skip
def test_values(text: str, x: list[float], y: object) -> None:
    given = np.asarray(x, np.float32)
    assert value_of(HEAD + text + "\noutput y\n", {"T": len(x)}, {"x": given})["y"] == y


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y = filter(v, v > 0.0, most = 2)", "the length 3 is not between 0 and 2"),
        ("y = sum(filter(v, v > 0.0, most = T - 1))", "(T-1 = 2)"),
        ("k = length(i32(v[0]) - 5, most = T)\ny = v[0:k]", "the length -4 is not between 0"),
    ],
)  # fmt: skip
def test_a_length_that_is_too_large(text: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as raised:
        value_of(f"{HEAD}{text}\noutput y\n", {"T": 3}, {"x": np.ones(3, np.float32)})
    assert message in raised.value.diagnostics[0].message


@pytest.mark.parametrize(
    ("text", "y"),
    [
        ("y = filter(v, v > 0.0) + filter(2.0 * v, m)", [3, 6]),
        ("a = v\ny = filter(v, m) - f32(nonzero(a > 0.0))", [1, 0]),
        ("y = filter(v, m) + filter(v, stop_gradient(v) > 0.0)", [2, 4]),
        ("y = unique(v) - unique(x[0:T])", [0, 0, 0]),
        ("def f(a, b) = filter(a, b)\ny = f(v, m) + f(v, v > 0.0)", [2, 4]),
        ("y[t] = sum(filter(v, v < x[t]) * filter(v, v < x[t]))", [1, 0, 2]),
        ("b = filter(h[0], m) + filter(v, m)\nh[0] = v\nh[t+1] = h[t]\ny = b", [2, 4]),
    ],
)
def test_equal_masks_have_one_length(text: str, y: object) -> None:
    x = np.asarray([1, -1, 2], np.float32)
    head = f"{HEAD}m = v > 0.0\n"
    assert value_of(f"{head}{text}\noutput y\n", {"T": 3}, {"x": x})["y"] == y


@pytest.mark.parametrize(
    "other",
    [
        "filter(v, v > 1.0)",
        "filter(v, v >= 0.0)",
        "filter(v, 1.0 / (-0.0 * v) > 0.0)",
        "filter(v, 1.0 / (0.0 * v) > 0.0, most = T + 1)",
        "filter(v, random.bernoulli(0.0 * v) or m)",
    ],
)
def test_different_masks_have_lengths_of_their_own(other: str) -> None:
    first = "filter(v, 1.0 / (0.0 * v) > 0.0)" if "/" in other else "filter(v, m)"
    first = other if "random" in other else first
    text = f"{HEAD}m = v > 0.0\ny = {first} + {other}\noutput y\n"
    with pytest.raises(DiagnosticError) as raised:
        graph_of(text)
    assert "do not broadcast" in raised.value.diagnostics[0].message


def test_names_are_those_of_the_targets_and_differ_from_all_others() -> None:
    text = HEAD + "z_steps = 1.0\nz = filter(v, v > 0.0)\nw = unique(unique(v))\noutput z, w\n"
    universe = graph_of(text).universe
    assert [d.name for d in universe.dims] == ["t", "z_step", "w_step", "w_step2"]
    assert [b.name for b in universe.bounds] == ["T", "z_steps2", "w_steps", "w_steps2"]


def test_the_graph_can_be_printed_and_read_back() -> None:
    graph = graph_of(HEAD + "z = filter(v, v > 0.0)\noutput z\n")
    text = show(graph, sources=False)
    assert show(parse_graph(text, "m.sdg"), sources=False) == text
