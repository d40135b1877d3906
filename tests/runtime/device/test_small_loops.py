"""Loops of small steps are whole functions on CPUs, in processes of ours."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tempoc.base.run_costs import RUN_COSTS
from tempoc.runtime.device.small_loops import flags_for

OPTION = "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=7"
COUNTED = """
from tempoc.runtime.device import small_loops
small_loops.compile_whole({most})
import jax
step = lambda k, x: jax.numpy.cumsum(x * x)
loop = jax.jit(lambda x: jax.lax.fori_loop(0, 9, step, x))
print("xla_cpu_small_call" in loop.lower(jax.numpy.ones(200)).compile().as_text())
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", OPTION),
        ("--a=b", f"--a=b {OPTION}"),
        ("--xla_backend_extra_options=c", "--xla_backend_extra_options=c"),
        ("flags.txt", "flags.txt"),
    ],
)
def test_flags_of_the_user_stay(before, after):
    assert flags_for(7, before) == after


@pytest.mark.long("starts processes")
@pytest.mark.parametrize(
    ("most", "whole"), [(1024, "False"), (RUN_COSTS.unmarked_loop_bytes, "True")]
)
def test_a_limit_decides_which_loops_are_whole(most, whole):
    command = [sys.executable, "-c", COUNTED.format(most=most)]
    told = subprocess.run(command, check=True, capture_output=True, text=True)
    assert told.stdout.strip() == whole
