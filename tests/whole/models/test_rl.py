"""The programs of `examples/rl`: compiled they compute what the evaluator does, and they learn."""

from __future__ import annotations

import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tempoc.cli.main import status
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.reference import caller
from tempoc.driver.report.stages import stage_text
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.load.load import load as load_program
from tempoc.runtime.run import Settings, run_given
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.examples import ROOT, load
from tests.support.session.long import sampled

pytestmark = pytest.mark.skipif(
    not (find_spec("gymnax") and find_spec("gymnasium")), reason="no gymnax, no gymnasium"
)
HERE = ROOT / "examples" / "rl"
Arrays = dict[str, np.ndarray[Any, np.dtype[Any]]]


class Small(NamedTuple):
    """A size at which everything still happens: episodes end, windows are full, copies renewed."""

    bounds: dict[str, int]
    defines: dict[str, str]


SMALL = {
    "reinforce": Small({"B": 2, "I": 2, "T": 14}, {}),
    "gym": Small({"B": 2, "I": 3, "T": 14}, {}),
    "a2c": Small({"I": 3, "T": 5, "B": 3}, {}),
    "ppo": Small({"I": 2, "T": 5}, {"carts": "4", "epochs": "2", "parts": "2"}),
    "dqn": Small({"T": 7}, {"carts": "2", "draws": "2", "window": "3", "renew": "2"}),
    "breakout": Small({"I": 2, "T": 2}, {"games": "2", "epochs": "2", "parts": "2"}),
}


def same(found: Arrays, wanted: Arrays) -> None:
    assert list(found) == list(wanted)
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-3, atol=1e-4, err_msg=name)


@pytest.mark.parametrize(
    ("name", "level"),
    sampled(
        [*((name, 2) for name in SMALL), ("reinforce", 1)],
        "all algorithms",
        keep=lambda row: row == ("reinforce", 2),
    ),
)
def test_the_compiled_program_agrees(name: str, level: int, tmp_path: Path) -> None:
    bounds, defines = SMALL[name]
    options = Options(level=level, defines=defines)
    compilation = Compilation.from_path(str(HERE / f"{name}.rt"), options)
    compilation.write(str(tmp_path / "out"))
    graph = compilation.graph
    wanted = evaluate(graph, bounds, {}, {}, externs=caller(graph, bounds, [str(HERE)]))
    loaded = load_program(tmp_path / "out", [HERE])
    quiet = Settings(account=True, show=lambda *effect: None)
    found = run_given(loaded, Given(bounds=bounds, inputs={}, params={}), quiet)
    same(dict(found.outputs), wanted)
    assert found.predicted is not None
    assert found.peak_bytes == found.predicted.peak > 0
    assert found.stores == found.predicted.stores


@pytest.mark.long("learns to a goal")
def test_the_commands_of_the_readme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(ROOT / "examples")
    learned = []
    text = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    for line in text.partition("## Reinforcement learning")[2].partition("\n## ")[0].splitlines():
        if line.startswith("tempoc "):
            assert status(shlex.split(line)[1:]) == 0
            told = re.findall(r"score\[i=\d+\] = (.*)", capfd.readouterr().err)
            scores = [float(x) for x in told]
            learned += [(scores[0] < 30, max(scores) > 150)] if scores else []
    assert learned == [(True, True)] * 2


def test_curves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    for name in ("ppo", "dqn"):
        for seed in range(2):
            np.savez(tmp_path / f"{name}-{seed}.npz", score=np.arange(10.0) + seed)
    picture = tmp_path / "curves.svg"
    options = ["--seeds", "2", "--runs", str(tmp_path), "--output", str(picture), "ppo", "dqn"]
    monkeypatch.setattr("sys.argv", ["curves.py", *options])
    load(HERE / "curves.py").main()
    first = picture.read_text(encoding="utf-8")
    assert "PPO" in first and "DQN" in first and len(first) < 100_000
    load(HERE / "curves.py").main()
    assert picture.read_text(encoding="utf-8") == first


def test_five_steps_are_a_change_of_one_line(tmp_path: Path) -> None:
    lines = (HERE / "reinforce.rt").read_text(encoding="utf-8").splitlines()
    (at,) = (k for k, line in enumerate(lines) if line.startswith("# g = "))
    lines[at - 1 : at + 1] = [lines[at].removeprefix("# ")]
    path = tmp_path / "five.rt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    compilation = Compilation.from_path(str(path), Options())
    _, *loops = stage_text(compilation, "schedule").split("for t in 4..T-1 ")
    *_, steady = (loop for loop in loops if "r[i, t]" in loop)  # acts, all b at once
    assert "g[i, t-4]" in steady and "loss.d.net.now[i, t-4]" in steady
