"""Damaged files of data, and damaged sources: one diagnostic, or what the file says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tempoc.files.reading import open_file, read_file
from tests.files.damage import FORMATS, KINDS, SOURCE, campaign, check_data, check_source

COUNTS = {"source": 25}


@pytest.mark.parametrize("kind", KINDS)
def test_mutants(kind: str, tmp_path: Path) -> None:
    fine = campaign(kind, COUNTS.get(kind, 60), 7, tmp_path)
    assert fine or kind.startswith("npy "), "none is read, so only refusals are tested"


def test_a_whole_source_compiles(tmp_path: Path) -> None:
    assert check_source(tmp_path, SOURCE)


@pytest.mark.parametrize("kind", FORMATS)
def test_whole_files_are_read(kind: str, tmp_path: Path) -> None:
    assert check_data(kind, tmp_path, FORMATS[kind][1])


@pytest.mark.parametrize("kind", ["npy a", "npz", "safetensors"])
def test_every_truncation(kind: str, tmp_path: Path) -> None:
    whole = FORMATS[kind][1]
    for size in range(0, len(whole), 1 + len(whole) // 150):
        check_data(kind, tmp_path, whole[:size])


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", "/dev/zero", "/dev/null"):
        with pytest.raises(OSError, match=r"it is a (directory|pipe or a device), not a file"):
            open_file(path)
    with pytest.raises(OSError, match="NUL"):
        open_file("a\0b")


def test_files_that_are_too_long(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"12345")
    assert read_file(tmp_path / "x", 5) == b"12345"
    with pytest.raises(OSError, match="more than 4 bytes"):
        read_file(tmp_path / "x", 4)
