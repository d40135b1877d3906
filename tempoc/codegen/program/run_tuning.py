"""The tuned numbers that a run needs: its costs, and the limits of its searches."""

from __future__ import annotations

from tempoc.base.effort import EFFORT
from tempoc.base.run_costs import RUN_COSTS
from tempoc.program.nodes.tuning import RunTuning

RUN_TUNING = RunTuning(
    **RUN_COSTS._asdict(),
    searched_calls=EFFORT.searched_calls,
    condition_cases=EFFORT.condition_cases,
)
