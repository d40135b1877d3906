"""Blocks: what needs no host between is one call; it computes the same as call after call."""

from __future__ import annotations

import numpy as np
import pytest

from tempoc.base.cost_model import MODEL
from tempoc.codegen.regions import single_call
from tempoc.program.analysis.traversal import blocks
from tempoc.program.nodes import nodes
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.execution.specialize import prepare
from tempoc.runtime.run import Settings, run_given
from tempoc.runtime.walk import blocks as blocks_of_runs
from tempoc.runtime.walk.assemble import RunHooks
from tests.support.agreement import agree, compile_text
from tests.support.session.long import in_turns, sampled
from tests.whole.device.host_code import blocks_of, host_code, regions_of

LOOPS = "canonicalize,fuse"

RETURNS = """
import rl
dim t < T
input r[t]: f32
input v[t]: f32
input done[t]: bool
y = rl.gae(r, v, done, 0.0, t)
z = rl.returns(r, done, 0.0, t)
output y
output z
"""
SHOWN = """
dim i < I
dim t < T
input x[t]: f32
w[0] = 0.5
m[i, 0] = w[i] * x[0]
m[i, t] = tanh(m[i, t-1] + w[i] * x[t]) when t >= 1
n[i, 0] = m[i, T-1]
n[i, t] = 0.5 * n[i, t-1] + m[i, t] when t >= 1
w[i+1] = w[i] + n[i, T-1] when i < I - 1
print w[0:i+1] when i % 2 == 1
output w
output m[I-1, 0:T] as m
"""
SOME = """
dim t < T
input x[t]: f32[3]
a[t] = x[t] * 2.0 when t < 2
a[t] = a[t-1] + a[t-2] when t >= 2
b = sum(a[0:t+1])
c[t] = b when t >= 3
c[t] = 0.0 when t < 3
s = c[T-1] + sum(x[t])
output s
output b
"""
BACK = """
dim i < N
dim j < M
input x[i, j]: f32
s[i, j] = x when i == 0 or j == 0
s[i, j] = x * s[i-1, j-1] + s[i-1, j] * s[i, j-1]
loss = s[N-1, M-1]
output s
dx = grad(loss, x)
output dx
"""
PROGRAMS = {"returns": RETURNS, "shown": SHOWN, "some": SOME, "back": BACK}


@pytest.mark.parametrize(("name", "passes"), in_turns(PROGRAMS, (LOOPS, None), "both pipelines"))
def test_programs_agree(name: str, passes: str | None) -> None:
    text = PROGRAMS[name]
    loaded = compile_text(text, 2, passes)[1]
    assert [*blocks(loaded.program.tree)]
    given = [b.name for b in loaded.program.bounds if b.value is None]
    agree(text, *({b: n + k for k, b in enumerate(given)} for n in (2, 5)), passes=passes)


@pytest.mark.parametrize("name", sampled(PROGRAMS, "more programs", of=2))
def test_one_after_the_other_they_compute_the_same(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks_of_runs, "single_call_blocks", lambda *_: frozenset())
    text = PROGRAMS[name]
    given = [b.name for b in compile_text(text, 2)[1].program.bounds if b.value is None]
    agree(text, *({b: n + k for k, b in enumerate(given)} for n in (1, 3)))


def test_a_run_is_one_call_without_stores() -> None:
    loaded = compile_text(RETURNS, 2)[1]
    code = host_code(loaded, {"T": 100})
    assert len(code.calls) == len(blocks_of(code)) == 1
    given = frozenset(i.store for i in loaded.program.inputs)
    call = prepare(loaded, {"T": 100}).straight_call(given)
    assert call is not None and not call.zeros


TABLE = """
dim t < T
input j[t]: i32
w[0] = zeros([4096, 4])
w[t+1] = put(w, j % 4096, take(w, j % 4096, 0) + 1.0)
output w[T-1] as w
"""
SIDE_BY_SIDE = """
dim b < B
dim t < T
input x[b]: i32[4096]
j[b, 0] = 0
j[b, t+1] = take(x, j % 4096, 0) + 1
output j[0:B, T-1] as j
"""
ROWS = {"one": (TABLE, {"T": 50_000}), "side by side": (SIDE_BY_SIDE, {"B": 4, "T": 50_000})}


@pytest.mark.parametrize("name", ROWS)
def test_a_table_counts_by_the_rows_that_are_looked_at(name: str) -> None:
    """A long loop is one call, as its estimated time is short."""
    text, bounds = ROWS[name]
    loaded = compile_text(text, 2)[1]
    given = frozenset(i.store for i in loaded.program.inputs)
    assert prepare(loaded, bounds).straight_call(given) is not None


HALVED = "dim k < K until stop\ninput a: f32\nx[0] = a\nx[k+1] = 0.5 * x\nstop = x < 1.0\n"


@pytest.mark.parametrize(
    ("output", "is_one", "is_late"),
    [
        ("x[K-1] as y", True, False),
        ("x[0:K] as y", True, True),
        ("x[K//2] as y", True, True),
        ("K as y", True, False),
        ("x[K-2] as y\nassume K >= 2", False, False),
    ],
)
def test_a_length_that_nothing_has_to_be_checked_of_stays_on_the_device(
    output: str, is_one: bool, is_late: bool
) -> None:
    loaded = compile_text(f"{HALVED}output {output}\n", 2, LOOPS)[1]
    given = frozenset(i.store for i in loaded.program.inputs)
    call = prepare(loaded, {"K": 9, "K_max": 9}).straight_call(given)
    assert (call is not None and call.ends == ("K",)) == is_one
    assert call is None or call.late == is_late


def test_long_loops_and_accounts_take_several_calls() -> None:
    steps = "dim t < T\ninput x[t]: f32\na[0] = x[0]\na[t] = sin(a[t-1]) when t >= 1\noutput a\n"
    loaded = compile_text(steps, 2, LOOPS)[1]
    for bound, account, called in ((9, False, 0), (9, True, 1), (MODEL.block_us + 2, False, 1)):
        assert len(regions_of(host_code(loaded, {"T": bound}, account=account))) == called


def test_a_brief_loop_is_one_call_however_many_steps_it_has() -> None:
    steps = "dim t < T\ninput x: f32\na[0] = x\na[t] = sin(a[t-1]) when t >= 1\n"
    steps += "output a[T-1] as a\n"
    loaded = compile_text(steps, 2, LOOPS)[1]
    given = frozenset(i.store for i in loaded.program.inputs)
    for bound, called in ((MODEL.block_calls + 2, 0), (MODEL.block_us + 2, 1)):
        code = host_code(loaded, {"T": bound})
        assert len(regions_of(code)) == called
        assert code.straight == given
    agree(steps, {"T": MODEL.block_calls + 2}, passes=LOOPS)


def test_a_step_touches_a_row_or_a_window_and_a_range_all_of_it() -> None:
    head = "dim c < C\ndim t < T\ninput x[c, t]: f32\ny[c, 0] = x[c, 0]\n"
    row = "y[c, t] = sin(y[c, t-1]) - y[c, max(t-2, 0)] * x when t >= 1\noutput y\n"
    window = "y[c, t] = sin(max(y[c, max(0, t-4):t] * x)) when t >= 1\noutput y\n"
    whole = "y[c, t] = sin(max(y[c, 0:t] * x)) when t >= 1\noutput y\n"
    bounds = {"C": 32, "T": MODEL.block_calls + 2}
    for rest, called in ((row, 0), (window, 0), (whole, 1)):
        loaded = compile_text(head + rest, 2)[1]
        assert len(regions_of(host_code(loaded, bounds))) == called


def test_what_leaves_a_block_in_a_loop_of_the_host() -> None:
    """Only what others read, or the next step, comes out of it; the rest is local."""
    found = [*blocks(compile_text(SHOWN, 2, LOOPS)[1].program.tree)]
    inner = [b for b in found if b.point == ("i",)]
    assert inner
    outside = {c.store for b in inner for c in (*b.carried, *b.made)}
    assert not outside & {store for b in inner for store in b.local}


COPIED = "dim t < T\ninput x[t]: f32[4]\ny = x[t]\nz = y + x[t]\noutput y\noutput z\noutput x\n"


def test_outputs_share_no_memory_with_inputs() -> None:
    loaded = compile_text(COPIED, 2)[1]
    x = np.zeros(4 * 64 + 16, np.float32)
    start = (-x.ctypes.data % 64) // 4
    x = x[start : start + 4 * 64].reshape(64, 4)
    x[...] = 1.0
    for _ in range(3):
        given = Given(bounds={"T": 64}, inputs=as_sources({"x": x}), params={})
        found = run_given(loaded, given, Settings()).outputs
        x += 1.0
        assert all(not np.may_share_memory(value, x) for value in found.values())
        np.testing.assert_array_equal(found["y"], x - 1.0)
        np.testing.assert_array_equal(found["z"], 2 * (x - 1.0))


def test_runs_on_other_data_of_the_same_shapes() -> None:
    """What runs leave to each other is not data."""
    loaded = compile_text(RETURNS, 2)[1]
    random = np.random.default_rng(0)
    for steps in (5, 9, 5):
        data = {
            "r": random.uniform(-1, 1, steps).astype(np.float32),
            "v": random.uniform(-1, 1, steps).astype(np.float32),
            "done": random.random(steps) < 0.3,
        }
        bounds = {"T": steps}
        found = run_given(
            loaded, Given(bounds=bounds, inputs=as_sources(data), params={}), Settings()
        )
        wanted = np.zeros(steps + 1, np.float32)
        for t in range(steps)[::-1]:
            wanted[t] = data["r"][t] + (0.0 if data["done"][t] else 0.99) * wanted[t + 1]
        np.testing.assert_allclose(found.outputs["z"], wanted[:-1], rtol=1e-4, atol=1e-5)


LEARNED = """
dim t < T
input x[t]: f32[4]
param w: f32[4, 4]
h[0] = x[0]
h[t] = tanh(w @ h[t-1] + x[t] + 0.1 * random.normal([4])) when t >= 1
output h
"""


def test_weights_and_the_seed_go_straight_to_one_call() -> None:
    loaded = compile_text(LEARNED, 2, LOOPS)[1]
    program = loaded.program
    given = frozenset((program.inputs[0].store, program.params[0].store, program.seed))
    assert prepare(loaded, {"T": 6}).code(given, RunHooks()).straight == given
    x, w = np.ones((6, 4), np.float32), np.eye(4, dtype=np.float32)

    def run(w: object, seed: int = 1) -> np.ndarray:
        data = as_sources({"x": x}), as_sources({"w": w})
        return run_given(
            loaded, Given(bounds={}, inputs=data[0], params=data[1], seed=seed), Settings()
        ).outputs["h"]

    first = run(w)
    for other in (w, np.asfortranarray(w), w[::-1][::-1], w.view(np.matrix)):
        np.testing.assert_array_equal(run(other), first)
    assert np.abs(run(2 * w) - first).max() > 0.01
    assert np.abs(run(w, seed=2) - first).max() > 0.01
    np.testing.assert_array_equal(run(w), first)


def test_a_block_is_a_statement_of_the_program() -> None:
    tree = compile_text(RETURNS, 2)[1].program.tree
    items = tree.items if isinstance(tree, nodes.Sequence) else (tree,)
    assert [type(item) for item in items] == [nodes.Block]


DECODED = """
import nn
dim b < B
dim t < T
dim l < L = 3
param w[l]: f32[3, 32, 32]
input x[b]: f32[32]
h[b, 0, 0] = x
h[b, t, 0] = nn.softmax(y[b, t-1, L-1]) when t >= 1
h[b, t, l] = y[b, t, l-1]
k = w[l][0] @ h
v = w[l][1] @ h
y[b, 0, l] = sin(h[b, 0, l] + w[l][2] @ v[b, 0, l])
y[b, t, l] = tanh(h + w[l][2] @ (nn.softmax(k[t = 0:t+1] @ h) @ v[t = 0:t+1]))
output y[t = T-1, l = L-1] as last
"""


def test_a_block_of_which_xla_would_copy_a_store_is_several_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for often, batch, steps, whole in (
        (1, 1, 2000, False),
        (64, 1, 2000, True),
        (1, 1, 8, True),
        (1, 2, 2000, True),
    ):
        monkeypatch.setattr(single_call, "MODEL", MODEL._replace(rare_runs=often))
        program = compile_text(DECODED, 2)[1].program
        (inner,) = (b for b in blocks(program.tree) if b.point == ("l",))
        bounds = {"B": batch, "T": steps, "L": 3}
        given = frozenset(i.store for i in program.inputs)
        found = blocks_of_runs.single_call_blocks(program, bounds, given)
        assert (inner.kernel in found) == whole
