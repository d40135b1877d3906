"""Relations for unknown lengths are made once for all who ask: schedules, and their proofs."""

from __future__ import annotations

import pytest

from tempoc.poly.relations import run_lengths
from tempoc.poly.relations.space import Space
from tempoc.schedule.compute import compute
from tempoc.schedule.verify import proof
from tempoc.sdg.statements.build import statements
from tests.support.elaborated import graph_of

TEXT = """dim t < T until stop
input x: f32
h[0] = x
h[t+1] = h[t] * 0.5
stop[t] = h[t] < 0.1
output h[t = T-1] as last
"""


def test_a_proof_makes_no_relation_of_lengths_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(TEXT)
    space = Space(graph.universe)
    system = statements(graph, space)
    tree = compute(system, space, graph).tree
    made: list[object] = []
    monkeypatch.setattr(run_lengths, "_points", lambda *about: made.append(about))
    assert list(proof(system, tree, space)) == []
    assert made == []
