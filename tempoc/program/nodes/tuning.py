"""Tuned numbers by which a run goes; the compiler's `run_costs.py` has their reasons."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTuning:
    """How a run divides its work. The least numbers, which are those of no tuning, are correct.

    Growing stores have at most ``store_sizes`` sizes. The last one is rounded up, to no less than
    ``store_grain`` slots where that takes at most ``rounded_bytes`` or one ``rounded_part`` more of
    all bytes, of what no step reads many slots to ``spare_bytes``. The first call of a region runs
    ``first_steps``, the next ones up to ``step_factor`` times as many as the one before, until a
    call takes ``call_ms``. An allocator of zeros is compiled after ``allocated_bytes``, where each
    allocation counts as ``allocation_bytes`` more than its own, and as ``passed_bytes`` where a
    kernel takes the array from the host. So many arrays are put on the device at once, so many
    faults wait to be evaluated. Largest bounds are searched for with up to ``searched_calls`` in a
    run; a condition of a loop is analyzed if it has up to ``condition_cases``. Loops whose steps
    touch less than ``whole_loop_bytes``, and none of whose operators touches more than
    ``whole_operator_bytes``, are one function each on a CPU; so are, in a process of ours, those
    whose steps touch less than ``unmarked_loop_bytes``. There, what users' functions draw for
    ``drawn_keys`` keys or more is computed position by position. A kernel that copies arrays of the
    host, of up to ``loaded_bytes`` each, to a CPU is compiled after ``loaded_arrays``, where each
    call counts as one more. A kernel for many lengths may make ``padded_bytes`` more than one for a
    length, one ``rounded_part``, or a ``compiled_part`` of what it takes to compile, where so many
    ``summed_products`` count as a number, so many ``fused_operators`` as one, and compiling an
    operator as ``compiled_bytes``. Each array that is padded or cut counts as
    ``padded_array_bytes``, and what all calls before made ``repeated_factor`` times where the next
    one is for the same lengths. It is traced for lengths of up to ``probed_bounds`` that are
    ``far_step`` apart, or ``near_step``, and no more after ``compared_lengths`` were compiled.
    """

    store_sizes: int = 1
    store_grain: int = 1
    rounded_bytes: int = 1
    rounded_part: int = 1
    spare_bytes: int = 1
    first_steps: int = 1
    step_factor: int = 1
    call_ms: int = 1
    allocated_bytes: int = 1
    allocation_bytes: int = 1
    passed_bytes: int = 1
    put_arrays: int = 1
    pending_faults: int = 1
    searched_calls: int = 1
    condition_cases: int = 1
    whole_loop_bytes: int = 1
    whole_operator_bytes: int = 1
    unmarked_loop_bytes: int = 1
    drawn_keys: int = 1
    loaded_arrays: int = 1
    loaded_bytes: int = 1
    padded_bytes: int = 1
    summed_products: int = 1
    fused_operators: int = 1
    padded_array_bytes: int = 1
    repeated_factor: int = 1
    compiled_bytes: int = 1
    compiled_part: int = 1
    compared_lengths: int = 1
    far_step: int = 1
    near_step: int = 1
    probed_bounds: int = 1


UNTUNED = RunTuning()
