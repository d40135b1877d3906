"""What `explain --slow` names: from which share of the time, size or cost on.

None of these numbers changes what is compiled. Those that do are in `cost_model.py`.
"""

from typing import NamedTuple


class ReportThresholds(NamedTuple):
    """Shares of time, elements, factors and nanoseconds, as their names say."""

    slow_parts: int = 3
    """How many loops and kernels are named."""
    named_share: float = 0.02
    """Further ones that take a smaller fraction of the time are not named."""
    telling_share: float = 0.2
    """What takes a smaller fraction of its loop is not explained."""
    main_share: float = 0.5
    """From this fraction on one operator is most of a kernel."""
    spread_elements: int = 16
    """From so many elements on, it matters that they do not lie side by side."""
    turned_factor: int = 4
    """How much longer an input takes whose axes are turned over than one that is copied.
    2026-11-28: 1000 x 500 numbers of f32 read by a loop over the last axis 2.3 ms, over the first
    1.1."""
    sparse_factor: int = 4
    """A gradient that has so many times as many elements as were sent to it is mostly zeros."""
    named_compile_seconds: float = 0.3
    """Kernels that XLA compiles sooner are not said to be written out."""
    named_copies: int = 16
    """What is written out less often is not, either. A step of four operators 40 times: compiled in
    2.0 s, as a dimension in 0.2 (2026-11-27)."""
    checks_ns: float = 500.0
    """What a kernel takes that checks positions, and for each of them. 2026-11-28, CPU us with and
    without: 500 positions in each of 100 steps 142 and 92, 8176 at once 125 and 98."""
    checked_ns: float = 1.0
    """See above."""
    read_steps: int = 4096
    """At so many first steps of a loop it is looked up which of them others read. 2026-11-29, CPU
    ms of 2000 steps with three products with a matrix of 256 rows, of which every 16th is read:
    100, and 4 where these alone are computed."""
    choice_ns: float = 75.0
    """What a step computes for one side of a `where` is named from here on. 2026-11-28, CPU ms of
    4096 steps with `where` and with `cond` of a matrix times a vector, taken in one of five: 32
    rows 0.9 and 0.6, 64 1.3 and 0.9, 256 12.0 and 4.8; in nine of ten 256 11.4 and 11.0."""


REPORTED = ReportThresholds()
"""The thresholds of all reports."""
