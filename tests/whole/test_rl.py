"""The programs of `examples/rl`: compiled they compute what the evaluator does, and they learn."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.reference import caller
from tempoc.driver.stages import stage_text
from tempoc.runtime.run import run
from tempoc.sdg.interpret import evaluate
from tests.support.examples import ROOT

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("gymnax")
pytest.importorskip("gymnasium")

HERE = ROOT / "examples" / "rl"
Arrays = dict[str, np.ndarray[Any, np.dtype[Any]]]


class Small(NamedTuple):
    """A size at which everything still happens: episodes end, windows are full, copies renewed."""

    bounds: dict[str, int]
    defines: dict[str, str]


SMALL = {
    "reinforce": Small({"B": 2, "I": 3, "T": 14}, {}),
    "gym": Small({"B": 2, "I": 3, "T": 14}, {}),
    "a2c": Small({"I": 3, "T": 5}, {"carts": "3"}),
    "ppo": Small({"I": 2, "T": 5}, {"carts": "4", "epochs": "2", "parts": "2"}),
    "dqn": Small({"T": 7}, {"carts": "2", "draws": "2", "window": "3", "renew": "2"}),
    "breakout": Small({"I": 2, "T": 2}, {"games": "2", "epochs": "2", "parts": "2"}),
}


def compiled(name: str, folder: Path, defines: dict[str, str], level: int = 2) -> Path:
    options = Options(level=level, defines=defines)
    Compilation.from_path(str(HERE / f"{name}.rt"), options).write(str(folder / "out"))
    return folder / "out"


def same(found: Arrays, wanted: Arrays) -> None:
    assert list(found) == list(wanted)
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-3, atol=1e-4, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "level"), [*((name, 2) for name in SMALL), ("reinforce", 0), ("reinforce", 1)]
)
def test_the_compiled_program_agrees(name: str, level: int, tmp_path: Path) -> None:
    bounds, defines = SMALL[name]
    options = Options(level=0, defines=defines)
    graph = Compilation.from_path(str(HERE / f"{name}.rt"), options).graph
    wanted = evaluate(graph, bounds, {}, {}, externs=caller(graph, bounds, [str(HERE)]))
    out = compiled(name, tmp_path, defines, level)
    same(run(out, bounds, {}, extern_path=[HERE]).outputs, wanted)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "bounds"),
    [("reinforce", {"B": 16, "I": 12, "T": 200}), ("ppo", {"I": 12, "T": 128})],
)
def test_it_learns(name: str, bounds: dict[str, int], tmp_path: Path) -> None:
    out = compiled(name, tmp_path, {})
    score = run(out, bounds, {}, seed=1, extern_path=[HERE]).outputs["score"]
    assert score[0] < 30
    assert max(score) > 150


def test_five_steps_are_a_change_of_one_line(tmp_path: Path) -> None:
    lines = (HERE / "reinforce.rt").read_text(encoding="utf-8").splitlines()
    (at,) = (k for k, line in enumerate(lines) if line.startswith("# g = "))
    lines[at - 1 : at + 1] = [lines[at].removeprefix("# ")]
    path = tmp_path / "five.rt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    compilation = Compilation.from_path(str(path), Options())
    steady = stage_text(compilation, "schedule").split("for t in ")[2]
    assert "r[i, t, b]" in steady  # acts
    assert "g[i, t-4, b]" in steady and "loss.d.net.2.b.sum.each.now[i, t-4, b]" in steady
