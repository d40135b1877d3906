"""Files are replaced as a whole; what dead processes left is removed, nothing else is."""

from __future__ import annotations

import fcntl
import os
import stat
import threading

import pytest

from tempoc.files.durable import probe, replace_file, replace_text
from tempoc.files.exchange import replace_folder
from tempoc.files.locks import exclusive, is_temporary, temporary_path
from tempoc.files.snapshot import put_back, read_folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_new_file_has_the_permissions_of_new_files(tmp_path):
    before = os.umask(0o027)
    try:
        replace_text(tmp_path / "x", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o640


def test_folders_are_replaced_without_threads_if_there_are_none(tmp_path, monkeypatch):
    def start(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    for content in (b"old", b"new"):
        files = dict.fromkeys(("x", "a/y", "b/z"), content)
        replace_folder(tmp_path / "folder", files, lambda old: None)
        assert {name: (tmp_path / "folder" / name).read_bytes() for name in files} == files
    assert names(tmp_path) == ["folder"]


def test_a_failure_leaves_the_old_file(tmp_path):
    replace_text(tmp_path / "x", "old")
    with pytest.raises(KeyboardInterrupt):
        replace_file(tmp_path / "x", lambda file: [file.write(b"new"), interrupt()])
    assert (tmp_path / "x").read_text() == "old" and names(tmp_path) == ["x"]


def interrupt():
    raise KeyboardInterrupt


def test_what_a_dead_process_left_is_removed(tmp_path):
    for slot in ("0", "3"):
        temporary_path(tmp_path / "x", slot).write_text("torn")
    replace_text(tmp_path / "x", "new")
    assert names(tmp_path) == ["x"]


def test_what_a_living_process_writes_stays(tmp_path):
    temporary = temporary_path(tmp_path / "x", "0")
    with temporary.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        replace_text(tmp_path / "x", "new")
        assert names(tmp_path) == [temporary.name, "x"]
    replace_text(tmp_path / "x", "newer")
    assert names(tmp_path) == ["x"]


def test_files_with_such_names_that_are_not_ours_stay(tmp_path):
    mine = [".x.tempoc-mine", ".x.tempoc-0.txt", ".y.tempoc-0"]
    for name in mine:
        (tmp_path / name).write_text("mine")
    replace_text(tmp_path / "x", "new")
    assert names(tmp_path) == sorted([*mine, "x"])
    assert not is_temporary(mine[0]) and is_temporary(mine[2])


def test_long_names(tmp_path):
    path = tmp_path / ("x" * 250)
    replace_text(path, "new")
    probe(tmp_path)
    assert names(tmp_path) == [path.name]


def test_pipes_and_devices_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    lines = []
    reader = threading.Thread(target=lambda: lines.append((tmp_path / "pipe").read_text()))
    reader.start()
    replace_text(tmp_path / "pipe", "text")
    reader.join()
    assert lines == ["text"] and stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_folder_that_another_process_writes(tmp_path):
    with exclusive(tmp_path / "out"):
        with pytest.raises(TimeoutError), exclusive(tmp_path / "out", wait=0.05):
            pass
        with exclusive(tmp_path / "other"):
            pass
    assert names(tmp_path) == []


def test_a_folder_is_put_back_if_it_must_not_go(tmp_path):
    replace_folder(tmp_path / "out", {"a": b"old"}, lambda _: None)
    calls = []

    def check(folder):
        calls.append(folder)
        if len(calls) == 2:
            raise PermissionError("somebody wrote into it")

    with pytest.raises(PermissionError):
        replace_folder(tmp_path / "out", {"a": b"new"}, check)
    assert (tmp_path / "out" / "a").read_text() == "old" and names(tmp_path) == ["out"]


def test_readers_put_back_what_a_dead_process_moved_away(tmp_path):
    replace_folder(tmp_path / "out", {"a": b"old"}, lambda _: None)
    (tmp_path / "out").rename(temporary_path(tmp_path / "out", "old"))
    assert read_folder(tmp_path / "out", lambda folder: folder.read("a")) == b"old"
    assert names(tmp_path) == ["out"]
    assert not put_back(tmp_path / "nothing")


def test_readers_start_again_if_the_folder_is_exchanged(tmp_path):
    replace_folder(tmp_path / "out", {"a": b"1", "b": b"1"}, lambda _: None)
    tries = []

    def read(folder):
        first = folder.read("a")
        if not tries:
            replace_folder(tmp_path / "out", {"a": b"2", "b": b"2"}, lambda _: None)
        tries.append(first)
        if folder.read("b") is None:
            raise ValueError("gone")
        return first, folder.read("b")

    assert read_folder(tmp_path / "out", read) == (b"2", b"2")
    assert tries == [b"1", b"2"]


def test_everything_is_synced_before_it_gets_its_name(tmp_path, synced, monkeypatch):
    """Files, then the folders that they are in; then, once it is renamed, the folder around it."""
    renamed = []
    rename = os.rename
    monkeypatch.setattr(os, "rename", lambda *a: (renamed.append(len(synced)), rename(*a)))
    replace_folder(tmp_path / "out", {"x": b"1", "a/b/y": b"2"}, lambda _: None)
    inside = {path.stat().st_ino for path in [tmp_path / "out", *(tmp_path / "out").rglob("*")]}
    (before,) = renamed
    assert len(inside) == 5 and inside == {status.st_ino for status in synced[:before]}
    kinds = [stat.S_ISDIR(status.st_mode) for status in synced]
    assert kinds == sorted(kinds) and synced[-1].st_ino == tmp_path.stat().st_ino
    synced.clear()
    replace_text(tmp_path / "z", "text")
    assert [s.st_ino for s in synced] == [p.stat().st_ino for p in (tmp_path / "z", tmp_path)]
    synced.clear()
    replace_folder(tmp_path / "out", {"x": b"3"}, lambda _: None, durable=False)
    replace_file(tmp_path / "z", lambda file: file.write(b"3"), durable=False)
    assert synced == []
