"""`--memory-plot`: what is drawn, and that it is the ledger's."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from tempoc.runtime.device import backend
from tempoc.runtime.report.memory_plot import MOST, MemoryCurve, draw_svg, thinned, without_spans
from tests.cli.session import Session, fill
from tests.support.golden import Golden


def test_a_drawing(golden: Golden) -> None:
    points = [(0.0, 0), (0.1, 3000), (0.25, 3000), (0.5, 7500), (0.8, 2000), (1.2, 2000)]
    text = draw_svg(points, "bytes in stores, a < b", 8000)
    ElementTree.fromstring(text)
    golden("runtime/curve.svg", text)
    for points in ([], [(0.0, 0)], [(0.5, 3)]):
        ElementTree.fromstring(draw_svg(points, "few", 0))


def test_few_points_stay(capsys) -> None:
    curve = MemoryCurve()
    sizes = np.random.default_rng(0).integers(0, 10**6, 7 * MOST)
    for size in sizes:
        curve.note(int(size))
    kept = [size for _, size in curve.points]
    assert len(kept) <= MOST
    assert (max(kept), min(kept)) == (sizes.max(), sizes.min())
    assert [t for t, _ in curve.points] == sorted(t for t, _ in curve.points)
    assert [*thinned([(0.0, 5), (1.0, 9), (2.0, 1), (3.0, 4)])] == [(1.0, 9), (2.0, 1)]


def test_time_stands_still_while_kernels_are_compiled(monkeypatch) -> None:
    curve = MemoryCurve(start=0.0)
    clock = iter([1.0, 3.0, 4.0, 5.0, 6.0, 8.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    curve.note(10)  # at 1
    curve.compiled(1.0)  # 2 to 3, as part of the next
    curve.compiled(2.5)  # 1.5 to 4
    curve.note(20)  # at 5
    curve.compiled(0.5)  # 5.5 to 6
    curve.note(30)  # at 8
    assert curve.compiling == [(1.5, 4.0), (5.5, 6.0)]
    assert [*without_spans(curve.points, curve.compiling)] == [(1.0, 10), (2.5, 20), (5.0, 30)]
    assert [*without_spans([(2.0, 1), (4.0, 2), (5.75, 3)], curve.compiling)] == [
        (1.5, 1), (1.5, 2), (3.0, 3)
    ]  # fmt: skip
    text = draw_svg([(0.0, 0), (1.5, 3)], "some", 3, 3.0)
    assert ">seconds, without 3 in which kernels were compiled<" in text


def test_what_is_compiled_is_told() -> None:
    told: list[float] = []
    with backend.compilations(told.append):
        backend.compile_kernel(lambda at, a: (a + at,), backend.JitOptions())(2, np.ones(3))
    count = len(told)
    assert count >= 1 and min(told) >= 0
    backend.compile_kernel(lambda at, a: (a - at,), backend.JitOptions())(2, np.ones(3))
    assert len(told) == count


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
