"""Names that casts introduce, used in other equations."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.elaborated import graph_of, value_of

HEAD = "dim t < T\ninput x[t]: f32[3]\n"
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(
    ("text", "y"),
    [
        # whichever stands first
        ("a = reshape((x)[t = 0:T], [-1]) as f32[k]\ny = zeros([k//2]) + k", [6, 6, 6]),
        ("y = zeros([k//2]) + k\na = reshape((x)[t = 0:T], [-1]) as f32[k]", [6, 6, 6]),
        # in shapes, slices, guards, types of inputs, annotations, functions
        ("a = (x)[t = 0:T] as f32[m, q]\ny = sum(x[0:m])", 15),
        ("a = x as f32[q]\ny[t] = sum(x) when t + 2 < q\ny[t] = -1.0", [3, -1]),
        ("a = x as f32[k]\ny: f32[k] = 2.0 * x", [[0, 2, 4], [6, 8, 10]]),
        ("def f(a) = a * ones([k])\na = x as f32[k]\ny = sum(f(x))", [3, 12]),
        # one that varies with the step
        ("a = x[0:t+1] as f32[m, q]\ny = sum(ones([m, q]))", [3, 6]),
        # each equation has its own, as long as nothing else reads it; equal ones may be read
        ("a = x[0:t+1] as f32[m, q]\nb = x as f32[m]\ny = sum(ones([q]))", 3),
        ("a = x as f32[m]\nb = (2.0 * x) as f32[m]\ny = sum(ones([m]))", 3),
        # in the body of a function, which has names of its own
        ("def f(x) {\n  z = zeros([k]) + y\n  y = x as f32[k]\n  return (z as f32[j]) + j\n}\n"
         "b = x as f32[j]\ny = f((x)[1:])", [[3, 4], [6, 7]]),
        ("def f(x) {\n  for j in range(2) {\n    u = x[j:] as f32[k]\n"
         "    x = zeros([k]) + u[0]\n  }\n  return x\n}\ny = f(x)", [[0, 0], [3, 3]]),
        # through a cycle of tensors of which one is known otherwise
        ("a[t] = x + b[t-1] as f32[k] when t >= 1\na[0] = x[0]\nb[t] = zeros([k]) + a[t]\ny = b",
         [[0, 1, 2], [3, 5, 7]]),
        ("a[t] = (b[t] + x) as f32[k]\nb[t] = zeros([k])\ny = a", [[0, 1, 2], [3, 4, 5]]),
        # records
        ("a = {b: x} as {b: f32[k]}\ny = zeros([k])", [0, 0, 0]),
    ],
)  # fmt: skip
def test_values(text: str, y: object) -> None:
    assert value_of(HEAD + text + "\noutput y\n", {"T": 2}, {"x": X})["y"] == y


def test_an_input_may_have_the_extent() -> None:
    text = HEAD + "input w: f32[k]\na = x as f32[k]\ny = sum(w * x)\noutput y\n"
    assert value_of(text, {"T": 2}, {"x": X, "w": np.ones(3, np.float32)})["y"] == [3.0, 12.0]


def test_there_is_one_check_where_the_cast_stands() -> None:
    text = HEAD + "dim n < N\ninput w[n]: f32\na = x as f32[k]\nb = w[0:N] as f32[N]\n"
    assert not graph_of(text + "y = a\noutput y, b\n").universe.assumptions
    text += "d = w[0:N] as f32[3]\ny = d + a\nz = zeros([k]) + d\noutput y, z, b\n"
    graph = graph_of(text)
    assert len(graph.universe.assumptions) == 1
