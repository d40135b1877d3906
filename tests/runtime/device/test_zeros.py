"""Zeros that a kernel takes at once are not put on the device before."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from tempoc.program.nodes.tuning import RunTuning
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.device import backend
from tempoc.runtime.run import Settings, run_given
from tests.support.agreement import compile_text
from tests.support.checkpoints import Lines


def test_zeros_for_a_kernel_are_of_the_host_until_they_were_many():
    backend._zeros.cache_clear()  # other tests may have made arrays of this shape
    overwrite = jax.jit(lambda x: x.at[0].set(1.0), donate_argnums=0)
    tuning = RunTuning(allocated_bytes=100, passed_bytes=20)
    passed = [backend.zeros((7,), "f32", tuning, passed=True) for _ in range(3)]
    assert [type(x) is np.ndarray for x in passed] == [True, True, False]
    for zeros in passed:
        assert np.asarray(overwrite(zeros)).tolist() == [1, 0, 0, 0, 0, 0, 0]
    assert not any(x.any() for x in passed[:2])


def test_small_zeros_for_kernels_are_the_same_array():
    backend._zeros.cache_clear()
    overwrite = jax.jit(lambda x: x.at[0].set(1.0), donate_argnums=0)
    tuning = RunTuning(allocated_bytes=1000, passed_bytes=28)
    for _ in range(2):
        zeros = backend.zeros((7,), "f32", tuning, passed=True)
        assert np.asarray(overwrite(zeros)).tolist() == [1, 0, 0, 0, 0, 0, 0]
    assert backend.zeros((7,), "f32", tuning, passed=True) is zeros
    assert not zeros.flags.writeable


LOOPS = "canonicalize,fuse"
"""Passes that leave all loops as they are."""
PRINTING = """
dim t < T
input x[t]: i32
a[0] = 1
a[t+1] = (3 * a + x) % 1000
b = a + x
print b when t % 2 == 1
output b
"""


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_what_loops_carry_is_passed_to_their_first_call(monkeypatch, steps):
    passed, zeros = [], backend.zeros

    def noted(*described):
        passed.append(described[3:] == (True,))
        return zeros(*described)

    monkeypatch.setattr(backend, "zeros", noted)
    x, a, b = np.arange(7, 7 + steps, dtype=np.int32), 1, []
    for value in x.tolist():
        b.append(a + value)
        a = (3 * a + value) % 1000
    _, loaded = compile_text(PRINTING, 2, LOOPS)
    given = Given(bounds={"T": steps}, inputs=as_sources({"x": x}), params={})
    for _ in range(2):
        lines = Lines()
        assert run_given(loaded, given, Settings(show=lines)).outputs["b"].tolist() == b
        assert len(lines.found) == steps // 2
    assert passed and all(passed)


def test_zeros_that_no_step_of_a_loop_took_are_put_on_the_device():
    """The loop has one step less than there are points."""
    text = PRINTING[: PRINTING.index("a[0]")] + "b[t] = 2 * x when t >= 1\nprint b when t >= 1\n"
    _, loaded = compile_text(text + "output b[1:T] as b\n", 2, LOOPS)
    for steps in (1, 2):
        x = np.arange(7, 7 + steps, dtype=np.int32)
        given = Given(bounds={"T": steps}, inputs=as_sources({"x": x}), params={})
        outputs = run_given(loaded, given, Settings(show=Lines(), on_device=True)).outputs
        assert isinstance(outputs["b"], jax.Array) and outputs["b"].tolist() == [16][: steps - 1]
