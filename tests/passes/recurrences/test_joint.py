"""Recurrences that read others: which become one, which stay apart, and that both mean the same."""

from __future__ import annotations

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.elaborate import elaborate
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.ops.control.recurrence import Recurrence
from tempoc.passes.context import PassContext
from tempoc.passes.domain.reduce_domain import ReduceDomain
from tempoc.passes.recurrences import recurrence_to_scan
from tempoc.passes.recurrences.joint import Recurrences
from tempoc.passes.recurrences.recurrence_to_scan import RecurrenceToScan
from tempoc.passes.simplify.canonicalize import Canonicalize
from tempoc.passes.vectorization.vectorize import Vectorize
from tempoc.pipeline.manager import run_pipeline
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.verification.verify import verify
from tests.support.generators.graphs import assert_same

HEAD = "dim b < B\ndim i < N\ninput x[i]: f32\ninput z[b, i]: f32\nf[0] = x[0]\n"
FILTER = HEAD + "f[i] = 0.9 * f[i-1] + 0.1 * x[i]\ng[0] = x[0]\n"
BACK = "g[N-1] = x[N-1]\n"
MEAN = "m[b, 0] = z[b, 0]\nm[b, i] = m[b, i-1] + 0.1 * (z[b, i] - m[b, i-1])\n"
PROGRAMS = {
    "an average of an average": (FILTER + "g[i] = 0.5 * g[i-1] + f[i] * x[i]\noutput g\n", [2]),
    "of one that ends before it": (FILTER + "g[i] = 0.5 * g[i-1] + f[i-1]\noutput g\n", [2]),
    "of one that ends before it, as do its operands": (
        HEAD + "f[i] = f[i-1] + exp(x)\ng[0] = x[0]\ng[i] = 0.5 * g[i-1] + f[i-1]\noutput g\n",
        [1, 1],
    ),
    "with light terms between": (
        FILTER + "g[i] = 0.5 * g[i-1] + x[i] * (f[i] - f[i-1])\noutput g, f\n", [2],
    ),
    "of two others": (
        FILTER + "h[0] = 1.0\nh[i] = 0.8 * h[i-1] + 0.2 * x[i]\n"
        "g[i] = 0.5 * g[i-1] + (f[i] - h[i])\noutput g\n", [3],
    ),
    "a step that is not linear, as in Thomas' algorithm": (
        HEAD + "f[i] = 1.0 / (4.0 - x[i] * f[i-1])\ng[0] = x[0]\n"
        "g[i] = (1.0 - x[i] * g[i-1]) / (4.0 - x[i] * f[i-1])\n"
        "y[N-1] = g[N-1]\ny[i] = g[i] - f[i] * y[i+1]\noutput y\n", [1, 2],
    ),
    "steps that nothing needs later": (
        HEAD + "f[i] = tanh(f[i-1] + x[i])\ng[0] = 1.0\ng[i] = f[i-1] * g[i-1] + x[i]\noutput g\n",
        [],
    ),
    "a chain of linear maps that would be one of other maps": (
        FILTER + "g[i] = 0.5 * g[i-1] + exp(f[i])\noutput g\n", [1, 1],
    ),
    "from the other end": (
        HEAD + "f[i] = 0.9 * f[i-1] + x[i]\n" + BACK + "g[i] = 0.5 * g[i+1] + f[i]\noutput g\n",
        [1, 1],
    ),
    "both from the end": (
        "dim i < N\ninput x[i]: f32\nf[N-1] = x[N-1]\nf[i] = 0.9 * f[i+1] + x[i]\n"
        + BACK + "g[i] = 0.5 * g[i+1] + f[i]\noutput g\n", [2],
    ),
    "all of it is read": (
        FILTER + "g[i] = 0.5 * g[i-1] + f[i] + sum(f[0:N])\noutput g\n", [1, 1],
    ),
    "at other points": (FILTER + "g[i] = 0.5 * g[i-1] + f[N-1-i]\noutput g\n", [1, 1]),
    "series, step by step": (
        "dim b < B\ndim i < N\ninput z[b, i]: f32\n" + MEAN
        + "h[b, 0] = 0.0\nh[b, i] = tanh(h[b, i-1] + z[b, i] - m[b, i])\noutput h\n", [],
    ),
    "series that need not be": (
        "dim b < B\ndim i < N\ninput z[b, i]: f32\n" + MEAN + "output m\n", [1],
    ),
}  # fmt: skip


@pytest.mark.parametrize("text, states", PROGRAMS.values(), ids=PROGRAMS)
def test_recurrences_that_read_others(text: str, states: list[int]) -> None:
    graph = elaborate(load_source(Source("m.rt", text)), {})
    space = Space(graph.universe)
    steps = (Canonicalize(), ReduceDomain(), Vectorize(), RecurrenceToScan(), Vectorize())
    outcome = run_pipeline(
        graph, steps, PassContext(space), verify=lambda g, s: verify(g, space, after=s)
    )
    ops = [n.op for n in outcome.graph.nodes.values()]
    assert sorted(len(op.carried) for op in ops if isinstance(op, Recurrence)) == states
    assert_same(graph, outcome.graph)


def test_what_nothing_else_reads_is_made_in_the_steps() -> None:
    text = FILTER.split("g[0]", maxsplit=1)[0] + "{}output f\n"
    for more, lines in (("", 1), ("y = 0.1 * x\nprint y[0]\n", 2)):
        graph = elaborate(load_source(Source("m.rt", text.format(more))), {})
        context = PassContext(Space(graph.universe))
        for step in (Canonicalize(), Vectorize(), RecurrenceToScan()):
            graph = step.run(graph, context)
        assert sum(n.op.name == "mul" for n in graph.nodes.values()) == lines - 1


def test_all_that_cannot_be_one_are_apart_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each round builds all recurrences anew: 4 that are not one had taken 5 rounds."""
    rounds = []
    build = recurrence_to_scan._with_recurrences

    def counted(graph: Graph, recurrences: Recurrences, context: PassContext) -> object:
        rounds.append(len(recurrences))
        return build(graph, recurrences, context)

    monkeypatch.setattr(recurrence_to_scan, "_with_recurrences", counted)
    chain = "".join(
        f"f{k}[0] = f{k - 1}[0]\nf{k}[i] = 0.5 * f{k}[i-1] + f{k - 1}[i]\n" for k in range(1, 13)
    )
    text = f"dim i < N\ninput f0[i]: f32\n{chain}output f12\n"
    assert Compilation(load_source(Source("m.rt", text)), Options()).passes
    assert rounds == [4, 12]
