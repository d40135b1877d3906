"""The pipelines, as data: reading one tuple is reading the compiler."""

from collections.abc import Callable, Mapping

from tempoc.passes.accumulate import Accumulate
from tempoc.passes.algebra import Algebra
from tempoc.passes.canonicalize import Canonicalize
from tempoc.passes.context import PassContext
from tempoc.passes.fuse import Fuse
from tempoc.passes.reduce_domain import ReduceDomain
from tempoc.passes.vectorize import Vectorize
from tempoc.pipeline.step import Step
from tempoc.sdg.graph import Graph

Pass = Step[Graph, PassContext]

O0: tuple[Pass, ...] = ()
O1: tuple[Pass, ...] = (Canonicalize(), Fuse())
O2: tuple[Pass, ...] = (
    Canonicalize(),
    Algebra(),
    Canonicalize(),
    ReduceDomain(),
    Vectorize(),
    Accumulate(),
    Fuse(),
)
LEVELS: tuple[tuple[Pass, ...], ...] = (O0, O1, O2)

REGISTRY: Mapping[str, Callable[..., Pass]] = {
    "canonicalize": Canonicalize,
    "algebra": Algebra,
    "reduce_domain": ReduceDomain,
    "accumulate": Accumulate,
    "vectorize": Vectorize,
    "fuse": Fuse,
}
