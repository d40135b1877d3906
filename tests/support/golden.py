"""Golden files: texts under `golden/` that tests compare with, and that `pytest --bless` rewrites.

    def test_x(golden): golden("passes/fuse.txt", text)

A golden file that no test asks for is an error; that is only judged when the whole suite ran.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "golden"
ASKED = pytest.StashKey[set[str]]()
Golden = Callable[[str, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite golden files with what is now")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[ASKED] = set()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare a text with the golden file of this name."""

    def check(name: str, text: str) -> None:
        request.config.stash[ASKED].add(name)
        path = ROOT / name
        old = path.read_text(encoding="utf-8") if path.is_file() else ""
        if request.config.getoption("--bless"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif old != text or not path.is_file():
            now, then = (part.splitlines(keepends=True) for part in (text, old))
            diff = "".join(difflib.unified_diff(then, now, f"golden/{name}", "now"))
            pytest.fail(f"golden/{name} differs (`make golden` blesses it)\n{diff}", pytrace=False)

    return check


def whole_suite(config: pytest.Config) -> bool:
    """Did this run select nothing, so that every golden must have been asked for?"""
    chosen = ("keyword", "markexpr", "ignore", "ignore_glob", "deselect", "lf", "maxfail")
    paths = [Path(arg).resolve() for arg in config.args]
    return paths == [ROOT.parent / "tests"] and not any(
        config.getoption(name, None) for name in chosen
    )


def orphans(root: Path, asked: set[str]) -> list[str]:
    """Files under `root` that are not among `asked`; the guide to them is nobody's golden."""
    files = (path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    return sorted(set(files) - asked - {"README.md"})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object, error: object) -> None:
    """With several processes, gather what each of them asked for."""
    if asked := getattr(node, "workeroutput", {}).get("golden"):
        node.config.stash[ASKED].update(asked)  # type: ignore[attr-defined]


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["golden"] = sorted(config.stash[ASKED])
    elif exitstatus == pytest.ExitCode.OK and whole_suite(config):
        for name in orphans(ROOT, config.stash[ASKED]):
            if config.getoption("--bless"):
                (ROOT / name).unlink()
            else:
                print(f"\ngolden/{name}: no test asks for this file (`make golden` removes it)")
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
