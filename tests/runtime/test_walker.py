from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import RunError
from tempoc.program.nodes.bounds import ProgramBound
from tempoc.program.nodes.buffers import Buffer, BufferAxis, Key
from tempoc.program.nodes.nodes import (
    Call,
    Cell,
    Free,
    Kernel,
    Loop,
    OutputSpan,
    Program,
    ProgramInput,
    ProgramOutput,
    ProgramParam,
    Sequence,
)
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.execution.machine import Machine
from tempoc.runtime.execution.specialize import prepare
from tempoc.runtime.host.effects import EffectSink
from tempoc.runtime.load.load import load
from tempoc.runtime.report.progress import bar, count_calls
from tempoc.runtime.run import Settings, run, run_given
from tempoc.runtime.walk.assemble import RunHooks
from tests.program.hand_written import lifted, op
from tests.runtime.programs import (
    FIBONACCI,
    FIBONACCI_KERNELS,
    RNN,
    RNN_KERNELS,
    SUMS,
    SUMS_KERNELS,
    write,
)


def called(tmp_path, program, kernels, bounds, given=(), **hooks):
    """The nodes of the calls in a program's code, in order."""
    loaded = load(write(tmp_path, program, kernels))
    code = prepare(loaded, bounds).code(frozenset(given), RunHooks(**hooks))
    return [call.kernel for _, call in sorted(code.calls.items())]


def test_the_calls_of_the_rnn_are_what_one_would_write(tmp_path):
    assert called(tmp_path, RNN, RNN_KERNELS, {"T": 9}, ("x", "W")) == ["zero", "step"]


def test_slots_that_are_used_in_turn(tmp_path):
    loaded = load(write(tmp_path, FIBONACCI, FIBONACCI_KERNELS))
    result = run_given(loaded, Given(bounds={"T": 9}, inputs={}, params={}), Settings(account=True))
    assert result.outputs["last"] == 34
    assert result.peak_bytes == 8  # two numbers, whatever T is


def test_checks_and_counts(tmp_path):
    loaded = load(write(tmp_path, SUMS, SUMS_KERNELS))
    counts = []

    @contextmanager
    def watch(program, bounds, done):
        yield
        counts.append(done[0])

    given = Given(bounds={}, inputs=as_sources({"x": np.ones((2, 18), np.int32)}), params={})
    run_given(loaded, given, Settings(watch=watch))
    assert counts == [36]


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
CONDITIONS = lifted(Program(
    name="conditions",
    bounds=(ProgramBound(name="T"),),
    dims=(("t", "T"),),
    params=(
        ProgramParam(
            name="w", store="w", dims=(), dtype="f32", shape=(4,), template="w", has_default=True
        ),
    ),
    stores=(
        Buffer(name="w", dtype="f32", shape=(4,)),
        Buffer(name="h", dtype="f32", keys=(Key(dim="t"),), shape=(4,)),
        Buffer(name="y", dtype="f32", keys=(Key(dim="t", modulo=1),), shape=(4,)),
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
))  # fmt: skip


class Wrong(Exception):
    """What a kernel raises here."""


@pytest.mark.parametrize("calls", [1, 2])
def test_a_loop_that_fails_is_at_the_call_and_the_step(tmp_path, calls):
    loop = FIBONACCI.tree.items[1]
    body = Sequence(items=(loop.body, replace(loop.body, kernel="again"))[:calls])
    program = replace(
        FIBONACCI,
        kernels=(*FIBONACCI.kernels, Kernel(name="again")),
        tree=Sequence(items=(FIBONACCI.tree.items[0], replace(loop, body=body))),
    )
    loaded = load(write(tmp_path, program, FIBONACCI_KERNELS + "\nagain = add\n"))
    prepared = prepare(loaded, {"T": 9})

    def add(at, a, b):
        return (a + b,)

    def fails_at_five(at, a, b):
        if at[0] == 5:
            raise Wrong
        return (a + b,)

    kernels = [lambda at: (1,), add if calls == 2 else fails_at_five, fails_at_five]
    code = prepared.assemble(frozenset(), RunHooks(), kernels)
    machine = Machine(prepared, code, {}, EffectSink())
    with pytest.raises(RunError, match=r"the kernel (add|again) failed: Wrong") as error:
        machine.run()
    assert isinstance(error.value.__cause__, Wrong)
    assert code.calls[machine.position].kernel == ("add", "again")[calls - 1]
    assert machine.variables["t"] == 5


@pytest.mark.parametrize("suspend", [False, True])
def test_a_loop_of_calls_is_one_instruction(tmp_path, suspend):
    loaded = load(write(tmp_path, FIBONACCI, FIBONACCI_KERNELS))
    prepared, executed = prepare(loaded, {"T": 50}), []

    def counted(instruction):
        def count(frame):
            executed.append(instruction)
            return instruction(frame)

        return count

    code = prepared.code(frozenset(), RunHooks(suspend=suspend))
    code = replace(code, instructions=tuple(map(counted, code.instructions)))
    machine = Machine(prepared, code, {}, EffectSink())
    machine.run()
    # Where a run may be suspended at each step, the steps are instructions of their own.
    assert len(executed) == (2 if not suspend else 156)


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
    assert called(tmp_path / "again", CONDITIONS, KERNELS, {"T": 1}, ("w",)) == ["step"]


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
    program = lifted(Program(
        name="ring",
        bounds=(ProgramBound(name="T"),),
        dims=(("t", "T"),),
        inputs=(ProgramInput(name="x", store="x", dims=("t",), dtype="f32", shape=()),),
        stores=(
            Buffer(name="x", dtype="f32", axes=(BufferAxis(dim="t", size="T"),)),
            Buffer(name="y", dtype="f32", axes=(BufferAxis(dim="t", size=3, ring=True),)),
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
    ))  # fmt: skip
    out = write(tmp_path, program, kernels)
    assert run(out, inputs={"x": np.arange(8, dtype="f4")}).outputs["y"].tolist() == [5, 6, 7]


def test_progress():
    assert count_calls(SUMS.tree, {"B": 3, "T": 4, "N": 8}) == 12
    triangle = lifted(
        Loop(var="b", lower=0, upper="B", step=1, body=replace(SUMS.tree.body, upper="b"))
    )
    assert count_calls(triangle, {"B": 4}) == 6
    assert bar(5, 10, 3.0).startswith("[###############...............]  50%  3 s  3 s left")
