"""Arrays that are wanted together are brought over together."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tempoc.program.nodes.tuning import UNTUNED, RunTuning
from tempoc.runtime.device import backend
from tempoc.runtime.device.accounting import Ledger
from tempoc.runtime.device.stores import Layout
from tempoc.runtime.device.transfers import Transfers

UPDATING = backend.JitOptions(donated=(0,))


@pytest.mark.parametrize(("device", "started"), [("cpu", 0), ("gpu", 2)])
def test_copies_are_under_way_at_once(device, started, monkeypatch):
    events = []
    kind = type(jnp.zeros(1))
    copy, whole = kind.copy_to_host_async, backend.host
    monkeypatch.setattr(jax, "default_backend", lambda: device)
    monkeypatch.setattr(
        kind, "copy_to_host_async", lambda array: (events.append("start"), copy(array))
    )
    monkeypatch.setattr(backend, "host", lambda array: (events.append("wait"), whole(array))[1])
    given = [jnp.arange(3), backend.OnHost(np.arange(4)), jnp.ones((2, 2))]
    found = backend.hosts(given)
    assert events == ["start"] * started + ["wait"] * 3
    for array, value in zip(found, (np.arange(3), np.arange(4), np.ones((2, 2))), strict=True):
        np.testing.assert_array_equal(array, value)


class Recorder:
    """A device that notes what it is asked for; arrays are texts, copies with the host lists."""

    def __init__(self) -> None:
        self.asked: list[object] = []

    def to_hosts(self, arrays):
        self.asked.append(("out", *arrays))
        return [[array] for array in arrays]

    def to_devices(self, copies, tuning):
        self.asked.append(("in", *(c for (c,) in copies)))
        return [c for (c,) in copies]

    def wait(self, copies):
        self.asked += [("wait", *(c for (c,) in copies))] if copies else []

    def is_on_host(self, array):
        return isinstance(array, list)


def test_the_cells_of_an_instruction_are_one_transfer():
    """Evictions wait for those of the instruction before; what is still valid there is not sent."""
    stores = tuple(
        Layout(
            name=n, dtype="f32", keys=("t",), moduli=(0,), axes=(), rings=(), every=(), shape=(4,)
        )
        for n in "ab"
    )
    device = Recorder()
    moving = Transfers(stores, {"b"}, Ledger(stores, []), device, lambda store: "zeros", UNTUNED)
    cells = {(0, 1): "a1", (0, 2): "a2", (1, 2): None}
    gone = moving.evicted(cells)
    assert gone == {(0, 1): ["a1"], (0, 2): ["a2"]}
    assert moving.loaded({**cells, **gone}) == {(0, 1): "a1", (0, 2): "a2", (1, 2): "zeros"}
    moving.stale(0, 2)
    assert moving.evicted({(0, 1): "a1", (0, 2): "new", (1, 2): "zeros"}).keys() == cells.keys()
    assert device.asked == [
        ("out", "a1", "a2"),
        ("in", "a1", "a2"),
        ("wait", "a1", "a2"),
        ("out", "new", "zeros"),
    ]


def test_coordinates_stay_on_the_device():
    """Those of a regular loop are put there a few times at first, whatever the number of steps."""
    kernel = backend.stepped_kernel(lambda at, x: (x + at[0] * 100 + at[1],), UPDATING)
    puts = []
    kernel.put = lambda point: (puts.append(point), backend.constant(point))[1]
    points = [(t, k) for t in range(7, 2, -2) for k in range(20)] + [(5, 5), (0, 1)]
    for point in points:
        (found,) = kernel(np.array(point, np.int32), jnp.zeros((), jnp.int32))
        assert found == 100 * point[0] + point[1]
    assert len(puts) < 16
    same = backend.stepped_kernel(lambda at, x: (x,), backend.JitOptions())
    (found,) = same(np.zeros(0, np.int32), jnp.ones(()))
    assert found == 1
    with pytest.raises(TypeError):
        kernel(np.array((0, 2), np.int32), None)
    (found,) = kernel(np.array((0, 3), np.int32), jnp.zeros((), jnp.int32))
    assert found == 3
    (found,) = kernel(backend.constant((1, 2)), jnp.zeros((), jnp.int32))
    assert found == 102


def test_a_kernel_of_points_with_fewer_and_more_coordinates():
    """Kernels of one text are one kernel (`runtime/load`): some may have more coordinates."""
    kernel = backend.stepped_kernel(lambda at, x: (x + at.sum(),), UPDATING)
    for point in [(3,), (4,), (5,), (5, 1), (5, 2), (7,), (5, 3)]:
        (sum_,) = kernel(np.array(point, np.int32), jnp.zeros((), jnp.int32))
        assert sum_ == sum(point)


@pytest.mark.parametrize(("most", "compiled"), [(64, True), (63, False)])
def test_small_arrays_are_copied_by_a_kernel_in_the_end(most, compiled, monkeypatch):
    """What it makes is written in place, and nobody sees that in the host's copies."""
    tuning = RunTuning(loaded_arrays=7, loaded_bytes=most)
    given = [np.arange(16, dtype=np.float32), np.arange(8).astype(np.int32)]
    puts = []
    put = jax.device_put
    monkeypatch.setattr(jax, "device_put", lambda arrays: puts.append(len(arrays)) or put(arrays))
    backend._copies.cache_clear()
    add = jax.jit(lambda *arrays: [array + 1 for array in arrays], donate_argnums=(0, 1))
    for _ in range(4):
        copies = [*map(backend.OnHost, given)]
        made = add(*backend.to_devices(copies, tuning))
        for array, old in zip(made, given, strict=True):
            np.testing.assert_array_equal(array, old + 1)
            assert array.dtype == old.dtype
    np.testing.assert_array_equal(given[0], np.arange(16))
    assert puts == [2] * (2 if compiled else 4)
