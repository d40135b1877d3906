"""Runs that are held and gone on with: the same bytes out as of a run in one go."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given as drawn, note

from tempoc.cli.main import status
from tempoc.runtime.checkpoint.state import PRINTED, STATE
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tests.support.agreement import compile_text, data, free_bounds
from tests.support.checkpoints import held_everywhere, short_calls
from tests.support.generators.mixes import endings, mixes
from tests.support.generators.programs import Program, programs
from tests.support.generators.settings import generated
from tests.support.session.long import examples, sampled
from tests.whole.device.test_prints import DATA
from tests.whole.externs.test_effects import TRAIN
from tests.whole.until.test_until_each import MANY

NESTED = """dim i < I
dim t < T
input x[t]: f32[4]
s[i, 0] = x[0] * i
s[i, t] = tanh(s[i, t-1] + x[t])
far[0] = s[0, T-1]
far[i] = far[i-1] + s[i, T-1]
print far[i] when i % 2 == 0
near = sum(s[i, max(0, t-2):t+1], axis = 0)
output far, near[I-1, 0:T] as near
"""
GROWING = """import nn
dim t < T
input x[t]: f32[8]
input q: f32[8, 8]
k[0] = x[0]
k[t] = tanh(y[t-1] @ q + x[t]) when t >= 1
y[t] = nn.softmax(k[0:t+1] @ x[t]) @ k[0:t+1]
z[t] = sum(k[max(0, t-3):t+1], axis = 0)
output y, z
"""
UNTIL = """dim t < T until stop
input c0: i32
c[0] = c0
c[t+1] = where(c[t] % 2 == 0, c[t] // 2, 3 * c[t] + 1)
stop[t] = c[t] > 20
peak = max(c[0:T])
print c[t] when t % 3 == 0
output c, peak, c[T-1] as last
"""
POINTS = """dim i < I
dim l < L = 3
input x[i]: f32[4]
param w[l]: f32[4, 4] = ones([4, 4]) * 0.25
h[i, 0] = x[i] + old[i]
h[i, l] = tanh(h[i, l-1] @ w[l]) + state[i, l-1]
state[0, l] = zeros([4])
state[i, l] = state[i-1, l] * 0.5 + h[i-1, l]
old[0] = zeros([4])
old[i] = h[i-1, L-1]
output h[i, L-1] as y
"""
ADAM = """import optim
dim i < I
input x: f32[6, 3]
w[0] = {a: ones([3]), b: [0.0]}
loss[i] = mean((x @ w[i].a + w[i].b[0] - 1.0) ** 2)
w[i+1] = optim.adam(w, grad(loss, w), i, lr = 0.1)
noise[i] = random.normal([2])
print loss[i] when i % 3 == 1
output loss, w[I-1] as w, noise
"""
FIXED = {
    "nested": NESTED, "growing": GROWING, "until": UNTIL, "each": MANY, "points": POINTS,
    "adam": ADAM, "effects": TRAIN, "data": DATA,
}  # fmt: skip


FEW = (("growing", 2, False), ("effects", 2, False), ("nested", 0, False), ("each", 2, True))
HOW = [*((name, 2, False) for name in FIXED), ("nested", 0, False), ("each", 2, True)]


@pytest.mark.parametrize(
    ("name", "level", "blocks"), sampled(HOW, "more programs", keep=FEW.__contains__)
)
def test_held_at_each_boundary(
    name: str, level: int, blocks: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From each boundary a run ends as one that was never held; so do the bytes at the peak."""
    if not blocks:
        short_calls(monkeypatch)
    graph, loaded = compile_text(FIXED[name], level, bucket=3)
    count = 0
    for n in (1, 6):
        bounds = dict.fromkeys(free_bounds(FIXED[name]), n)
        given = Given(bounds=bounds, inputs=as_sources(data(graph, bounds, False)), params={})
        for account in (False, True):
            folder, most = tmp_path / f"{n}{account}", examples(6, long=1000) if account else 4
            count += held_everywhere(loaded, given, folder, monkeypatch, most=most, account=account)
    assert count >= (4 if blocks else 8)


def test_no_cell_beyond_the_last_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a kernel makes for a next step is no cell after the last one."""
    text = """dim t < T
dim l < L
input x[t, l]: f32[2]
s[t, 0] = x[t, 0]
s[t, l+1] = y[t, l]
y[t, l] = sort(tanh(s[t, l] + x[t, l]))
z[t, 0] = y[t, L-1]
z[t, l] = z[t, l-1] + s[T-1-t, L-1-l]
output z
"""
    graph, loaded = compile_text(text, 2, regions=False)
    assert any(b.name == "s" and b.keys and b.axes for b in loaded.program.stores)
    bounds = {"T": 2, "L": 3}
    inputs = as_sources(data(graph, bounds, False))
    given = Given(bounds=bounds, inputs=inputs, params={})
    assert held_everywhere(loaded, given, tmp_path, monkeypatch, most=3, account=True)


@drawn(program=programs() | mixes() | endings())
@generated(1, long=4)
def test_generated_programs(program: Program) -> None:
    note(program.text)
    with pytest.MonkeyPatch.context() as patch:
        everywhere(program.text, patch)


def everywhere(text: str, patch: pytest.MonkeyPatch) -> None:
    """Hold a program at some of its boundaries, go on from each of these."""
    short_calls(patch)
    graph, loaded = compile_text(text, 2, bucket=2)
    for size in ((1, 1, 1), (4, 3, 5)):
        bounds = dict(zip(free_bounds(text), size, strict=False))
        given = Given(bounds=bounds, inputs=as_sources(data(graph, bounds, False)), params={})
        with TemporaryDirectory() as folder:
            held_everywhere(loaded, given, Path(folder), patch, most=6)


# ------------------------------------------------------------------ processes that are killed

WALK = """dim t < T
input x: f32[16, 16]
h[0] = ones([16])
h[t] = tanh(x @ h[t-1] + sum(h[max(0, t-3):t], axis = 0))
far[t] = sum(h[0:t+1])
print far[t] when t % 5 == 0
save h[t] to "h{t}.safetensors" when t % 20 == 7
output h, far
"""


LONG = "--bounds", "T=800", "--input", "x=x.npy"


def tempoc(*line: str) -> list[str]:
    return [sys.executable, "-m", "tempoc", *line]


@pytest.fixture
def walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiled program and its data, in the working directory."""
    monkeypatch.chdir(tmp_path)
    Path("walk.rt").write_text(WALK, encoding="utf-8")
    np.save("x.npy", np.random.default_rng(1).normal(0, 0.3, (16, 16)).astype(np.float32))
    assert status(["compile", "walk.rt", "-o", "out"]) == 0
    return tmp_path


def lines(text: str) -> list[str]:
    return re.findall(r"^far\[.*$", text, re.MULTILINE)


def files(folder: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def started(*more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(tempoc("run", "out", *LONG, *more), stderr=subprocess.PIPE, text=True)


def until(happens: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until something is so, while the process runs."""
    while not happens():
        assert process.poll() is None, process.communicate()
        time.sleep(0.002)


@pytest.mark.long("slow processes; one is interrupted below")
def test_killed_and_gone_on_with(walk: Path) -> None:
    """Killed three times: together the runs print each line, and leave the same bytes."""
    whole = subprocess.run(
        tempoc("run", "out", *LONG, "--output-dir", "whole"), capture_output=True, text=True
    )
    assert whole.returncode == 0
    keep = "--checkpoint", "here", "--every", "0s", "--output-dir", "parts"
    resume: tuple[str, ...] = ()
    printed = ""
    for _ in range(3):
        process = started(*keep, *resume)
        until(partial(changed, Path("here", STATE).stat().st_mtime_ns if resume else 0), process)
        process.kill()
        printed += process.communicate()[1]
        resume = "--resume", "here"
    last = subprocess.run(
        tempoc("run", "out", *LONG, "--output-dir", "parts", *resume),
        capture_output=True, text=True,
    )  # fmt: skip
    assert last.returncode == 0, last.stderr
    assert files("parts") == files("whole")
    found = lines(printed + last.stderr)
    # A process may die after a line and before it has counted it.
    assert [*dict.fromkeys(found)] == lines(whole.stderr)
    assert len(found) <= len(lines(whole.stderr)) + 3


def changed(before: int) -> bool:
    """Whether there is a checkpoint, a newer one."""
    path = Path("here", STATE)
    return path.exists() and path.stat().st_mtime_ns > before


@pytest.mark.usefixtures("with_runner")
def test_interrupted(walk: Path) -> None:
    """Ctrl-C: a checkpoint although none is due, and how to go on; then the rest of the run."""
    whole = subprocess.run(
        tempoc("run", "out", *LONG, "--output", "whole.npz"), capture_output=True, text=True
    )
    process = started("--checkpoint", "here", "--output", "parts.npz")
    until(lambda: counted() > 0, process)
    process.send_signal(signal.SIGINT)
    printed = process.communicate()[1]
    assert process.returncode == 130
    assert "the run is held: --resume here goes on with it" in printed
    last = subprocess.run(
        [sys.executable, "out", *LONG, "--output", "parts.npz", "--resume", "here"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert last.returncode == 0, last.stderr
    assert lines(printed) + lines(last.stderr) == lines(whole.stderr)
    assert Path("parts.npz").read_bytes() == Path("whole.npz").read_bytes()


def counted() -> int:
    """How many lines were printed by now."""
    path = Path("here", PRINTED)
    return int(path.read_text() or "0") if path.exists() else 0
