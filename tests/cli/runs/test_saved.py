"""Files that are saved: read back as params, whole or not there, never over something else."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from tempoc.runtime.data.files import open_bundle
from tests.cli.session import Session

TRAIN = """
dim i < I
dim l < L = 2
param net = {w: ones([3]), deep: [zeros([2]), {b: 1.5}]}
param layer[l]: bf16[2] from "layers.{l}.w" = bf16(ones([2]) * (l + 2))
n[0] = net
n[i+1] = n[i] * 2.0 + 1.0
output n.w as w
save n[i] to "n-{i}.safetensors" when i == I-1
save layer to "layer-{l}.safetensors"
save layer[0:L] to "layers.safetensors"
save net.deep[0] to "deep.safetensors"
"""
USE = """
dim l < L = 2
param n = {w: zeros([3]), deep: [ones([2]), {b: 0.0}]}
param layer[l]: bf16[2] from "layers.{l}.w"
y = f32(layer)
output y, n.w as w, n.deep[1].b as b
"""


def names(path: str) -> list[str]:
    return sorted(open_bundle(path))


def test_params_read_what_was_saved(tempoc: Session) -> None:
    Path("train.rt").write_text(TRAIN)
    assert tempoc("run train.rt --bounds I=4 --output-dir r") == 0
    assert names("r/n-3.safetensors") == ["n.deep.0", "n.deep.1.b", "n.w"]
    assert names("r/layers.safetensors") == ["layers.0.w", "layers.1.w"]
    assert names("r/layer-1.safetensors") == ["layers.1.w"]
    assert names("r/deep.safetensors") == ["net.deep.0"]
    Path("use.rt").write_text(USE)
    one, two = "layers", "layer-0.safetensors --params r/layer-1"
    for layers in (one, two):
        given = f"--params r/n-3.safetensors --params r/{layers}.safetensors"
        assert tempoc(f"run use.rt {given} --output o.npz") == 0
        found = np.load("o.npz")
        assert found["w"].tolist() == [8 * 2 - 1] * 3
        assert found["b"] == 8 * 2.5 - 1
        assert found["y"].tolist() == [[2, 2], [3, 3]]
    assert tempoc("eval train.rt --bounds I=4 --output-dir e") == 0
    for path in sorted(Path("r").glob("*.safetensors")):
        assert (Path("e") / path.name).read_bytes() == path.read_bytes()


LOOP = """
dim i < I
x[0] = 1.0
x[i+1] = 2.0 * x[i]
output x
save x[i] to "sub/x-{i}.safetensors"
"""


def test_a_full_disk_leaves_whole_files(tempoc: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    from tempoc.runtime.data import files

    Path("loop.rt").write_text(LOOP)
    written, calls = files.write_safetensors, []

    def full(file, arrays):
        calls.append(1)
        if len(calls) > 2:
            file.write(b"half of it")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written(file, arrays)

    Path("r/sub").mkdir(parents=True)
    Path("r/sub/x-2.safetensors").write_bytes(b"from yesterday")
    monkeypatch.setattr(files, "write_safetensors", full)
    assert tempoc("run loop.rt --bounds I=4 --output-dir r") == 1
    assert tempoc.err.startswith("error[RT543]: r/sub/x-2.safetensors cannot be written: ")
    assert "no space left" in tempoc.err.lower()
    found = sorted(p.name for p in Path("r/sub").iterdir())
    assert found == ["x-0.safetensors", "x-1.safetensors", "x-2.safetensors"]
    assert Path("r/sub/x-2.safetensors").read_bytes() == b"from yesterday"
    assert [float(open_bundle(f"r/sub/x-{i}.safetensors")["x"].read()) for i in range(2)] == [1, 2]


def test_folders_that_cannot_be(tempoc: Session) -> None:
    Path("loop.rt").write_text(LOOP)
    Path("r").mkdir()
    Path("r/sub").write_text("a file")
    assert tempoc("run loop.rt --bounds I=2 --output-dir r") == 1
    assert tempoc.err.startswith("error[RT543]: r/sub/x-0.safetensors cannot be written: a part of")
    assert tempoc("run loop.rt --bounds I=2 --output-dir r/sub") == 1
    assert tempoc.err.startswith("error[RT543]: r/sub cannot be written")


def test_files_of_the_command_line_are_not_replaced(tempoc: Session) -> None:
    Path("loop.rt").write_text(LOOP.replace("sub/", ""))
    assert tempoc("run loop.rt --bounds I=2 --output x-1.safetensors") == 1
    assert tempoc.err.startswith("error[RT555]: x-1.safetensors is saved, but")
    assert not Path("x-1.safetensors").exists()
