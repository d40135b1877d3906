"""Code of the methods of dataclasses: what is found again, and what is not."""

from __future__ import annotations

import ast
import dataclasses
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tempoc.base.resources import cache_folder
from tempoc.cli import kept_methods as kept
from tempoc.cli.kept_methods import kept_methods
from tests.house.source import files_of


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache folder of this test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache_folder.cache_clear()
    yield tmp_path / "tempoc" / "methods"
    cache_folder.cache_clear()


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are compiled."""
    texts: list[str] = []

    def noted(text: str, *about: str, dont_inherit: bool) -> object:
        texts.append(text)
        return compile(text, *about, dont_inherit=dont_inherit)

    monkeypatch.setattr(kept, "compile", noted, raising=False)
    return texts


def point(default: float = 2.0) -> type:
    @dataclasses.dataclass(frozen=True, slots=True, order=True)
    class Point:
        """A class with all methods that there may be."""

        x: int
        y: float = default

        def __post_init__(self) -> None:
            assert self.x >= 0

    return Point


def assert_is_point(cls: type, default: float = 2.0) -> None:
    a, b = cls(1), cls(x=1, y=3.0)
    assert (a.x, a.y) == (1, default)
    assert repr(b).endswith("Point(x=1, y=3.0)")
    assert a == cls(1, default) and a != b and hash(a) == hash(cls(1)) and a < cls(2)
    for wrong in (lambda: cls(), lambda: cls(-1), lambda: cls(1, 2, 3)):
        with pytest.raises((TypeError, AssertionError)):
            wrong()
    with pytest.raises(dataclasses.FrozenInstanceError):
        a.x = 2


def test_code_is_found_again_and_values_are_those_of_the_class(
    folder: Path, compiled: list[str]
) -> None:
    with kept_methods("check"):
        assert_is_point(point())
    (file,) = folder.iterdir()
    assert len(compiled) > 5
    compiled.clear()
    for default in (2.0, 5.0):
        with kept_methods("check"):
            cls = point(default)
        assert_is_point(cls, default)
    assert compiled == [] and [*folder.iterdir()] == [file]
    with kept_methods("run"):
        point()
    assert len(compiled) > 5 and len([*folder.iterdir()]) == 2


def test_texts_are_added_until_they_are_many(
    folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(names: str) -> bytes:
        with kept_methods("check"):
            for name in names:
                dataclasses.make_dataclass("Of", [name])
        (file,) = folder.iterdir()
        return file.read_bytes()

    for names in ("a", "b", "a"):
        content = make(names)
    assert b"self.a" in content and b"self.b" in content
    assert sum("self.a=a" in text.replace(" ", "") for text in compiled) == 1
    monkeypatch.setattr(kept, "_MANY", 3)
    assert make("b") == content
    content = make("bc")
    assert b"self.b" in content and b"self.c" in content and b"self.a" not in content


def test_a_damaged_file_costs_time_alone(folder: Path, compiled: list[str]) -> None:
    with kept_methods("check"):
        point()
    (file,) = folder.iterdir()
    content = file.read_bytes()
    for damaged in (content[:-1], b"x" + content[1:], b""):
        file.write_bytes(damaged)
        compiled.clear()
        with kept_methods("check"):
            assert_is_point(point())
        assert compiled and file.read_bytes() == content


def test_beyond_the_block_everything_is_as_it_was(
    folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KeyError), kept_methods("check"):
        raise KeyError
    assert not [*folder.iterdir()]
    with kept_methods("check"), kept_methods("run"):
        point()
    assert "exec" not in vars(dataclasses)
    compiled.clear()
    assert_is_point(point())
    monkeypatch.setattr(kept, "cache_folder", lambda name: None)
    with kept_methods("check"):
        assert_is_point(point())
    assert compiled == []


def test_the_modules_that_start_tempoc_are_among_them(folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "tempoc", "--version"], check=True, capture_output=True)
    assert [path.name.partition("-")[0] for path in folder.iterdir()] == ["start"]


COUNTED = """
import builtins, sys
texts, execute = [], exec
def noted(code, *scopes):
    if isinstance(code, str) and scopes and scopes[0].get("__name__", "").startswith("tempoc."):
        texts.append(code)
    execute(code, *scopes)
builtins.exec = noted
from tempoc.cli.start import main
sys.argv = ["tempoc", *sys.argv[1:]]
try:
    main()
finally:
    print(len(texts), "texts")
"""
LEARNS = "dim t < T\nparam w: f32 = 2.0\ny[t] = t * w * w\ng = grad(sum(y[0:T]), w)\noutput g\n"


@pytest.mark.parametrize("command", ["check", "run --bounds T=3", "explain --memory"])
def test_so_are_those_that_a_command_imports_late(command: str, tmp_path: Path) -> None:
    """What differentiates, for `check`; the compiler, for `run`; what a report is made of."""
    program = tmp_path / "learns.rt"
    program.write_text(LEARNS)
    words = [sys.executable, "-c", COUNTED, *command.split(), str(program)]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "0 texts"


def test_commands_import_late_within_such_a_block() -> None:
    """Modules of tempoc; of those that are there already it makes no difference."""
    late = []
    for file in (f for f in files_of("cli") if f.name.startswith("tempoc/cli/commands/")):
        inside = [
            statement
            for block in ast.walk(file.tree)
            if isinstance(block, ast.With) and "importing(" in ast.unparse(block.items[0])
            for statement in block.body
        ]
        late += [
            f"{file.name}:{node.lineno}"
            for function in ast.walk(file.tree)
            if isinstance(function, ast.FunctionDef)
            for node in ast.walk(function)
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("tempoc.")
            if node not in inside
        ]
    assert late == []
