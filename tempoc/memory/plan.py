"""Plans memory: for each tensor the smallest sufficient buffer.

A dimension is an *axis* of an array if slices along it are read or written, or if its index moves
with a device loop; else it is a *key* by which the host selects an array. The live ranges give the
number of slots along it: one (a register), a few that are reused cyclically (a ring), or one for
each point (a block, or points). A block that is read up to the current step grows with the steps.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from tempoc.base.effort import EFFORT
from tempoc.base.run_costs import RUN_COSTS
from tempoc.memory.axis_order import loops_in_front, spatial_in_front
from tempoc.memory.estimates import is_small, product_at, typical_bounds
from tempoc.memory.frees import donations, releases, step_local
from tempoc.memory.growth import (
    capacity_uses,
    growing_dims,
    stepped_dims,
    with_ample_rings,
    with_rounded,
)
from tempoc.memory.lifetime import Lifetimes, lifetimes
from tempoc.memory.plan_types import MemoryPlan
from tempoc.poly.relations import syntactic as fast
from tempoc.poly.relations.space import Space
from tempoc.program.nodes.buffers import Buffer, BufferAxis, Key
from tempoc.schedule.compute import Scheduled
from tempoc.schedule.placement.varying_accesses import device_varying_dims
from tempoc.sdg.graph.graph import Graph, Output
from tempoc.sdg.statements.statements import Statements, Tensor
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, conjuncts
from tempoc.symbolic.walk import divisions, substitute, symbols


def plan(
    statements: Statements,
    scheduled: Scheduled,
    outputs: Sequence[Output],
    space: Space,
    least: int = 0,
    graph: Graph | None = None,
    apart: bool = False,
    rounds: bool = False,
    chunks: Mapping[str, int] = MappingProxyType({}),
) -> MemoryPlan:
    """The stores of all tensors, with their frees and donations.

    Growing stores have ``least`` slots at first; with 0 none grows. With the ``graph``, axes are
    ordered to suit the consumers. ``apart``: inputs and outputs have one array for each point where
    no statement reads or writes several at once, so that not all of them must be in memory at the
    same time. ``rounds``: sizes that would be all that depends on a bound may be rounded up. Of the
    inputs in ``chunks`` so many rows at a time are in their stores (`offload/chunks.py`).
    """
    lives = lifetimes(statements, scheduled, outputs)
    # With lengths found at run time, sizes must suffice for the largest ones.
    size_space = scheduled.timeline.space if space.universe.ended else space
    planner = _Planner(statements, outputs, size_space, lives)
    planner.moving = device_varying_dims(scheduled.tree, statements)
    planner.graph = graph
    planner.apart = apart
    planner.chunks = chunks
    planner.least = least
    planner.growing = growing_dims(scheduled.tree, statements, size_space) if least else {}
    stores: Mapping[str, Buffer] = {t.name: planner.store(t) for t in statements.tensors.values()}
    if rounds:
        stepped = stepped_dims(scheduled.tree, statements, size_space)
        stores = with_rounded(stores, stepped, statements, space.universe)
    stores, windows = (
        with_ample_rings(stores, statements, size_space) if rounds else (stores, frozenset[str]())
    )
    return MemoryPlan(
        stores=stores,
        releases=releases(stores, lives, scheduled.tree),
        donations=donations(stores, lives),
        extents={d.name: ix.Sym(d.bound) for d in space.universe.dims},
        needs=capacity_uses(stores, statements, size_space),
        step_local=step_local(stores, statements, scheduled.tree, outputs, space.universe),
        ample=windows,
        chunked=frozenset(chunks),
    )


class _Planner:
    def __init__(
        self, statements: Statements, outputs: Sequence[Output], space: Space, lives: Lifetimes
    ) -> None:
        self.statements = statements
        self.space = space
        self.universe = space.universe
        self.lives = lives
        self.moving: Mapping[str, frozenset[str]] = {}
        self.growing: Mapping[str, frozenset[str]] = {}
        self.graph: Graph | None = None
        self.apart = False
        self.chunks: Mapping[str, int] = {}
        self.least = 0

    def store(self, tensor: Tensor) -> Buffer:
        """The store of one tensor."""
        if tensor.is_given:
            return self.resident(tensor)
        sliced = self.sliced(tensor)
        sizes, block = self.windows(tensor), self.vectorized(tensor)
        keys: list[Key] = []
        axes: list[BufferAxis] = []
        for dim in tensor.domain.dims:
            small = dim not in block and self.is_small(tensor, dim, sizes[dim])
            # Scalars cost more as separate arrays than in a block.
            moves = sizes[dim] != ix.ONE and dim in self.moving.get(tensor.name, ())
            if dim in sliced or moves or not (small or tensor.type.ndim):
                every = 1 if small or dim in sliced else self.every(tensor, dim)
                size = sizes[dim] if small else self.extent(tensor, dim, every)
                size = self.whole(tensor, dim, size) if not small and every == 1 else size
                least = self.initial_capacity(tensor, dim, size)
                axes.append(BufferAxis(dim=dim, size=size, ring=small, least=least, every=every))
                if self.graph is not None and dim in sliced and (small or least):
                    front = spatial_in_front(tensor.name, dim, self.statements, self.graph)
                    axes[-1] = replace(axes[-1], behind=0 if any(a.behind for a in axes) else front)
            else:
                keys.append(Key(dim=dim, modulo=sizes[dim] if small else None))
        buffer = Buffer(
            name=tensor.name,
            dtype=tensor.type.dtype.value,
            keys=tuple(keys),
            axes=tuple(axes),
            shape=self.shape(tensor),
        )
        return buffer if self.graph is None else self.with_loops_in_front(buffer)

    def with_loops_in_front(self, buffer: Buffer) -> Buffer:
        """The buffer with the axes ahead that a loop on the device steps along."""
        moving = self.moving.get(buffer.name, frozenset())
        ahead = loops_in_front(buffer, moving, self.statements, self.universe)
        axes = (replace(a, ahead=True) if a.dim in ahead else a for a in buffer.axes)
        return replace(buffer, axes=tuple(axes)) if ahead else buffer

    def resident(self, tensor: Tensor) -> Buffer:
        """The store of an input (one array) or param (one array for each point unless sliced)."""
        dims = tensor.domain.dims
        if tensor.name in self.chunks:
            (dim,), rows = dims, ix.Const(self.chunks[tensor.name])
            return Buffer(
                name=tensor.name,
                dtype=tensor.type.dtype.value,
                axes=(BufferAxis(dim=dim, size=rows, ring=True),),
                shape=self.shape(tensor),
            )
        array_dims = (*self.sliced(tensor), *self.moving.get(tensor.name, ()))
        if tensor.origin == "input" and not (self.apart and tensor.type.ndim):
            array_dims = dims
        buffer = Buffer(
            name=tensor.name,
            dtype=tensor.type.dtype.value,
            keys=tuple(Key(dim=d) for d in dims if d not in array_dims),
            axes=tuple(
                BufferAxis(dim=d, size=ix.Sym(self.bound(d))) for d in dims if d in array_dims
            ),
            shape=self.shape(tensor),
        )
        may_turn = tensor.origin == "input" and self.graph is not None
        return self.with_loops_in_front(buffer) if may_turn else buffer

    def whole(self, tensor: Tensor, dim: str, size: ix.Expr) -> ix.Expr:
        """The bound, for an axis that may grow and has all points but the last few.

        Room for these costs little, and with it the axis grows together with others.
        """
        bound = ix.Sym(self.bound(dim))
        spare = ix.sub(bound, self.space.upper_bound(ix.Sym(dim) + 1, tensor.domain))
        is_near = isinstance(spare, ix.Const) and 0 <= spare.value <= RUN_COSTS.store_grain
        is_growing = self.growing.get(tensor.name, frozenset()) == {dim}
        return bound if is_growing and is_near and not self.is_square(tensor, dim) else size

    def initial_capacity(self, tensor: Tensor, dim: str, size: ix.Expr) -> int:
        """The first slots of an axis that grows, else 0; at most one axis of a store grows."""
        is_only_dim = self.growing.get(tensor.name, frozenset()) == {dim}
        is_whole = size == ix.Sym(self.bound(dim)) and not self.is_square(tensor, dim)
        return self.least if is_only_dim and is_whole else 0

    def is_square(self, tensor: Tensor, dim: str) -> bool:
        """Whether another axis is as long, so that a store of few columns is a large one as well.

        Its kernels depend on the bound in any case, and columns of fewer than all rows save little.
        """
        long = ix.Sym(self.bound(dim))
        others = (ix.Sym(self.bound(d)) for d in tensor.domain.dims if d != dim)
        return any(self.space.equal(long, other, Domain(())) for other in others)

    # -------------------------------------------------------------- questions

    def bound(self, dim: str) -> str:
        return self.universe.dim(dim).bound

    def sliced(self, tensor: Tensor) -> tuple[str, ...]:
        """Dimensions along which some access is a slice."""
        uses = [r.entries for _, r in self.statements.readers(tensor.name)]
        uses += [w.entries for _, w in self.statements.writers(tensor.name)]
        if not (self.apart and tensor.type.ndim):
            uses += self.lives.output_reads.get(tensor.name, ())
        columns = zip(tensor.domain.dims, zip(*uses, strict=True), strict=True) if uses else ()
        return tuple(d for d, column in columns if any(isinstance(e, ix.Slice) for e in column))

    def vectorized(self, tensor: Tensor) -> tuple[str, ...]:
        """Dimensions along which a vectorized statement accesses several slots, one for each point.

        These cannot be rings.
        """
        accesses = [w.entries for _, w in self.statements.writers(tensor.name)]
        for statement, read in self.statements.readers(tensor.name):
            if statement.single is not None:
                own = statement.single.reads[statement.reads.index(read)]
                pairs = zip(own.entries, read.entries, strict=True)
                accesses.append(tuple(ix.ZERO if isinstance(a, ix.Slice) else b for a, b in pairs))
        columns = zip(tensor.domain.dims, *accesses, strict=True)
        return tuple(d for d, *es in columns if any(isinstance(e, ix.Slice) for e in es))

    def windows(self, tensor: Tensor) -> dict[str, ix.Expr]:
        """Slots along each dimension, for the order of dimensions that needs the fewest in all."""
        dims = tensor.domain.dims
        few = len(dims) <= EFFORT.permuted_dims
        orders = itertools.permutations(dims) if few else [dims, dims[::-1]]
        values = typical_bounds(self.universe)
        best: dict[str, ix.Expr] | None = None
        least = 0
        for order in orders:
            windows = self.lives.windows(tensor.name, tuple(order))
            sizes_of = {d: self.counted(window) for d, window in windows.items()}
            sizes = [
                sizes_of[d] if self.is_small(tensor, d, sizes_of[d]) else ix.Sym(self.bound(d))
                for d in dims
            ]
            slots = product_at(sizes, values)
            if best is None or slots < least:
                best, least = sizes_of, slots
            if least == 1:
                break
        assert best is not None
        return best

    def counted(self, window: ix.Expr) -> ix.Expr:
        """A window that depends on fixed bounds alone as the number of its slots.

        Live ranges hold for all values of these: read at a number in place of the last step, a
        tensor has ``max(1, M - 2047)`` slots, and with ``M`` 2048 it is a register.
        """
        bounds = (b for b in self.universe.bounds if not b.until)
        fixed = {b.name: b.value for b in bounds if isinstance(b.value, ix.Const)}
        size = substitute(window, fixed)
        whole = isinstance(window, ix.Sym)
        return size if isinstance(size, ix.Const) and size.value > 0 and not whole else window

    def is_small(self, tensor: Tensor, dim: str, window: ix.Expr) -> bool:
        return window == ix.ONE or is_small(window, self.bound(dim), self.universe)

    def every(self, tensor: Tensor, dim: str) -> int:
        """The distance between neighbouring points of a tensor along a dimension.

        It is a divisor by which all have one remainder, which some condition names.
        """
        parts = [p for p in conjuncts(tensor.domain.where) if dim in symbols(p)]
        named = {e.divisor for p in parts for e in divisions(p) if isinstance(e, ix.Mod)}
        for divisor in sorted(named, reverse=True):
            remainder = ix.mod(ix.Sym(dim), divisor)
            least = self.space.lower_bound(remainder, tensor.domain)
            most = self.space.upper_bound(remainder, tensor.domain)
            if isinstance(least, ix.Const) and least == most:
                return divisor
        return 1

    def extent(self, tensor: Tensor, dim: str, every: int = 1) -> ix.Expr:
        """The number of slots for a full axis: the least upper bound of the points."""
        last = ix.floordiv(ix.Sym(dim), every)
        limit = self.space.upper_bound(last + 1, tensor.domain)
        if self.names_dims(limit):
            return ix.Sym(self.bound(dim))
        # A kernel may contain an access, which needs a slot, even if the tensor has no points.
        sliced = any(
            isinstance(e, ix.Slice)
            for _, r in self.statements.readers(tensor.name)
            for e in r.entries
        )
        guarded = any(w.where != ix.TRUE for _, w in self.statements.writers(tensor.name))
        # A device loop that ends a length calls kernels for points beyond the end, too.
        guesses = bool(self.universe.ended) and dim in self.moving.get(tensor.name, ())
        return fast.clamped_size(1 if sliced or guarded or guesses else 0, limit, self.universe)

    def shape(self, tensor: Tensor) -> tuple[ix.Expr, ...]:
        """The spatial extents; upper bounds of those that vary with the point."""
        extents = (
            self.space.upper_bound(e, tensor.domain) if self.varies(e) else e
            for e in tensor.type.shape
        )
        return tuple(fast.clamped_size(0, e, self.universe) for e in extents)

    def varies(self, e: ix.Expr) -> bool:
        return any(self.universe.is_dim(n) or n in self.universe.lengths for n in symbols(e))

    def names_dims(self, e: ix.Expr) -> bool:
        return any(self.universe.is_dim(name) for name in symbols(e))
