"""What is assumed of lengths that the data decide: runs and the evaluator say the same."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import Diagnostic, RunError
from tempoc.driver.reference import evaluate_given
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.run import run
from tests.support.agree import compiled
from tests.support.elaborated import graph_of

EACH = """dim b < B
dim t < T until big
dim s < S = T - 2
input h[b]: f32
x[b, 0] = 0.0
x[b, t+1] = x + 1.0
big = x > h
y[b] = sum(x[t = 0:T])
z[b] = sum(1.0 * f32(s)[s = 0:S])
output y
"""
ONE = """dim t < T until big
dim s < S = T - 2
input h: f32
x[0] = 0.0
x[t+1] = x + 1.0
big = x > h
y = sum(x[t = 0:T]) + sum(f32(s)[s = 0:S])
output y
"""
AGREEING = """dim b < B
dim t < T until big
dim k < K until large
assume T <= K
input h[b]: f32
input w[b]: f32
x[b, 0] = 0.0
x[b, t+1] = x + 1.0
big = x > h
z[b, 0] = 0.0
z[b, k+1] = z + 1.0
large = z > w
y[b] = sum(x[t = 0:T]) + sum(z[k = 0:K])
output y
"""


def _without(text: str, part: str) -> str:
    """A text without the lines that have this part."""
    return "".join(line for line in text.splitlines(keepends=True) if part not in line)


def said(
    text: str, bounds: Mapping[str, int], inputs: Mapping[str, Any], folder: Path
) -> list[tuple[Diagnostic, ...]]:
    """What is said by the evaluator and by runs at all levels; nothing if all is well."""
    found: list[tuple[Diagnostic, ...]] = []
    given = Given(bounds=bounds, inputs=as_sources(inputs), params={})
    runs = [lambda: evaluate_given(graph_of(text), given)]
    runs += [lambda level=n: run(compiled(text, folder, level), bounds, inputs) for n in range(3)]
    for one in runs:
        try:
            one()
            found.append(())
        except RunError as error:
            found.append(tuple(error.diagnostics))
    return found


@pytest.mark.parametrize(
    ("fact", "values"),
    [
        ("T >= 3", "T = 2"),
        ("T % 2 == 1", "T = 2"),
        ("T <= 4", ""),
        ("B <= T", ""),
        ("3 <= T", "T = 2"),
    ],
)
def test_of_the_length_of_each_point(fact: str, values: str, tmp_path: Path) -> None:
    text = EACH.replace("dim s < S = T - 2\n", f"assume {fact}\n")
    text = _without(text, "[s = 0")
    h = np.array([1.5, 0.5], np.float32)
    everywhere = said(text, {"T": 4 if "%" not in fact else 5}, {"h": h}, tmp_path)
    if not values:
        assert everywhere == 4 * [()]
        return
    for (problem,) in everywhere:
        assert (problem.code, problem.notes) == ("RT517", ("T ended at 2 where b = 1",))
        assert problem.message.endswith(f"does not hold for {values}")


@pytest.mark.parametrize(("most", "h"), [(1, 9.0), (2, 9.0), (8, 0.5), (8, 1.5)])
def test_what_follows_from_a_length_is_said_once(most: int, h: float, tmp_path: Path) -> None:
    everywhere = said(ONE, {"T": most}, {"h": np.float32(h)}, tmp_path)
    if h == 1.5:
        assert everywhere == 4 * [()]
        return
    value, notes = (most - 2, ()) if most < 3 else (0, ("T ended at 2",))
    for (problem,) in everywhere:
        assert (problem.code, problem.notes) == ("RT515", notes)
        assert problem.message == f"the derived bound S = T - 2 is {value}, it must be >= 1"


def test_of_a_length_that_no_output_needs(tmp_path: Path) -> None:
    text = _without(EACH.replace("output y", "output x[t = 0] as first"), " = sum(")
    for (problem,) in said(text, {"T": 6}, {"h": np.array([3.5, 0.5], np.float32)}, tmp_path):
        assert (problem.code, problem.notes) == ("RT515", ("T ended at 2 where b = 1",))


def test_two_lengths_of_each_point(tmp_path: Path) -> None:
    h, w = np.array([0.5, 2.5], np.float32), np.array([3.5, 2.5], np.float32)
    bounds = {"T": 9, "K": 9}
    assert said(AGREEING, bounds, {"h": h, "w": w}, tmp_path) == 4 * [()]
    for (problem,) in said(AGREEING, bounds, {"h": w, "w": h}, tmp_path):
        assert problem.code == "RT517"
        assert problem.message.endswith("does not hold for T = 5, K = 2")


def test_only_lengths_of_all_points_are_listed(tmp_path: Path) -> None:
    """Not those that vary with points, however these are computed."""
    each = _without(EACH, "S")
    for level in range(3):
        found = run(compiled(each, tmp_path, level), {"T": 9}, {"h": np.ones(2, np.float32)})
        assert found.lengths == {}
        found = run(compiled(ONE, tmp_path, level), {"T": 9}, {"h": np.float32(3.5)})
        assert found.lengths == {"T": 5}
