"""Without a budget, the memory of the device is the limit."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tempoc.driver.search import device_budget
from tempoc.runtime.device import available
from tests.cli.session import Session

IMAGES = """dim k < K
input x[k]: f32[32, 192]
w[0] = random.normal([192, 8]) * 0.1
z[k] = tanh(x @ w)
loss[k] = mean(z ** 2)
w[k+1] = w - 0.1 * grad(loss[k], w)
output loss
"""
X = 32 * 192 * 4
"""Bytes of a batch."""
LIMIT = 8 * X


@pytest.fixture
def images(tempoc: Session, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """A program in a folder, its data, and a device on which not much of that fits."""
    Path("images.rt").write_text(IMAGES, encoding="utf-8")
    x = np.random.default_rng(0).normal(size=(40, 32, 192)).astype(np.float32)
    np.save("batches.npy", x)
    np.save("few.npy", x[:3])
    monkeypatch.setattr(available, "device_memory", lambda: LIMIT)
    return x


def outputs(path: str) -> np.ndarray:
    return np.load(path)["loss"]


def test_a_run_of_a_source(tempoc: Session, images: np.ndarray) -> None:
    assert tempoc("run images.rt --input x=batches.npy --output a.npz") == 0
    assert "to keep to the 192.00 KiB of the device" in tempoc.err
    assert tempoc("run images.rt --input x=batches.npy --output b.npz --memory-budget 1GiB") == 0
    assert "note" not in tempoc.err
    np.testing.assert_allclose(outputs("a.npz"), outputs("b.npz"), rtol=1e-5)
    assert tempoc("run images.rt --input x=few.npy") == 0
    assert "note" not in tempoc.err


def test_a_compiled_program_is_refused_in_time(tempoc: Session, images: np.ndarray) -> None:
    assert tempoc("compile images.rt -o out") == 0
    assert tempoc("run out --input x=few.npy") == 0
    assert tempoc("run out --input x=batches.npy") == 1
    assert "error[RT561]" in tempoc.err and "192.00 KiB of the device" in tempoc.err
    assert tempoc("run out --input x=batches.npy --memory-budget 1GiB") == 0


def test_variants_by_the_device_of_the_run(
    tempoc: Session, images: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tempoc("compile images.rt -o out --bounds K=1..40") == 0
    assert "2 variants, to keep to 192.00 KiB" in tempoc.err
    assert tempoc("explain out --variants") == 0
    assert "to the device of the compilation that is" in tempoc.out
    assert tempoc("run out --input x=batches.npy --stats --output a.npz") == 0
    assert "chunks" in tempoc.err
    monkeypatch.setattr(available, "device_memory", lambda: 1 << 30)
    assert tempoc("run out --input x=batches.npy --stats --output b.npz") == 0
    assert "chunks" not in tempoc.err
    np.testing.assert_allclose(outputs("a.npz"), outputs("b.npz"), rtol=1e-5)


def test_values_of_bounds(tempoc: Session, images: np.ndarray) -> None:
    assert tempoc("compile images.rt -o out --bounds K=40") == 0
    assert "of the device" in tempoc.err
    assert tempoc("run out --input x=batches.npy --memory") == 0
    (peak,) = re.findall(r"peak +(\d+) +(\d+)\n", tempoc.out + tempoc.err)
    assert peak[0] == peak[1] and int(peak[0]) <= LIMIT


def test_nothing_fits(tempoc: Session, images: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(available, "device_memory", lambda: X // 2)
    assert tempoc("run images.rt --input x=batches.npy") == 1
    assert "RT580" in tempoc.err and "the budget is what the device has" in tempoc.err


def test_temporary_buffers_count(
    tempoc: Session, images: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stores that fit do not suffice if kernels need as much again beside them."""
    whole = 60 * X
    monkeypatch.setattr(available, "device_memory", lambda: whole)
    assert tempoc("compile images.rt -o out --bounds K=40") == 0
    assert "note" not in tempoc.err
    monkeypatch.setattr(device_budget, "temporaries", lambda *rest: 25 * X)
    assert tempoc("compile images.rt -o out2 --bounds K=40") == 0
    assert "of the device" in tempoc.err


def test_a_device_that_says_nothing(
    tempoc: Session, images: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(available, "device_memory", lambda: None)
    assert tempoc("run images.rt --input x=batches.npy") == 0
    assert tempoc("compile images.rt -o out --bounds K=40") == 2
    assert "--bounds needs --memory-budget" in tempoc.err


def test_limits_of_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "memory.max").write_text("max\n", encoding="ascii")
    monkeypatch.setattr(available, "_GROUPS", tmp_path)
    most = min(available._limits_of_host())
    assert most > 1 << 28
    (tmp_path / "memory.max").write_text("1048576\n", encoding="ascii")
    assert min(available._limits_of_host()) == 1 << 20
