"""The tuned numbers by which a run divides its work, with their reasons or measurements.

A compiled directory carries their values (`RunTuning`, `program/nodes/tuning.py`), so that the
runner goes by the numbers of the compiler that made it. Those that passes and codegen decide by are
in `cost_model.py`.
"""

from typing import NamedTuple


class RunCosts(NamedTuple):
    """Sizes and thresholds of runs; bytes, arrays, slots or steps."""

    store_sizes: int = 5
    """The most sizes of a growing store, where the run is certain to reach the final one.

    With 5 steps read 0.6 of the last size on average, with 8 of them 0.56, with any number half of
    it; each size is another compilation of the loop.
    """
    store_grain: int = 64
    """The least final size of a growing store, if that costs little: short runs share kernels."""
    rounded_bytes: int = 1 << 20
    """What it may take to round sizes up, whatever a run takes: a hundredth of a process."""
    rounded_part: int = 8
    """The part of all bytes that it may take: so much longer is a step that reads all of them."""
    spare_bytes: int = 1 << 13
    """What growing stores take at least where steps read a few rows only. So many slots cost a call
    that the host gives zeros 0.3 to 1 us, twice as many 5. A decoder with a window takes ten
    lengths up to 4000 with two compilations, with six where sizes are powers of two."""
    first_steps: int = 64
    """Steps of the first call of a loop, whose time is unknown."""
    step_factor: int = 64
    """The most by which the number of steps may grow from call to call."""
    call_ms: int = 250
    """How long a call of a loop should take: its overhead is negligible by far, and progress and
    interrupts come a few times a second."""
    allocation_bytes: int = 100_000
    """NumPy and the copy to the device take 100 us for a small array of zeros; one byte more takes
    a nanosecond."""
    passed_bytes: int = 10_000
    """A small array of zeros that a kernel takes from the host takes 10 us more than one that a
    compiled function makes. 2026-11-26, CPU time of a call that overwrites 20 floats, on a busy
    machine: 175 us put on the device first, 32 from the host, 22 by a compiled function."""
    allocated_bytes: int = 20_000_000
    """Compiling an allocator of zeros takes about 20 ms, as long as allocating so many bytes."""
    unmarked_loop_bytes: int = 32768
    """Up to so many bytes a step, loops are one function each on a CPU, by a flag of XLA, whose own
    limit is 1024; it looks at no operator of them. 2026-11-26, CPU time of a step, 1024 and 32768:
    Dyna with 5 remembered steps, which touch 1.5 KB, 2.8 and 0.8 us; a word of topics, 20 KB, 3.1
    and 1.0; tanh of a product with a vector of 64 0.7 and 0.4. Of 12 pairs of the gallery none
    became slower at 8192, beyond noise, nor of 9 at 65536."""
    whole_loop_bytes: int = 131072
    """The same of loops that the runner marks, none of whose operators is large. 2026-11-28, 32768
    and 131072, CPU time of a call: experience of 16 runs, 70 KB, 3.4 and 1.0 ms; a wave of 512
    points, 60 KB, 0.42 and 0.20; diagonals of 8 tables, 63 KB, 0.19 and 0.11, 76 KB, 0.35 and 0.27;
    Sinkhorn's steps, 75 KB, 1.33 and 1.27; XLA compiles it faster."""
    whole_operator_bytes: int = 8192
    """The most that one operator of a loop may touch that the runner has compiled as one function:
    XLA's code for arrays is worse there. Time of a step, marked and unmarked: means of 8 numbers of
    16 groups 0.15 and 3.4 us; `tanh`, a row of a knapsack, a mean, a stencil of 700 numbers 0.6 to
    0.9, of 1000 0.7 to 1.3, a row of 2001 twice as long; rods of 6 x 90 points 1.0 and 2.3 us
    (2026-11-28). A product of matrices counts as all products that it is a sum of: two of 4 x 4
    0.05 and 0.11, of 8 x 8 0.10 and 0.75, of 10 x 10 0.29 and 0.92 us."""
    drawn_keys: int = 16
    """For so many keys, a loop over positions draws faster on a CPU than JAX's of all positions.
    2026-11-27, CPU time, JAX's and by positions: 16 keys, 1 and 128 words each, 1.0 and 0.4, 29 and
    4.4 us; 512 keys, 1, 4 and 128 words, 6.4 and 3.2, 50 and 5.2, 280 and 92; 32768 keys, 4 words,
    1460 and 271."""
    loaded_bytes: int = 65536
    """Larger arrays ``jax.device_put`` brings to a CPU as fast as a kernel that copies them, and
    several faster. 2026-11-27, CPU time for each array of 4, 64 and 256 KiB: one 46, 78 and 81 us,
    by a kernel 11, 22 and 25; one of 16 27, 38 and 81 us, by a kernel 10, 22 and 170."""
    padded_bytes: int = 1 << 23
    """What a kernel for many lengths may make more than one for a length: about 2 ms of a core."""
    summed_products: int = 16
    """A core adds so many products of two numbers while it writes one: an estimate."""
    fused_operators: int = 4
    """So many elementwise ones count as one operator. Rows for 1024 words, not 700, take a step of
    a GRU's training 0.9 ms more (CPU time, 2026-11-28), which is 4 MB so."""
    padded_array_bytes: int = 1 << 18
    """What the host takes to pad an array or to cut a result, in bytes that a kernel makes: 64 us.
    2026-11-29, CPU time of calls with some six small ones: 0.3 ms."""
    compiled_bytes: int = 10 << 20
    """And what XLA takes for an operator. 2026-11-29, CPU time of 20 kernels of the gallery with
    tracing: 1.4 to 8.7 ms for each operator that JAX traces, median 2.5."""
    compiled_part: int = 64
    """The part of that which a call may take more: a length has its own kernel after so many."""
    repeated_factor: int = 4
    """Fewer in a row, by which each counts more than the one before: after 130 or 5, 5000 or 7."""
    compared_lengths: int = 8
    """After so many lengths in a row that were compiled, kernels are not compared any more: those
    of programs that quarter a length have four forms. A trace and its comparison take a twelfth of
    a compilation, for Viterbi's algorithm 0.02 and 0.27 s, for a filter of Kalman's 0.08 and 1.0
    (2026-11-27)."""
    far_step: int = 48
    """Lengths so far apart have the same remainders by 2, 3, 4, 6, 8, 12 and 16."""
    near_step: int = 2
    """Kernels for large data may be others than for small ones; odd lengths than even ones."""
    probed_bounds: int = 3
    """Two traces for one length, four for two, eight for three: as long as a compilation."""
    loaded_arrays: int = 800
    """Compiling such a kernel takes 17 ms, as long as so many arrays and calls take longer without
    it, 20 us each."""
    put_arrays: int = 256
    """How many arrays are put on the device with one call, all of them in memory twice."""
    pending_faults: int = 500
    """The most faults of checks that wait to be evaluated: each is an array on the device."""


RUN_COSTS = RunCosts()
