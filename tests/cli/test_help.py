"""Help pages, and what a quick command may cost."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tempoc.cli.main import COMMANDS
from tests.cli.session import Session
from tests.support.golden import ROOT, Golden


def test_help_pages(tempoc: Session, golden: Golden) -> None:
    assert tempoc("--help") == 0
    for name in COMMANDS:
        assert tempoc([name, "-h"]) == 0
        assert not tempoc.err
    golden("cli/help.txt", tempoc.text)


def test_the_readme_lists_every_command() -> None:
    readme = (ROOT.parent / "README.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"| `tempoc {name} " not in readme] == []


def test_version(tempoc: Session) -> None:
    assert tempoc("--version") == 0
    assert tempoc.out.startswith("tempoc, version ")


def test_without_a_command_help_goes_to_standard_error(tempoc: Session) -> None:
    assert tempoc("") == 2
    assert not tempoc.out and "explain" in tempoc.err


@pytest.mark.parametrize(
    ("line", "modules"),
    [
        (["--help"], ["jax", "sympy", "rich", "islpy", "numpy", "lark"]),
        (["check", "fib.rt"], ["jax", "sympy", "rich", "tempoc.codegen", "tempoc.schedule"]),
        (["compile", "fib.rt", "-o", "fib"], ["jax", "sympy"]),
        (["fmt", "--check", "fib.rt"], ["jax", "sympy", "rich", "islpy"]),
    ],
)
def test_quick_commands_import_little(tempoc: Session, line: list[str], modules: list[str]) -> None:
    code = (
        "import sys; from tempoc.cli.main import status; code = status(sys.argv[1:]);"
        f"sys.exit(code or ' '.join(m for m in {modules} if m in sys.modules) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code, *line], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("tempoc ex", "plain,explain"),
        ("tempoc run --ver", "plain,--verify"),
        ("tempoc check fi", "file,fi"),
        ("tempoc compile fib.rt --error-format j", "plain,json"),
    ],
)
def test_shells_complete(
    tempoc: Session, monkeypatch: pytest.MonkeyPatch, words: str, wanted: str
) -> None:
    monkeypatch.setenv("_TEMPOC_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    assert tempoc("") == 0
    assert tempoc.out == f"{wanted}\n"
    assert "_TEMPOC_COMPLETE" in os.environ
