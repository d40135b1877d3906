"""What codegen consumes and what a kernel passes on: cells, arguments, results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tempoc.codegen.stores.array_sizes import DynamicSize
from tempoc.codegen.stores.window_axis import WindowAxis
from tempoc.codegen.text.naming import identifier
from tempoc.memory.plan_types import MemoryPlan
from tempoc.ops.definition.operator import Emitter, ImportedFunction
from tempoc.poly.relations import syntactic as fast
from tempoc.poly.relations.space import Space
from tempoc.schedule.tree import ScheduleTree
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.statements.statements import Statement, Statements
from tempoc.symbolic.expr import TRUE, Expr, disjunction
from tempoc.symbolic.walk import is_affine, substitute, symbols

KernelCell = tuple[str, tuple[Expr, ...]]
"""A tensor and the key of one of its arrays, in statement coordinates."""


BATCH = 64 * 2**20
"""How many bytes the largest array may have that all points of a kernel make together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """What codegen consumes of one compilation. ``x64``: some tensor has a 64-bit dtype.

    ``space`` proves things about runs whose lengths are known, ``room`` finds sizes that are enough
    for all lengths; these are over the names in ``largest``, like all sizes of the plan.
    ``batch``: how many bytes the largest array may have that points make together.
    ``imports`` has the name in ``kernels.py`` of each Python function that kernels call. ``rooms``
    are the sizes that a kernel takes from arrays that grow, ``windows`` what its points read of
    arrays around themselves, ``local`` what it calls nodes and tensors.
    """

    graph: Graph
    statements: Statements
    plan: MemoryPlan
    space: Space
    room: Space
    tree: ScheduleTree
    x64: bool = False
    imports: Mapping[ImportedFunction, str] = field(default_factory=dict)
    largest: Mapping[str, Expr] = field(default_factory=dict)
    batch: int = BATCH
    rooms: tuple[DynamicSize, ...] = ()
    windows: tuple[WindowAxis, ...] = ()
    local: Mapping[str, str] = field(default_factory=dict)

    def called(self, name: str) -> str:
        """What the kernel that is being written calls a node's result or a tensor."""
        tensor, _, part = name.partition("@")
        return identifier("_".join([self.local.get(tensor, tensor), *part.split()]))

    @property
    def starts(self) -> tuple[str, ...]:
        """The names of slots where parts of arrays begin that points read around themselves."""
        return tuple(w.start for w in self.windows)

    @property
    def sizes(self) -> tuple[str, ...]:
        """The names of sizes that a kernel takes from its arrays."""
        return (*(r.name for r in self.rooms), *(w.size for w in self.windows))

    def proves(self, statement: Statement, condition: Expr) -> bool:
        """Whether the condition provably holds wherever the statement is executed."""
        if condition == TRUE:
            return True
        if any(n in symbols(condition) for n in (*self.sizes, *self.starts)):
            return False
        return is_affine(condition) and self.space.implies(statement.domain, condition)

    def pad(self, statement: Statement, extent: Expr) -> Expr:
        """The least known upper bound of an extent, wherever the statement is executed."""
        pads = (*(r.pad(extent) for r in self.rooms), *(w.pad(extent) for w in self.windows))
        bound = next((e for e in pads if e is not None), None)
        if bound is None:
            bound = self.room.upper_bound(extent, statement.domain)
        return substitute(fast.no_less(0, bound, self.room.universe), self.largest)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelArgument:
    """A parameter of a kernel: the content of a cell, zeros where ``when`` does not hold."""

    cell: KernelCell
    name: str
    when: Expr = TRUE


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelResult:
    """What a kernel returns at one position: the new content of a cell, where ``where`` holds."""

    cell: KernelCell
    text: str
    where: Expr = TRUE


def merge_results(a: KernelResult, b: KernelResult, out: Emitter) -> KernelResult:
    """One result of two writes of a cell, which never happen at one point."""
    where = disjunction(a.where, b.where)
    if a.text == b.text:
        return replace(a, where=where)
    text = out.bind(a.text, f"jnp.where({out.index(b.where)}, {b.text}, {a.text})")
    return KernelResult(cell=a.cell, text=text, where=where)
