"""The tuned numbers that a run needs, from the cost model and the limits of searches."""

from __future__ import annotations

from tempoc.base.cost_model import MODEL
from tempoc.base.effort import EFFORT
from tempoc.program.nodes.tuning import RunTuning

RUN_TUNING = RunTuning(
    store_sizes=MODEL.store_sizes,
    store_grain=MODEL.store_grain,
    rounded_bytes=MODEL.rounded_bytes,
    rounded_part=MODEL.rounded_part,
    spare_bytes=MODEL.spare_bytes,
    first_steps=MODEL.first_steps,
    step_factor=MODEL.step_factor,
    call_ms=MODEL.call_ms,
    allocated_bytes=MODEL.allocated_bytes,
    allocation_bytes=MODEL.allocation_bytes,
    passed_bytes=MODEL.passed_bytes,
    put_arrays=MODEL.put_arrays,
    pending_faults=MODEL.pending_faults,
    searched_calls=EFFORT.searched_calls,
    condition_cases=EFFORT.condition_cases,
    whole_loop_bytes=MODEL.whole_loop_bytes,
    whole_operator_bytes=MODEL.whole_operator_bytes,
    unmarked_loop_bytes=MODEL.unmarked_loop_bytes,
    drawn_keys=MODEL.drawn_keys,
    loaded_arrays=MODEL.loaded_arrays,
    loaded_bytes=MODEL.loaded_bytes,
    padded_bytes=MODEL.padded_bytes,
    summed_products=MODEL.summed_products,
    fused_operators=MODEL.fused_operators,
    padded_array_bytes=MODEL.padded_array_bytes,
    repeated_factor=MODEL.repeated_factor,
    compiled_bytes=MODEL.compiled_bytes,
    compiled_part=MODEL.compiled_part,
    compared_lengths=MODEL.compared_lengths,
    far_step=MODEL.far_step,
    near_step=MODEL.near_step,
    probed_bounds=MODEL.probed_bounds,
)
