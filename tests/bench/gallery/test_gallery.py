"""Every pair of the gallery computes the same as its twin, at small sizes; nothing is timed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from tempoc.cli.main import cli
from tests.bench.gallery.compare import FOLDER, check, names, pair, prepared
from tests.support.session.long import sampled


@pytest.fixture
def compiled(tmp_path: Path) -> Callable[..., Path]:
    """The compiler in this process, which saves each test a start of Python."""

    def compile_here(source: Path, name: str, *options: str) -> Path:
        out = tmp_path / name
        result = CliRunner().invoke(cli, ["compile", str(source), "-o", str(out), *options])
        assert result.exit_code == 0, result.output
        return out

    return compile_here


def is_in_tests(name: str) -> bool:
    """Whether `make test` runs a pair, as its text says: to import all pairs takes a second."""
    return "in_tests=True" in (FOLDER / name).with_suffix(".py").read_text()


@pytest.mark.usefixtures("without_runner")
@pytest.mark.parametrize("name", sampled(names(), "others of its kind", keep=is_in_tests))
def test_a_program_computes_what_its_twin_does(name: str, compiled: Callable[..., Path]) -> None:
    check(name, prepared(name, pair(name).small, compiled))


@pytest.mark.long("imports all pairs")
def test_pairs_in_tests_are_those_that_say_so() -> None:
    assert [name for name in names() if pair(name).in_tests != is_in_tests(name)] == []


def test_every_program_has_a_twin() -> None:
    assert [name for name in names() if not (FOLDER / name).with_suffix(".py").exists()] == []
