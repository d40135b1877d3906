"""Each experiment at its tiniest size: it compares what it measures, and its table has no holes."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

from tempoc.cli.main import cli
from tests.bench import compiled
from tests.bench.papers.__main__ import EXPERIMENTS, main
from tests.bench.papers.capture import compared
from tests.bench.papers.figures import Experiment, Sample, draw, holes, table, write
from tests.support.session.long import sampled


@pytest.fixture(autouse=True)
def _compiled_here(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler in this process, which saves each program a start of Python."""
    folder = tmp_path_factory.mktemp("papers")

    def compile_here(source: str | Path, name: str, *options: str) -> Path:
        out = folder / name
        result = CliRunner().invoke(cli, ["compile", str(source), "-o", str(out), *options])
        assert result.exit_code == 0, result.output
        return out

    monkeypatch.setattr(compiled, "compile_program", compile_here)


@pytest.mark.usefixtures("without_runner")
@pytest.mark.parametrize(
    "name", sampled(EXPERIMENTS, "whole experiments", keep=lambda name: name == "tiles")
)
def test_an_experiment_yields_a_whole_table(name: str, tmp_path: Path) -> None:
    experiment = EXPERIMENTS[name]
    samples = list(experiment.measure("tiny"))
    assert samples
    assert holes(samples) == []
    assert all(sample.note for sample in samples if math.isnan(sample.y))
    write(tmp_path, name, "tiny", experiment, samples)
    draw(tmp_path / f"{name}.svg", experiment, samples)
    with (tmp_path / f"{name}.csv").open() as file:
        assert len([*csv.DictReader(file)]) == len(samples)
    assert len(json.loads((tmp_path / f"{name}.json").read_text())["samples"]) == len(samples)


@pytest.mark.usefixtures("without_runner")
def test_all_modes_of_capture_give_the_same_tokens() -> None:
    """Where there is no GPU they are the same program; that they run is checked anyway."""
    assert holes([*compared("tiny")]) == []


def test_a_table_compares_ours_with_the_best_of_the_others() -> None:
    about = Experiment(claim="", x="n", measure=lambda scale: iter(()))
    values = {"tempoc": 1.0, "tempoc, slow": 0.5, "JAX, a": 4.0, "JAX, b": 2.0}
    samples = [Sample(panel="p", system=name, x=1, y=y) for name, y in values.items()]
    assert table(about, samples).splitlines()[-1].split()[-1] == "0.50"


def test_a_hole_is_reported() -> None:
    samples = [Sample(panel="p", system="a", x=x, y=1.0) for x in (1, 2)]
    samples.append(Sample(panel="p", system="b", x=1, y=1.0))
    assert holes(samples) == ["p: b at 2"]


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["nothing"])
    assert "no experiment nothing" in capsys.readouterr().err
