"""Runs in which stores live with the host: the same outputs, and bytes as they were foretold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given as drawn, note, settings

from tempoc.offload.rewrite import FAR, NEAR
from tempoc.program.analysis.traversal import calls
from tempoc.program.nodes.tuning import UNTUNED
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.device import backend
from tempoc.runtime.device.backend import OnHost
from tempoc.runtime.load.load import LoadedProgram
from tempoc.runtime.run import Settings, run_given
from tempoc.symbolic.expr import Sym, compare
from tests.support.agreement import free_bounds
from tests.support.checkpoints import held_everywhere, short_calls
from tests.support.generators.mixes import endings, mixes
from tests.support.generators.programs import Program as Generated
from tests.support.generators.settings import generated
from tests.support.offloading import all_away, loaded, run_alike
from tests.support.session.long import in_turns

DEEP = """
dim k < K
dim l < L
input x[k]: f32[4, 8]
input W0[l]: f32[8, 8]
W[0, l] = W0
W[k+1, l] = W - 0.1 * grad(loss[k], W)
h[k, 0] = tanh(x[k] @ W[k, 0])
h[k, l] = tanh(h[k, l-1] @ W[k, l])
loss[k] = mean(h[k, L-1] * h[k, L-1])
output loss, W[K-1, 0:L] as trained
"""
ROWS = """
dim t < T
dim b < B
input x[b]: f32[3]
o[0, b] = x[b]
o[t+1, b] = p[t, b]
p[t, b] = tanh(o[t, b])
g[T-1, b] = p[T-1, b]
g[t, b] = tanh(g[t+1, b] * o[t, b])
output g[0, 0:B] as g
"""
RING = """
dim t < T
input x[t]: f32[8]
h[0] = x[0]
h[1] = x[1]
h[t] = tanh(h[t-1] + h[t-2]) when t >= 2
y = mean(h[max(0, t-2):t+1], axis = 0)
output h[T-1] as last, y
assume T >= 2
"""
NESTED = """
dim i < I
dim t < T
input x[i, t]: f32[4]
s[0, 0] = x[0, 0]
s[i, t+1] = tanh(s[i, t] + x[i, t]) * random.uniform([])
s[i+1, 0] = s[i, T-1] - mean(x[i, 0:T], axis = 0)
total = sum(s[i, T-1], axis = 0)
print total[i]
output s[I-1, T-1] as last
"""
PARAMS = """
dim t < T
dim l < L
input x[t]: f32[4]
param w[l]: f32[4, 4]
param b: f32[4] = ones([4]) * 0.5
h[t, 0] = x[t]
h[t, l+1] = tanh(w[l] @ h[t, l] + b)
output h[0:T, L-1] as y, w
"""
UNTIL = """
dim t < T until stop
input x: f32[8]
h[0] = x
h[t+1] = tanh(h[t]) * 0.9
stop = max(abs(h)) < 0.4
output h
"""


HOW = [{}, {"regions": False, "apart": True}, {"level": 0, "apart": True}]


@pytest.mark.parametrize(
    ("text", "how"), in_turns((RING, NESTED, UNTIL, DEEP), (HOW[1], HOW[0], HOW[2]), "all loops")
)
def test_same_outputs_wherever_stores_live(text: str, how: dict[str, object]) -> None:
    free = free_bounds(text)
    sizes = ((4, 3),) if how.get("level") == 0 else ((2, 2), (5, 3))  # many kernels
    run_alike(text, *(dict(zip(free, s, strict=False)) for s in sizes), **how)


def test_rows_that_a_step_replaces_are_not_loaded() -> None:
    how = {"regions": False, "apart": True, "bucket": 0, "walk": True}
    step = next(c for c in calls(loaded(ROWS, **how)[1].program.tree) if len(c.results) == 2)
    assert [cell.store for cell in step.args] == ["o"]
    assert [cell.when for cell in step.results] == [None, compare("<", Sym("t") + 1, Sym("T"))]
    run_alike(ROWS, {"T": 1, "B": 2}, {"T": 5, "B": 1}, **how)


@pytest.mark.parametrize("given", [("w",), ("w", "b")])
def test_params_live_with_the_host(given: tuple[str, ...]) -> None:
    random = np.random.default_rng(0)
    params = {
        "w": random.normal(size=(3, 4, 4)).astype(np.float32),
        "b": random.normal(size=4).astype(np.float32),
    }
    some = {name: params[name] for name in given}
    run_alike(PARAMS, {"T": 3, "L": 3}, params=some, regions=False, apart=True)


def test_pinned_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory that devices have for this; a CPU has it, too."""
    import jax

    pinned = backend._pinned_of(jax.devices()[0])
    assert pinned is not None
    monkeypatch.setattr(backend, "_pinned", lambda: pinned)
    (copy,) = backend.to_hosts([backend.put(np.arange(4, dtype=np.float32), "f32")])
    assert copy.array.sharding.memory_kind == "pinned_host"
    (back,) = backend.to_devices([copy], UNTUNED)
    assert back.sharding.memory_kind == "device"
    np.testing.assert_array_equal(backend.host(back), backend.host(copy))
    run_alike(DEEP, {"K": 3, "L": 2}, regions=False, apart=True, reaches=(NEAR,))


def test_what_is_with_the_host_is_no_argument() -> None:
    """A copy that nobody has loaded is refused by every kernel, not quietly brought over."""
    kernel = backend.compile_kernel(lambda at, x: (x + 1,), backend.JitOptions())
    with pytest.raises(TypeError):
        kernel(np.zeros(1, np.int32), OnHost(np.zeros(3, np.float32)))


def test_a_copy_is_another_array() -> None:
    """Kernels that write in place must not write into what the host keeps."""
    copy = backend.put_on_host(np.zeros(64, np.float32), "f32")
    kernel = backend.compile_kernel(lambda at, x: (x + 1,), backend.JitOptions(donated=(0,)))
    (found,) = kernel(np.zeros(1, np.int32), *backend.to_devices([copy], UNTUNED))
    assert backend.host(found).max() == 1
    assert backend.host(copy).max() == 0
    (later,) = backend.to_hosts([found])
    kernel(np.zeros(1, np.int32), found)
    assert backend.host(later).max() == 1


def test_what_the_user_gave_is_neither_copied_nor_given_out() -> None:
    """An output that is an input is another array than the user's."""
    _, plain = loaded("dim t < T\ninput x[t]: f32[4]\ny[t] = x + 1.0\noutput x, y\n")
    moving = LoadedProgram(program=all_away(plain.program, NEAR), functions=plain.functions)
    assert moving.program.stores[0].away
    x = np.ones((3, 4), np.float32)
    given = Given(bounds={}, inputs=as_sources({"x": x}), params={})
    found = run_given(moving, given, Settings()).outputs
    np.testing.assert_array_equal(found["x"], x)
    assert not np.may_share_memory(found["x"], x)
    assert np.may_share_memory(backend.put_on_host(x, "f32", as_it_is=True).array, x)
    assert not np.may_share_memory(backend.put_on_host(x, "f32").array, x)


@pytest.mark.parametrize("reach", [NEAR, FAR])
def test_held_and_gone_on_with(reach: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint has what is with the host, and knows what was there."""
    short_calls(monkeypatch)
    _, plain = loaded(DEEP, regions=False, apart=True)
    moving = LoadedProgram(program=all_away(plain.program, reach), functions=plain.functions)
    random = np.random.default_rng(0)
    given = Given(
        bounds={"K": 3, "L": 3},
        inputs=as_sources(
            {
                "x": random.normal(size=(3, 4, 8)).astype(np.float32),
                "W0": random.normal(size=(3, 8, 8)).astype(np.float32),
            }
        ),
        params={},
    )
    count = held_everywhere(moving, given, tmp_path, monkeypatch, account=True, most=8)
    assert count > 8
    np.testing.assert_array_equal(
        run_given(moving, given, Settings()).outputs["loss"],
        run_given(plain, given, Settings()).outputs["loss"],
    )


@drawn(program=mixes())
@generated(1, long=2)
def test_generated_programs(program: Generated) -> None:
    _check(program)


@drawn(program=endings())
@settings(
    max_examples=1,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_generated_programs_that_end(program: Generated) -> None:
    _check(program)


def _check(program: Generated) -> None:
    note(program.text)
    free = free_bounds(program.text)
    sizes = [dict(zip(free, s, strict=False)) for s in ((1, 1, 1), (4, 3, 2))]
    run_alike(program.text, *sizes, regions=False, apart=True, bucket=0)
