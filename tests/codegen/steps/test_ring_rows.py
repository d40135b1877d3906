"""Short rings: loops carry their rows by age where a step reads the row that it has made.

So do numbers that it stores elsewhere as well.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tempoc.codegen.stores.ring_rows import is_only_written
from tests.support.agreement import agree
from tests.whole.device.test_buckets import emitted

HEAD = """dim t < T
dim i < N
input x[i]: f32
"""
SIZE = "e[t] = sum((y[t, i] ** 2)[i = 0:N])\noutput e\n"
WAVE = "2.0 * y[t-1, i] - y[t-2, i] + 0.1 * (y[t-1, max(i-1, 0)] - y[t-1, min(i+1, N-1)])"
ROTATED = {
    "up": f"y[t, i] = x when t < 2\ny[t, i] = {WAVE}\n{SIZE}",
    "down": f"y[t, i] = x when t >= T - 2\ny[t, i] = 0.9 * y[t+1, i] - y[t+2, i]\n{SIZE}",
    "in parts": "y[t, i] = x when t < 2\ny[t, i] = y[t-2, i] when i == 0\n"
    f"y[t, i] = y[t-1, i-1] - y[t-2, i]\n{SIZE}",
    "arrays": "z[t] = x[0:N] when t < 2\nz[t] = z[t-1] - 0.5 * z[t-2]\n"
    "e[t] = sum(z[t]) * z[t][0]\noutput e\n",
}
AHEAD = "y[0, i] = x\ny[1, i] = 0.5 * x\ny[t+1, i] = 0.9 * y[t, i] - y[t-1, i] when t >= 1\n"


@pytest.mark.parametrize("name", ROTATED)
def test_rows_that_a_step_makes_and_reads_are_carried_by_age(name: str) -> None:
    text = HEAD + ROTATED[name]
    assert " = rotated(" in emitted(text, None).kernels
    agree(text, *({"T": t, "N": n} for t, n in ((2, 1), (7, 3))))


def test_rows_that_only_later_steps_read_go_to_their_slots() -> None:
    text = HEAD + AHEAD + SIZE
    assert "rotated(" not in emitted(text, None).kernels
    agree(text, {"T": 2, "N": 1}, {"T": 7, "N": 3})


DOWN = """dim t < T
input x[t]: f32
z[t] = x when t >= T - 2
z[t] = x + 0.9 * z[t+1] - 0.5 * z[t+2]
w = z + x
output w
"""
FILTERS = """dim t < T
input x[t]: f32
y[t] = x when t < 2
y[t] = x + 0.9 * y[t-1] - 0.5 * y[t-2]
z[t] = y when t < 2
z[t] = y + 0.5 * y[t-1] - y[t-2] - 0.4 * z[t-1] + 0.3 * z[t-2]
"""


@pytest.mark.parametrize("output", ("z", "z, y[T-1] as y"))
def test_numbers_that_a_step_stores_elsewhere_as_well_are_carried_by_age(output: str) -> None:
    text = f"{FILTERS}output {output}\n"
    assert " = rotated(" in emitted(text, None).kernels
    agree(text, {"T": 1}, {"T": 2}, {"T": 3}, {"T": 8})


def test_numbers_that_a_loop_down_stores_elsewhere_as_well_are_carried_by_age() -> None:
    assert " = rotated(" in emitted(DOWN, None).kernels
    agree(DOWN, {"T": 1}, {"T": 2}, {"T": 3}, {"T": 8})


def test_numbers_that_only_later_steps_read_go_to_their_slots() -> None:
    text = FILTERS.split("z[t]")[0] + "output y[T-1] as y\n"
    assert "rotated(" not in emitted(text, None).kernels
    agree(text, {"T": 1}, {"T": 2}, {"T": 8})


DYNA = Path(__file__).parents[2] / "bench" / "gallery" / "rl" / "dyna.rt"


def test_numbers_beside_tables_that_a_loop_changes_go_to_their_slots() -> None:
    """If they were carried by age, XLA would copy the tables in each step."""
    assert "rotated(" not in emitted(DYNA.read_text(), None).kernels


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("y = updated(y, a[None], (t, 0))\n    return a, y", True),
        ("z = lax.dynamic_update_index_in_dim(y, a, t, 0)\n    return (z,)", True),
        ("y = updated(y, y[t-1], (t, 0))\n    return (y,)", False),
        ("z = updated(y, a, (t, 0))\n    return (z, z[0])", False),
        ("a = jnp.sin(a)\n    return (a + y[t],)", False),
        ("z = other(y, a)\n    return (z,)", False),
    ],
)
def test_which_arrays_a_kernel_only_writes(lines: str, expected: bool) -> None:
    assert is_only_written(f"def k(at, y, a):\n    t = at[0]\n    {lines}\n", "y") == expected


PUT_BEFORE = """dim t < T until stop
input x[t]: f32[2]
input stop[t]: bool
m[t] = 1.0 when t == 0
m[t] = x
h[t] = sum(m[0:t+1], axis = 0)
z[t] = maximum(z[t-1], pad(m[T-1], [[1, 0]])[0:2]) when t >= 2
z[t] = (h[T-1-t] if t == T - 1 else x)
output z
"""


def test_a_row_that_another_loop_has_made_stays() -> None:
    """A step that does not write its row reads what has been put there, not the row before."""
    assert " = rotated(" in emitted(PUT_BEFORE, None).kernels
    agree(PUT_BEFORE, {"T": 1}, {"T": 3})
