"""Declarations of buffers: what is computed from them."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from tempoc.codegen.stores.kernel_buffer import kernel_buffer
from tempoc.memory.text import cell_bytes, kind, slots_text
from tempoc.ops.definition.types import DType
from tempoc.program.nodes.buffers import Buffer, BufferAxis, Key
from tempoc.runtime.device.stores import layout
from tempoc.symbolic.expr import ONE, Const, Sym
from tempoc.symbolic.walk import evaluate

B, T = Sym("B"), Sym("T")
BLOCK = BufferAxis(dim="t", size=T)
RING = BufferAxis(dim="t", size=Const(3), ring=True)
GROWING = BufferAxis(dim="t", size=T, least=8, behind=1)
EACH, ONLY, IN_TURN = Key(dim="b"), Key(dim="b", modulo=ONE), Key(dim="b", modulo=Const(2))
EXTENTS = {"b": B, "t": T}


@pytest.mark.parametrize(
    ("keys", "axes", "named", "slots"),
    [
        ((), (), "register", "1"),
        ((ONLY,), (), "register", "1"),
        ((EACH,), (), "points", "b: B"),
        ((IN_TURN,), (), "ring", "b: 2 in turn"),
        ((), (RING,), "ring", "t: ring 3"),
        ((IN_TURN,), (BLOCK,), "ring", "b: 2 in turn, t: T"),
        ((EACH,), (BLOCK,), "block", "b: B, t: T"),
        ((EACH,), (GROWING,), "growing", "b: B, t: up to T"),
    ],
)
def test_keys_and_axes_tell_the_kind(keys, axes, named, slots):
    store = Buffer(name="x", dtype="f32", keys=keys, axes=axes, shape=(Const(4),))
    assert kind(store) == named
    assert slots_text(store, EXTENTS) == slots


def test_an_axis_stands_behind_spatial_ones():
    other = BufferAxis(dim="b", size=B)
    store = Buffer(name="k", dtype="f32", axes=(GROWING, other), shape=(Const(4), Const(5)))
    assert store.order == (1, 2, 0, 3)
    assert store.dims == ("t", "b")
    assert store.growing == GROWING


def test_axes_of_loops_stand_ahead():
    loop, others = BufferAxis(dim="t", size=T, ahead=True), BufferAxis(dim="b", size=B)
    store = Buffer(name="y", dtype="f32", axes=(others, loop), shape=(Const(4),))
    cells = layout(store, {"B": 2, "T": 3})
    assert (cells.order, cells.shape, cells.extents) == ((1, 0, 2), (3, 2, 4), (2, 3, 4))
    array = np.arange(24).reshape(2, 3, 4)
    np.testing.assert_array_equal(cells.arranged(array), array.transpose(1, 0, 2))
    assert slots_text(store, EXTENTS, order=True) == "b: B, t: T ahead"


@pytest.mark.parametrize("dtype", [d.value for d in DType])
def test_planner_and_runner_count_the_same_bytes(dtype):
    store = Buffer(name="x", dtype=dtype, keys=(EACH,), axes=(BLOCK,), shape=(Const(2),))
    assert evaluate(cell_bytes(store), {"T": 7}) == layout(store, {"T": 7}).nbytes()


def test_a_kernel_sees_all_that_is_declared():
    store = Buffer(name="x", dtype="i32", keys=(IN_TURN,), axes=(RING, GROWING), shape=(B,))
    seen = kernel_buffer(store)
    for field in fields(Buffer):
        if field.name not in ("axes", "away"):
            assert getattr(seen, field.name) == getattr(store, field.name), field.name
    for axis, own in zip(seen.axes, store.axes, strict=True):
        for field in fields(BufferAxis):
            assert getattr(axis, field.name) == getattr(own, field.name), field.name
