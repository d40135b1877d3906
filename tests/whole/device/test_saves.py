"""Files of every so many steps, saved between calls of device loops: as the evaluator says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tempoc.base.effort import EFFORT
from tempoc.driver.reference import evaluate_given
from tempoc.program.analysis.traversal import regions, statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.load.load import LoadedProgram
from tempoc.runtime.run import Settings, run_given
from tempoc.symbolic.walk import evaluate
from tests.support.agreement import compile_text, data, free_bounds
from tests.support.checkpoints import Lines, held_everywhere, short_calls
from tests.support.elaborated import graph_of
from tests.support.session.long import ends, sampled

LOOPS = "canonicalize,fuse"
"""Passes that leave all loops as they are."""

BEFORE = """dim i < I
input x[i]: i32[3]
w[0] = x[0]
w[i+1] = (3 * w[i] + flip(x[i])) % 1009
save w[i] to "w-{i}.safetensors" when (i + 1) % 3 == 0
output w[I-1] as last
"""
AFTER = """dim i < I
input x[i]: i32[3]
h[0] = x[0]
h[i] = (3 * h[i-1] + flip(x[i])) % 1009 when i >= 1
pair = {h: h, next: h * h % 5}
save pair[i] to "h-{i}.safetensors" when i % 4 == 1
total = sum(h[i = 0:I], axis = 0)
output total
"""
SEVERAL = """dim i < I
input x[i]: i32
a[0] = x[0]
a[i] = 3 * a[i-1] % 1000 + x[i] when i >= 1
b[0] = 5
b[i] = a[i-1] * b[i-1] % 1009 + x[i] when i >= 1
save a to "a-{i}.safetensors" when i % 3 == 2
save b to "b-{i}.safetensors" when i % 2 == 1 and i >= 3
save a[i-1] to "c-{i}.safetensors" when (I - i) % 4 == 1 and i >= 1
print a when i % 5 == 2
output a
"""
INNER = """dim i < I
dim j < J
input x: i32
c[i, 0] = x + far[i]
c[i, j] = (c[i, j-1] * 7 + i) % 1013 when j >= 1
far[0] = 1
far[i] = c[i-1, J-1] when i >= 1
save c[i, j] to "c-{i}-{j}.safetensors" when (j + i) % 3 == 1
save far[i] to "far-{i}.safetensors" when i % 2 == 1
output far
"""
UNTIL = """dim t < T until stop
input c0: i32
c[0] = c0 + 27
c[t+1] = where(c[t] % 2 == 0, c[t] // 2, 3 * c[t] + 1)
stop[t] = c[t] > 100
save c[t] to "c-{t}.safetensors" when t % 3 == 2
peak = max(c[0:T])
output peak
"""
STATE = """dim t < T
input x[t]: i32[3]
h[0] = x[0]
h[t] = (3 * h[t-1] + flip(x[t])) % 1009 when t >= 1
output h[T-1] as last
"""
FILES = [f'save h[t-1] to "h{k}-{{t}}.safetensors" when t % 4 == 2\n' for k in range(3)] + [
    f'y{k}[t] = h[t] * {k} + 1\nsave y{k}[t] to "y{k}-{{t}}.safetensors" when t % 3 == {k // 4}\n'
    for k in range(6)
]
TOGETHER = STATE + "".join([*FILES[:5], "print h[t] when t % 2 == 1\n", *FILES[5:]])
PROGRAMS = {
    "before": (BEFORE, "i"), "after": (AFTER, "i"), "several": (SEVERAL, "i"),
    "inner": (INNER, "j"), "until": (UNTIL, "t"), "together": (TOGETHER, "t"),
}  # fmt: skip


def effects(loaded: LoadedProgram, given: Given) -> list[tuple[str, ...]]:
    """What a run prints and saves, in order."""
    lines = Lines()
    run_given(loaded, given, Settings(show=lines))
    return lines.found


def given_for(text: str, size: int) -> Given:
    bounds = {b: size + k for k, b in enumerate(free_bounds(text))}
    inputs = data(graph_of(text), bounds, False)
    return Given(bounds=bounds, inputs=as_sources(inputs), params={})


@pytest.mark.parametrize("name", sampled(PROGRAMS, "more programs", of=2))
def test_the_same_files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if runs stop between two calls, and go on from there."""
    text, var = PROGRAMS[name]
    host = compile_text(text, 2, LOOPS, regions=False)[1]
    graph, device = compile_text(text, 2, LOOPS)
    assert var in [r.loop.var for r in regions(device.program.tree)]
    for size in ends((1, 2, 3, 4, 5, 6, 11)):
        given = given_for(text, size)
        wanted, exact = effects(host, given), Lines()
        assert sorted(effects(device, given)) == sorted(wanted)
        evaluate_given(graph, given, show=exact)
        assert sorted(exact.found) == sorted(wanted)
    short_calls(monkeypatch)
    assert held_everywhere(device, given, tmp_path, monkeypatch, most=8) > 2


def parts(statement: prog.ProgramStatement) -> int:
    """How many loops over parts there are."""
    return sum("_part" in getattr(s, "var", "") for s in statements_in(statement))


def test_files_of_one_period_share_a_loop() -> None:
    saves = (f'save h[t] to "h{k}-{{t}}.safetensors" when t % 3 == 1\n' for k in range(40))
    assert parts(compile_text(STATE + "".join(saves), 2, LOOPS)[1].program.tree) == 1


def test_many_periods_are_saved_by_a_loop_on_the_host() -> None:
    """A loop for each would be in terms of all around it, and deeper than programs may be."""
    saves = (f'save h[t] to "h{k}-{{t}}.safetensors" when t % {k} == 1\n' for k in range(2, 42))
    text = STATE + "".join(saves)
    host = compile_text(text, 2, LOOPS, regions=False)[1]
    device = compile_text(text, 2, LOOPS)[1]
    assert parts(device.program.tree) <= EFFORT.outer_loops
    given = given_for(text, 12)
    assert effects(device, given) == effects(host, given)


LINE, FILE = (
    f"{what} when (i + 1) % 3 == 0\n" for what in ("print w", 'save x[i] to "x-{i}.safetensors"')
)


@pytest.mark.parametrize("effects_written", [LINE + FILE, FILE + LINE], ids=["line", "file"])
def test_files_that_no_step_makes_are_saved_in_the_order_of_the_source(
    effects_written: str,
) -> None:
    text = (
        "dim i < I\ninput x[i]: i32[3]\nw[0] = x[0]\nw[i+1] = (3 * w[i] + flip(x[i])) % 1009\n"
        f"{effects_written}output w[I-1] as last\n"
    )
    host = compile_text(text, 2, LOOPS, regions=False)[1]
    device = compile_text(text, 2, LOOPS)[1]
    assert regions(device.program.tree)
    assert effects(device, given_for(text, 7)) == effects(host, given_for(text, 7))


def test_no_part_follows_the_end_that_data_give() -> None:
    """Else a bound that is far above it takes as many steps of the host as it has parts."""
    program = compile_text(UNTIL, 2, LOOPS)[1].program
    (loop,) = [s for s in statements_in(program.tree) if getattr(s, "var", "") == "t_part"]
    assert isinstance(loop, prog.Loop) and loop.limit is not None
    (length,) = program.lengths
    assert [evaluate(loop.limit, {length.bound: n}) for n in (1, 2, 3, 5, 6)] == [1, 1, 2, 2, 3]
