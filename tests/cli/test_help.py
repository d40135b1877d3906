"""Help pages, and what a quick command may cost."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tempoc.base.resources import manual_page
from tempoc.cli.commands.help import PAGES, plain_text
from tempoc.cli.main import COMMANDS
from tempoc.frontend.syntax.parse import rt_grammar
from tests.cli.session import Session
from tests.support.golden import Golden


def test_help_pages(tempoc: Session, golden: Golden) -> None:
    assert tempoc("--help") == 0
    for name in COMMANDS:
        assert tempoc([name, "-h"]) == 0
        assert not tempoc.err
    golden("cli/help.txt", tempoc.text)


def test_the_manual_lists_every_command() -> None:
    page = manual_page("commands")
    assert [name for name in COMMANDS if f"| `tempoc {name} " not in page] == []


def test_help_lists_and_prints_pages(tempoc: Session, golden: Golden) -> None:
    assert tempoc("help") == 0
    assert [line.split()[0] for line in tempoc.out.splitlines()[: len(PAGES)]] == list(PAGES)
    assert tempoc("help memori") == 2
    assert "Did you mean 'memory'? `tempoc help` lists all pages." in tempoc.err
    assert tempoc("help nothing-like-it") == 2
    assert "Did you mean" not in tempoc.err
    golden("cli/manual.txt", tempoc.text)
    for page in PAGES:
        assert tempoc(["help", page]) == 0
        assert "```" not in tempoc.out and not tempoc.err
        title = manual_page(page).partition("\n")[0].removeprefix("# ")
        assert tempoc.out.startswith(f"{title}\n{'=' * len(title)}\n")


def test_pages_are_plain_text() -> None:
    page = "# P: q\n\n**So** `x ** 2`.\n\n| | |\n| --- | --- |\n| `a` | b |\n| ccccc | d |\n\n"
    code = "```sh\n| $ x # y\n\n```\n"
    text = "P: q\n====\n\nSo `x ** 2`.\n\n  `a`    b\n  ccccc  d\n\n    | $ x # y\n\n"
    assert plain_text(page + code) == text


@pytest.mark.parametrize("page", PAGES)
def test_pages_fit_a_terminal(page: str) -> None:
    """Sentences and tables do; code and words stay whole, and no word is lost."""
    markdown = manual_page(page)
    text = plain_text(markdown, 80)
    prose = [line for line in text.splitlines() if line[:4].strip() and " " in line.strip()]
    assert prose and max(map(len, prose)) <= 80
    assert sorted(text.split()) == sorted(plain_text(markdown).split())


def test_items_are_indented() -> None:
    assert plain_text("- a b c\n  d\n- e\n", 5) == "- a b\n  c d\n- e\n"


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
        (["help", "memory"], ["jax", "sympy", "rich", "islpy", "numpy", "lark"]),
        (["check", "fib.rt"], ["jax", "sympy", "rich", "numpy", "tempoc.codegen", "tempoc.passes"]),
        (["check", "fib.rt"], ["importlib.metadata", "lark", "traceback"]),
        (["compile", "fib.rt", "-o", "fib"], ["jax", "sympy", "numpy"]),
        (["fmt", "--check", "fib.rt"], ["jax", "sympy", "rich", "islpy", "lark"]),
    ],
)
def test_quick_commands_import_little(tempoc: Session, line: list[str], modules: list[str]) -> None:
    rt_grammar()  # its tables are kept from here on
    _imports_none_of(modules, line)


def test_a_compiled_program_starts_without_the_compiler(tempoc: Session) -> None:
    assert tempoc("compile fib.rt -o fib") == 0
    modules = ["islpy", "lark", "sympy", *(f"tempoc.{room}" for room in ("frontend", "ops", "sdg"))]
    _imports_none_of(modules, ["run", "fib", "--bounds", "N=3"])


def _imports_none_of(modules: list[str], line: list[str]) -> None:
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
