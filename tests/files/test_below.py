"""Files below a folder stay below it: whatever they are called, and whatever is there already."""

from __future__ import annotations

import os

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import RunError
from tempoc.runtime.data.files import OutputFolder, open_bundle

ARRAYS = {"x": np.arange(3, dtype=np.float32)}
NAMES = ["../x.npz", "a/../../x.npz", "/x.npz", "", ".", "a//x.npz", "./x.npz", "x\0.npz", "a/"]


@pytest.mark.parametrize("name", NAMES)
def test_a_path_that_leaves_is_refused(tmp_path, name):
    folder = tmp_path / "out"
    with pytest.raises(RunError, match=r"RT54[23]"):
        OutputFolder(folder).write(name, ARRAYS)
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


@pytest.mark.parametrize("path", ["link/x.npz", "in/link/x.npz"])
def test_a_folder_that_is_a_link_is_not_entered(tmp_path, path):
    (tmp_path / "out" / "in").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    target = (tmp_path / "out" / path).parent
    target.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunError, match=r"RT543.*the folder link is a link"):
        OutputFolder(tmp_path / "out").write(path, ARRAYS)
    assert not [*(tmp_path / "elsewhere").iterdir()]


def test_a_file_that_is_a_link_is_replaced(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "out" / "x.npz").symlink_to(tmp_path / "mine")
    OutputFolder(tmp_path / "out").write("x.npz", ARRAYS)
    assert (tmp_path / "mine").read_text() == "mine"
    assert not (tmp_path / "out" / "x.npz").is_symlink()
    assert [*open_bundle(tmp_path / "out" / "x.npz")] == ["x"]


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file_stays(tmp_path, make):
    make(tmp_path / "x.npz")
    mode = os.lstat(tmp_path / "x.npz").st_mode
    with pytest.raises(RunError, match=r"RT543.*something else than a file is there"):
        OutputFolder(tmp_path).write("x.npz", ARRAYS)
    assert os.lstat(tmp_path / "x.npz").st_mode == mode and len([*tmp_path.iterdir()]) == 1


def test_two_names_of_one_file(tmp_path):
    """As on file systems where `x` and `X` are one name."""
    folder = OutputFolder(tmp_path)
    folder.write("x.npz", ARRAYS)
    os.link(tmp_path / "x.npz", tmp_path / "X.npz")
    with pytest.raises(RunError, match="RT554"):
        folder.write("X.npz", ARRAYS)


def test_the_folder_itself_may_be_a_link(tmp_path):
    (tmp_path / "large").mkdir()
    (tmp_path / "out").symlink_to("large")
    OutputFolder(tmp_path / "out").write("a/b/x.npz", ARRAYS)
    assert (tmp_path / "large/a/b/x.npz").is_file()
