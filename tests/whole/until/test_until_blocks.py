"""Blocks that are told lengths or find them out: the same as call after call."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tempoc.base.cost_model import MODEL
from tempoc.diagnostics.diagnostic import RunError
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.program.analysis.traversal import blocks
from tempoc.program.nodes.nodes import Block
from tempoc.runtime.data.bounds import resolve
from tempoc.runtime.load.load import LoadedProgram, load
from tempoc.runtime.run import run
from tempoc.runtime.walk import blocks as blocks_of_runs
from tempoc.runtime.walk.code import HostCode
from tempoc.symbolic.text import show
from tests.support.agree import compiled
from tests.whole.device.host_code import host_code, regions_of
from tests.whole.until.test_until import COLLATZ, collatz
from tests.whole.until.test_until_each import MANY
from tests.whole.until.test_until_regions import TWO
from tests.whole.until.until_runs import Agreeing

REREAD = """
dim t < T until stop
input x[t]: f32
w = x * sum(x[0:t+1])
stop = w > 4.0
y = sum((w[0:t+1] - w) ** 2)
output y
"""
JUDGED = """
dim t < T until stop
assume T >= 3
input n[t]: i32
input x: f32[5]
stop = n < 0
total = sum(n[t = 0:T])
picked = x[abs(total)]
output picked, total
"""


def quickly(text: str, folder: Path) -> Path:
    """A program that other tests verify."""
    Compilation(load_source(Source("m.rt", text)), Options()).write(str(folder / "out"))
    return folder / "out"


def code_of(loaded: LoadedProgram, **bounds: int) -> HostCode:
    """The code of a run with all inputs given."""
    return host_code(loaded, resolve(loaded.program, bounds, [], {}).values)


PROLOGUE = """
dim t < T until small
input x: f32[3]
r[0] = x
z = 0.5 * r
rz = sum(r * z)
small = rz < 0.1
r[t+1] = r - z
output rz
"""


def test_what_comes_before_a_loop_is_in_its_block(tmp_path: Path) -> None:
    """That a first step exists is no condition, whatever the length will be."""
    program = load(quickly(PROLOGUE, tmp_path)).program
    assert isinstance(program.tree, Block)


@pytest.mark.parametrize(("text", "ends"), [(COLLATZ, ["T"]), (TWO, ["T", "S"])])
def test_a_run_that_finds_its_lengths_is_one_call(
    text: str, ends: list[str], tmp_path: Path
) -> None:
    loaded = load(quickly(text, tmp_path))
    bounds = {b.name: 9 for b in loaded.program.bounds if b.value is None}
    (block,) = code_of(loaded, **bounds).calls.values()
    assert isinstance(block, Block)
    assert [show(block.lengths[place]) for place in block.endings] == ends
    long = code_of(loaded, **dict.fromkeys(bounds, MODEL.block_us + 2))
    assert len(regions_of(long)) == len(ends)


def test_blocks_in_a_loop_over_what_ends(tmp_path: Path) -> None:
    """Each step is told, and finds out, its own length."""
    loaded = load(quickly(MANY, tmp_path))
    found = [b for b in blocks(loaded.program.tree) if b.point == ("i",)]
    assert [b.kernel for b in found if b.endings]
    assert all(b.lengths for b in found)
    assert not regions_of(code_of(loaded, T=9, I=3))


def test_one_after_the_other_they_compute_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks_of_runs, "single_call_blocks", lambda *_: frozenset())
    out = compiled(COLLATZ, tmp_path)
    assert regions_of(code_of(load(out), T=9))
    found = run(out, {"T": 9}, {"c0": np.int32(6)})
    assert found.outputs["c"].tolist() == collatz(6, 9)


def test_stores_that_may_stay_small_are_not_made_as_large_as_may_be(tmp_path: Path) -> None:
    program = Agreeing(REREAD, tmp_path)
    loaded = load(program.folders[2])
    assert not regions_of(code_of(loaded, T=500))
    assert any(region.needs for region in regions_of(code_of(loaded, T=1500)))
    for most in (5, 600):
        x = np.linspace(0.0, 1.0, num=most, dtype=np.float32)
        found = program({"T": most}, {"x": x})
        assert len(found["y"]) == program.lengths["T"]


def test_nothing_is_checked_before_the_length_is_judged(tmp_path: Path) -> None:
    program = Agreeing(JUDGED, tmp_path)
    x = np.arange(5, dtype=np.float32)
    found = program({"T": 4}, {"n": np.array([1, 2, -1, 9], np.int32), "x": x})
    assert (found["picked"], found["total"]) == (2.0, 2)
    for n, message in (
        ((9, -1, 7, 7), "does not hold for T = 2"),
        ((9, 9, -1, 7), "out of range"),
    ):
        with pytest.raises(RunError, match=message):
            run(program.folders[2], {"T": 4}, {"n": np.array(n, np.int32), "x": x})


def test_what_follows_a_length_of_which_nothing_is_checked_is_in_its_block(tmp_path: Path) -> None:
    text = JUDGED.replace("assume T >= 3\n", "")
    program = Agreeing(text, tmp_path)
    assert isinstance(load(program.folders[2]).program.tree, Block)
    given = {"n": np.array([2, -1, 7, 9], np.int32), "x": np.arange(5, dtype=np.float32)}
    assert program({"T": 4}, given)["total"] == 1
    with pytest.raises(RunError, match="index 9 is out of range"):
        run(program.folders[2], {"T": 4}, given | {"n": np.array([9, 1, -1, 7], np.int32)})


def test_messages_have_the_length_that_was_found(tmp_path: Path) -> None:
    text = JUDGED.replace("assume T >= 3\n", "").replace("x[abs", "n[t = 0:T][abs")
    out = quickly(text, tmp_path)
    given = {"n": np.array([9, -1, 7, 7], np.int32), "x": np.zeros(5, np.float32)}
    with pytest.raises(RunError, match=r"index 8 is out of range .* \(T = 2\)"):
        run(out, {"T": 4}, given)


EDGES = """
dim k < K until settled
dim e < E
dim n < N
input tail[e]: i32
input head[e]: i32
input steps: i32
all_[k] = way[k, 0:N]
way[0, n] = where(n == 0, 0.0, 9.0)
near[k] = minimum(all_, segment_min((all_[k][tail] + 1.0)[e = 0:E], head[0:E], N))
way[k+1, n] = near[k][n]
settled = not any(near < all_) or k >= steps
output near[K-1] as near
"""
LATER = EDGES.replace("near[k] =", "near[k] = all_ - 1.0 when k < 2\nnear[k] =")


def test_positions_that_a_loop_needs_to_end_are_checked(tmp_path: Path) -> None:
    program = Agreeing(EDGES, tmp_path, (0, 1, 2))
    tail, head = np.array([0, 1, -2, 3], np.int32), np.array([1, 2, 3, -1], np.int32)
    given = {"tail": tail, "head": head, "steps": np.int32(9)}
    for bounds in ({"K": 9, "E": 4, "N": 4}, {"K": 2, "E": 4, "N": 5}):
        program(bounds, given)
    for place in ("tail", "head"):
        for out in program.folders.values():
            with pytest.raises(RunError, match="index 4 is out of range"):
                wrong = given | {place: np.array([0, 1, 4, 2], np.int32)}
                run(out, {"K": 9, "E": 4, "N": 4}, wrong)


def test_positions_that_it_may_end_before_are_not(tmp_path: Path) -> None:
    program = Agreeing(LATER, tmp_path, (0, 1, 2))
    wrong = np.array([0, 4, 1, 2], np.int32)
    given = {"tail": wrong, "head": wrong}
    bounds = {"K": 9, "E": 4, "N": 4}
    for steps in (0, 1):
        program(bounds, given | {"steps": np.int32(steps)})
    for out in program.folders.values():
        with pytest.raises(RunError, match="index 4 is out of range"):
            run(out, bounds, given | {"steps": np.int32(2)})
