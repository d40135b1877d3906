"""Changed programs, each run once: see `python -m tests.files.campaign`.

Each ends with one diagnostic, or runs; none with a traceback or exit status 70, none takes forever,
and none writes anything but whole files in the output directory. Where the seal is not made again,
the outputs are those of the program as it was.
"""

from __future__ import annotations

import functools
import os
import random
import re
import shutil
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from unittest.mock import patch

import numpy as np

from tempoc.cli.main import status
from tempoc.codegen.program import bundle
from tempoc.runtime.data.files import open_bundle
from tempoc.runtime.device import backend
from tempoc.runtime.device.stores import fitting
from tempoc.runtime.execution import kernels
from tempoc.runtime.load import load
from tempoc.runtime.main import main as run_main
from tests.files.mutants import CHANGES, Change, change_files, copied

SECONDS = 20.0
"""No run may take longer."""
LOOPS = """dim t < T
dim i < I
input x[t]: f32[3]
param w: f32[3, 3]
h[0] = zeros([3])
h[t+1] = tanh(w @ h[t] + x[t])
s[0, i] = sum(x[0])
s[t+1, i] = 0.5 * s[t, i] + sum(h[t]) + i
output h, s[T-1, 0:I] as last
"""
KEPT = """dim i < I
input x[i]: f32[2]
param w: f32[2] = ones([2])
v[0] = zeros([2])
v[i+1] = 0.9 * v[i] + w * x[i] + random.uniform([2])
a[i] = mean(v[0:i+1], axis = 0)
print v[i] when i % 2 == 0
save v[i] to "kept/v-{i}.safetensors" when i == 2
output v, a
"""
UNTIL = """dim t < T until stop
x[0] = 1.0
x[t+1] = 1.5 * x[t]
stop = x > 20.0
output x
"""
CALLS = """dim t < T
extern jax soft(a: f32[2]) -> (b: f32[2]) from "mutant_functions:soft"
extern host step(a: f32[2]) -> (b: f32[2], c: i32) from "mutant_functions:step"
input x[t]: f32[2]
h[0] = zeros([2])
g, n = step(h[t])
h[t+1] = soft(g + x[t])
output h, n
"""
FUNCTIONS = """import jax.numpy as jnp
import numpy as np

def soft(a): return jnp.tanh(a)
def step(a): return np.asarray(a * 2, np.float32), np.int32(a.sum() > 0)
"""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A program to change: its text, how it is compiled, what a run takes."""

    text: str
    compile: tuple[str, ...] = ()
    bounds: str = ""
    arrays: Mapping[str, tuple[int, ...]]
    params: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    run: tuple[str, ...] = ()


SUBJECTS = {
    "loops": Subject(
        text=LOOPS, compile=("-O0",), bounds="I=3", arrays={"x": (5, 3)}, params={"w": (3, 3)}
    ),
    "regions": Subject(
        text=LOOPS, compile=("-O2",), bounds="I=3", arrays={"x": (5, 3)}, params={"w": (3, 3)}
    ),
    "kept": Subject(text=KEPT, arrays={"x": (6, 2)}, run=("--checkpoint=kept", "--every=0s")),
    "variants": Subject(
        text=KEPT, compile=("--memory-budget=4KiB", "--bounds=I=2..200"), arrays={"x": (6, 2)}
    ),
    "until": Subject(text=UNTIL, bounds="T=20", arrays={}, run=("--stats",)),
    "calls": Subject(text=CALLS, arrays={"x": (4, 2)}),
}


class TooLong(BaseException):
    """A run did not end."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `TooLong` in the block after so many seconds."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise TooLong

    previous = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


@contextmanager
def compiled_once() -> Iterator[None]:
    """Keep kernels from run to run: most mutants have those of the program as it was."""
    namespace = functools.cache(load.namespace)
    compile_kernel = backend.compile_kernel

    @functools.cache
    def kernel(function, static, how):
        return compile_kernel(function, how._replace(static=dict(static)))

    wrapped = functools.cache(lambda function, stores, more: fitting(function, stores, more))

    def fresh(text: str, path: str) -> dict[str, object]:
        return dict(namespace(text, Path(path).name))

    with (
        patch.object(load, "namespace", fresh),
        patch.object(kernels, "fitting", lambda f, stores, more: wrapped(f, (*stores,), more)),
        patch.object(
            backend,
            "compile_kernel",
            lambda function, how: kernel(
                function, tuple(how.static.items()), how._replace(static=None)
            ),
        ),
    ):
        yield


def prepare(name: str, folder: Path) -> None:
    """Compile a subject, and write the files of its run."""
    subject = SUBJECTS[name]
    folder.mkdir(parents=True)
    (folder / "mutant_functions.py").write_text(FUNCTIONS)
    (folder / "m.rt").write_text(subject.text)
    rng = np.random.default_rng(0)
    for item, shape in subject.arrays.items():
        np.save(folder / f"{item}.npy", rng.random(shape, np.float32))
    np.savez(folder / "p.npz", **{n: rng.random(s, np.float32) for n, s in subject.params.items()})
    runner = {"runtime/main.py": "'''the runner'''\n"}
    with patch.object(bundle, "_shipped", lambda: runner):
        done = status(
            ["compile", str(folder / "m.rt"), "-o", str(folder / "out"), *subject.compile]
        )
    assert done == 0, name


def command(name: str, folder: Path, results: str) -> list[str]:
    """The command line of a run of a prepared subject."""
    subject = SUBJECTS[name]
    inputs = [f"--input={item}={folder / f'{item}.npy'}" for item in subject.arrays]
    more = [f"--bounds={subject.bounds}"] if subject.bounds else []
    more += [f"--params={folder / 'p.npz'}"] if subject.params else []
    target = [f"--output-dir={folder / results}", f"--extern-path={folder}"]
    return [str(folder / "out"), *inputs, *more, *target, *subject.run]


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a run ended: its exit status, or what is wrong with it, and what it said."""

    status: int
    fault: str
    said: str


def ended(argv: list[str], report: Path, action: Callable[[list[str]], int] = run_main) -> Ended:
    """Run a command line in this process."""
    fault, number = "", 0
    with report.open("w+") as file:
        with patch.object(sys, "stdout", file), patch.object(sys, "stderr", file):
            try:
                with limited(SECONDS):
                    number = action(argv)
            except TooLong:
                fault = "it does not end"
            except BaseException as error:
                fault = "".join(traceback.format_exception(error)[-4:])
        file.flush()
        said = report.read_text(errors="replace")
    if not fault and number not in (0, 1):
        fault = f"exit status {number}"
    if not fault and (("error[RT" in said) != (number == 1) or "Traceback" in said):
        fault = f"exit status {number} without a clear diagnostic"
    return Ended(status=number, fault=fault, said=said)


Tree = dict[str, bytes | None]


def seen(folder: Path, without: Path) -> Tree:
    """All files and links below a folder but for one."""
    found: Tree = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_relative_to(without) and not path.is_dir():
            plain = path.is_file() and not path.is_symlink()
            found[str(path)] = path.read_bytes() if plain else None
    return found


def half_written(folder: Path) -> str:
    """A file in the output directory that is not whole, or not ours."""
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        if path.suffix == ".npy":
            np.load(path)
        elif path.suffix == ".safetensors":
            for tensor in open_bundle(path).values():
                tensor.read()
        elif not path.is_dir():
            return str(path)
    return ""


def outputs_of(folder: Path) -> dict[str, bytes]:
    """The results of a run, by name."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*.*"))}


class Campaign:
    """Changes one subject again and again."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        prepare(name, folder)
        os.rename(folder / "out", folder / "whole")
        copied(folder / "whole", folder / "out")
        self.argv = command(name, folder, "results")
        os.chdir(folder)
        first = ended(self.argv, folder.parent.parent / "report")
        assert not first.status and not first.fault, first
        self.wanted = outputs_of(folder / "results")
        self.endings: Counter[str] = Counter()

    def attack(self, change: Change, rng: random.Random) -> str:
        """Run a mutant; what is wrong with that, empty for nothing."""
        folder = self.folder
        copied(folder / "whole", folder / "out")
        for rest in ("results", "kept"):
            shutil.rmtree(folder / rest, ignore_errors=True)
        what = change(folder / "out", rng)
        before = seen(folder.parent, folder / "results")
        run = ended(self.argv, folder.parent.parent / "report")
        fault, code = run.fault, re.search(r"error\[(RT\d+)", run.said)
        is_right = outputs_of(folder / "results") == self.wanted
        self.endings[code[1] if code else "as it was" if is_right else "another result"] += 1
        after = seen(folder.parent, folder / "results")
        strange = [k for k in after if before.get(k, b"") != after[k] and not _is_kept(k, folder)]
        if not fault and strange:
            fault = f"wrote {strange}"
        if not fault and (half := half_written(folder / "results")):
            fault = f"left {half}"
        if not fault and not run.status and not is_right and change is change_files:
            fault = "other outputs"
        return f"{what}: {fault}\n{run.said[:600]}" if fault else ""


def _is_kept(path: str, folder: Path) -> bool:
    """Whether it is a file of a checkpoint."""
    return (
        re.fullmatch(r"kept/(state\.safetensors|printed)", os.path.relpath(path, folder))
        is not None
    )


def campaign(names: list[str], count: int, seed: int, place: Path) -> list[str]:
    """Run so many mutants in all; what went wrong."""
    problems = []
    here = os.getcwd()
    try:
        with compiled_once():
            for name in names:
                subject = Campaign(name, place / name / "place")
                for number in range(-(-count // len(names))):
                    rng = random.Random(f"{seed} {name} {number}")
                    problem = subject.attack(rng.choice(CHANGES), rng)
                    if problem:
                        problems.append(f"{name} {number}: {problem}")
                print(name, dict(subject.endings.most_common()), flush=True)
    finally:
        os.chdir(here)
    return problems
