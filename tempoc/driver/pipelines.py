"""The pass pipelines of the optimization levels, as tuples, what runs before differentiation, and
the registry of passes."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace

from tempoc.autodiff.differentiate import differentiate
from tempoc.base.cost_model import MODEL
from tempoc.driver.elaborate import ElaboratedProgram
from tempoc.passes.attention.head_dimension import HeadDimension
from tempoc.passes.attention.picked_parts import PickedParts
from tempoc.passes.attention.softmax_maxima import SoftmaxMaxima
from tempoc.passes.attention.softmax_terms import SoftmaxTerms
from tempoc.passes.context import PassContext
from tempoc.passes.contraction.distribute import Distribute
from tempoc.passes.contraction.reassociate import Reassociate
from tempoc.passes.dispatch.dispatch import Dispatch
from tempoc.passes.dispatch.factors import MatrixFactors, with_factors
from tempoc.passes.dispatch.pattern import KernelEntry
from tempoc.passes.dispatch.triangular import Triangular
from tempoc.passes.domain.if_conversion import IfConversion
from tempoc.passes.domain.predicate import Predication
from tempoc.passes.domain.reduce_domain import ReduceDomain
from tempoc.passes.domain.retime import Retime
from tempoc.passes.domain.split import SplitLoops
from tempoc.passes.domain.wavefront import Wavefront
from tempoc.passes.fusion.fuse import Fuse
from tempoc.passes.lifting.lift import Lift
from tempoc.passes.lifting.reroll import Reroll
from tempoc.passes.lifting.running_state import with_running_states
from tempoc.passes.memory.accumulate import Accumulate
from tempoc.passes.memory.carry import CarryLast
from tempoc.passes.memory.divide import DivideByReaders
from tempoc.passes.memory.peel_head import PeelHead
from tempoc.passes.memory.range_totals import RangeTotals
from tempoc.passes.memory.rematerialize import Rematerialize
from tempoc.passes.memory.serialize import Serialize
from tempoc.passes.memory.unpack import Unpack
from tempoc.passes.recurrences.needed_recurrences import with_needed_recurrences
from tempoc.passes.recurrences.prologue import Prologue
from tempoc.passes.recurrences.recurrence_to_scan import RecurrenceToScan
from tempoc.passes.simplify.algebra import Algebra
from tempoc.passes.simplify.canonicalize import Canonicalize
from tempoc.passes.simplify.constant_shifts import with_constant_shifts
from tempoc.passes.simplify.element_reads import ElementReads
from tempoc.passes.simplify.range_functions import RangeFunctions, with_point_functions
from tempoc.passes.simplify.restricted_duplicates import without_restricted_duplicates
from tempoc.passes.tiling.microbatch import Microbatch
from tempoc.passes.tiling.tile import Tile
from tempoc.passes.vectorization.embed import Embed
from tempoc.passes.vectorization.lockstep import Lockstep
from tempoc.passes.vectorization.unslice import Unslice
from tempoc.passes.vectorization.vectorize import Vectorize
from tempoc.passes.vectorization.whole_rows import WholeRows
from tempoc.pipeline.step import PassStep
from tempoc.sdg.graph.active import gradients, without_stops
from tempoc.sdg.graph.graph import Graph

Pass = PassStep[Graph, PassContext]

O0: tuple[Pass, ...] = ()
O1: tuple[Pass, ...] = (Canonicalize(), Fuse())
O2: tuple[Pass, ...] = (
    Canonicalize(),
    SoftmaxTerms(),
    Distribute(),
    ElementReads(),
    Algebra(),
    Reassociate(),
    Canonicalize(),
    RangeFunctions(),
    Reroll(),
    ReduceDomain(),
    RangeTotals(),
    Unpack(),
    Predication(),
    WholeRows(),
    Predication(),
    Embed(),
    Lockstep(),
    Retime(),
    SplitLoops(),
    Prologue(),
    IfConversion(),
    Vectorize(),
    Triangular(),
    Lift(),
    RecurrenceToScan(),
    Canonicalize(),
    Wavefront(),
    Vectorize(),
    Lift(),
    DivideByReaders(),
    SoftmaxMaxima(),
    Unslice(),
    Microbatch(),
    Tile(),
    Accumulate(),
    PeelHead(),
    CarryLast(),
    Fuse(),
)
LEVELS: tuple[tuple[Pass, ...], ...] = (O0, O1, O2)

ANEW: tuple[str, ...] = ("vectorize",)
"""Passes that redo all their decisions in each run: only the remarks of the last run count."""

REGISTRY: Mapping[str, Callable[..., Pass]] = {
    "canonicalize": Canonicalize,
    "algebra": Algebra,
    "distribute": Distribute,
    "reassociate": Reassociate,
    "reroll": Reroll,
    "reduce_domain": ReduceDomain,
    "totals": RangeTotals,
    "unpack": Unpack,
    "softmax": SoftmaxTerms,
    "elements": ElementReads,
    "ranges": RangeFunctions,
    "heads": HeadDimension,
    "parts": PickedParts,
    "rows": WholeRows,
    "predicate": Predication,
    "embed": Embed,
    "lockstep": Lockstep,
    "retime": Retime,
    "split": SplitLoops,
    "prologue": Prologue,
    "if_conversion": IfConversion,
    "vectorize": Vectorize,
    "factors": MatrixFactors,
    "solves": Triangular,
    "lift": Lift,
    "scans": RecurrenceToScan,
    "wavefront": Wavefront,
    "unslice": Unslice,
    "maxima": SoftmaxMaxima,
    "dispatch": Dispatch,
    "divide": DivideByReaders,
    "microbatch": Microbatch,
    "tile": Tile,
    "accumulate": Accumulate,
    "pin": PeelHead,
    "carry": CarryLast,
    "recompute": Rematerialize,
    "walk": Serialize,
    "fuse": Fuse,
}


def with_dispatch(steps: tuple[Pass, ...], entries: tuple[KernelEntry, ...]) -> tuple[Pass, ...]:
    """The pipeline with `dispatch` in front of what tiles, or with these entries where it is."""
    if any(isinstance(s, Dispatch) for s in steps):
        return tuple(Dispatch(entries=entries) if isinstance(s, Dispatch) else s for s in steps)
    for place, step in enumerate(steps):
        if isinstance(step, SoftmaxMaxima | Microbatch | Tile):
            return (*steps[:place], Dispatch(entries=entries), *steps[place:])
    return steps


def with_launched_steps(steps: tuple[Pass, ...]) -> tuple[Pass, ...]:
    """The pipeline for a device on which each step of a scan is launched."""
    launched = RecurrenceToScan | Microbatch
    return tuple(replace(s, launched=True) if isinstance(s, launched) else s for s in steps)


def with_limit(steps: tuple[Pass, ...], limit: int) -> tuple[Pass, ...]:
    """The pipeline, with tensors of more than ``limit`` bytes, alone or together, tiled."""
    return tuple(replace(s, limit=limit) if isinstance(s, Tile | Microbatch) else s for s in steps)


def without_scans(steps: tuple[Pass, ...]) -> tuple[Pass, ...]:
    """The pipeline without `scans` and `wavefront`.

    Within one kernel, no cell can be moved to the host, and a row of a diagonal is one cell.
    """
    return tuple(s for s in steps if not isinstance(s, RecurrenceToScan | Wavefront))


def with_serialize(steps: tuple[Pass, ...]) -> tuple[Pass, ...]:
    """The pipeline with `walk`, which computes large points one after the other and accumulates
    sums over them, and without `wavefront`, whose rows take more memory than a table."""
    pipeline: list[Pass] = []
    for step in (s for s in steps if not isinstance(s, Wavefront)):
        pipeline += [Serialize()] if isinstance(step, Accumulate) else []
        pipeline.append(
            replace(step, piece=MODEL.point_bytes) if isinstance(step, Accumulate) else step
        )
    return tuple(pipeline)


def with_running_sums(steps: tuple[Pass, ...]) -> tuple[Pass, ...]:
    """The pipeline with sums accumulated in the loops that compute their summands, however large
    the sums are: nothing has to be vectorized, and stored for all steps, for their sake."""
    pipeline: list[Pass] = []
    for step in steps:
        match step:
            case Vectorize():
                pipeline.append(replace(step, carried=sys.maxsize))
            case Accumulate():
                pipeline.append(replace(step, limit=sys.maxsize))
            case _:
                pipeline.append(step)
    return tuple(pipeline)


def with_tiles(steps: tuple[Pass, ...], size: int) -> tuple[Pass, ...]:
    """The pipeline with tiles of that size, even where tensors fit, in place of microbatches."""
    others = (s for s in steps if not isinstance(s, Microbatch))
    return tuple(replace(s, size=size) if isinstance(s, Tile) else s for s in others)


def with_recompute(steps: tuple[Pass, ...], *, work: bool) -> tuple[Pass, ...]:
    """The pipeline with `recompute` in front of `fuse`; ``work``: of expensive values too."""
    pipeline: list[Pass] = []
    for step in steps:
        pipeline += [Rematerialize(work=work)] if isinstance(step, Fuse) else []
        pipeline.append(step)
    return tuple(pipeline)


def with_cheaper_gradients(
    program: ElaboratedProgram, context: PassContext, *, heads: bool, launched: bool
) -> Graph:
    """The graph to optimize: derivatives are those of functions of points, not of ranges, of
    recurrences, not of products with all steps so far, of operators for factors of matrices and
    triangular systems, and of recurrences within steps where something needs them.

    What one pass makes of the program that is differentiated, no pass could make of its
    derivatives. Factors come first: they are recognized by the ranges that their sums read.
    ``heads``: attention gets a dimension for its heads, which the context then declares.
    ``launched``: each step of a loop is launched by itself, so that products with all steps take
    less time than states.
    """
    if not gradients(program.written):
        graph = with_factors(without_restricted_duplicates(program.graph), context)
        if heads:
            graph = PickedParts().run(graph, context)
        return graph if launched else without_stops(with_running_states(graph, context))
    written = with_constant_shifts(without_restricted_duplicates(program.written))
    written = with_factors(written, context)
    written = with_point_functions(written, context)
    if heads:
        written = PickedParts().run(written, context)
    if not launched:
        written = with_running_states(written, context)
    if heads:
        written = HeadDimension().run(written, context)
    written = with_needed_recurrences(written, context.space)
    return program.graph if written is program.written else differentiate(written, context.space)
