"""Types through cycles: the order of equations does not matter, and all of them are checked."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import islice, permutations

import pytest

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.frontend import elaborate, fixpoint
from tempoc.frontend.declarations.module_scopes import SourceProgram
from tempoc.frontend.declarations.outputs import OutputRead
from tempoc.frontend.environment.draft_order import DraftOrder
from tempoc.frontend.environment.round import Round
from tempoc.ops.definition.shapes import type_text
from tempoc.sdg.text.text import show
from tests.support.elaborated import graph_of
from tests.support.inference_programs import BODY, CYCLES, GIVEN, GROWING, INSIDE
from tests.support.session.long import examples

SHUFFLES = examples(2, long=6)
T = "dim t < T\ninput x[t]: f32[3]\nparam W: f32[3, 3]\n"


def orders(equations: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """All orders of a few equations, and some of many: as written and the other way round first."""
    if len(equations) <= 3:
        yield from permutations(equations)
        return
    yield tuple(equations)
    yield tuple(reversed(equations))
    shuffle = random.Random(0)
    for _ in range(SHUFFLES):
        yield tuple(shuffle.sample(equations, len(equations)))


def types_of(text: str) -> dict[str, tuple[object, ...]]:
    """Dtype, weakness, shape and dimensions of the tensors of a program; the parts do not count."""
    return {
        node.name: (*((type_text(t), t.weak) for t in node.types), node.domain.dims)
        for node in graph_of(text).nodes.values()
        if node.name.count(".") == 0
    }


def codes_of(text: str) -> list[str]:
    """The codes of the mistakes in a program, sorted."""
    with pytest.raises(DiagnosticError) as refused:
        graph_of(text)
    return sorted(d.code for d in refused.value.diagnostics)


@pytest.mark.parametrize("name", CYCLES)
def test_types_do_not_depend_on_the_order_of_equations(name: str) -> None:
    head, rest = CYCLES[name].split("...\n")
    *equations, output = rest.splitlines()
    wanted = types_of(head + rest)
    for order in orders(equations):
        assert types_of("\n".join((head, *order, output, ""))) == wanted, order


def test_nor_do_they_in_a_function() -> None:
    for order in orders(BODY):
        types = types_of(INSIDE.replace("...", "\n".join(order)))
        assert types["y"] == (("f32[3]", False), ("t",)), order


@pytest.mark.parametrize("name", GROWING)
def test_shapes_grow_as_annotations_say(name: str) -> None:
    graph = graph_of(GIVEN + GROWING[name] + "s = sum(h)\noutput s\n")
    assert graph.nodes["h"].types[0].shape


@pytest.mark.parametrize(
    ("name", "tensor", "type"),
    [
        ("empty", "y", "f32[2]"),
        ("cov", "P", "f32[2, 2]"),
        ("lstm", "h", "f32[5]"),
        ("literal_matmul2", "h", "f32[3]"),
        ("promote", "c", "f32"),
        ("bools", "m", "bool"),
        ("maxbool", "a", "bool"),
        ("ints", "a", "i32"),
        ("weak", "y", "f16"),
        ("shape_not_dtype", "y", "f32[2, 2]"),
    ],
)
def test_the_least_type_that_fits(name: str, tensor: str, type: str) -> None:
    assert types_of(CYCLES[name].replace("...\n", ""))[tensor][0][0] == type  # type: ignore[index]


def test_chains_may_be_long_and_stand_in_the_wrong_order() -> None:
    chain = "".join(f"a{k}[t] = a{k + 1}[t-1] if t >= 1 else 0.5\n" for k in range(60))
    types = types_of(T + chain + "a60[t] = x\noutput a0\n")
    assert types["a0"] == (("f32[3]", False), ("t",))
    inside = "".join(f"a{k}[i] = a{k + 1}[i] * 2.0\n" for k in range(40))
    text = T + "def f(x, dim i) {\n" + inside + "a40[i] = x\nreturn a0\n}\ny = f(x, t)\noutput y\n"
    assert types_of(text)["y"] == (("f32[3]", False), ("t",))


AHEAD = """dim i < I
dim k < K = 2*I
dim t < T
input x[t]: f32[3]
param W: f32[3, 3]
now[i] = net[2*i]
a[i, t] = now[i] @ s[i, t]
s[i, 0] = x[0]
s[i, t+1] = s[i, t] + a[i, t] * last[i-1] when i >= 1
s[i, t+1] = s[i, t] + a[i, t] when i < 1
last[i] = sum(a[i, T-1])
net[0] = W + random.normal([3, 3])
net[k+1] = net[k] - 0.1 * smooth(last[k//2], k)
noise[t] = smooth(random.normal([3]) + x, t)
output s, noise
def smooth(x, dim k) {
  m[k] = 0.9 * m[k-1] + twice(x) when k >= 1
  m[k] = x
  return twice(m)
}
def twice(x) { return x + x }
"""
"""Read before their turn: `net`, `s`, `last`; a function does the same with what is its own."""


APART = [
    T + "y = f(x + W[0], t)\noutput y\ndef f(x, dim t) {\n" + body + "\nreturn h\n}\n"
    for body in (
        "s = x\nh[t] = 0.5 * h[t-1] when t >= 1\nfor k in range(2) {\ns = s + x\n}\nh[t] = s",
        "s = x + 1.0\nh[t] = 0.5 * h[t-1] when t >= 1\ng = s * 2.0\nh[t] = s",
        "h[t] = h[t-1] + s when t >= 1\nh[t] = s\ns = x + 1.0",
        "s[t] = g[t-1] * s[t-1] when t >= 1\ns[t] = x\ng[t] = tanh(x)\nh = s",
    )
]
"""Functions in which more depends on the order of equations than types do."""

CALLS = (
    T
    + """y[t] = twice(y[t-1]) when t >= 1
y[t] = twice(x[0]) when t == 0
output y
def twice(x) { return x + x }
"""
)
"""The second equation is evaluated ahead, and calls what is called by the first one as well."""

DRAWS = [
    T + "y = x + random.normal([3])\nz = y * random.uniform([])\noutput z\n",
    T
    + """y = f(x, t) + random.normal([3])
output y
def f(x, dim t) {
  m[t] = x when t < steps(t) - 1
  m[t] = -x
  return m
}
def steps(dim t) {
  n[t] = t
  return size(n[:], 0)
}
""",
]
"""Of draws only the dimensions are inferred; a plan of the second program evaluates a call."""


def test_one_round_suffices_where_first_points_give_the_types(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rounds = []
    prepare = fixpoint._prepare_next_round

    def counted(round: Round, state: fixpoint._FixpointState) -> bool:
        rounds.append(dict(round.table))
        return prepare(round, state)

    monkeypatch.setattr(fixpoint, "_prepare_next_round", counted)
    graph_of(AHEAD)
    assert len(rounds) == 1
    assert rounds[0].keys() >= {("now",), ("a",), ("s",), ("last",), ("net",)}


def test_each_round_goes_as_deep_as_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """80 equations, each before the one that it reads: not a round for each few of them."""
    rows = ["y0[t] = x", *(f"y{k + 1}[t] = tanh(y{k}[t] * 0.5)" for k in range(80))]
    wanted = types_of("\n".join((T, *rows, "output y80", "")))
    rounds, one_round = [], fixpoint._round

    def counted(program: SourceProgram, round: Round) -> list[OutputRead]:
        rounds.append(round)
        return one_round(program, round)

    monkeypatch.setattr(fixpoint, "_round", counted)
    monkeypatch.setattr(elaborate, "MAX_ACTIVE", 10)
    assert types_of("\n".join((T, *reversed(rows), "output y80", ""))) == wanted
    assert len(rounds) <= 10


def test_nodes_do_not_depend_on_what_is_evaluated_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    programs = [AHEAD, CALLS, *APART, *DRAWS]
    for text in CYCLES.values():
        head, rest = text.split("...\n")
        *equations, output = rest.splitlines()
        few = islice(orders(equations), examples(2, long=8))
        programs += ["\n".join((head, *order, output, "")) for order in few]
    programs += [INSIDE.replace("...", "\n".join(order)) for order in orders(BODY)]
    graphs = [show(graph_of(text)) for text in programs]
    monkeypatch.setattr(DraftOrder, "restored", lambda *_: None)
    for text, graph in zip(programs, graphs, strict=True):
        assert show(graph_of(text)) == graph, text


@pytest.mark.parametrize(
    ("equations", "codes"),
    [
        ("h[t] = h[t-1] if t >= 1 else zeros([4])\ng[t] = h[t] + x[t]", ["RT060"]),
        (
            "a[t] = b[t-1] if t >= 1 else zeros([2])\nb[t] = c[t] + x[t]\nc[t] = a[t]",
            ["RT060"],
        ),
        ("a[t] = sum(b[0:t], axis=0)\nb[t] = W @ a[t]", ["RT081"]),
        ("z[t]: f32[4] = W @ h[t]\nh[t] = z[t-1] if t >= 1 else 0.0", ["RT060"]),
        ("a[t]: i32 = b[t-1] if t >= 1 else 0\nb[t] = a[t] + 1.5", ["RT079"]),
        ("a[t] = concat([a[t-1], x[t]], 0) when t >= 1\na[t] = x[t] when t == 0", ["RT080"]),
        ("a[t] = b[t-1][0:2] if t >= 1 else 0.0\nb[t] = a[t]", ["RT086"]),
        ("s[t] = u[t] if t >= 1 else {a: x[t]}\nu[t] = {a: s[t-1].b} when t >= 1", ["RT069"]),
        ("s[0] = {a: W}\nr = s\ns[t+1] = s + [1.0]\nc[t] = r", ["RT062"]),
        ("g: f32[4] = h * 2.0\nh[t] = g[t-1] if t >= 1 else x[t]", ["RT079"]),
        ("h[t]: f32[4*(t+1)] = x when t == 0\nh[t] = 2.0 * h[t-1] when t >= 1", ["RT079"]),
        ("h[0]: f32[3*(t+1)] = x[0]\nh[t] = concat([h[t-1], x], 0) when t >= 1", ["RT079"]),
    ],
)
def test_what_does_not_fit_is_refused_in_any_order(equations: str, codes: list[str]) -> None:
    lines = equations.splitlines()
    last = lines[-1].split("[")[0]
    for order in orders(lines):
        assert codes_of("\n".join((T, *order, f"output {last}\n"))) == codes, order


def test_an_error_that_hides_the_types_it_came_from_is_reported() -> None:
    lines = (
        "a[t] = {p: x[0], q: 1} when t == 0",
        "a[t] = {p: x[0], q: b[t-1]} when t >= 2",
        "a[t] = {p: a[t-1].q if t >= 2 else a[t-1].p, q: a[0].p} when t == 1",
        "b[t] = W[0][0] when t >= 1",
        "b[t] = a[0].q when t == 0",
    )
    for order in orders(lines):
        assert {*codes_of("\n".join((T, *order, "output a, b\n")))} == {"RT080"}, order


@pytest.mark.parametrize(
    "equations",
    [
        "a[t] = {p: sum(x), q: a[0].q[0]}",
        "a[t] = {p: x, q: a.q}\nb[t] = exp(a[t-1].q) when t >= 1\nb[t] = x when t < 1",
        "a[t] = [x, exp(a[t][1])]",
    ],
)
def test_a_part_of_unknown_type_is_reported(equations: str) -> None:
    assert codes_of(T + equations + "\noutput a\n") == ["RT081"]
