"""Cholesky's factors as equations: which become an operator, and that both mean the same."""

from __future__ import annotations

import numpy as np
import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.ops.linear.cholesky_rows import CholeskyRows
from tempoc.ops.linear.ldl_rows import LdlRows
from tempoc.ops.linear.lu_rows import LuRows
from tempoc.ops.linear.solve import TriangularSolve
from tempoc.passes.context import PassContext
from tempoc.passes.dispatch.factors import MatrixFactors
from tempoc.poly.relations.space import Space
from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.sdg.graph.graph import Graph
from tests.support.generators.graphs import Story, assert_close, graph
from tests.support.golden import Golden

HEAD = """
bound N
bound M = N
dim i < N
dim j < M
%a = input{dtype=f32} : [i, j] f32
"""
ROOT = """%L.p = matmul %L[i, 0:i], %L[i, 0:i] : [i] f32
%L.s = sub %a[i, i], %L.p : [i] f32
%L.r = sqrt %L.s : [i] f32
%L.0 = copy %L.r : [i, j | i == j] f32
"""
QUOTIENT = """%L.m = mul %L[i, 0:j], %L[j, 0:j] : [i, j | i > j] f32[j]
%L.q = sum %L.m : [i, j | i > j] f32
%L.t = sub %a, %L.q : [i, j | i > j] f32
%L.1 = div %L.t, %L[j, j] : [i, j | i > j] f32
"""
LOWER = """%L = merge{targets=((i, j), (i, j))} %L.0 when i == j, %L.1 when i > j \
: [i, j | i >= j] f32
%d = copy %L[i, i] : [i] f32
output d = %d[0:N]
"""
SYSTEM = """%z.p = matmul %L[i, 0:i], %z[0:i] : [i] f32
%z.s = sub %a[i, 0], %z.p : [i] f32
%z = div %z.s, %L[i, i] : [i] f32
output z = %z[0:N]
"""
FACTORS = {
    "the lower triangle": ROOT + QUOTIENT + LOWER,
    "roots in a tensor, and a system": ROOT
    + QUOTIENT.replace("%L[j, j] :", "%L.r[j] :")
    + LOWER
    + SYSTEM,
    "a sum of terms, and an equation of the first column": ROOT
    + QUOTIENT.replace("sub %a, %L.q", "sub %L.e, %L.q").replace("i > j", "i > j and j >= 1")
    + """%L.n = neg %a[j, i] : [i, j | i > j] f32
%L.e = sub %L.n, %a : [i, j | i > j] f32
%L.2 = div %a, %L[0, 0] : [i, j | i > j and j == 0] f32
%L = merge{targets=((i, j), (i, j), (i, j))} %L.0 when i == j, %L.1 when i > j and j >= 1, \
%L.2 when i > j and j == 0 : [i, j | i >= j] f32
%d = copy %L[i, i] : [i] f32
output d = %d[0:N]
""",
}
LOOPS = {
    "the other sign": (ROOT.replace("sub %a[i, i], %L.p", "add %a[i, i], %L.p"), QUOTIENT),
    "all factors multiplied": (ROOT, QUOTIENT.replace("%L.q = sum", "%L.q = prod")),
    "a root that is a constant for derivatives": (ROOT.replace("copy", "stop_gradient"), QUOTIENT),
    "no root": (ROOT.replace("sqrt", "abs"), QUOTIENT),
    "another divisor": (ROOT, QUOTIENT.replace("%L[j, j] :", "%L[j, 0] :")),
    "a shorter sum": (ROOT, QUOTIENT.replace("0:j]", "1:j]").replace("f32[j]", "f32[max(0, j-1)]")),
    "the product of other rows": (ROOT, QUOTIENT.replace("%L[i, 0:j]", "%L[j, 0:j]")),
    "a matrix of earlier rows of the factor": (
        ROOT + "%m = add %a, %L[i-1, j] : [i, j | i > j] f32\n",
        QUOTIENT.replace("sub %a, %L.q", "sub %m, %L.q"),
    ),
    "a matrix of the factor": (ROOT, QUOTIENT.replace("sub %a, %L.q", "sub %L[j, j], %L.q")),
}
DOOLITTLE = """%L.p = matmul %L[i, 0:j], %U[0:j, j] : [i, j | i > j] f32
%L.s = sub %a, %L.p : [i, j | i > j] f32
%L.0 = div %L.s, %U[j, j] : [i, j | i > j] f32
%L.1 = literal{value=1.0, dtype=f32} : [] f32
%L.2 = copy %L.1 : [i, j | i == j] f32
%L = merge{targets=((i, j), (i, j))} %L.0 when i > j, %L.2 when i == j : [i, j | i >= j] f32
%U.p = matmul %L[i, 0:i], %U[0:i, j] : [i, j | i <= j] f32
%U = sub %a, %U.p : [i, j | i <= j] f32
%z.p = matmul %L[i, 0:i], %z[0:i] : [i] f32
%z = sub %a[i, 0], %z.p : [i] f32
%l = sum %L[i, 0:i+1] : [i] f32
%o = copy %L[i, i] : [i] f32
output z = %z[0:N]
output l = %l[0:N]
output o = %o[0:N]
output d = %U[0, 0:N]
"""
ONE_TABLE = """%F.p = matmul %F[i, 0:i], %F[0:i, j] : [i, j | i < j] f32
%F.0 = sub %a, %F.p : [i, j | i < j] f32
%F.m = mul %F[i, 0:j], %F[0:j, j] : [i, j | i >= j] f32[j]
%F.r = sum %F.m : [i, j | i >= j] f32
%F.1 = sub %a, %F.r : [i, j | i >= j] f32
%F.2 = div %F.0, %F[i, i] : [i, j | i < j] f32
%F = merge{targets=((i, j), (i, j))} %F.1 when i >= j, %F.2 when i < j : [i, j] f32
%d = sum %F[i, 0:N] : [i] f32
output d = %d[0:N]
"""
PROGRAM = """
dim s < S
dim i < N
dim j < M = N
input x[i]: f32
input a[i, j]: f32
p[0] = 1.0
L[s, i, j] = sqrt(1.0 + p[s] - sum(L[s, i, 0:j] ** 2)) when i == j
L[s, i, j] = (MATRIX - L[s, i, 0:j] @ L[s, j, 0:j]) / L[s, j, j] when i > j
L[s, i, j] = 0.0
loss = sum(log(L[s, i, i])[i = 0:N]) + sum(L[s, i, 0:N] ** 2)[i = N-1]
p[s+1] = p[s] - 0.1 * grad(loss, p)
output p, L[S-1, 0:N, 0:N] as F
"""


def calls(of: Graph, kind: type[object]) -> int:
    return sum(isinstance(n.op, kind) for n in of.nodes.values())


def test_factors(golden: Golden) -> None:
    story = Story()
    for name, text in FACTORS.items():
        outcome = story.tell(name, HEAD + text, MatrixFactors(), rounded=True)
        assert calls(outcome.graph, CholeskyRows) == 1, name
        assert calls(outcome.graph, TriangularSolve) == text.count("%z ="), name
    golden("passes/factors.txt", story.text)


def test_no_rows_exchanged(golden: Golden) -> None:
    story = Story()
    texts = {
        "Doolittle's factors, and a system": DOOLITTLE,
        "Crout's in one table": ONE_TABLE,
    }
    for name, text in texts.items():
        outcome = story.tell(name, HEAD + text, MatrixFactors(), rounded=True)
        assert calls(outcome.graph, LuRows) == 1, name
        assert calls(outcome.graph, TriangularSolve) == text.count("%z ="), name
    golden("passes/factors_lu.txt", story.text)


EARLIER = "%L.m = add %a, %L[i-1, j] : [i, j | i > j] f32\n%L.s = sub %L.m"


@pytest.mark.parametrize(
    "old, new",
    [
        ("%U[j, j]", "%L[j, 0]"),
        ("sub %a, %U.p", "add %a, %U.p"),
        ("%L.s = sub %a", EARLIER),
    ],
)
def test_other_products_of_two_tables_stay(old: str, new: str) -> None:
    before = graph(HEAD + DOOLITTLE.replace(old, new).replace("[i, 0:i+1]", "[i, 0:i]"))
    after = MatrixFactors().run(before, PassContext(Space(before.universe)))
    assert not calls(after, LuRows)


@pytest.mark.parametrize("equations", LOOPS.values(), ids=LOOPS)
def test_what_is_no_factor_stays(equations: tuple[str, str]) -> None:
    before = graph(HEAD + "".join(equations) + LOWER)
    assert MatrixFactors().run(before, PassContext(Space(before.universe))) == before


@pytest.mark.parametrize("matrix", ["0.9 * exp(-((x[i] - x[j]) ** 2))", "a[i, j]"])
def test_gradients_go_through_the_operator(matrix: str) -> None:
    source = load_source(Source("t.rt", PROGRAM.replace("MATRIX", matrix)))
    compilation = Compilation(source, Options())
    assert calls(compilation.prepared, CholeskyRows) == 1
    assert_close(compilation.graph, compilation.prepared)


READS = {
    "the whole, by another bound": ("sum(L[s, 0:N, 0:M])", 1),
    "the whole, by one bound": ("sum(L[s, 0:N, 0:N])", 1),
    "rows up to the diagonal": ("sum((L[s, i, 0:i+1] @ x[0:i+1])[i = 0:N])", 1),
    "the last pivot": ("L[s, N-1, N-1]", 1),
    "the first pivot": ("(log(L[s, i, i]))[i = 0]", 0),
    "all but the last row": ("sum(L[s, 0:N-1, 0:M])", 0),
    "all below the diagonal": ("sum((L[s, i, 0:i] @ x[0:i])[i = 0:N])", 0),
    "all at one of its points": ("L[s, 0, 0] + sum(L[0, 0:N, 0:N])", 0),
    "what the loss does not depend on": ("L[s, 0, 0] + stop_gradient(sum(L[s, 0:N, 0:N]))", 0),
}


@pytest.mark.parametrize("loss, operators", READS.values(), ids=READS)
def test_gradients_are_those_of_the_equations(loss: str, operators: int) -> None:
    """Of some rows they are finite where later pivots have no roots."""
    before, after = PROGRAM.replace("MATRIX", "a[i, j]").split("loss = ")
    text = f"{before}loss = {loss}\n{after.split(chr(10), 1)[1]}"
    compilation = Compilation(load_source(Source("t.rt", text)), Options())
    assert calls(compilation.prepared, CholeskyRows) == operators


POINTS = {
    "a pivot without a root": ([[4.0, 0, 0], [2, -2, 0], [2, 1, 3]], 0),
    "a pivot that is zero": ([[4.0, 0, 0], [2, 1, 0], [2, 1, 3]], 0),
    "the last is zero": ([[4.0, 0, 0], [2, 2, 0], [2, 2, 2]], 0),
    "no number": ([[4.0, 0, 0], [2, float("nan"), 0], [2, 1, 3]], 0),
    "a factor": ([[4.0, 0, 0], [2, 2, 0], [2, 2, 3]], 6),
}
LOSS = """
dim i < N
dim j < N
input a[i, j]: f32
L[i, j] = sqrt(a[i, i] - sum(L[i, 0:i] ** 2)) when i == j
L[i, j] = (a - L[i, 0:j] @ L[j, 0:j]) / L[j, j] when i > j
g = grad(LOSS, a)
output g
"""


@pytest.mark.parametrize("matrix, finite", POINTS.values(), ids=POINTS)
@pytest.mark.parametrize("loss", ["L[N-1, N-1]", "sum(log(L[i, i])[i = 0:N])"])
def test_gradients_that_do_not_exist(loss: str, matrix: list[list[float]], finite: int) -> None:
    """Where those of the equations are infinite or no numbers, so are those of the operator."""
    text = LOSS.replace("LOSS", loss)
    compilation = Compilation(load_source(Source("t.rt", text)), Options())
    assert calls(compilation.prepared, CholeskyRows) == 1
    given = {"a": np.array(matrix, dtype=np.float32)}
    with np.errstate(all="ignore"):
        expected, got = (
            evaluate(g, {"N": 3}, given, {})["g"] for g in (compilation.graph, compilation.prepared)
        )
    lower = np.tril(np.ones((3, 3), bool))
    assert np.isfinite(expected[lower]).sum() == finite
    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(expected))
    if finite:
        np.testing.assert_allclose(got, expected, rtol=1e-5)


SQUARE = """
dim i < N
dim j < M = N
dim k < K = N
input a[i, j]: f32
input b[i]: f32
"""
OTHERS: dict[str, tuple[str, str, type[object]]] = {
    "Cholesky: an inverse, sums over points": (
        """L[i, j] = sqrt(9.0 + a[i, i] - sum((L[i, k] ** 2)[k = 0:i])) when i == j
L[i, j] = (1.0 / L[j, j]) * (a - sum((L[i, k] * L[j, k])[k = 0:j])) when i > j
""",
        "sum(log(L[i, i])[i = 0:N])",
        CholeskyRows,
    ),
    "no roots: equations of the first ones": (
        """d[0] = a[0, 0]
d[i] = a[i, i] - (L[i, 0:i] * d[0:i]) @ L[i, 0:i]
L[i, 0] = a[i, 0] / d[0] when i >= 1
L[i, j] = (a - sum(d[0:j] * L[i, 0:j] * L[j, 0:j])) / d[j] when i > j
""",
        "sum(d[0:N] ** 2) + sum((L[i, 0:i] @ b[0:i])[i = 0:N])",
        LdlRows,
    ),
    "no roots: of an upper triangle, in points": (
        """d[j] = a[j, j] - sum((U[k, j] ** 2 * d[k])[k = 0:j])
U[i, j] = (a - sum((U[k, i] * U[k, j] * d[k])[k = 0:i])) / d[i] when i < j
U[i, j] = 1.0 when i == j
""",
        "sum(d[0:N] ** 2) + sum((U[i, i:N] @ b[i:N])[i = 0:N])",
        LdlRows,
    ),
    "two tables, of which one has ones on its diagonal": (
        """U[i, j] = a - L[i, 0:i] @ U[0:i, j] when i <= j
L[i, j] = (a - sum((L[i, k] * U[k, j])[k = 0:j])) / U[j, j] when i > j
L[i, j] = 1.0 when i == j
""",
        "sum((L[i, i] * U[i, i] + L[N-1, i])[i = 0:N])",
        LuRows,
    ),
}


@pytest.mark.parametrize("equations, loss, kind", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("first", [2.0, 0.0])
def test_ways_to_write_a_factor(
    equations: str, loss: str, kind: type[object], first: float
) -> None:
    """Values and gradients are those of the equations, also where the first pivot is zero."""
    text = f"{SQUARE}{equations}loss = {loss}\ng = grad(loss, a)\noutput g, loss\n"
    compilation = Compilation(load_source(Source("t.rt", text)), Options())
    assert calls(compilation.prepared, kind) == 1
    a = np.array([[first, 1, 2], [1, 3, -1], [3, -2, 1]], dtype=np.float32)
    for n in (1, 3):
        given = {"a": a[:n, :n], "b": np.arange(1.0, n + 1, dtype=np.float32)}
        with np.errstate(all="ignore"):
            expected, got = (
                evaluate(g, {"N": n}, given, {}) for g in (compilation.graph, compilation.prepared)
            )
        for name, value in expected.items():
            np.testing.assert_allclose(got[name], value, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("by", ["d", "L"])
def test_gradients_by_a_part_of_a_factor_are_those_of_the_equations(by: str) -> None:
    equations = OTHERS["no roots: equations of the first ones"][0]
    loss = "sum(d[0:N]) + sum(L[N-1, 0:N-1])"
    text = f"{SQUARE}{equations}L[i, j] = 0.0\ng = grad({loss}, {by})\noutput g\n"
    compilation = Compilation(load_source(Source("t.rt", text)), Options())
    assert not calls(compilation.prepared, LdlRows)


STEPS = """
dim s < S
dim i < N
dim j < M = N
input a[i, j]: f32
b[0, i] = 1.0
z[s, i] = (b - a[i, 0:i] @ z[s, 0:i]) / a[i, i]
b[s+1, i] = 0.5 * z[s, i]
loss = z[S-1, LAST]
g = grad(loss, a)
output g
"""


@pytest.mark.parametrize("last, solved", [("N-1", True), ("0", False)])
def test_a_system_of_each_step(last: str, solved: bool) -> None:
    """Steps that need each other are not solved at once, and gradients are of the last row."""
    text = STEPS.replace("LAST", last)
    compilation = Compilation(load_source(Source("t.rt", text)), Options())
    nodes = compilation.prepared.nodes.values()
    domains = [n.domain.dims for n in nodes if isinstance(n.op, TriangularSolve)]
    assert ("s",) in domains if solved else not domains
    assert_close(compilation.graph, compilation.prepared)
