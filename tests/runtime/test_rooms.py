"""How far stores grow, and what that costs."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tempoc.codegen.program.module import REGION_HELPERS
from tempoc.codegen.program.run_tuning import RUN_TUNING
from tempoc.codegen.regions.prelude import looped_in_prefixes
from tempoc.program.nodes import nodes as prog
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.device import backend
from tempoc.runtime.device.capacity import MANY, Capacities, buckets, rounded
from tempoc.runtime.run import Settings, run_given
from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.symbolic import expr as ix
from tests.support.agreement import compile_text

UPDATING = backend.JitOptions(donated=(0,))


@pytest.mark.parametrize("least", [1, 2, 3, 64, 512])
@pytest.mark.parametrize("full", [1, 2, 3, 5, 63, 64, 65, 511, 512, 513, 1000, 1025, 8192, 100_000])
def test_sizes_grow_to_all(full: int, least: int) -> None:
    known, unknown = (buckets(full, least, RUN_TUNING, sure=sure) for sure in (True, False))
    assert known[-1] == unknown[-1] == full
    assert list(known) == sorted({*known}) and list(unknown) == sorted({*unknown})
    assert len(known) <= RUN_TUNING.store_sizes
    assert known[0] == full or known[0] >= least
    assert all(later <= 2 * size for size, later in itertools.pairwise(unknown))


def test_long_sequences_have_few_sizes_and_share_them() -> None:
    assert buckets(8192, 512, RUN_TUNING, sure=True) == (2048, 4096, 6144, 8192)
    assert buckets(7000, 512, RUN_TUNING, sure=True) == (2048, 4096, 6144, 7000)
    assert buckets(2500, 512, RUN_TUNING, sure=True) == (1024, 2048, 2500)
    assert buckets(8192, 512, RUN_TUNING, sure=False) == (512, 1024, 2048, 4096, 8192)
    assert buckets(1000, 512, RUN_TUNING, sure=True) == (1000,)


@pytest.mark.parametrize("more", [0, 1, 10, 63, 1000])
def test_the_last_size_is_rounded_up_as_far_as_that_is_cheap(more: int) -> None:
    sizes = [rounded(full, more, RUN_TUNING) for full in range(1, 3000)]
    assert sizes == sorted(sizes)
    for full, size in enumerate(sizes, 1):
        assert full <= size <= full + max(more, full // 8)
    assert len({*sizes}) <= 8 * 12
    if more >= 1000:
        assert {*sizes[:1024]} == {64, 128, 256, 512, 1024}


@pytest.mark.parametrize(("first", "last"), [(512, 256), (700, 256), (128, 64), (2, 64)])
def test_short_runs_have_half_of_the_first_size(first: int, last: int) -> None:
    """Or less, where that is more than an eighth of all bytes and 1 MiB."""
    narrow, wide = (
        compile_text(SO_FAR.format(width=w), 2, "canonicalize,fuse", bucket=first)[1].program
        for w in (64, 10_000)
    )
    for steps in (1, 5, 64, last):
        assert Capacities.of(narrow, {"T": steps}).sizes[0][-1] == last
        held = Capacities.of(wide, {"T": steps}).sizes[0][-1]
        assert steps <= held <= steps + steps // 8 + (1 << 20) // 40_000
    assert Capacities.of(narrow, {"T": last + 1}).sizes[0][-1] == 2 * last


SO_FAR = """
dim t < T
input x: f32[{width}]
k[0] = x
k[t] = tanh(sum(k[0:t], axis = 0) + x) when t >= 1
output k[T-1] as found
"""


def test_steps_until_the_next_size() -> None:
    rooms = Capacities(((4, 8, 10),), [4])
    assert [rooms.steps_left(0, rows) for rows in (1, 4, 5, 8)] == [4, 1, 4, 1]
    assert rooms.steps_left(0, 9) == rooms.steps_left(0, 11) == MANY
    rooms.now[0] = 8
    assert rooms.enough(0, 1) == 8
    assert rooms.steps_left(0, 1) == 8


UNTIL = """
dim t < T until stop
input x: f32[64]
input last: i32
k[0] = x
k[t] = tanh(sum(k[0:t], axis = 0) + x) when t >= 1
stop = t >= last
output k[T-1] as found
"""


@pytest.mark.parametrize(("last", "rows"), [(1, 2), (3, 6), (4, 12), (15, 24), (99, 192)])
def test_memory_follows_the_sequence(last: int, rows: int) -> None:
    """At most there are the rows of the last size and of the one before, from which they come."""
    _, loaded = compile_text(UNTIL, 2, "canonicalize,fuse", bucket=2)
    inputs = {"x": np.full(64, 0.01, np.float32), "last": np.array(last, np.int32)}
    given = Given(bounds={"T": 100}, inputs=as_sources(inputs), params={})
    result = run_given(loaded, given, Settings(account=True))
    assert result.lengths == {"T": last + 1}
    held = result.peak_bytes - result.given_bytes
    assert held <= 4 * 64 * (rows + 4)


DECODER = """
dim t < T
input e: f32[7, 4]
x[t] = e[tok[t]]
k = tanh(x)
w[t] = softmax(k[0:t+1] @ x)
tok[0] = 1
tok[t+1] = argmax(e @ (w @ k[0:t+1] * cos(f32(t)) + x * sin(f32(t))))
output tok
"""


@pytest.mark.parametrize(("width", "loops"), [(2, [16]), (4, [8, 16])])
def test_first_steps_have_their_own_loop_where_that_saves_much(
    width: int, loops: list[int]
) -> None:
    """Half of the rows, for eight of 16 steps, are 512 bytes or 1024."""
    found: list[int] = []

    def loop(first: Any, end: Any, carry: Any) -> Any:
        found.append(len(carry[0]))
        return lax.fori_loop(first, end, lambda t, carry: (carry[0].at[t].set(t),), carry)

    scope: dict[str, Any] = {"jax": jax, "jnp": jnp, "lax": lax}
    exec(looped_in_prefixes((2,), 1024), scope)
    carry = (jnp.zeros((16, width), jnp.int32),)
    (rows,) = scope["looped_in_prefixes"](0, 15, loop, carry, {0: 0}, 1)
    assert found == loops
    np.testing.assert_array_equal(rows[:, 0], [*range(15), 0])


def test_a_plain_decoder_takes_another_length_without_compiling(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of `k` the last row is missing; the first 63 steps are run on half of 128 rows."""
    text = looped_in_prefixes((2,), 1)
    monkeypatch.setitem(REGION_HELPERS, "looped_in_prefixes", text)
    graph, loaded = compile_text("import nn\n" + DECODER.replace("softmax", "nn.softmax"), 2)
    assert {s.growing.size for s in loaded.program.stores if s.growing} == {ix.Sym("T")}
    inputs = {"e": np.random.default_rng(0).standard_normal((7, 4)).astype(np.float32)}
    truth = evaluate(graph, {"T": 128}, inputs, {})["tok"]
    assert len({*truth.tolist()}) > 2
    told: list[float] = []
    for steps in (66, 65, 128, 100):
        given = Given(bounds={"T": steps}, inputs=as_sources(inputs), params={})
        with backend.compilations(told.append):
            found = run_given(loaded, given, Settings()).outputs["tok"]
        np.testing.assert_array_equal(found, truth[:steps])
        if steps == 66:
            told.clear()
    assert not told


def test_where_steps_read_a_few_rows_hundreds_of_lengths_are_one_kernel() -> None:
    """Rows are few bytes, and nothing reads those of which a run has too many."""
    text = DECODER.replace("k[0:t+1]", "k[max(0, t-3):t+1]").replace("softmax", "nn.softmax")
    graph, loaded = compile_text("import nn\n" + text, 2)
    inputs = {"e": np.random.default_rng(0).standard_normal((7, 4)).astype(np.float32)}
    truth = evaluate(graph, {"T": 200}, inputs, {})["tok"]
    told: list[float] = []
    for steps in (2, 200, 70, 3):
        given = Given(bounds={"T": steps}, inputs=as_sources(inputs), params={})
        with backend.compilations(told.append):
            outputs = run_given(loaded, given, Settings()).outputs
        np.testing.assert_array_equal(outputs["tok"], truth[:steps])
        if steps == 2:
            told.clear()
    assert not told


LAYERS = """
dim t < T
dim l < L = 2
input e: f32[7, 4]
param w[l]: f32[4, 4]
x[t, 0] = e[tok[t]]
x[t, l+1] = y[t, l]
k = w @ x
y = x * cos(f32(t)) + nn.softmax(k[t = 0:t+1] @ x) @ k[t = 0:t+1] * sin(f32(t))
tok[0] = 1
{}
output tok
"""


@pytest.mark.parametrize(
    "equation",
    ["tok[t+1] = argmax(e @ y[t, L-1])", "tok[t] = best[t-1]; best = argmax(e @ y[l = L-1])"],
)
def test_a_decoder_with_layers_is_one_call(equation: str) -> None:
    """The last word goes through no layers: what they make of it is not read."""
    graph, loaded = compile_text("import nn\n" + LAYERS.format(equation), 2)
    assert isinstance(loaded.program.tree, prog.Block)
    r = np.random.default_rng(0)
    inputs = {"e": r.standard_normal((7, 4)).astype(np.float32)}
    params = {"w": r.standard_normal((2, 4, 4)).astype(np.float32)}
    truth = evaluate(graph, {"T": 9}, inputs, params)["tok"]
    assert len({*truth.tolist()}) > 2
    for steps in (1, 9):
        given = Given(bounds={"T": steps}, inputs=as_sources(inputs), params=as_sources(params))
        result = run_given(loaded, given, Settings())
        np.testing.assert_array_equal(result.outputs["tok"], truth[:steps])


@pytest.mark.parametrize("dtype", ["f32", "bf16", "bool", "u32"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_an_array_grows(dtype: str, axis: int) -> None:
    """What it held stays, zeros follow, and a kernel may update the result in place."""
    before = np.arange(60).reshape(3, 4, 5) % 2 + 1
    short = backend.put(before, dtype)
    long = backend.lengthened(short, axis, 9)
    assert backend.is_donated(short)
    place = long.unsafe_buffer_pointer()
    update = backend.compile_kernel(lambda at, x: x | x if x.dtype == bool else x + x, UPDATING)
    # Read afterwards: JAX 0.11 updates no bf16 array in place that the host has read.
    updated = update(0, long)
    assert updated.unsafe_buffer_pointer() == place
    values = np.array(backend.host(updated)).astype(int)
    old, new = np.split(values, [before.shape[axis]], axis)
    np.testing.assert_array_equal(old, before.astype(bool) if dtype == "bool" else 2 * before)
    assert not new.any()


def test_zeros_are_compiled_when_many_are_made() -> None:
    told: list[float] = []
    add = jax.jit(lambda x: x + 1.0, donate_argnums=0)
    add(backend.put(np.ones((3, 11), np.float32), "f32"))
    with backend.compilations(told.append):
        for _ in range(8):
            found = backend.zeros((3, 11), "f32", RUN_TUNING, passed=False)
            np.testing.assert_array_equal(found, np.zeros((3, 11), np.float32))
            where = found.unsafe_buffer_pointer()
            assert add(found).unsafe_buffer_pointer() == where  # it may be updated in place
        assert not told
        large = backend.zeros((2500, 2100), "f32", RUN_TUNING, passed=False)
        np.testing.assert_array_equal(large, np.zeros((2500, 2100)))
        assert told
