"""isl's scheduler with a time limit.

isl holds the interpreter's lock and cannot be interrupted, so large problems are solved in a child
process, which can be killed. Starting one costs half a second: small problems are solved in place.
"""

from __future__ import annotations

import subprocess
import sys

from tempoc.base.effort import EFFORT
from tempoc.poly.isl import isl, text_of

_CHILD = """\
import sys
import islpy as isl
context = isl.Context()
constraints = isl.ScheduleConstraints.read_from_str(context, sys.stdin.read())
try:
    text = constraints.compute_schedule().to_str()
except isl.Error:
    sys.exit(3)
print(text)
"""


class NoSchedule(Exception):
    """isl found no schedule."""


class TooSlow(Exception):
    """isl exceeded the time limit, and the child was killed."""


def solve(
    constraints: isl.ScheduleConstraints,
    size: int,
    *,
    small: int = EFFORT.scheduled_statements,
    seconds: float = EFFORT.scheduling_seconds,
) -> isl.Schedule:
    """The schedule of `size` statements; raises `NoSchedule` or `TooSlow`."""
    if size <= small:
        try:
            return constraints.compute_schedule()
        except isl.Error as error:
            raise NoSchedule from error
    try:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD],
            input=text_of(constraints),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TooSlow from error
    if done.returncode:
        raise NoSchedule(done.stderr[-500:])
    return isl.Schedule.read_from_str(constraints.get_ctx(), done.stdout)
