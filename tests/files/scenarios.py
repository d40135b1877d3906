"""Commands that write files, and what must hold after any of them ended early."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np

from tempoc.cli.main import status
from tempoc.codegen.program import bundle
from tempoc.codegen.program.contents import contents_of
from tempoc.codegen.program.tuned_choice import write_choice
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.render import render_all
from tempoc.diagnostics.source import Source
from tempoc.files.snapshot import put_back
from tempoc.program.nodes.variants import TunedChoice
from tempoc.runtime.checkpoint.state import Counter, State, read_state, write_state
from tempoc.runtime.execute import deliver
from tempoc.runtime.host.effects import EffectSink, Shown
from tempoc.runtime.load.directory import read_stored
from tempoc.runtime.load.sources import load_program
from tempoc.runtime.options import RunOptions
from tests.codegen.programs import RNN_REGISTER
from tests.files.faults import Faults, Tree, in_child, rubbish, tree

EMITTED = RNN_REGISTER.emit()
RUNNER = {"runtime/main.py": "'''the runner'''\n", "program/nodes/nodes.py": "'''nodes'''\n"}


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """``before`` makes what is there, ``command`` replaces it; ``units`` are old or new as a whole.

    A unit is a file or a folder. ``at_once``: folders can be exchanged; ``forks``: the command must
    not run in this process, which forks. ``check`` raises an exception if the folder is not usable.
    """

    before: Callable[[Path], object]
    command: Callable[[Path], int]
    units: tuple[str, ...]
    check: Callable[[Path], object] = lambda _: None
    at_once: bool = True
    forks: bool = False

    def again(self, folder: Path, report: Path) -> int:
        """The exit status of the command where nothing goes wrong."""
        return (
            in_child(lambda: self.command(folder), report) if self.forks else self.command(folder)
        )


def compile_to(folder: Path, text: str, *, whole: bool = False) -> int:
    """Write the same program with another source; ``whole``: with all files of the runner."""
    shipped = bundle._shipped if whole else lambda: RUNNER
    with patch.object(bundle, "_shipped", shipped):
        return reported(
            lambda: bundle.write_bundle(folder / "out", EMITTED, {"main": Source("m.rt", text)})
        )


def reported(action: Callable[[], object]) -> int:
    """The exit status of a command that does this."""
    try:
        action()
    except DiagnosticError as error:
        sys.stderr.write(render_all(error.diagnostics))
        return 1
    return 0


def check_program(folder: Path) -> None:
    """The compiled directory is whole; whoever reads it puts it back if it must be."""
    read_stored(folder / "out")
    there = contents_of(folder / "out")
    assert not (there.foreign or there.changed or there.missing), there


def tune(folder: Path) -> int:
    """Record a choice."""
    choice = TunedChoice(
        name="point-by-point", about="", digest="", instead="", device="cpu", jax="", precision="",
        bounds=(), nanoseconds=1, before=2,
    )  # fmt: skip
    out = str(folder / "out")
    return reported(lambda: write_choice(out, choice, EMITTED, {}, load_program(out)))


def results(folder: Path, value: float) -> int:
    """Outputs, a save and a checkpoint, as a run delivers them."""
    array = np.full((3, 2), value, np.float32)

    def write() -> None:
        EffectSink(folder / "out")(Shown(("y",), (), "kept/y.safetensors"), [array])
        options = RunOptions(
            directory="", output=str(folder / "y.npz"), output_dir=str(folder / "out")
        )
        deliver(options, {"y": array})
        counter = Counter(folder, int(value))
        counter.put(int(value) + 1)
        counter.close()
        write_state(folder, state(value), {"y": array})

    return reported(write)


def state(value: float) -> State:
    """A state of a run, with a number in it."""
    return State(
        identity={}, position=0, variables={}, loops=[], cells=[("y", None, "y", "device")],
        bounds={"T": int(value)}, lengths={}, capacities=[], done=0, printed=0, saved=[],
    )  # fmt: skip


def check_results(folder: Path) -> None:
    """The checkpoint can be read."""
    assert read_state(folder, {}).state.bounds["T"] in (1, 2)


PROGRAM = "dim t   < T\ninput x[t]:   f32\ny[t] = x[t]\noutput y\n"
SCENARIOS = {
    "compile": Scenario(
        before=lambda folder: compile_to(folder, "dim t < T\n"),
        command=lambda folder: compile_to(folder, "# another\ndim t < T\n"),
        units=("out",),
        check=check_program,
    ),
    "compile without exchange": Scenario(
        before=lambda folder: compile_to(folder, "dim t < T\n"),
        command=lambda folder: compile_to(folder, "# another\ndim t < T\n"),
        units=("out",),
        check=check_program,
        at_once=False,
    ),
    "tune": Scenario(
        before=lambda folder: compile_to(folder, "dim t < T\n"),
        command=tune,
        units=("out/tuned/choices.json",),
        check=check_program,
    ),
    "run": Scenario(
        before=lambda folder: results(folder, 1),
        command=lambda folder: results(folder, 2),
        units=("y.npz", "out/y.npy", "out/kept/y.safetensors", "state.safetensors"),
        check=check_results,
    ),
    "fmt": Scenario(
        before=lambda folder: (folder / "m.rt").write_text(PROGRAM),
        command=lambda folder: status(["fmt", str(folder / "m.rt")]),
        units=("m.rt",),
    ),
}


def attack(scenario: Scenario, folder: Path, *, dies: bool, points: Iterable[int]) -> int:
    """End a command at each of some operations; how many of them it came to.

    Raises ``AssertionError`` if something is torn, left over, or badly explained.
    """
    start, end, place = folder / "start", folder / "end", folder / "place"
    for made in (start, end):
        made.mkdir(parents=True)
        scenario.before(made)
    assert in_child(lambda: scenario.command(end), folder / "report") == 0, report(folder)
    old, new = ([content(made, unit) for unit in scenario.units] for made in (start, end))
    assert all(a != b for a, b in zip(old, new, strict=True)), "nothing changes"
    done = 0
    for point in points:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(start, place)
        faults = Faults(point, dies=dies, at_once=scenario.at_once)

        def command(faults: Faults = faults) -> int:
            faults.install()
            result = scenario.command(place)
            return result if faults.count >= faults.at else 99

        ended = in_child(command, folder / "report")
        if ended == 99:
            break
        done += 1
        where = f"operation {point}: {report(folder)}"
        assert ended == 77 if dies else ended in (0, 1), where
        assert report(folder).count("error[") == (ended == 1), where
        put_back(place / "out")
        for unit, *versions in zip(scenario.units, old, new, strict=True):
            assert content(place, unit) in versions, f"{unit} is torn, {where}"
        scenario.check(place)
        assert scenario.again(folder / "place", folder / "report") == 0, where
        assert [content(place, unit) for unit in scenario.units] == new, where
        assert not rubbish(place), f"{rubbish(place)} is left, {where}"
    return done


def content(folder: Path, unit: str) -> Tree | None:
    """A unit as it is; ``None`` if it is not there."""
    path = folder / unit
    if path.is_file():
        return {"": path.read_bytes()}
    return tree(path) if path.is_dir() else None


def report(folder: Path) -> str:
    """What the last command said."""
    return (folder / "report").read_text()
