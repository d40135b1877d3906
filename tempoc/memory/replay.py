"""Replays a schedule at concrete bounds and checks the contents of every slot that is read.

Independent of the planner: no live ranges, no polyhedra. Values are not computed; a slot holds the
*point* of its value. An array that is freed or donated loses all its slots, and may not be passed
to a kernel any more, even if that would read nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tempoc.memory.errors import lost_value
from tempoc.memory.plan_types import MemoryPlan
from tempoc.schedule.replay import ConcreteProgram, LoopSteps, accessed_points, stepped_trace
from tempoc.schedule.tree import ScheduleTree
from tempoc.sdg.graph.graph import Output
from tempoc.sdg.statements.statements import Statement, Statements, Write
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Point
from tempoc.symbolic.walk import evaluate

Address = tuple[str, Point, Point]


class TooLong(Exception):
    """The schedule has more steps than the replay was allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """How the points of a tensor lie in its store, with sizes as numbers.

    ``keys`` and ``axes`` are places in a point, and what it is reduced by (0: by nothing); for axes
    also of how many points one has a slot. ``slots`` are places, that and the number of slots;
    ``grows`` places of growing axes and their size; ``extents`` are extents of values, and those of
    a slot.
    """

    keys: tuple[tuple[int, int], ...]
    axes: tuple[tuple[int, int, int], ...]
    slots: tuple[tuple[int, int, int], ...]
    grows: tuple[tuple[int, tuple[str, ix.Expr]], ...]
    extents: tuple[tuple[ix.Expr, int], ...]


@dataclass(slots=True, kw_only=True)
class Replay:
    """One execution; ``steps`` is the number of reads and writes that are left.

    Loops and sizes use ``bounds``; the existence of points and their accesses use the actual
    lengths of the ``world``.
    """

    plan: MemoryPlan
    statements: Statements
    bounds: Mapping[str, int]
    world: ConcreteProgram
    steps: int
    slots: dict[Address, Point] = field(default_factory=dict)
    places: dict[str, Places] = field(default_factory=dict)
    freed: dict[tuple[str, Point], None] = field(default_factory=dict)
    rows: dict[tuple[str, ix.Expr], int] = field(default_factory=dict)
    local_steps: dict[str, LoopSteps] = field(default_factory=dict)

    def run(self, tree: ScheduleTree, outputs: Sequence[Output]) -> None:
        """Execute everything, then read the outputs. Raises ``DiagnosticError`` (RT450)."""
        self._check_rings()
        self.places = {name: self._places(name) for name in self.plan.stores}
        for (name, at), steps in stepped_trace(tree, dict(self.bounds)):
            statement = self.statements.by_name[name]
            if self.world.has(statement, at):
                self._enter(statement, steps)
                self.execute(statement, self.world.at(statement, at))
        names = {(t.node, t.out): t.name for t in self.statements.tensors.values()}
        for output in outputs:
            tensor = names[output.source, output.out]
            if tensor in self.plan.step_local:
                raise lost_value(f"output {output.name}", tensor, (), "is gone", self.bounds)
            self.check(f"output {output.name}", tensor, output.entries, self.world.lengths())

    def _places(self, tensor: str) -> Places:
        store, stored = self.plan.stores[tensor], self.statements.tensors[tensor]
        place = {dim: k for k, dim in enumerate(stored.domain.dims)}
        return Places(
            keys=tuple(
                (place[k.dim], 0 if k.modulo is None else self._value(k.modulo)) for k in store.keys
            ),
            axes=tuple(
                (place[a.dim], self._value(a.size) if a.ring else 0, a.every) for a in store.axes
            ),
            slots=tuple(
                (place[a.dim], a.every, self._value(a.size)) for a in store.axes if not a.ring
            ),
            grows=tuple((place[a.dim], (a.dim, a.size)) for a in store.axes if a.grows),
            extents=tuple(
                (e, self._value(size))
                for e, size in zip(stored.type.shape, store.shape, strict=True)
            ),
        )

    def _check_rings(self) -> None:
        """Check that accesses of several slots get what they want.

        None that is vectorized is to a ring, whose slots may not be contiguous, unless it is of
        chunks of an input (`offload/chunks.py`); none is to an axis on which only some points have
        slots.
        """
        for s in self.statements.statements:
            for write in s.writes:
                self._check_ring(s.name, write.tensor, write.entries)
            for k, read in enumerate(s.reads if s.single else ()):
                assert s.single is not None
                own = zip(read.entries, s.single.reads[k].entries, strict=True)
                side = tuple(e if not isinstance(one, ix.Slice) else ix.ZERO for e, one in own)
                self._check_ring(s.name, read.tensor, side)
            uses = [(r.tensor, r.entries) for r in s.reads]
            uses += [(w.tensor, w.entries) for w in s.writes]
            for tensor, entries in uses:
                self._check_sparse(s.name, tensor, entries)

    def _check_ring(self, user: str, tensor: str, entries: tuple[ix.Entry, ...]) -> None:
        at = self.statements.tensors[tensor].domain.at(entries)
        if tensor in self.plan.chunked:
            return
        if any(a.ring and isinstance(at[a.dim], ix.Slice) for a in self.plan.stores[tensor].axes):
            raise lost_value(user, tensor, (), "is one of a ring, several are wanted", self.bounds)

    def _check_sparse(self, user: str, tensor: str, entries: tuple[ix.Entry, ...]) -> None:
        at = self.statements.tensors[tensor].domain.at(entries)
        axes = self.plan.stores[tensor].axes
        if any(a.every > 1 and isinstance(at[a.dim], ix.Slice) for a in axes):
            raise lost_value(user, tensor, (), "is one of several that are wanted", self.bounds)

    def _value(self, e: object) -> int:
        return evaluate(e, self.bounds)  # type: ignore[arg-type]

    # -------------------------------------------------------------- one instance

    def _enter(self, s: Statement, steps: LoopSteps) -> None:
        """Forget the values of other steps in arrays that a step of a device loop makes."""
        for tensor in dict.fromkeys([*(r.tensor for r in s.reads), *(w.tensor for w in s.writes)]):
            if (var := self.plan.step_local.get(tensor)) is not None:
                own = [k for k, (name, _, _) in enumerate(steps) if name == var]
                if not own:
                    raise lost_value(s.name, tensor, (), "is not there", self.bounds)
                step = steps[: own[0] + 1]
                if self.local_steps.setdefault(tensor, step) != step:
                    self.local_steps[tensor] = step
                    for address in [a for a in self.slots if a[0] == tensor]:
                        del self.slots[address]

    def execute(self, s: Statement, env: Mapping[str, int]) -> None:
        """Read old contents, then run members in order: forwarded reads, then writes."""
        self._grow(s, env)
        for read in s.reads:
            if not read.forwarded:
                self.check(s.name, read.tensor, read.entries, env)
        written: list[Address] = []
        for write in s.writes:
            self._check_array(s.name, write.tensor, write.entries, env)
        for member in s.members:
            for read in s.reads:
                if read.forwarded and read.member == member:
                    self.check(s.name, read.tensor, read.entries, env)
            for write in s.writes:
                if write.member == member:
                    written += self._write(s.name, write, env)
        for tensor, key in [*self._donated(s, env)]:
            if not any(a[:2] == (tensor, key) for a in written):
                self._release(tensor, key)
        largest = {**env, **self.bounds}
        for release in self.plan.releases.get(s.name, ()):
            if evaluate(release.where, largest):
                key = tuple(evaluate(e, largest) for e in release.key)
                self._release(release.tensor, key)

    def _grow(self, s: Statement, env: Mapping[str, int]) -> None:
        """Grow stores to the capacity that the statement needs, and no further.

        Only statements with a declared need may access a growing store.
        """
        values = {**env, **self.bounds}
        for need in self.plan.needs.get(s.name, ()):
            key, size = (need.dim, need.size), self._value(need.size)
            rows = min(size, max(evaluate(e, values) for e in need.rows))
            self.rows[key] = max(rows, self.rows.get(key, 0))
            if any(evaluate(e, values) > self.rows[key] for e in need.sure):
                at = tuple(env[d] for d in s.domain.dims)
                raise lost_value(s.name, need.dim, at, "is one too many", self.bounds)
        declared = {(need.dim, need.size) for need in self.plan.needs.get(s.name, ())}
        for tensor in (*(r.tensor for r in s.reads), *(w.tensor for w in s.writes)):
            for axis in self.plan.stores[tensor].axes:
                if axis.grows and (axis.dim, axis.size) not in declared:
                    raise lost_value(s.name, tensor, (), "is where it may not be", self.bounds)

    def _check_rows(self, user: str, tensor: str, point: Point) -> None:
        """Check that a point of a growing store is within its capacity."""
        for place, axis in self.places[tensor].grows:
            if point[place] >= self.rows.get(axis, 0):
                raise lost_value(user, tensor, point, "is not there yet", self.bounds)

    def _donated(self, s: Statement, env: Mapping[str, int]) -> Iterator[tuple[str, Point]]:
        for read in s.reads:
            if read.tensor in self.plan.donations.get(s.name, ()):
                key = self._key(read.tensor, read.entries, env)
                yield read.tensor, self._slot(read.tensor, key)

    def _write(self, writer: str, write: Write, env: Mapping[str, int]) -> Iterator[Address]:
        self.steps -= 1
        if self._is_stored(write.tensor) and evaluate(write.where, env):
            for point in accessed_points(write.entries, env):
                self._check_rows(writer, write.tensor, point)
                self._check_capacity(writer, write.tensor, point, env)
                address = self.address(write.tensor, point)
                self.slots[address] = point
                yield address

    def _check_capacity(
        self, writer: str, tensor: str, point: Point, env: Mapping[str, int]
    ) -> None:
        """Check that the array has a slot for the point, as large as its value."""
        places = self.places[tensor]
        fits = all(0 <= point[k] // every < size for k, every, size in places.slots)
        if places.extents:
            dims = self.statements.tensors[tensor].domain.dims
            values = {**env, **dict(zip(dims, point, strict=True))}
            fits = fits and all(evaluate(e, values) <= size for e, size in places.extents)
        if not fits:
            raise lost_value(writer, tensor, point, "has no room for it", self.bounds)

    def _check_array(
        self, user: str, tensor: str, entries: tuple[ix.Entry, ...], env: Mapping[str, int]
    ) -> None:
        """Check that an array that is passed to a kernel is not freed, accessed or not."""
        store = self.plan.stores[tensor]
        if store.axes or not self._is_stored(tensor):
            key = self._key(tensor, entries, env)
            if (tensor, self._slot(tensor, key)) in self.freed:
                raise lost_value(user, tensor, key, "is in an array that is gone", self.bounds)

    def _key(self, tensor: str, entries: tuple[ix.Entry, ...], env: Mapping[str, int]) -> Point:
        """The key of the array that an access uses."""
        at = self.statements.tensors[tensor].domain.at(entries)
        chosen = [at[k.dim] for k in self.plan.stores[tensor].keys]
        return tuple(evaluate(e.lo if isinstance(e, ix.Slice) else e, env) for e in chosen)

    def _slot(self, tensor: str, key: Point) -> Point:
        keys = self.places[tensor].keys
        return tuple(i % m if m else i for i, (_, m) in zip(key, keys, strict=True))

    def _release(self, tensor: str, key: Point) -> None:
        slot = self._slot(tensor, key)
        self.freed[tensor, slot] = None
        for address in [a for a in self.slots if a[:2] == (tensor, slot)]:
            del self.slots[address]

    def check(
        self, reader: str, tensor: str, entries: tuple[ix.Entry, ...], env: Mapping[str, int]
    ) -> None:
        """Check that all slots that are read hold the expected points."""
        self._check_array(reader, tensor, entries, env)
        if not self._is_stored(tensor):
            return
        for point in accessed_points(entries, env):
            self.steps -= 1
            if self.steps < 0:
                raise TooLong
            self._check_rows(reader, tensor, point)
            held = self.slots.get(self.address(tensor, point))
            if held != point:
                state = "was never written or is freed" if held is None else f"holds {list(held)}"
                raise lost_value(reader, tensor, point, state, self.bounds)

    def _is_stored(self, tensor: str) -> bool:
        return not self.statements.tensors[tensor].is_given

    def address(self, tensor: str, point: Point) -> Address:
        """The slot of a point."""
        places = self.places[tensor]
        key = tuple([point[k] % m if m else point[k] for k, m in places.keys])
        at = [(point[k] // every, m) for k, m, every in places.axes]
        return tensor, key, tuple([i % m if m else i for i, m in at])
