"""`--memory-plot`: what is drawn, and that it is the ledger's."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from tempoc.runtime.curve import MOST, Curve, drawn, thinned
from tests.cli.session import Session, fill
from tests.support.golden import Golden


def test_a_drawing(golden: Golden) -> None:
    points = [(0.0, 0), (0.1, 3000), (0.25, 3000), (0.5, 7500), (0.8, 2000), (1.2, 2000)]
    text = drawn(points, "bytes in stores, a < b", 8000)
    ElementTree.fromstring(text)
    golden("runtime/curve.svg", text)
    for points in ([], [(0.0, 0)], [(0.5, 3)]):
        ElementTree.fromstring(drawn(points, "few", 0))


def test_few_points_stay(capsys) -> None:
    curve = Curve()
    sizes = np.random.default_rng(0).integers(0, 10**6, 7 * MOST)
    for size in sizes:
        curve.note(int(size))
    kept = [size for _, size in curve.points]
    assert len(kept) <= MOST
    assert (max(kept), min(kept)) == (sizes.max(), sizes.min())
    assert [t for t, _ in curve.points] == sorted(t for t, _ in curve.points)
    assert [*thinned([(0.0, 5), (1.0, 9), (2.0, 1), (3.0, 4)])] == [(1.0, 9), (2.0, 1)]


def test_a_run_is_drawn(tmp_path: Path, monkeypatch, capsys) -> None:
    """The highest point is the peak, where the prediction is."""
    monkeypatch.chdir(tmp_path)
    fill(tmp_path)
    tempoc = Session(capsys)
    line = "run sums.rt --input x=x.npy --params w.npz --memory-plot bytes.svg"
    assert tempoc(line) == 0
    text = Path("bytes.svg").read_text(encoding="utf-8")
    ElementTree.fromstring(text)
    said = re.findall(r'class="said" d="M\d+ ([\d.]+)', text)
    path = re.findall(r'class="line" d="([^"]*)"', text)[0]
    highest = min(map(float, re.findall(r"V([\d.]+)", path)))
    assert [highest] == list(map(float, said))
    assert tempoc("run fib.rt --bounds N=3 --memory-plot nowhere/b.svg") == 1
