"""Several variants of a program in one directory: written, listed, picked, refused."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tempoc.base.cost_model import MODEL
from tempoc.driver.search import tuning
from tempoc.driver.search.tuning import TimedRun
from tempoc.runtime.checkpoint.state import variant_of
from tempoc.runtime.device import backend
from tempoc.runtime.load.directory import read_stored
from tempoc.runtime.load.sources import load_program
from tempoc.runtime.main import main
from tempoc.runtime.ready import ready
from tempoc.runtime.run import run
from tests.cli.runs.test_memory import IMAGES, measured
from tests.cli.session import Session
from tests.support.golden import Golden

HOST = "variants/offload-loops-by-host"
LIMIT = 12 * 1024


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program for 3 images as it is, for 100 with the host."""
    from tempoc.cli.main import status

    folder = tmp_path_factory.mktemp("images")
    (folder / "images.rt").write_text(IMAGES, encoding="utf-8")
    how = ["--memory-budget", "12KiB", "--bounds", "K=2..100"]
    assert status(["compile", str(folder / "images.rt"), "-o", str(folder / "out"), *how]) == 0
    return folder / "out"


@pytest.fixture
def images(tempoc: Session, compiled: Path) -> Session:
    """The same where the session is, with data for 3, 100 and 200 images."""
    shutil.copytree(compiled, "out")
    x = np.random.default_rng(0).normal(size=(200, 8, 64)).astype(np.float32)
    for count in (3, 100, 200):
        np.save(f"x{count}.npy", x[:count])
    return tempoc


def test_what_runs(images: Session, golden: Golden) -> None:
    assert images("explain out --variants") == 0
    assert images("run out --input x=x3.npy --output few.npz --memory") == 0
    assert measured(images.err) <= LIMIT
    assert images("run out --input x=x100.npy --output away.npz --memory") == 0
    assert measured(images.err) <= LIMIT
    assert images("run out --input x=x100.npy --output whole.npz --memory-budget 1MiB") == 0
    assert images("run out --input x=x100.npy --memory-budget 2KiB") == 1
    assert images(f"run {HOST.replace('variants', 'out/variants')} --input x=x3.npy --verify") == 0
    assert images("explain images.rt --variants") == 2
    golden("cli/variants.txt", images.text)
    found = {name: np.load(f"{name}.npz")["loss"] for name in ("few", "away", "whole")}
    np.testing.assert_allclose(found["away"], found["whole"], rtol=1e-5)
    np.testing.assert_allclose(found["few"], found["whole"][:3], rtol=1e-5)


def test_from_python(images: Session) -> None:
    x = {n: np.load(f"x{n}.npy") for n in (3, 100)}
    assert [run("out", {}, {"x": x[n]}).variant for n in (3, 100)] == ["", HOST]
    assert run("out", {}, {"x": x[100]}, memory_budget=2**20).variant == ""
    program, found = ready("out"), []
    for n in (3, 3, 100, 3):
        found.append(program({"x": x[n]})["loss"])
        assert program.loaded.variant == ("" if n == 3 else HOST)
    np.testing.assert_array_equal(found[0], found[3])
    np.testing.assert_allclose(found[2][:3], found[0], rtol=1e-5)


def test_the_runner_that_goes_along(images: Session, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["out", "--input", "x=x100.npy", "--memory"]) == 0
    err = capsys.readouterr().err
    assert HOST in err and measured(err) <= LIMIT


def test_a_run_goes_on_with_its_variant(images: Session) -> None:
    line = "run out --input x=x100.npy"
    assert images(f"{line} --output all.npz --checkpoint kept --every 0s") == 0
    assert variant_of(Path("kept")) == HOST
    assert images(f"{line} --output rest.npz --resume kept --stats --memory-budget 1MiB") == 0
    assert HOST in images.err
    assert Path("rest.npz").read_bytes() == Path("all.npz").read_bytes()
    line = "run out --input x=x100.npy --memory-budget 1MiB"
    assert images(f"{line} --output all.npz --checkpoint more --every 0s") == 0
    assert variant_of(Path("more")) == ""
    assert images("run out --input x=x100.npy --resume more") == 1
    assert "RT580" in images.err, "what was begun in more memory takes more"
    assert images(f"run out/{HOST} --input x=x100.npy --resume more") == 1
    assert "another run" in images.err


@pytest.mark.parametrize("name", ["kernels.py", "program.json"])
def test_what_has_changed_is_refused(images: Session, name: str) -> None:
    path = Path("out", HOST, name)
    path.write_text(path.read_text().replace("x", "y"))
    assert images("run out --input x=x3.npy") == 1
    assert "RT503" in images.err and HOST in images.err
    path.unlink()
    assert images("run out --input x=x3.npy") == 1
    assert "RT501" in images.err


def test_wrong_ranges(tempoc: Session, golden: Golden) -> None:
    line = "compile sums.rt -o out --memory-budget 1MiB --bounds"
    for bounds in ("T=5..2", "T=1..", "T=..5", "T=a..b", "T=0..5", "S=1..5"):
        assert tempoc(f"{line} {bounds}") in (1, 2)
    assert tempoc("compile sums.rt -o out --memory-budget 100B --bounds T=1..50") == 1
    assert not Path("out").exists()
    golden("cli/ranges.txt", tempoc.text)


def test_what_fits_is_alone(tempoc: Session) -> None:
    assert tempoc("compile sums.rt -o out --memory-budget 1MiB --bounds T=1..50") == 0
    assert tempoc.err == "" and not Path("out", "variants").exists()
    assert tempoc("explain out --variants") == 0
    assert tempoc.out == "this one alone\n"


def test_a_choice_is_made_instead_of_one_variant(
    images: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With more memory another variant runs, of which nothing was measured."""

    def clock(runs: Sequence[TimedRun]) -> list[list[float]]:
        return [[0.5 if once.about == "no command buffers" else 1.0] * 3 for once in runs]

    monkeypatch.setattr(tuning, "interleaved", clock)
    monkeypatch.setattr(backend, "has_commands", lambda: True)
    monkeypatch.setattr(tuning, "MODEL", MODEL._replace(hopeless_factor=1e9))
    assert images("run out --input x=x100.npy --tune --memory") == 0
    assert "no command buffers" in images.err and measured(images.err) <= LIMIT
    x = np.load("x100.npy")
    assert run("out", {}, {"x": x}).about.endswith("loops run by the host, no command buffers")
    assert run("out", {}, {"x": x}, memory_budget=2**20).variant == ""
    assert images("run out --input x=x100.npy --memory-budget 1MiB --tune") == 0
    assert run("out", {}, {"x": x}).about.endswith("loops run by the host, no command buffers")
    assert run("out", {}, {"x": x}, memory_budget=2**20).about == "no command buffers"
    (folder,) = {c.name for c in read_stored("out").choices} - {run("out", {}, {"x": x}).variant}
    assert "memory_budget" in dict(load_program(Path("out", folder)).provenance)
