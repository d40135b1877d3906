"""The text of kernels: readable, deterministic, updating stores in place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from tempoc.codegen.stores.array_sizes import DynamicSize
from tempoc.symbolic import expr as ix
from tests.codegen import programs

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("FIBONACCI", "RNN_REGISTER", "RNN_BLOCK", "CAUSAL", "WINDOWED", "RING", "RETURNS", "LCS")


@pytest.mark.parametrize("name", NAMES)
def test_kernels_read_well(name, golden):
    golden(f"codegen/{name.lower()}.py", getattr(programs, name).emit().kernels)


@pytest.mark.long("of three examples, `whole/test_determinism.py` says so as well")
def test_text_does_not_depend_on_hash_seeds():
    script = (
        "from tests.codegen import programs\n"
        "from tempoc.program.codec import dump\n"
        f"for name in {NAMES!r}:\n"
        "    emitted = getattr(programs, name).emit()\n"
        "    print(emitted.kernels, dump(emitted.program))\n"
    )
    texts = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    ]
    assert texts[0] == texts[1]
    assert b"def a(at" in texts[0]


def compiled(case, kernel, bounds, shapes):
    """A kernel compiled as the runner does, for arguments of these shapes."""
    emitted = case.emit()
    scope: dict[str, object] = {}
    exec(emitted.kernels, scope)
    described = next(k for k in emitted.program.kernels if k.name == kernel)
    static = {b: bounds[b] for b in described.bounds}
    function = jax.jit(
        lambda *args: scope[kernel](*args, **static),
        donate_argnums=tuple(i + 1 for i in described.donated),
    )
    point = jax.ShapeDtypeStruct((len(described.dims),), np.int32)
    arrays = [jax.ShapeDtypeStruct(s, np.float32) for s in shapes]
    return function.lower(point, *arrays).compile().memory_analysis()


T, W = 4096, 16
STORE = T * 4 * 4


@pytest.mark.parametrize("name", ["WINDOWED", "RNN_BLOCK"])
def test_stores_are_updated_in_place(name):
    if name == "RNN_BLOCK":
        shapes = [(T, 8), (8, 8), (T, 8)]
        memory = compiled(programs.RNN_BLOCK, "h_1", {"T": T}, shapes)
        stores = 2 * STORE
    else:
        memory = compiled(programs.WINDOWED, "a", {"T": T, "W": W}, [(T, 4)] * 3)
        stores = 2 * STORE
    assert memory.alias_size_in_bytes == stores
    assert memory.temp_size_in_bytes < STORE / 8


def test_a_whole_store_read_after_its_update_is_not_copied():
    memory = compiled(programs.CAUSAL, "a", {"T": T, "W": W}, [(T, 4)] * 3)
    assert memory.alias_size_in_bytes == 2 * STORE
    # Masking may materialize the values once, but nothing copies a store beside that.
    assert memory.temp_size_in_bytes <= 2 * STORE


def test_multiples_of_rows_have_multiples_of_the_room() -> None:
    t, room = ix.Sym("t"), ix.Sym("T_room")
    rows = ix.add(t, ix.ONE)
    size = DynamicSize(name="T_room", dim="t", size=ix.Sym("T"), least=(rows,))
    three = ix.Const(3)
    assert size.pad(rows) == room
    assert size.pad(ix.mul(three, rows)) == ix.mul(three, room)
    assert size.pad(ix.mul(three, t)) == ix.sub(ix.mul(three, room), three)
    assert size.pad(ix.add(ix.mul(three, t), ix.Const(4))) is None
    assert size.pad(ix.Sym("u")) is None
