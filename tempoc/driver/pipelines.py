"""The pipelines, as data: reading one tuple is reading the compiler."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from tempoc.passes.context import PassContext
from tempoc.passes.contraction.reassociate import Reassociate
from tempoc.passes.domain.reduce_domain import ReduceDomain
from tempoc.passes.domain.split import SplitLoops
from tempoc.passes.fusion.fuse import Fuse
from tempoc.passes.lifting.lift import Lift
from tempoc.passes.lifting.recurrence_to_scan import Scans
from tempoc.passes.memory.accumulate import Accumulate
from tempoc.passes.memory.peel_head import Pin
from tempoc.passes.memory.rematerialize import Recompute
from tempoc.passes.memory.serialize import PIECE, Serialize
from tempoc.passes.simplify.algebra import Algebra
from tempoc.passes.simplify.canonicalize import Canonicalize
from tempoc.passes.tiling.tile import Tile
from tempoc.passes.vectorization.vectorize import Vectorize
from tempoc.pipeline.step import PassStep
from tempoc.sdg.graph.graph import Graph

Pass = PassStep[Graph, PassContext]

O0: tuple[Pass, ...] = ()
O1: tuple[Pass, ...] = (Canonicalize(), Fuse())
O2: tuple[Pass, ...] = (
    Canonicalize(),
    Algebra(),
    Reassociate(),
    Canonicalize(),
    ReduceDomain(),
    SplitLoops(),
    Vectorize(),
    Lift(),
    Scans(),
    Canonicalize(),
    Vectorize(),
    Lift(),
    Tile(),
    Accumulate(),
    Pin(),
    Fuse(),
)
LEVELS: tuple[tuple[Pass, ...], ...] = (O0, O1, O2)

ANEW: tuple[str, ...] = ("vectorize",)
"""Passes that decide everything anew whenever they run: what their last run says, counts."""

REGISTRY: Mapping[str, Callable[..., Pass]] = {
    "canonicalize": Canonicalize,
    "algebra": Algebra,
    "reassociate": Reassociate,
    "reduce_domain": ReduceDomain,
    "split": SplitLoops,
    "vectorize": Vectorize,
    "lift": Lift,
    "scans": Scans,
    "tile": Tile,
    "accumulate": Accumulate,
    "pin": Pin,
    "recompute": Recompute,
    "walk": Serialize,
    "fuse": Fuse,
}


def with_limit(steps: tuple[Pass, ...], limit: int) -> tuple[Pass, ...]:
    """The steps with tiles of what takes more bytes."""
    return tuple(replace(s, limit=limit) if isinstance(s, Tile) else s for s in steps)


def without_scans(steps: tuple[Pass, ...]) -> tuple[Pass, ...]:
    """The steps, but none that puts a recurrence into one kernel, where nothing can move."""
    return tuple(s for s in steps if not isinstance(s, Scans))


def with_serialize(steps: tuple[Pass, ...]) -> tuple[Pass, ...]:
    """The steps, and large points one after the other; sums of them are added up on the way."""
    pipeline: list[Pass] = []
    for step in steps:
        pipeline += [Serialize()] if isinstance(step, Accumulate) else []
        pipeline.append(replace(step, piece=PIECE) if isinstance(step, Accumulate) else step)
    return tuple(pipeline)


def with_tiles(steps: tuple[Pass, ...], size: int) -> tuple[Pass, ...]:
    """The steps with tiles of that size, whatever fits."""
    return tuple(replace(s, size=size) if isinstance(s, Tile) else s for s in steps)


def with_recompute(steps: tuple[Pass, ...], *, work: bool) -> tuple[Pass, ...]:
    """The steps with values made again instead of kept, in front of `fuse`."""
    pipeline: list[Pass] = []
    for step in steps:
        pipeline += [Recompute(work=work)] if isinstance(step, Fuse) else []
        pipeline.append(step)
    return tuple(pipeline)
