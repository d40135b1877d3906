"""The cost model: what things cost on a kind of device, and every threshold that follows from it.

All numbers by which programs are chosen stand here, each with its reason or its measurement, so
that whoever measures on another machine changes one file. They choose between programs that are all
correct. What a run decides by is in `run_costs.py`, how long the compiler itself may search in
`effort.py`, what reports name in `report_thresholds.py`.

Passes and codegen read `MODEL`, since a compiled directory runs on any device. Searches that know
their device take its row (`row`). CPU figures are from virtual machines with two x86_64 cores. The
rates of the row for GPUs were measured on one; its thresholds are those of CPUs.
"""

from typing import NamedTuple


class CostModel(NamedTuple):
    """The rates of a device, sizes of what is unknown, and thresholds; bytes, elements or steps."""

    # ---------------------------------------------------------------- rates

    call_ns: float = 6_000
    """Nanoseconds of a kernel call by the host, without what the kernel computes.

    2026-11-24: 6.0 to 6.4 us in a loop with two small elementwise kernels, 7.3 with two products of
    64 x 64; a bare call of a jitted function of one array takes 4.7. An argument adds 0.3, a result
    1.3. The budget search once assumed 30 us and tuning 4.
    """
    chunk_bytes: tuple[int, ...] = (1 << 20, 1 << 17, 1 << 14, 1 << 11)
    """The bytes of a chunk of the inputs of which one at a time is on the device.

    2026-11-28, CPU time of an RNN over 5000 steps that read 2 KiB each: 22 ms without chunks, 21 in
    chunks of 1 MiB, 20 of 512 KiB, 27 of 128 KiB.
    """
    chunk_part: int = 8
    """A chunk takes at most such a part of a memory budget, if one that fits does."""
    copy_ns_per_byte: float = 0.1
    """Between device and host, mean of both ways: 16 MB take 0.8 ms to the host (`np.array`) and
    2.6 ms back (`device_put`)."""
    transfer_ns: float = 25_000
    """Nanoseconds of the copy of an array between device and host, whatever its size.

    2026-11-26: 64 arrays of 4 KiB 6.5 us each in one call, 7.2 one by one; 2026-11-29, in runs
    within a budget, 45 to 50. To pinned memory from an H100 52 each in one call, 73 one by one.
    """
    flops_per_ns: float = 50
    """Scalar operations, of whatever kind. Products of large matrices reach 130 to 200 per
    nanosecond, elementwise operators on arrays beyond the caches 1, since memory bounds them."""
    summed_per_ns: float = 50
    """Scalar operations of products of matrices, for `explain --slow`, where data do not limit."""
    elementwise_per_ns: float = 2
    """Of all other operators, fused: a stencil of seven operators 4, `exp` 0.5."""
    bytes_per_ns: float = 10
    """What a kernel reads and writes. 2026-11-25: a grid of 400 x 400 in a loop 7, a matrix of
    256 KiB in a cache 39."""
    host_step_ns: float = 30_000
    """A kernel in a step of a loop of the host, without what it computes.

    2026-11-29, CPU time, a load of 18: a bare call of `tanh` of 4 numbers 9 us, of eight arguments
    and results 42; in a run, which finds and stores arrays, 35 to 80 for each kernel.
    """
    step_ns: float = 300
    """A kernel in a step of a loop on the device, without what it computes. 2026-11-25: 44 ns and
    128 ns with one kernel of a few elements, 700 with two that update arrays."""
    scan_step_ns: float = 50
    """A step of a scan: 11 ns with scalars, 70 with a product of 8 x 8."""
    f64_factor: float = 2
    """How much longer numbers of 64 bits take. 2026-11-27, CPU ms: a recurrence with a matrix of
    256 x 256 2.1 in f32, 6.3 in f64. 2026-11-29: a million sums 0.4 in i32, 0.9 in i64."""
    sorted_ns: float = 3
    """Of `sort` and `argsort`, for each element and each doubling of their number. 2026-11-29, f32,
    a busy machine: 8192 numbers 3.0 to 3.8, 128 in a loop 2.4, 32 there 7; a permutation of 8192,
    which sorts random words, 3.0 with all draws. Of 64 bits 15, as XLA compares pairs."""
    power_ns: float = 15
    """Of `x ** p` of floats, unless `p` is an integer. 2026-11-28, 2048 elements in a loop: 17 to
    20 on a busy machine, `exp(p * log(x))` 2.6."""
    integer_division_ns: float = 3
    """Of `//` and `%` of integers by what is no constant. 2026-11-28, 2048 elements in a loop: 2.5
    to 5.7 on a busy machine, 0.3 by a constant, and by `floor` of a quotient of floats."""
    drawn_ns: float = 30
    """Of a random number. 2026-11-28, 2048 at once: uniform ones 42, normal ones 71, when busy."""
    printed_line_ns: float = 50_000
    """A line of `print`, without its numbers; 2026-11-27, CPU time of 400 lines: 80 us on a busy
    machine."""
    printed_number_ns: float = 2_000
    """A number in it. 2026-11-27: 3 us with 256 in each line, on a busy machine."""
    sorted_part: int = 8
    """`top_k` of so large a part of the elements is worth more than a sort of all, or a smaller
    one. 2026-11-28, of 512 in a loop, to a sort: 1 25 times sooner, 8 20 times, 64 4.7 times."""
    saved_file_ns: float = 2_000_000
    """A file of `save`, which is on the disk before it counts. 2026-11-27: 1.7 ms of CPU time for
    64 numbers, 15 to 20 by the clock on a busy machine."""
    compile_ms_per_op: float = 2.5
    """XLA compiles each operator in 2 to 3 ms."""

    # ---------------------------------------------------------------- sizes of what is unknown

    unknown_bound: int = 4096
    """The estimate for an unknown bound, if it is the only one a size depends on: so large that
    what may become too large does."""
    growth_per_bound: int = 16
    """The factor by which each further unknown bound enlarges a tensor: few are long in all
    axes."""
    huge_bound: int = 1_000_000
    """A bound that grows while all others stay `unknown_bound`."""

    # ---------------------------------------------------------------- arrays

    array_bytes: int = 64 << 20
    """The most bytes of a tensor before it is tiled, and of the largest intermediate array of all
    points of a kernel before these are computed in batches."""
    parallel_arrays: int = 8
    """Other devices than CPUs compute batches of points together, up to so many times that limit:
    they need many points to be busy."""
    small_bytes: int = 1024
    """Smaller arrays cost no more to copy than the operations around them: they are not reported as
    copies, are offloaded last, and no tile is made for less."""
    line_bytes: int = 64
    """A cache line: what is read or written of memory at once."""
    point_bytes: int = 4096
    """With fewer bytes a point, the call of a kernel for each point costs more than they save."""
    diagonal_cells: int = 8
    """Tables with fewer rows or columns than this are not computed by anti-diagonals: a vector of
    so few elements saves less than the cells beyond the rim of the table cost."""
    outer_groups: int = 2
    """What is light and has an element for each pair is computed by up to so many kernels that read
    it. 2026-11-28, CPU time: 16 options on a tree of 200 steps, read by 2: 0.80 ms as an array of
    all steps, 0.39 in the loop."""
    solved_rows: int = 16
    """Batches of triangular systems with fewer rows than this stay a loop over their rows."""
    carried_elements: int = 16384
    """The most elements that are cheap to carry through a loop: of an accumulator, or of the states
    of a recurrence that becomes a scan."""
    made_elements: int = 256
    """From this size on, states that are made of fewer elements stay in a loop: stored for all
    points they cost memory. Sums of outer products of 64 elements, over 2048 steps: 8.0 ms as a
    loop, 106 ms as a scan. 2026-11-26, CPU time with gradients, states of 16 x 16, 128 steps, to
    `lax.scan`: the delta rule 1.3 as a loop and 1.85 as a scan, gated linear attention 1.2, 1.9."""
    made_factor: int = 4
    """How many times as large as its origin such a state is at least."""
    beside_stored: int = 4
    """Contractions of all steps stay one product if a tensor that is stored anyway is so many times
    as large as all that they alone need. 2026-11-28, CPU ms of one product, and of one a step:
    gradients of the delta rule, states of 16 x 16, 128 steps 53 and 70, 32 steps 6.0 and 9.2."""
    beside_elements: int = 16
    """Steps with so many elements or more store exponentials and the like that others read, too, if
    these are not many more; else the others compute them anew. CPU ms as a scan and as a loop: CTC,
    75 exponentials beside states of 25, 0.75 and 0.58; a CRF, 144 beside 12, 5.3 and 8.1; paths of
    two numbers 15 and 45 (2026-11-27). Gates beside products of matrices, mixed: LSTMs of 64 over
    32 steps 25 and 16, of 32 with 8 rows 4.0 and 4.9, a GRU of 96 71 and 91."""
    beside_factor: int = 4
    """How many times as many they are at most."""
    many_rows: int = 64
    """So many rows times a matrix are as fast step by step as for all steps of a recurrence."""
    again_operations: int = 32768
    """Steps that make so many in products store them if others need these, too: see
    ``passes/recurrences/repeated_products.py``, where layers of 64 are the least that was timed."""
    short_sum: int = 4
    """The most terms of sums that are computed where they are read, if they are ``made_factor``
    times as many as what they are made of. Symbols of a code against 2 numbers received, 128 for
    each of 32 x 500 steps: 10 ms in the steps, 60 ms stored beforehand."""
    peeled_points: int = 1024
    """The most points that are kept apart from a ring."""
    carried_steps: int = 4
    """How many steps back a state may be read that a loop carries beside the array of all steps.

    Two states of 9 KB each that need each other, 100 steps stored: 98 ms with the array alone, 0.4
    carried."""

    rotated_rows: int = 4
    """Rings of at most so many rows are carried through loops on CPUs as their rows by age."""
    rotated_bytes: int = 1 << 18
    """Rows with more bytes are not: all but one are copied in each step."""

    unpacked_least: int = 1 << 16
    """Values of fewer bytes are stored, even if they are made of packed params."""
    unpacked_factor: int = 2
    """How many times as large as the params that it is made of a value is at least that is not
    stored but unpacked in each product: measured in `ops/control/unpacked_product.py`."""
    unpacked_work: int = 16
    """The most operations for an element of it."""
    unpacked_vectors: int = 8
    """So many vectors are multiplied one after the other, for each of which a matrix is unpacked:
    3.6 ms for one of 49152 x 576 with 8 bits, 29 for all at once in blocks."""
    unpacked_bytes: int = 4 << 20
    """For more vectors larger values are unpacked by parts of this size. A matrix of 49152 x 576
    and a vector take 99.6 ms at once, and in parts of 0.6, 1.2, 2.4, 4.7 and 9.4 MB 19.1, 15.1,
    13.1, 12.4 and 21.3."""

    attention_scores: int = 1 << 20
    """Attention without a kernel of its own computes the scores of so many rows at a time that they
    have about so many elements. On a CPU it takes twice as long as the equations (2048 rows), and
    18 times with a window of 128: there nothing is dispatched."""
    attention_tiles: tuple[int, int, int] = (64, 64, 4)
    """Rows and columns of a tile of scores on a GPU, of halves, and the warps of a program.

    2026-11-26, an H100, 32 heads of 128 on 8, 4096 rows, bfloat16: 0.75 ms; 128 x 64 0.80 and 0.87
    (8 warps), 128 x 128 0.86. cuDNN takes 0.44, the equations 54.
    """
    attention_wide_tiles: tuple[int, int, int] = (32, 32, 4)
    """The same in single precision: 13.0 ms; 64 x 32 16.6 and 13.1 (8 warps), 128 x 32 18, 64 x 64
    111. The equations take 14.3, and 8 s for the first call, not 1."""

    fourier_places: int = 128
    """From so many places on Fourier transforms convolve faster than products of matrices do, on 2
    busy cores. 2026-11-26, 32 channels of 8 rows, 64 places 0.36 ms and 0.24; 128: 1.3 and 1.1;
    256: 1.6 and 6.7; 512: 13 and 110."""
    band_rows: int = 64
    """Rows of a band of shifted weights, a product with which makes so many places of a convolution
    at once. 2026-11-27, CPU ms for 16, 64, 256 weights and a signal of 262,144 numbers: 1.2, 1.5,
    4.0; Fourier transforms take 12, windows that are gathered 46 for 64 weights."""
    band_places: int = 16
    """Sums of so many products at a lag are convolutions; fewer are sums of windows."""
    transform_work: int = 50
    """The operations of a transform for each element: 2.5 * log2(n), forth and back."""

    # ---------------------------------------------------------------- tiles and batches

    tile_tensors: int = 8
    """How many tensors of a tile's size the limit leaves room for."""
    tile_rows: int = 16
    """Fewest rows of a tile."""
    ranged_tile_rows: int = 512
    """Fewest rows of a tile that is made for many points at once, each with a range of its own."""
    untiled_bytes: int = 1 << 20
    """A tensor of so many bytes is better not tiled. 2026-11-29, CPU time of 40 steps of a triplet
    loss for 128 examples, 1 MiB: 56 ms in tiles, 35 without; 6 steps for 256, 4 MiB: 35 and 42."""
    wide_factor: int = 8
    """Tensors so many times smaller than the widest are stored, not computed in microbatches."""
    microbatch_bytes: int = 32 << 20
    """The most bytes of all operands of products of a learner before it computes in microbatches.
    REINFORCE with whole episodes, 512 carts for 250 steps (131 MB; 64 MiB by the estimate): CPU
    time 103 ms an iteration in microbatches, 160 ms without, stores 13.6 and 140 MB."""
    again_factor: int = 4
    """Tensors of a loop are computed again for a microbatch if that takes so many times as long as
    writing and reading them at most: the tiles of their cotangents stay in a cache instead."""
    cached_bytes: int = 1 << 19
    """A tensor of a microbatch takes about so much, so that all stay in a cache of some megabytes.
    PPO of 512 games for 250 steps by hand, 2026-11-26, with tensors of 0.25, 0.6, 1.3, 3.3, 6.6 MB:
    CPU time of an iteration 518, 384, 360, 395, 505 ms; all steps at once 463."""
    guessed_rows: int = 8
    """Fewest rows of a microbatch if bounds decide how large a row is: of a batch of 8 instead of
    some hundred, 2 rows are 16 points only, and most of the time is what a step takes anyway."""
    starred_excess: int = 4
    """By how much starred tensors may exceed the limit: each tile costs a kernel of its own."""
    batched_excess: int = 8
    """Intermediates of up to so many times a point's bytes in stores are never batched."""
    shared_window: int = 16
    """From this width on, copying windows costs more than computing the masked scores."""
    shared_points: int = 64
    """The least number of points in a block of shared windows, if memory allows; on CPUs half."""
    turned_share: int = 4
    """Windows of a ring keep their order if they are so many times what else would be turned."""

    # ---------------------------------------------------------------- loops on the device

    unrolled_steps: int = 64
    """Largest number of steps of a loop that is unrolled, or stays on the host."""
    unrolled_ms: float = 2_500
    """The time that XLA may take for unrolled loops."""
    carried_ms: float = 250
    """The same where steps only take over what the one before has made. 2026-11-27, CPU s of the
    first call of PPO, four epochs of four minibatches: 4.9 written out, 2.8 not; later calls take
    as long."""
    passing_steps: int = 16
    """Largest number of steps of a loop that is unrolled although what its steps make ends with the
    step around. 2026-11-27, CPU time of the first call and of later ones, unrolled and not: IMPALA,
    20 steps of 8 actors, 8.0 and 2.7 s, 4.4 and 2.7 ms; a soft-DTW of 39 diagonals 7.4 and 1.9 s,
    4.4 and 3.7 ms."""
    quick_elements: int = 16
    """Loops of which all operators give so few elements are not unrolled. 2026-11-27, CPU time, as
    part of a step and written out: six steps down a tree 1.8 and 4.1 us, eight of an integrator of
    12 states 3.9 and 6.2."""
    rolled_calls: int = 2
    """Fewest calls that a loop has in common with its first step, which stands before it, so that
    this becomes a step like the others. XLA compiles a call in about 40 ms."""
    heavy_operators: int = 8
    """With so many operators that compute, one call is enough."""
    rolled_share: int = 3
    """So many times as many calls are common as are of the first step alone, made in all steps."""
    selected_share: int = 2
    """The same for calls of the others, which select their results. 2026-11-29, CPU s of the first
    call, with 3 and 2: an American option by least squares 1.81 and 1.39, two LSTM 5.1 and 4.3."""
    branched_slots: int = 16
    """Most slots of a ring that a branch in a loop writes, of two loops that become one. CPU s of
    the first call and ms of later ones, one and two loops, decoding with so many attention sinks,
    2026-11-30: 4 3.1 and 4.6, 79 and 79; 16 3.7 and 5.7, 122 and 126; 64 6.2 and 5.1, 202 and 187.
    """
    repeated_steps: int = 8
    """Fewest steps, if that is known, of a loop of which the last step does what nothing reads."""
    reported_steps: int = 64
    """How many steps a function runs where it is compiled for a number of them, for a report."""

    # ---------------------------------------------------------------- prints in device loops

    collected_lines: int = 4096
    """The most lines of a print that a call of a device loop collects before they are written. A
    call costs 0.1 ms, and the shortest steps take 1 us."""
    collected_bytes: int = 1 << 16
    """The most bytes of what these lines show, for one print."""
    collected_row_bytes: int = 1024
    """The most bytes of what one line shows. NumPy takes a millisecond for the text of more, so a
    call for each step does not matter."""

    # ---------------------------------------------------------------- device blocks

    block_calls: int = 4096
    """The most kernel calls in a block that runs as one call, which cannot be interrupted."""
    block_us: int = 1_000_000
    """A block with more calls may run as one if its estimated microseconds are at most this. XLA
    compiles one function instead of one for each statement: `rl/replay` of the gallery 3.65 s
    before, 2.5 s then. On CPUs the estimate is mostly too high: 64 x 2000 steps of an ARMA model,
    1 us a call by it, take 4 ms; statement by statement they take 2.4 times as long as by hand, as
    one call 1.2 (2026-11-30). A GPU may take some times as long."""
    waited_bytes: int = 1 << 22
    """What the operators of a step of a GPU move at most in the time in which the host would read a
    condition. An H100 takes 8 us for that, and moves 2,500 bytes a nanosecond; but a kernel takes
    1.3 us, too (2026-11-26)."""
    strip_steps: int = 64
    """Of a loop whose number of steps is passed a GPU takes so many at a time: the 8 us for which
    the host reads whether there is another step are then little beside the 4 us that each takes."""
    changed_bytes: int = 1 << 14
    """XLA for CPUs copies arrays of so many bytes where a step changes a place and others read it.
    A step with a table of 64 x 64: 2.9 us, 1.4 with the change in a branch; of 48 x 48 no copies
    are made, and a branch takes 0.03 us (2026-11-27)."""
    copied_bytes: int = 1 << 15
    """Copying fewer bytes takes no longer than a call."""
    rare_runs: int = 64
    """For blocks that run at most so many times, copies of large stores do not matter."""
    block_bytes_per_us: int = 1000
    """In a block a call takes one microsecond, and one more for so many bytes that it touches."""
    prefix_parts: tuple[int, ...] = (2,)
    """Of all rows of growing stores, the parts on which the first steps of a loop within a block
    run. Each is another loop for XLA to compile."""
    prefix_bytes: int = 1 << 28
    """What such steps need not read then at least, 4 to 7 ms; that loop takes XLA 0.4 to 0.8 s."""

    # ---------------------------------------------------------------- estimates of loops

    weighty_bytes: int = 16_384
    """A matrix from this size on is worth reading once for several products."""
    long_range: int = 64
    """Shorter ranges are cheap to go through anew in each step."""
    guard_samples: int = 24
    """At how many steps a condition is looked at, to estimate how often it holds."""

    # ---------------------------------------------------------------- forms of operators

    short_window: int = 8
    """Up to this size one pass over the windows is faster than adding up powers of two."""
    searched_pairs: int = 8192
    """From so many pairs on, how many of ascending numbers are less than others is searched.
    2026-11-27, in a loop, all pairs or a search: 64 and 64 numbers 1.6 and 2.0 us, 128 and 128 6.6
    and 2.6, 64 and 512 12 and 6.8, 512 and 512 105 and 8.9, 2048 and 2048 2800 and 43."""
    picked_matrices: int = 8
    """Up to so many matrices, one of which data choose for each of many points, products are formed
    with all of them. 2026-11-27, a copy of the matrix for each of 128 points or products with all,
    64 x 32: of 8 144 and 81 us, of 16 178 and 165, of 64 146 and 473; 256 x 128: of 8 2445 and 823,
    of 32 2161 and 2053. Sums of outer products by position or products of masked rows, likewise: of
    8 178 and 150 us, of 16 216 and 262; 256 x 128: of 8 2523 and 925, of 16 4420 and 1818."""
    points_of_product: int = 8
    """From so many points for each such matrix on: 16 points and 4 matrices 21 and 24 us, 8 56 and
    110; 1024 points of 16 x 16 and 8 matrices 127 and 153."""
    put_elements: int = 64
    """From so many elements on, state that changes at one place is written there alone. 2026-11-26,
    a step, all of it or one place: 16 elements 0.03 and 0.02 us, 256 0.19 and 0.02, 4096 0.80 and
    0.02; 64 tables of 64 0.98 and 0.61."""
    put_into_sum_elements: int = 256
    """The same where a number that is not finite changes all of it, beside reads of several places:
    256 elements 0.15 and 0.04 us, 4096 0.65 and 0.04; 16 tables of 1024 5.1 and 1.6."""
    inspected_places: int = 4
    """So many places are looked at one after the other."""
    drawn_points: int = 2048
    """The most points of which one thread draws the noise of a choice on a CPU, for 512 in 9 us.
    2026-11-27, CPU time of a step of 512 carts: 128 us, with noise by two threads 178."""
    joint_elements: int = 16
    """The most elements of states of recurrences of which one reads the other that become one."""
    joint_nodes: int = 16
    """The most light nodes that steps of a recurrence make although all points could be at once."""
    combined_states: int = 3
    """The most states of a linear recurrence: of ``n`` tensors two steps take ``n**3`` products."""
    column_rows: int = 16
    """The widest rows that are laid out as columns before their outer products are summed. CPU ms
    of 65,536 rows of 64 with rows of 4, 16, 32: 6.9, 9.0, 14 as columns, else 13, 14, 16; 131,072
    of 64 with rows of 64: 292 as columns, else 95 (2026-11-26, a busy machine)."""
    column_stride: int = 32
    """Wider rows are laid out so as well if their elements are a multiple of this. CPU us as
    columns and else, 4096 rows of 64 by rows of 64: 454 and 796; 2048 of 128 by 128: 599 and 770;
    4096 of 32 by 32: 105 and 214; of 50 by 50, 40 by 40, 24 by 24 columns take longer."""
    column_bytes: int = 1 << 20
    """And if the columns take at most so many bytes. The same with 131,072 rows of 64 by rows of
    64: 49,881 and 35,088; 16,384 of 128 by 128: 10,798 and 6108; 2048 of 256 by 256: 1890, 2010."""
    masked_bytes: int = 1 << 16
    """The least bytes of an array of rows whose mask is left where all of them are valid. An
    iteration of PPO, 512 carts for 250 steps, in tiles of a MiB: CPU ms 346 masked, 303 so."""
    copied_tile: int = 1 << 22
    """The most bytes of such an array: a masked copy of it is made beside it for the last tile."""
    moved_bytes: int = 1 << 17
    """So large arrays are moved by updates, not concatenated. 2026-11-30, us of a step of a
    stencil: 100 x 100 4 and 4, 200 x 200 38 and 14, 400 x 400 165 and 66."""
    state_factor: int = 10
    """So many products with all steps so far take as long as one of a loop that keeps a state.
    2026-11-28, CPU ms of linear attention, a state and a product with all steps, 8 times T steps
    with heads of D: T 128, D 32 0.6 and 0.8; D 64, T 128 1.2 and 0.9, 256 2.2 and 1.5, 512 3.3 and
    9.0; 4 times, D 128, T 256 4.3 and 2.0, 512 7.5 and 5.7, 1024 15 and 24."""
    differentiated_state_factor: int = 20
    """The same with gradients, for which states of all steps are stored: 8 times, D 32, T 256 6.7
    and 7.4, D 64, T 256 28 and 9.0, 512 54 and 52; 4 times, D 64, T 1024 61 and 190."""
    state_steps: int = 512
    """The steps of such a loop, if nothing says how many they are."""
    inner_state_steps: int = 64
    """The same for a recurrence within each step of another one. 2026-11-29, 199 steps, each with 8
    vectors of 64 elements made orthogonal: with states 36 ms, without 1.7."""
    contraction_speedup: float = 1.1
    """How many times cheaper an order must be to be preferred to that of the program."""

    # ---------------------------------------------------------------- positions

    known_positions: int = 1 << 16
    """The most elements of a tensor that is computed while the program is compiled, to know what
    positions it holds."""
    known_runs: int = 4
    """The most runs of known positions that become slices."""

    # ---------------------------------------------------------------- repeated steps

    rolled_steps: int = 4
    """Steps of a program that are written out stay so, and those of a loop are written out, if they
    read their neighbours but are not more than this."""
    rolled_nodes: int = 200
    """The most operators of such a step that are looked at."""

    # ---------------------------------------------------------------- rematerialization

    ignored_fraction: int = 256
    """Tensors so many times smaller than the largest are ignored: they are kept."""
    peak_factor: int = 2
    """Peaks lower than the highest one by this factor are not tried."""
    memory_slack: float = 1.1
    """The factor over the least memory that is accepted in exchange for less recomputation."""

    # ---------------------------------------------------------------- candidates

    capacity: int = 512
    """Initial capacity of growing stores, in steps: cheap in memory, and few kernels are recompiled
    when it is used up."""
    tuned_capacities: tuple[int, ...] = (0, 128, 2048)
    """Initial capacities to try; 0: full capacity from the start."""
    tuned_limits: tuple[int, ...] = (1 << 22, 1 << 18)
    """Limits above which tensors are tiled, in bytes: fractions of the caches of CPUs."""
    hopeless_factor: float = 2.0
    """A candidate whose first warm run takes so many times as long is rejected at once."""
    gain: float = 0.95
    """A candidate is faster if the median of the ratios of its times to those of the other in the
    same round is at most this; runs of one program differ by a few percent."""
    faster_rounds: float = 0.8
    """And if at least this fraction of the ratios is below 1."""

    def is_much_of_little(self, size: int, origin: int) -> bool:
        """Whether tensors of so many elements are made anew from their origin at each step rather
        than stored for all."""
        return size >= self.made_elements and origin * self.made_factor <= size

    def is_stored_beside(self, made: int, size: int) -> bool:
        """Whether a step stores so many elements beside a state of so many for others."""
        return size >= self.beside_elements and made <= self.beside_factor * size

    def compile_seconds(self, operators: int) -> float:
        """How long XLA takes for a kernel of so many operators."""
        return operators * self.compile_ms_per_op / 1000

    @property
    def unrolled_operators(self) -> int:
        """Largest number of operators after unrolling."""
        return round(self.unrolled_ms / self.compile_ms_per_op)

    @property
    def carried_operators(self) -> int:
        """The same of loops whose steps only take over what the one before has made."""
        return round(self.carried_ms / self.compile_ms_per_op)


CPU = CostModel()
GPU = CPU._replace(
    call_ns=85_000,
    host_step_ns=85_000,
    copy_ns_per_byte=0.04,
    transfer_ns=50_000,
    flops_per_ns=50_000,
    summed_per_ns=50_000,
    elementwise_per_ns=300,
    bytes_per_ns=2_500,
    step_ns=1_300,
    scan_step_ns=6_000,
    sorted_ns=0.05,
    compile_ms_per_op=1.4,
)
"""2026-11-26, an H100, JAX 0.11.2: a call takes 34 us, 85 with coordinates from the host. Pinned
memory is copied at 24 GB/s, other memory at 4 to 6. Products of 8192 x 8192 reach 51 Tflop/s with
all bits of float32 (390 with TensorFloat-32, 771 in bfloat16). Elementwise operators and sums move
2400 to 2600 bytes a nanosecond. In a loop whose steps are recorded a kernel takes 1.3 us, and a
step 4 at least; unrecorded steps take 16 to 22, those for which the host reads a condition 14 to
30."""
MODEL = CPU
"""The row by which programs are compiled where the device is not known."""
_ROWS = {"cpu": CPU, "gpu": GPU}


def row(kind: str) -> CostModel:
    """The row of a kind of device, as `jax.default_backend()` names it; others count as CPUs."""
    return _ROWS.get(kind, CPU)
