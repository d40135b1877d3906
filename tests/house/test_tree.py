"""What is checked in belongs to no machine and no package index."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.house.source import ROOT

# Spelled in pieces, so that this file passes its own test.
MACHINE = re.compile("/(" + "|".join(["work", "farm", "tmp", "home"]) + ")/")
INDEX = re.compile("|".join(["index" + "-url", "find" + "-links", "pypi" + r"\.org"]))


def tracked() -> list[str]:
    """Files under version control."""
    command = ["git", "-C", str(ROOT), "ls-files"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip("not a git checkout")
    return [name for name in found.stdout.splitlines() if (ROOT / name).is_file()]


def mentions(pattern: re.Pattern[str]) -> list[str]:
    """Places of the tree where a pattern occurs."""
    places = []
    for name in tracked():
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if pattern.search(text) is None:
            continue
        places += [
            f"{name}:{number}"
            for number, line in enumerate(text.splitlines(), 1)
            if pattern.search(line)
        ]
    return places


def test_no_path_of_a_machine() -> None:
    assert mentions(MACHINE) == []


def test_no_package_index() -> None:
    assert mentions(INDEX) == []


def test_patterns_find_what_they_should() -> None:
    assert MACHINE.search("open('/" + "tmp/x')") and not MACHINE.search("build/llama")
    assert INDEX.search("pip install --index" + "-url x")
