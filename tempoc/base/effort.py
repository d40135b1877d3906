"""How long the compiler searches: limits of solvers, fixpoints, verifiers and searches.

None of them changes what a program means. A limit that is reached costs an optimization, or a
verifier's coverage, never correctness. The numbers do not depend on the device that runs the
program (`cost_model.py`).
"""

from typing import NamedTuple


class Effort(NamedTuple):
    """Limits in steps, queries, rounds, instances, candidates or seconds, as their names say."""

    # ---------------------------------------------------------------- isl

    query_steps: int = 3_000_000
    """The most steps of isl for one query: about a second."""
    queries: int = 20_000
    """The most queries of a compilation, before all others are given up."""
    hard_queries: int = 10
    """The most queries that may be given up, before all others are."""
    first_steps: int = 10_000_000
    """The first limit for a query about sets, in steps of isl: some seconds."""
    least_steps: int = 300_000
    """The least limit for a query about sets: some hundredths of a second."""
    samples: int = 128
    """The points at which a proof is tried before isl is asked."""
    sample_draws: int = 1024
    """How often bounds are drawn for them at most: few may meet an assumption."""
    sampled_bound: int = 32
    """The largest of these bounds, beyond the numbers that assumptions name."""
    simplified_divisions: int = 6
    """Conditions with more quotients and remainders are pruned, but not looked at as sets."""
    window_divisions: int = 24
    """With more quotients and remainders in distances of cells, a window is the whole extent. isl
    takes half a second for the greatest of 31, or minutes: that is up to the order of its sets, and
    does not count as steps. Fifteen programs with quotients have 11 at most."""
    stated_divisions: int = 100
    """Functions whose pieces have more quotients and remainders together are not stated: isl took
    a second for 339 of them, or minutes, and a hundredth of one for 86."""
    separation_steps: int = 20_000
    """The most steps of isl for each statement to peel loops, if more than those of one query:
    nests that were short enough took 15,000, one of 5,000 lines for 230 statements 130,000. With
    40,000 the examples and the gallery had the same nests, and one for 490 statements that is not
    peeled took 14 s, not 7 (2026-11-28)."""
    loop_remainders: int = 6
    """The most conditions with remainders by which isl builds a loop, unless all its statements
    have some, by so many divisors at most: 6 take 0.1 s, 12 took 7 s, 24 took 40 s."""
    scheduled_statements: int = 60
    """More statements are scheduled in a process that can be stopped: a hundred take about half a
    second; from there on it grows quickly."""
    scheduling_seconds: float = 60.0
    """When that process is stopped."""

    composed_pieces: int = 64
    """The most convex pieces of a composed order that are not coalesced: intersections of two
    such orders take 5 us for each pair of their pieces."""
    compared_pieces: int = 24
    """The most convex pieces of the times of uses that are compared for the last ones at once."""
    nested_pieces: int = 6
    """The most functions that are put together to a `max` of `min`."""
    residues: int = 16
    """Sums over points are cut by the remainders of divisors up to this."""

    # ---------------------------------------------------------------- fixpoints

    simplify_rounds: int = 20
    """Of rules on one node, and on all nodes."""
    split_rounds: int = 8
    """The most loops of one dimension that are cut."""
    boxes: int = 8
    """The most boxes of which the points of a branch may be put together."""
    tile_rounds: int = 8
    """The most loops over tiles that one program gets."""
    nodes_of_maximum: int = 32
    """The most nodes that are followed from a maximum to what is NaN whatever it is: of attention,
    forwards and backwards, 10."""
    nodes_of_shift: int = 64
    """The most nodes that are followed from an extreme to what is the same whatever it is: of a
    soft minimum of three, 20."""
    demand_sweeps: int = 4
    """Iterations over a cycle before the demand of a recurrence is widened."""
    limit_moves: int = 3
    """How often a limit of a demanded range may move before it is widened to that of the domain."""
    range_turns: int = 8
    """Iterations over a cycle of integers, of which ranges are wanted, before they are given up."""
    added_integer: int = 1 << 20
    """What may be added to a position of an axis of which the extent is not known, for a range."""
    range_depth: int = 60
    """The most operators in a row that are looked at for the range of an integer."""

    # ---------------------------------------------------------------- passes and plans

    factor_steps: int = 64
    """The most nodes that are looked at for the factors of a sum's terms, each as often as it is
    read on the way: squares of squares are many."""
    formula_steps: int = 10_000
    """The most pairs of edges that are compared for a formula of a kernel table and a node: where
    operands may change places, each order is tried."""
    counted_keys: int = 256
    """The most arrays of a store of which it is looked at which of them there are."""
    outer_loops: int = 8
    """The most loops around one that is cut into parts between files: each kind of period adds one
    loop, and its bounds name all those around it."""
    device_rounds: int = 3
    """Searches for a plan that leaves room for temporary buffers of kernels on the device."""

    recurrence_nodes: int = 200
    """The most nodes of a cycle that may become a scan."""
    chain_factors: int = 7
    """The most factors of a chain of products: all sets of them are looked at."""
    joined_parts: int = 8
    """The most parts of a concatenation on each of which its consumers may be computed."""
    order_sizes: tuple[int, ...] = (1, 2, 4, 16, 64, 256, 1024, 4096)
    """The sizes, of all bounds together, at which orders of a chain are compared."""
    mixed_order_sizes: tuple[int, ...] = (2, 32, 2048)
    """The sizes of which all combinations are tried as well, for some bounds much greater than
    others."""
    mixed_order_bounds: int = 3
    """The most bounds for which they are: they are 27 then."""
    cotangent_cells: int = 12
    """With more cells than this, each contribution is extended with zeros to the whole domain."""
    segment_counts: tuple[int, ...] = (2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64)
    """How many checkpointing segments are tried."""
    peaks: int = 16
    """How many peaks are tried."""
    permuted_dims: int = 3
    """All orders of so many dimensions are tried for the slots of a ring."""
    reported_cycles: int = 8
    """The number of cycles reported after the first one."""

    # ---------------------------------------------------------------- verifiers

    replayed_instances: int = 20_000
    """A replay of more instances than this takes too long for what it can detect."""
    replayed_run_instances: int = 100_000
    """The same for a run whose bounds are given by its windows."""
    replayed_cells: int = 500_000
    """The most points of tensors that instances read and write where only cycles are searched, and
    the most points among which such instances are looked for."""
    steps_past_window: int = 3
    """The number of steps after the longest window is full."""
    cyclic_sizes: tuple[int, ...] = (1, 2, 3)
    """Of all bounds, for a large program whose cycles are searched before the solver is asked: 900
    statements take 0.05 s."""
    sampled_reach: int = 2
    """How far from the numbers of a program its steps are looked at, where no small bounds show a
    cycle."""
    blamed_worlds: int = 250
    """The most assignments of bounds in which a cycle is searched."""
    blamed_instances: int = 2_000
    """The most instances in one of them."""
    compared_bounds: int = 4
    """The number of assignments of bounds at which two graphs are evaluated."""
    compared_steps: int = 5
    """The bound of dimensions at which a function of a table of kernels is compared."""
    compared_extent: int = 3
    """All other extents there; odd, and fewer than steps, so that a window does not see all."""
    compared_number: float = 0.5
    """The value of numbers there."""
    kernel_closeness: tuple[tuple[str, float], ...] = (
        *(("bf16", 4e-2), ("f16", 5e-3)),
        *(("f32", 1e-4), ("f64", 1e-6)),
    )
    """How far its results may be from those of the formula, relative to the largest."""
    constant_closeness: float = 1e-5
    """Constants of a program and of a pattern that differ less, relatively, are one: they were
    folded in single precision."""
    compared_elements: int = 20_000_000
    """Bounds at which all nodes together have more elements than this are skipped."""
    interpreted_point: int = 200
    """The cost of interpreting a point, in elements of an operator."""
    length_combinations: int = 4096
    """Largest number of combinations of lengths over which an expression is evaluated."""

    # ---------------------------------------------------------------- searches among programs

    tile_limit_factor: int = 4
    """The factor between two limits for tiles.

    The limits do not depend on the budget, so a variant that fits one budget is found for every
    larger one.
    """
    far_factor: int = 2
    """The search for tiles ends when two sizes both take more than this factor times the budget, or
    save less than what is to be saved divided by it."""
    offloaded_calls: int = 200_000
    """Programs with more calls by the host are not searched for stores to offload."""
    offload_moves: int = 64
    """The number of greedy moves before all offloadable stores are offloaded."""
    dry_run_calls: int = 200_000
    """Kernel calls in all dry runs of a search for stores to offload together."""
    dry_run_parts: int = 10
    """How many of these calls a dry run's preparation takes for each statement and store: 91
    statements with 216 stores took 20 to 150 ms, their 47 calls hardly anything."""
    offloaded_blocks: int = 48
    """Candidates of that search after those, where many stores are offloaded at a time."""
    whole_dry_runs: int = 3
    """Dry runs of all steps by which two choices of stores are compared, within these calls."""
    offload_candidates: int = 16
    """Candidates of that search, if those are more than the calls allow."""
    chunked: int = 14
    """The most programs that read inputs in chunks: three ways, four sizes; two without chunks."""
    loops_by_host: int = 6
    """The most variants with loops run by the host that a search for a budget expects to try."""
    variant_factor: int = 4
    """The factor beyond the reach of a variant at which the next one is searched; more if there
    would be more than `variants`."""
    variants: int = 6
    """The most variants of a range."""
    further_variants: int = 2
    """The number of variants beyond the plain program if no range is given."""
    rounded_bounds: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
    """Bounds are rounded to multiples of these, in order, until assumptions hold."""
    reach_fraction: int = 8
    """The reach of a variant is searched to this fraction of it, where dry runs are slow."""
    searched_calls: int = 20_000
    """Programs with offloading and more kernel calls are not searched for the largest bounds that
    fit a budget: their dry runs take every step."""
    condition_cases: int = 64
    """A dry run takes all steps of a loop if a condition has more cases of ``min`` and ``max``."""
    tuned_kernels: int = 8
    """With more loops and blocks on the device, command buffers are not tuned one by one."""
    tuned_runs: tuple[int, int] = (3, 101)
    """The least and the most runs of a candidate."""
    tuned_seconds: float = 4.0
    """The seconds for the runs of a candidate."""

    # ---------------------------------------------------------------- the process

    collect: tuple[int, int, int] = (100_000, 20, 20)
    """Thresholds of Python's garbage collector: hardly anything that a compilation makes is
    garbage, and collecting by the default ones costs a tenth of `check`. With these `check` of
    the examples collects nothing, and `compile` needs no more memory than with 20,000."""


EFFORT = Effort()
