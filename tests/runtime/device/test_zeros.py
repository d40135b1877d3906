"""Zeros that a kernel takes at once are not put on the device before."""

from __future__ import annotations

import jax
import numpy as np

from tempoc.program.nodes.tuning import RunTuning
from tempoc.runtime.device import backend


def test_zeros_for_a_kernel_are_of_the_host_until_they_were_many():
    backend._zeros.cache_clear()  # other tests may have made arrays of this shape
    overwrite = jax.jit(lambda x: x.at[0].set(1.0), donate_argnums=0)
    tuning = RunTuning(allocated_bytes=100, passed_bytes=20)
    passed = [backend.passed_zeros((7,), "f32", tuning) for _ in range(3)]
    assert [type(x) is np.ndarray for x in passed] == [True, True, False]
    for zeros in passed:
        assert np.asarray(overwrite(zeros)).tolist() == [1, 0, 0, 0, 0, 0, 0]
    assert not any(x.any() for x in passed[:2])


def test_small_zeros_for_kernels_are_the_same_array():
    backend._zeros.cache_clear()
    overwrite = jax.jit(lambda x: x.at[0].set(1.0), donate_argnums=0)
    tuning = RunTuning(allocated_bytes=1000, passed_bytes=28)
    for _ in range(2):
        zeros = backend.passed_zeros((7,), "f32", tuning)
        assert np.asarray(overwrite(zeros)).tolist() == [1, 0, 0, 0, 0, 0, 0]
    assert backend.passed_zeros((7,), "f32", tuning) is zeros
