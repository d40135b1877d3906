from __future__ import annotations

import builtins
from dataclasses import replace

import numpy as np

from tempoc.program.nodes.bounds import ProgramBound
from tempoc.program.nodes.nodes import (
    Axis,
    Call,
    Cell,
    Free,
    Kernel,
    Key,
    Loop,
    OutputSpan,
    Program,
    ProgramInput,
    ProgramOutput,
    ProgramParam,
    Sequence,
    Store,
)  # fmt: skip
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.device.stores import layout
from tempoc.runtime.execution.specialize import prepare
from tempoc.runtime.load.load import load
from tempoc.runtime.report.progress import bar, count_calls
from tempoc.runtime.run import Settings, run, run_given
from tempoc.runtime.walk.walk import WalkOptions
from tempoc.runtime.walk.write_walk import write_walk
from tests.runtime.programs import FIBONACCI, RNN, RNN_KERNELS, SUMS, op, write


def walk(program, bounds, given=frozenset(), wishes=None):
    layouts = {s.name: layout(s, bounds) for s in program.stores}
    return write_walk(program, layouts, bounds, given, wishes or WalkOptions())


def test_the_walk_of_the_rnn_is_what_one_would_write():
    found = walk(RNN, {"T": 9}, frozenset({"x", "W"}))
    assert found.text == (
        "def walk():\n"
        "    s0 = given0\n"
        "    s1 = given1\n"
        "    s2, = k0(())\n"
        "    s3 = zeros3()\n"
        "    for v_t in range(0, 9, 1):\n"
        "        s2, s3, = k1(array((v_t,), i32), s2, s3, s0, s1)\n"
        "    return {3: s3, 2: s2}\n"
    )
    assert found.calls[7].kernel == "step"


def test_slots_that_are_used_in_turn():
    text = walk(FIBONACCI, {"T": 9}).text
    assert "s0[(v_t) % 2], = k1(array((v_t,), i32), s0[(v_t - 2) % 2], s0[(v_t - 1) % 2])" in text


def test_checks_and_counts():
    text = walk(SUMS, {"T": 9, "B": 2, "N": 18}, frozenset({"x"}), WalkOptions(count=True)).text
    assert "s1[v_b], fault, = k0(" in text
    assert "faults.append((0, array((v_b, v_t,), i32), fault))" in text
    assert "done[0] += 1" in text


KERNELS = """
import jax.numpy as jnp

def start(at):
    return jnp.float32(5),

def step(at, h, w):
    return h + w, h

def weights(at):
    return jnp.full((4,), 2, jnp.float32),
"""
# h is carried; the old h is kept as y, but only at even steps; w is a param with a default.
CONDITIONS = Program(
    name="conditions",
    bounds=(ProgramBound(name="T"),),
    dims=(("t", "T"),),
    params=(
        ProgramParam(
            name="w", store="w", dims=(), dtype="f32", shape=(4,), template="w", has_default=True
        ),
    ),
    stores=(
        Store(name="w", dtype="f32", shape=(4,)),
        Store(name="h", dtype="f32", keys=(Key(dim="t"),), shape=(4,)),
        Store(name="y", dtype="f32", keys=(Key(dim="t", modulo=1),), shape=(4,)),
    ),
    kernels=(Kernel(name="weights"), Kernel(name="step", donated=(0,))),
    tree=Sequence(
        items=(
            Call(kernel="weights", point=(), args=(), results=(Cell(store="w"),)),
            Loop(
                var="t",
                lower=0,
                upper="T",
                step=1,
                body=Sequence(
                    items=(
                        Call(
                            kernel="step",
                            point=("t",),
                            args=(
                                Cell(store="h", key=(op("-", "t", 1),), when=op(">=", "t", 1)),
                                Cell(store="w"),
                            ),
                            results=(
                                Cell(store="h", key=("t",)),
                                Cell(store="y", key=("t",), when=op("==", op("%", "t", 2), 0)),
                            ),
                        ),
                        Free(
                            cells=(
                                Cell(store="h", key=(op("-", "t", 1),), when=op(">=", "t", 1)),
                            )
                        ),
                    )
                ),
            ),
            Free(cells=(Cell(store="y", key=(0,), when=op("<", "T", 0)),)),
        )
    ),
    outputs=(
        ProgramOutput(
            name="y", store="y", dims=("t",), entries=(op("-", "T", 1),), dtype="f32", shape=(4,)
        ),
        ProgramOutput(
            name="h", store="h", dims=("t",),
            entries=(OutputSpan(lower=op("-", "T", 1), upper="T"),), dtype="f32", shape=(3,),
        ),
    ),
)  # fmt: skip


def test_cells_under_conditions(tmp_path):
    out = write(tmp_path, CONDITIONS, KERNELS)
    found = run(out, {"T": 4}).outputs
    # Zeros stand for h[-1]; y keeps h[1] from step 2, for the result of step 3 is dropped.
    assert found["h"].tolist() == [[8, 8, 8]]
    assert found["y"].tolist() == [4, 4, 4, 4]


def test_params_given_are_not_computed(tmp_path):
    out = write(tmp_path, CONDITIONS, KERNELS)
    found = run(out, {"T": 1}, params={"w": np.full(4, 7, np.float16)}).outputs
    assert found["h"].tolist() == [[7, 7, 7]]
    text = walk(CONDITIONS, {"T": 1}, frozenset({"w"})).text
    assert "k0" not in text


def test_accounting_sees_frees(tmp_path):
    loaded = load(write(tmp_path, CONDITIONS, KERNELS))
    given = Given(bounds={"T": 50}, inputs={}, params={})
    result = run_given(loaded, given, Settings(account=True))
    # w, y and one h at 16 bytes each, however long it runs: the old h is given away.
    assert result.peak_bytes == 48


def test_ring_outputs(tmp_path):
    kernels = """
from jax import lax
def put(at, y, x):
    return lax.dynamic_update_slice(y, x[at[0]][None], (at[0] % 3,)),
"""
    program = Program(
        name="ring",
        bounds=(ProgramBound(name="T"),),
        dims=(("t", "T"),),
        inputs=(ProgramInput(name="x", store="x", dims=("t",), dtype="f32", shape=()),),
        stores=(
            Store(name="x", dtype="f32", axes=(Axis(dim="t", size="T"),)),
            Store(name="y", dtype="f32", axes=(Axis(dim="t", size=3, ring=True),)),
        ),
        kernels=(Kernel(name="put", donated=(0,)),),
        tree=Loop(
            var="t", lower=0, upper="T", step=1,
            body=Call(
                kernel="put", point=("t",), args=(Cell(store="y"), Cell(store="x")),
                results=(Cell(store="y"),),
            ),
        ),
        outputs=(
            ProgramOutput(
                name="y", store="y", dims=("t",),
                entries=(OutputSpan(lower=op("-", "T", 3), upper="T"),), dtype="f32", shape=(),
            ),
        ),
    )  # fmt: skip
    out = write(tmp_path, program, kernels)
    assert run(out, inputs={"x": np.arange(8, dtype="f4")}).outputs["y"].tolist() == [5, 6, 7]


def test_progress():
    assert count_calls(SUMS.tree, {"B": 3, "T": 4, "N": 8}) == 12
    triangle = Loop(var="b", lower=0, upper="B", step=1, body=replace(SUMS.tree.body, upper="b"))
    assert count_calls(triangle, {"B": 4}) == 6
    assert bar(5, 10, 3.0).startswith("[###############...............]  50%  3 s  3 s left")


def test_libraries_in_c_find_the_builtins(tmp_path):
    """They import with those of the walk that called them, whatever names it uses itself."""
    prepared = prepare(load(write(tmp_path, RNN, RNN_KERNELS)), {"T": 9})
    found = prepared.names(prepared.walk(frozenset({"x", "W"}), WalkOptions()))
    assert found["__builtins__"] is builtins
