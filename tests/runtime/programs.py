"""Compiled programs written by hand, as codegen would write them."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from tempoc.program.codec import dump
from tempoc.program.nodes.bounds import Assumption, ProgramBound
from tempoc.program.nodes.buffers import Buffer, BufferAxis, Key
from tempoc.program.nodes.nodes import (
    Call,
    Cell,
    Guard,
    Kernel,
    Loop,
    OutputSpan,
    Program,
    ProgramInput,
    ProgramOutput,
    ProgramParam,
    Sequence,
)
from tests.program.hand_written import lifted, op

T_BOUND = (ProgramBound(name="T"),)
WHOLE = (OutputSpan(lower=0, upper="T"),)

FIBONACCI_KERNELS = """
import jax.numpy as jnp

def one(at):
    return jnp.float32(1),

def add(at, a, b):
    return a + b,
"""
# f[0] = 1; f[1] = 1; f[t+2] = f[t] + f[t+1]; output f[T-1]: two slots are enough.
FIBONACCI = lifted(Program(
    name="fibonacci",
    bounds=T_BOUND,
    dims=(("t", "T"),),
    stores=(Buffer(name="f", dtype="f32", keys=(Key(dim="t", modulo=2),)),),
    kernels=(Kernel(name="one"), Kernel(name="add")),
    tree=Sequence(
        items=(
            Loop(
                var="t",
                lower=0,
                upper=op("min", "T", 2),
                step=1,
                body=Call(
                    kernel="one", point=("t",), args=(), results=(Cell(store="f", key=("t",)),)
                ),
            ),
            Loop(
                var="t",
                lower=2,
                upper="T",
                step=1,
                body=Call(
                    kernel="add",
                    point=("t",),
                    args=(
                        Cell(store="f", key=(op("-", "t", 2),)),
                        Cell(store="f", key=(op("-", "t", 1),)),
                    ),
                    results=(Cell(store="f", key=("t",)),),
                ),
            ),
        )
    ),
    outputs=(
        ProgramOutput(
            name="last", store="f", dims=("t",), entries=(op("-", "T", 1),), dtype="f32", shape=()
        ),
    ),
))  # fmt: skip

RNN_KERNELS = """
import jax.numpy as jnp
from jax import lax

def zero(at):
    return jnp.zeros((3,), jnp.float32),

def step(at, h, y, x, w):
    t = at[0]
    h = jnp.tanh(w @ h + lax.dynamic_index_in_dim(x, t, 0, keepdims=False))
    return h, lax.dynamic_update_slice(y, h[None], (t, 0))
"""
# h[-1] = 0; h[t] = tanh(W @ h[t-1] + x[t]); output h: a register and a block.
RNN = lifted(Program(
    name="rnn",
    bounds=T_BOUND,
    dims=(("t", "T"),),
    assumptions=(Assumption(text="T <= 100", condition=op("<=", "T", 100), where="rnn.rt:2"),),
    inputs=(ProgramInput(name="x", store="x", dims=("t",), dtype="f32", shape=(3,)),),
    params=(
        ProgramParam(name="W", store="W", dims=(), dtype="f32", shape=(3, 3), template="net.W"),
    ),
    stores=(
        Buffer(name="x", dtype="f32", axes=(BufferAxis(dim="t", size="T"),), shape=(3,)),
        Buffer(name="W", dtype="f32", shape=(3, 3)),
        Buffer(name="h.now", dtype="f32", shape=(3,)),
        Buffer(name="h", dtype="f32", axes=(BufferAxis(dim="t", size="T"),), shape=(3,)),
    ),
    kernels=(Kernel(name="zero"), Kernel(name="step", donated=(0, 1), equations=("h[t] = ...",))),
    tree=Sequence(
        items=(
            Call(kernel="zero", point=(), args=(), results=(Cell(store="h.now"),)),
            Loop(
                var="t",
                lower=0,
                upper="T",
                step=1,
                body=Call(
                    kernel="step",
                    point=("t",),
                    args=(
                        Cell(store="h.now"), Cell(store="h"), Cell(store="x"), Cell(store="W"),
                    ),
                    results=(Cell(store="h.now"), Cell(store="h")),
                ),
            ),
        )
    ),
    outputs=(
        ProgramOutput(name="h", store="h", dims=("t",), entries=WHOLE, dtype="f32", shape=(3,)),
        ProgramOutput(
            name="end", store="h.now", dims=(), entries=(), dtype="f32", shape=(2,)
        ),
    ),
))  # fmt: skip

SCAN_KERNELS = """
import jax.numpy as jnp
from jax import lax

def scan(at, y, x, w):
    def step(h, x):
        h = jnp.tanh(w @ h + x)
        return h, h
    return lax.scan(step, jnp.zeros((3,), jnp.float32), x)
"""
# The same as a single kernel.
SCAN = replace(
    RNN,
    kernels=(Kernel(name="scan", donated=(0,), equations=("h[t] = ...",)),),
    tree=Call(
        kernel="scan",
        point=(),
        args=(Cell(store="h"), Cell(store="x"), Cell(store="W")),
        results=(Cell(store="h.now"), Cell(store="h")),
    ),
)

SUMS_KERNELS = """
import jax.numpy as jnp
from jax import lax

def sums(at, y, x, *, T):
    t = at[1]
    row = jnp.where(jnp.arange(T) <= t, x, 0).sum()
    return lax.dynamic_update_slice(y, row[None], (t,)), jnp.int32(row > 50)
"""
# y[b, t] = sum(x[b, 0:t+1]), one array for each b; a check that the sum is at most 50.
SUMS = lifted(Program(
    name="sums",
    bounds=(*T_BOUND, ProgramBound(name="B"), ProgramBound(name="N", value=op("*", 2, "T"))),
    dims=(("b", "B"), ("t", "T")),
    inputs=(ProgramInput(name="x", store="x", dims=("b", "t"), dtype="i32", shape=()),),
    stores=(
        Buffer(
            name="x", dtype="i32", keys=(Key(dim="b"),), axes=(BufferAxis(dim="t", size="T"),)
        ),
        Buffer(
            name="y", dtype="i32", keys=(Key(dim="b"),), axes=(BufferAxis(dim="t", size="T"),)
        ),
    ),
    kernels=(
        Kernel(
            name="sums", dims=("b", "t"), bounds=("T",), donated=(0,), equations=("y[b, t] = ...",),
            checks=("the sum is larger than 50",),
        ),
    ),
    tree=Loop(
        var="b",
        lower=0,
        upper="B",
        step=1,
        body=Loop(
            var="t",
            lower=0,
            upper="T",
            step=1,
            body=Guard(
                condition=op("<=", "b", "B"),
                body=Call(
                    kernel="sums",
                    point=("b", "t"),
                    args=(Cell(store="y", key=("b",)), Cell(store="x", key=("b",))),
                    results=(Cell(store="y", key=("b",)),),
                ),
            ),
        ),
    ),
    outputs=(
        ProgramOutput(
            name="y", store="y", dims=("b", "t"),
            entries=(OutputSpan(lower=0, upper="B"), OutputSpan(lower=0, upper="T", step=2)),
            dtype="i32", shape=(),
        ),
        ProgramOutput(
            name="z", store="y", dims=("b", "t"),
            entries=(op("-", "B", 1), OutputSpan(lower=1, upper="T")), dtype="i32", shape=(),
        ),
    ),
))  # fmt: skip


def write(directory: Path, program: Program, kernels: str) -> Path:
    """The directory of a compiled program."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "kernels.py").write_text(kernels, encoding="utf-8")
    digest = hashlib.sha256(kernels.encode()).hexdigest()
    program = replace(program, files=(("kernels.py", digest),))
    (directory / "program.json").write_text(dump(program), encoding="utf-8")
    return directory
