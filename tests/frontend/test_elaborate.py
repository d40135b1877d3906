"""Equations: targets, guards, domains, types, and the graph that they make."""

from __future__ import annotations

import numpy as np
import pytest

from tempoc.ops.control.control import Copy, Merge
from tempoc.ops.definition.types import DType
from tempoc.sdg.text.text import show
from tempoc.symbolic.expr import Const
from tempoc.symbolic.text import show as shown
from tests.support.elaborated import errors_of, graph_of, value_of

T = "dim t < T\ninput x[t]: f32\n"
X = np.arange(4, dtype=np.float32)


def of_x(text: str, **more: object) -> dict[str, object]:
    return value_of(T + text, {"T": 4}, {"x": X}, **more)  # type: ignore[arg-type]


def test_a_recurrence_is_a_merge_of_its_equations() -> None:
    graph = graph_of(
        "dim n < N\nfib[0] = 0\nfib[1] = 1\nfib[n] = fib[n-1] + fib[n-2]\noutput fib\n"
    )
    assert list(graph.nodes) == ["fib.0", "fib.1", "fib.2", "fib"]
    merge = graph.nodes["fib"]
    assert isinstance(merge.op, Merge)
    assert [shown(e.guard) for e in merge.inputs] == ["n == 0", "n == 1", "n >= 2"]
    assert [shown(graph.nodes[f"fib.{k}"].domain.where) for k in range(3)] == [
        "true", "N >= 2", "n >= 2",
    ]  # fmt: skip


def test_one_equation_is_the_node_itself() -> None:
    graph = graph_of(T + "y[t] = x * 2.0\noutput y\n")
    assert list(graph.nodes) == ["x", "y.literal", "y"]
    assert graph.nodes["y"].domain.dims == ("t",)


def test_names_of_parts_come_from_the_source() -> None:
    graph = graph_of(T + "def f(a) { b = exp(a); return b + b }\ny = f(x) + f(-x)\n")
    assert list(graph.nodes) == [
        "x",
        "y.f.b.exp",
        "y.f.add",
        "y.neg",
        "y.f2.b.exp",
        "y.f2.add",
        "y",
    ]


def test_cotangents_are_named_after_what_the_derivative_is_by() -> None:
    text = "param w: f32[3, 2]\nparam b: f32[3]\ny = w @ (x * ones(2)) + b\n"
    end = "loss = sum(y[t = 0:T] * y[t = 0:T])\ndw = grad(loss, w)\n"
    record = "g = {by: grad(loss, b)}\ntwice = grad(loss, w)\noutput dw, g, twice\n"
    graph = graph_of(T + text + end + record)
    assert not isinstance(graph.nodes["dw"].op, Copy)
    assert graph.nodes["dw"].spans[0].text == "dw = grad(loss, w)"
    assert isinstance(graph.nodes["twice"].op, Copy)
    assert [e.source for e in graph.nodes["twice"].inputs] == ["dw"]
    assert [e.source for e in graph.nodes["g.by"].inputs] == ["loss.d.b"]
    assert not isinstance(graph.nodes["loss.d.b"].op, Copy)
    assert "loss.d.w" not in graph.nodes


@pytest.mark.parametrize(
    ("text", "y"),
    [
        ("y[t+1] = x\ny[0] = 7.", [7, 0, 1, 2]),
        ("y[t-2] = x\ny[t] = -1.", [2, 3, -1, -1]),
        ("y[T-1] = 5.\ny[t] = y[t+1] + x", [8, 8, 7, 5]),
        ("y[t] = 1. when t % 2 == 0\ny[t] = x", [1, 1, 1, 3]),
        ("y[t] = x[t-1] if t >= 1 else 9.", [9, 0, 1, 2]),
        ("y = x[T-1-t] + x[t//2]", [3, 2, 2, 1]),
        ("y = sum(x[0:t])", [0, 0, 1, 3]),
        ("y = sum(x[t % 2:t+1:2])", [0, 1, 2, 4]),
        ("y = x[min(t+1, T-1)] - x", [1, 1, 1, 0]),
        ("y[t]: f32 = 1.0 + sum(y[0:t])", [1, 2, 4, 8]),
        ("y[t] = 1.0 + sum(y[0:t])", [1, 2, 4, 8]),
        ("a[0], y[0] = 1., 2.\na[t+1], y[t+1] = y, a", [2, 1, 2, 1]),
        ("y = z * 2.\nz = x + 1.", [2, 4, 6, 8]),
        ("y[9] = 5.\ny[t] = x", [0, 1, 2, 3]),
        ("h = s * 2.\ns[0] = 1.\ns[t+1] = h\ny = s", [1, 2, 4, 8]),
        ("y[t = t+1] = x\ny[t = 0] = 0.", [0, 0, 1, 2]),
        (
            "p[t] = (x[T-2] if t % 2 == 0 else x) when t >= 1\ny = p[t] if t >= 1 else 9.",
            [9, 1, 2, 3],
        ),
    ],
)
def test_equations(text: str, y: list[float]) -> None:
    assert of_x(text + "\noutput y\n")["y"] == y


def test_a_carried_value_keeps_its_own_points() -> None:
    """A part of a guarded right side is computed only where that is needed."""
    graph = graph_of(T + "y[t] = 2. * (x[t-1] + 1.) when t >= 1\ny[t] = 0.\noutput y\n")
    wheres = {name: shown(node.domain.where) for name, node in graph.nodes.items()}
    assert wheres["y.add"] == wheres["y.0"] == "t >= 1"
    assert wheres["y.literal"] == "T >= 2"


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("y = 1", "i32"), ("y = 1 + 0.5", "f32"), ("y = b * 2.0", "bf16"), ("y = b + i", "bf16"),
        ("y = i / 2", "f32"), ("y = x + i", "f32"), ("y = t", "i32"), ("y = t > 1", "bool"),
        ("y[0] = 0.5\ny[t] = y[t-1] + i", "f32"), ("y[0] = i[0]\ny[t] = y[t-1] + 0.5", "f32"),
        ("y[0] = 1\ny[t] = y[t-1] * 2", "i32"), ("y: f32 = 1", "f32"), ("y = f16(i)", "f16"),
    ],
)  # fmt: skip
def test_dtypes(text: str, type_: str) -> None:
    head = "input b[t]: bf16\ninput i[t]: i32\n"
    node = graph_of(T + head + text + "\noutput y\n").nodes["y"]
    assert node.types[0].dtype is DType(type_)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("y = x[0:t+1]", "t+1"), ("y = x[t:T]", "T-t"), ("y = x[t:min(t+3, T)]", "min(3, T-t)"),
        ("y = x[0:T:2]", "(T+1)//2"), ("y = zeros([t+1, 4])", "t+1, 4"),
        ("y[0] = zeros([3])\ny[t] = y[t-1] + x", "3"), ("y[0] = 0.\ny[t] = y[t-1] + w", "5"),
        ("y[0] = w[0:1]\ny[t]: f32[t+1] = concat([y[t-1], w[0:1]])", "t+1"),
        ("y = reshape(outer, [-1])", "5*T"),
    ],
)  # fmt: skip
def test_shapes(text: str, shape: str) -> None:
    head = "input w: f32[5]\nouter = expand_dims(x[0:T], 1) * w\n"
    node = graph_of(T + head + text + "\n").nodes["y"]
    assert ", ".join(shown(e) for e in node.types[0].shape) == shape


def test_domains_are_unions() -> None:
    graph = graph_of("dim b < B\n" + T + "input w[b]: f32\ny = w * x\nz = y[b = 0]\n")
    assert graph.nodes["y"].domain.dims == ("b", "t")
    assert graph.nodes["z"].domain.dims == ("t",)


BOTH = "dim b < B\ndim t < T\nconst ON = true\nconst D = 4\ninput a[b]: f32\ninput c[t]: f32\n"


@pytest.mark.parametrize(
    ("condition", "dims"),
    [
        ("ON", ("b",)),
        ("not ON", ("t",)),
        ("D % 2 == 1 and ON", ("t",)),
        ("t >= 0", ("b", "t")),
        ("t < 0", ("b", "t")),
        ("not ON and t >= 1", ("b", "t")),
        ("t >= 1", ("b", "t")),
        ("T >= 2", ("b", "t")),
    ],
)
def test_only_constants_choose_a_side_for_good(condition: str, dims: tuple[str, ...]) -> None:
    """What happens to hold always joins the dimensions as every other condition does."""
    for choice in (f"y = a if {condition} else c", f"def f(p, q) = p if {condition} else q"):
        text = f"{BOTH}{choice}\n" + ("y = f(a, c)\n" if choice.startswith("def") else "")
        assert graph_of(f"{text}output y\n").nodes["y"].domain.dims == dims
    if condition in ("ON", "not ON"):  # a condition of `cond` is a tensor
        text = f"{BOTH}y = cond({condition}, a, c)\noutput y\n"
        assert graph_of(text).nodes["y"].domain.dims == ("b", "t")
    text = f"dim t < T\nconst ON = true\nconst D = 4\ny = 1 if {condition} else 2.5\noutput y\n"
    dtype = graph_of(text).nodes["y"].types[0].dtype
    assert dtype is (DType.I32 if condition == "ON" else DType.F32)


def test_two_runs_give_the_same_text() -> None:
    text = T + "y = sum(x[0:t+1]) * 2.\nr = {a: y, b: [x, y]}\noutput r\n"
    assert show(graph_of(text)) == show(graph_of(text))


def test_fixed_bounds_may_be_one() -> None:
    text = 'dim l < L = 3\nparam w[l]: f32 from "w.{l}"\nh[0] = 1.\nh[l] = h[l-1] * w\noutput h\n'
    weights = np.full(3, 2.0, np.float32)
    assert value_of(text, params={"w": weights})["h"] == [1, 2, 4]
    assert value_of(text, params={"w": weights[:1]}, defines={"L": "1"})["h"] == [1]


def test_derived_bounds() -> None:
    text = "dim n < N = (T + 1) // 2\ny[n] = sum(x[2*n:min(2*n+2, T)])\noutput y\n"
    assert of_x(text)["y"] == [1, 5]
    assert value_of(T + text, {"T": 3}, {"x": X[:3]})["y"] == [1, 2]


def test_a_bound_that_follows_from_known_ones_is_known() -> None:
    text = "dim g < G = L // 6\ndim l < L = 18\ndim n < N = G * T\n" + (
        "y[l] = l + len([k for k in range(G)])\nz[g] = y[6*g+5]\nu[n] = n\noutput z, u\n"
    )
    values = {b.name: b.value for b in graph_of(T + text).universe.bounds}
    assert values["G"] == Const(3)
    assert shown(values["N"]) == "3*T"
    assert of_x(text)["z"] == [8, 14, 20]
    assert of_x(text, defines={"L": "12"})["z"] == [7, 13]
    assert errors_of(T + text.replace("18", "4"))[0].code == "RT025"


def test_defines_override_constants() -> None:
    text = 'const a = 2\nconst on = true\nconst ns = [1, 2]\nconst s = "p"\n' + (
        'y = x * a + (ns[1] if on else 0.) + (1 if s == "q" else 0)\noutput y\n'
    )
    assert of_x(text)["y"] == [2, 4, 6, 8]
    changed = {"a": "3", "on": "false", "ns": "[4, 5, 6]", "s": "q"}
    assert of_x(text, defines=changed)["y"] == [1, 4, 7, 10]


def test_annotations_that_cannot_be_proved_become_assumptions() -> None:
    text = "dim n < N\ninput w: f32[N]\ny = sum((w as f32[T]) * x[0:T])\noutput y\n"
    graph = graph_of(T + text)
    assert [shown(a) for a in graph.universe.assumptions] == ["N == T"]
    assert value_of(T + text, {"T": 4, "N": 4}, {"x": X, "w": X})["y"] == 14


def test_as_names_the_extent_found() -> None:
    assert of_x("y = sum((x[0:T] as f32[m]) * arange(m))\noutput y\n")["y"] == 14
