"""The inputs of codegen, and the interface of a kernel: cells, arguments, results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tempoc.base.cost_model import MODEL
from tempoc.base.python_text import identifier
from tempoc.codegen.stores.array_sizes import DynamicSize
from tempoc.codegen.stores.kernel_buffer import KernelBuffer
from tempoc.codegen.stores.window_axis import WindowAxis
from tempoc.memory.growth import ample
from tempoc.memory.plan_types import MemoryPlan
from tempoc.ops.definition.operator import Emitter, ImportedFunction
from tempoc.poly.relations import syntactic as fast
from tempoc.poly.relations.space import Space
from tempoc.schedule.tree import ScheduleTree
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.statements.statements import Read, Statement, Statements, Write
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import is_affine, substitute, symbols

KernelCell = tuple[str, tuple[ix.Expr, ...]]
"""A tensor and the key of one of its arrays, in statement coordinates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """The inputs of codegen for one compilation. ``x64``: some tensor has a 64-bit dtype, or an
    operator needs them.

    ``space`` proves conditions for runs with known lengths; ``size_space`` gives upper bounds that
    hold for all lengths, over the names in ``largest``, like all sizes of the plan.
    ``batch``: the most bytes that the largest intermediate array of all points may have.
    ``imports`` has the name in ``kernels.py`` of each Python function that kernels call.
    ``buffers`` are those of the plan as kernels see them, in one kernel also those of its aliases.
    ``dynamic_sizes`` are the sizes that the kernel takes from the shapes of growing arrays,
    ``windows`` the axes of which points read a window, ``local`` the names of nodes and tensors.
    ``needed`` says where a node that checks something is read, if that is not everywhere.
    ``rows_alone``: the kernel returns the rows that it writes, without the axes along which these
    are a point that varies.
    """

    graph: Graph
    statements: Statements
    plan: MemoryPlan
    buffers: Mapping[str, KernelBuffer]
    space: Space
    size_space: Space
    tree: ScheduleTree
    x64: bool = False
    imports: Mapping[ImportedFunction, str] = field(default_factory=dict)
    largest: Mapping[str, ix.Expr] = field(default_factory=dict)
    batch: int = MODEL.array_bytes
    dynamic_sizes: tuple[DynamicSize, ...] = ()
    windows: tuple[WindowAxis, ...] = ()
    local: Mapping[str, str] = field(default_factory=dict)
    needed: Mapping[str, ix.Expr] = field(default_factory=dict)
    rows_alone: bool = False

    def local_name(self, name: str) -> str:
        """The name of a node's result, or of a tensor, in the kernel."""
        tensor, _, part = name.partition("@")
        return identifier("_".join([self.local.get(tensor, tensor), *part.split()]))

    def entries(self, access: Read | Write) -> dict[str, ix.Entry]:
        """What an access takes of each dimension of its tensor."""
        dims = self.statements.tensors[access.tensor].domain.dims
        return dict(zip(dims, access.entries, strict=True))

    def point(self, write: Write) -> dict[str, ix.Expr]:
        """The coordinates of the tensor that a statement of one point writes."""
        return {d: e for d, e in self.entries(write).items() if not isinstance(e, ix.Slice)}

    @property
    def starts(self) -> tuple[str, ...]:
        """The names of the first positions of the array parts that hold windows."""
        return tuple(w.start for w in self.windows)

    @property
    def sizes(self) -> tuple[str, ...]:
        """The names of the sizes that the kernel takes from its arrays."""
        return (*(r.name for r in self.dynamic_sizes), *(w.size for w in self.windows))

    def proves(self, statement: Statement, condition: ix.Expr) -> bool:
        """Whether the condition provably holds on the statement's domain."""
        if condition == ix.TRUE:
            return True
        if any(n in symbols(condition) for n in (*self.sizes, *self.starts)):
            return False
        return is_affine(condition) and self.space.implies(statement.domain, condition)

    def fits(self, size: ix.Expr, extent: ix.Expr) -> bool:
        """Whether a size over bounds is provably at most an extent over bounds."""
        condition = ix.compare("<=", size, extent)
        known = {*symbols(condition)} <= {b.name for b in self.space.universe.bounds}
        return known and is_affine(condition) and self.space.implies(Domain(()), condition)

    def pad(self, statement: Statement, extent: ix.Expr) -> ix.Expr:
        """The least known upper bound of an extent over the statement's domain."""
        pads = (
            *(r.pad(extent) for r in self.dynamic_sizes),
            *(w.pad(extent) for w in self.windows),
        )
        bound = next((e for e in pads if e is not None), None)
        if bound is None:
            bound = self.size_space.upper_bound(extent, statement.domain)
            if any(map(self.space.universe.is_dim, symbols(extent))):
                bound = ample(bound, self.plan.ample)
        return substitute(fast.clamped_size(0, bound, self.size_space.universe), self.largest)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelArgument:
    """A parameter of a kernel: the content of a cell, zeros where ``when`` does not hold."""

    cell: KernelCell
    name: str
    when: ix.Expr = ix.TRUE


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelResult:
    """What a kernel returns at one position: the new content of a cell, where ``where`` holds.

    Arrays of the same shape and order of axes that have the same ``value`` are equal, unless that
    is empty.
    """

    cell: KernelCell
    text: str
    where: ix.Expr = ix.TRUE
    value: str = ""


def merge_results(a: KernelResult, b: KernelResult, out: Emitter) -> KernelResult:
    """One result for two writes of a cell whose conditions exclude each other."""
    where = ix.disjunction(a.where, b.where)
    if a.text == b.text:
        return replace(a, where=where)
    text = out.bind(a.text, f"jnp.where({out.index(b.where)}, {b.text}, {a.text})")
    return KernelResult(cell=a.cell, text=text, where=where)
