"""Which ways there are, and when one is taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tempoc.base.cost_model import MODEL
from tempoc.base.effort import EFFORT
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.search import tuning
from tempoc.driver.search.candidates import MOVES, Candidate
from tempoc.driver.search.tuning import TimedRun, interleaved, is_faster, tune
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.program.analysis.recorded_loops import command_modes
from tempoc.program.nodes.gpu_commands import WAYS
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.device import backend
from tempoc.runtime.load.load import load
from tempoc.runtime.run import Settings

STEPS = """dim t < T
input x[t]: f32[4]
y[t]: f32[4] = x[t] + {} * sum(tanh(y[0:t] + x[t]), axis = 0)
output y
"""
TWICE = """z[t]: f32[4] = y[T-1] + 0.1 * sum(tanh(z[0:t] + y[T-1]), axis = 0)
output z
"""
LEARN = """dim t < T
dim i < I
input x[t]: f32[32]
w[0] = ones([32, 32])
loss[i] = mean(tanh(tanh(x[0:T] @ w[i]) @ w[i]) ** 2)
w[i+1] = w - 0.1 * grad(loss, w)
output loss
"""
X = np.linspace(0, 1, 24, dtype=np.float32).reshape(-1, 4)


def compiled(text: str = STEPS.format("0.1"), options: Options | None = None) -> Compilation:
    return Compilation(load_source(Source("m.rt", text)), options or Options())


def names(candidate: Candidate, sizes: Mapping[str, int], *knobs: int) -> list[str]:
    return [found.name for k in knobs for found in MOVES[k](candidate, sizes)]


def test_ways_of_a_loop() -> None:
    candidate = Candidate(compilation=compiled())
    assert names(candidate, {"T": 100}, 0, 1) == ["loops-by-host", "points", "bucket-0"]
    assert names(candidate, {"T": 5000}, 1) == ["bucket-0", "bucket-128", "bucket-2048"]
    assert names(candidate, {"T": 5000}, 2, 3, 4, 5) == []
    (first, *_) = MOVES[0](candidate, {"T": 100})
    assert names(first, {"T": 100}, 0, 1) == [
        "loops-by-host-loops-on-device", "loops-by-host-points", "loops-by-host-bucket-0"
    ]  # fmt: skip
    by_host = Candidate(compilation=compiled(options=Options(regions=False, apart=True)))
    assert names(by_host, {"T": 5000}, 0, 1, 2, 3) == []


def test_ways_of_training() -> None:
    candidate = Candidate(compilation=compiled(LEARN))
    sizes = {"T": 400_000, "I": 3}
    found = [*MOVES[2](candidate, sizes)]
    assert [w.name for w in found] == ["tiles-4MiB", "tiles-256KiB"]
    assert found[0].compilation.options.sizes == sizes
    assert names(candidate, {"T": 10, "I": 3}, 2) == []


@pytest.fixture
def on_gpu(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """As if there were command buffers; what kernels are compiled with."""
    made = backend.compile_kernel
    found: list[tuple[str, str]] = []

    def remember(function, how, **options):
        found.append((function.__name__, how.commands))
        return made(function, how, **options)

    monkeypatch.setattr(backend, "has_commands", lambda: True)
    monkeypatch.setattr(backend, "compile_kernel", remember)
    return found


def test_command_buffers(on_gpu: list[tuple[str, str]], tmp_path: Path) -> None:
    """They are recorded with the program, and XLA knows the options; a CPU does not mind them."""
    candidate = Candidate(compilation=compiled())
    assert names(candidate, {"T": 6}, 4) == ["commands-none"]
    both = Candidate(compilation=compiled(STEPS.format("0.1") + TWICE).with_commands({"": "none"}))
    (first, *_), (second, *_) = MOVES[5](both, {"T": 6}), MOVES[6](both, {"T": 6})
    assert names(first, {"T": 6}, 6)[0] == f"{first.name}-{second.name}"
    assert names(both, {"T": 6}, 7) == []
    told = [*MOVES[4](candidate, {"T": 6})]
    for number, found in enumerate(told):
        again = Options.from_provenance(found.compilation.options.to_provenance())
        assert again == found.compilation.options
        found.compilation.write(str(tmp_path / str(number)))
        loaded = load(tmp_path / str(number))
        assert {*command_modes(loaded.program).values()} == {WAYS[number + 1]}
        given = Given(bounds={}, inputs=as_sources({"x": X}), params={})
        on_gpu.clear()
        tuning.run_given(loaded, given, Settings())
        assert on_gpu and {commands for _, commands in on_gpu} == {WAYS[number + 1]}
    options = told[0].compilation.with_commands({"k": "default"}).options
    assert Options.from_provenance(options.to_provenance()).commands == {"": "none", "k": "default"}


def measured(tmp_path: Path, *others: str) -> tuple[str, list[str]]:
    """The way that is taken if others are faster by far, and what is said."""
    base = compiled()
    base.write(str(tmp_path / "out"))
    said: list[str] = []

    def knob(candidate: Candidate, sizes: Mapping[str, int]) -> Iterator[Candidate]:
        for name, text in zip(("one", "two"), others, strict=False):
            yield candidate.but(compiled(text), name, name)

    def clock(runs: Sequence[TimedRun]) -> list[list[float]]:
        return [[{"one": 0.5, "two": 0.4}.get(once.about, 1.0)] * 3 for once in runs]

    given = Given(bounds={}, inputs=as_sources({"x": X}), params={})
    loaded = load(tmp_path / "out")
    found = tune(base, loaded, given, Settings(), said.append, clock, [knob])
    return found.candidate.name, said


def test_the_fastest_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "MODEL", MODEL._replace(hopeless_factor=1e9))
    same = STEPS.format("(0.05 + 0.05)")
    assert measured(tmp_path, same, same)[0] == "two"


def test_other_outputs_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "MODEL", MODEL._replace(hopeless_factor=1e9))
    name, said = measured(tmp_path, STEPS.format("0.05 + 0.05"), STEPS.format("0.2"))
    assert name == ""
    assert [line.partition(", ")[2][:19] for line in said[:2]] == ["its outputs differ:"] * 2


def test_what_cannot_be_is_said(tmp_path: Path) -> None:
    name, said = measured(tmp_path, "dim t < T\ny[t] = x[t]\noutput y\n")
    assert name == "" and said[0].startswith("one: not possible: ")


@pytest.mark.parametrize(
    ("times", "others", "faster"),
    [
        ([0.5, 0.5, 0.5], [1, 1, 1], True),
        ([0.96, 0.96, 0.96], [1, 1, 1], False),
        ([0.5, 0.5, 1.1], [1, 1, 1], False),
        # All becomes slower meanwhile.
        ([1, 2, 4, 8, 16], [1.2, 2.4, 4.8, 9.6, 19.2], True),
        ([1, 2, 4, 8, 16], [1, 2, 4, 8, 16], False),
        ([0.1, 0.1, 1, 1, 1], [1, 1, 1, 1, 1], False),
    ],
)
def test_faster_beyond_noise(times: list[float], others: list[float], faster: bool) -> None:
    assert is_faster(times, others) is faster


def test_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    runs = [TimedRun(name, lambda name=name: seen.append(name)) for name in "ab"]  # type: ignore[misc]
    monkeypatch.setattr(tuning, "EFFORT", EFFORT._replace(tuned_runs=(3, 4)))
    found = interleaved(runs)
    assert "".join(seen) == "ab" + "abba" * 2
    assert [len(times) for times in found] == [4, 4]
    monkeypatch.setattr(tuning, "EFFORT", EFFORT._replace(tuned_seconds=0.0))
    assert [len(times) for times in interleaved([replace(once) for once in runs])] == [3, 3]
