"""Programs and compiled programs that are missing, foreign, damaged: one diagnostic each."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tempoc.cli.commands import check as check_command
from tempoc.cli.main import COMMANDS
from tests.cli.session import Session
from tests.support.golden import Golden


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "help"])
@pytest.mark.parametrize("file", ["nosuch.rt", "folder.rt", "binary.rt"])
def test_files_that_are_no_programs(tempoc: Session, command: str, file: str) -> None:
    Path("folder.rt").mkdir()
    Path("binary.rt").write_bytes(bytes(range(256)))
    more = ["-o", "out"] if command == "compile" else []
    assert tempoc([command, file, *more]) == 1
    assert tempoc.err.startswith("error[RT") and file in tempoc.err
    assert tempoc.err.count("error[") == 1 and not tempoc.out
    assert not Path("out").exists()


def test_wrong_programs(tempoc: Session, golden: Golden) -> None:
    Path("empty.rt").touch()
    Path("folder").mkdir()
    for line, status in {
        "check nosuch.rt fib.rt folder broken.rt": 1,
        "check empty.rt": 0,
        "check sums.rt -D N=x -D E=3 -D T=8": 1,
        "check sums.rt -D N=0": 1,
        "check sums.rt -D D=-1": 1,
        "run nosuch": 1,
        "run folder": 1,
        "explain folder": 1,
        "opt fib.rt": 1,
        "fmt nosuch.rt fib.rt folder": 1,
    }.items():
        assert tempoc(line) == status
    golden("cli/programs.txt", tempoc.text)


def _damage(name: str) -> None:
    data = json.loads(Path("out/program.json").read_text())
    match name:
        case "truncated":
            Path(name, "program.json").write_text(Path("out/program.json").read_text()[:300])
        case "version":
            Path(name, "program.json").write_text(json.dumps(data | {"version": 99}))
        case "no_sources":
            Path(name, "program.json").write_text(json.dumps(data | {"provenance": []}))
        case "other_kernels":
            Path(name, "kernels.py").write_text("import os\n")
        case "other_source":
            Path(name, "model.rt").write_text("dim t < T\n")
        case _:
            Path(name, name.removeprefix("without_")).unlink()


RUNS = ("other_source",)
"""Damage to what `run` does not need."""


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("truncated", "RT502"),
        ("version", "RT502"),
        ("no_sources", "RT502"),
        ("other_kernels", "RT503"),
        ("other_source", "RT503"),
        ("without_program.json", "RT501"),
        ("without_kernels.py", "RT501"),
    ],
)
def test_damaged_directories(tempoc: Session, name: str, code: str) -> None:
    assert tempoc("compile fib.rt -o out") == 0
    shutil.copytree("out", name)
    _damage(name)
    for line in (f"explain {name}", f"run {name} --bounds N=5 --verify"):
        assert tempoc(line) == 1
        assert tempoc.err.startswith(f"error[{code}]") and tempoc.err.count("error[") == 1
        assert not tempoc.out
    assert tempoc(f"run {name} --bounds N=5") == (0 if name in RUNS else 1)


def test_compiled_programs_keep_their_options(tempoc: Session) -> None:
    assert tempoc("compile fib.rt -o out") == 0
    for line in ("run out -D N=3", "explain out -O0", "explain out --passes fuse"):
        assert tempoc(line) == 2
        assert "belongs to tempoc compile" in tempoc.err


def test_out_is_not_replaced_if_it_is_foreign(tempoc: Session) -> None:
    Path("mine").mkdir()
    Path("mine/note.txt").write_text("mine")
    for target, code in {
        "mine": "RT472",
        ".": "RT472",
        "fib.rt": "RT471",
        "fib.rt/x": "RT470",
    }.items():
        before = sorted(os.listdir())
        assert tempoc(["compile", "fib.rt", "-o", target]) == 1
        assert tempoc.err.startswith(f"error[{code}]: ")
        assert sorted(os.listdir()) == before and os.listdir("mine") == ["note.txt"]


def test_memory_that_ends_is_no_bug(tempoc: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(check_command, "check_file", fail)
    assert tempoc("check fib.rt") == 1
    assert tempoc.err.startswith("error[RT902]: ") and "smaller bounds" in tempoc.err


def test_bugs_are_admitted(tempoc: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no idea\nwhy")

    monkeypatch.setattr(check_command, "check_file", fail)
    assert tempoc("check 'a b.rt'") == 70
    assert tempoc.err.startswith("error[RT999]: tempoc itself failed: RuntimeError: no idea\n")
    assert "`TEMPOC_TRACEBACK=1 tempoc check 'a b.rt'` shows" in tempoc.err
    assert "Traceback" not in tempoc.err
    assert tempoc("check x --error-format json") == 70
    assert json.loads(tempoc.err)[0]["code"] == "RT999"
    monkeypatch.setenv("TEMPOC_TRACEBACK", "1")
    tempoc("check x")
    assert "Traceback" in tempoc.err
