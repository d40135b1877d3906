"""Some changed programs and forged checkpoints; `make fuzz-files` takes a thousand of each."""

from __future__ import annotations

import random

import pytest

from tests.files import artifacts, forged
from tests.files.mutants import CHANGES
from tests.support.session.long import sampled

COUNT = 30
SEED = 0


@pytest.fixture(scope="module", autouse=True)
def kernels_are_compiled_once():
    with artifacts.compiled_once():
        yield


@pytest.mark.parametrize(
    "name", sampled(["loops", "regions", "kept", "calls"], "more programs", of=2)
)
def test_changed_programs_are_refused_or_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    subject = artifacts.Campaign(name, tmp_path / "in" / "place")
    for number in range(COUNT):
        rng = random.Random(f"{SEED} {name} {number}")
        problem = subject.attack(rng.choice(CHANGES), rng)
        assert not problem, f"{number}: {problem}"
    assert sum(n for code, n in subject.endings.items() if code.startswith("RT")) > COUNT // 3


@pytest.mark.parametrize("name", sampled(["kept", "loops"], "more programs", of=2))
def test_forged_checkpoints_are_refused_or_go_on(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runs = forged.ForgedRuns(name, tmp_path / "place")
    for number in range(COUNT):
        problem = runs.attack(random.Random(f"{SEED} {name} {number}"))
        assert not problem, f"{number}: {problem}"
    assert runs.endings["RT586"] > COUNT // 3
