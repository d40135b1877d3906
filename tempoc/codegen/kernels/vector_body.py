"""Emits the body of a kernel that is vectorized over some dimensions.

An inner function, emitted by ``Body``, computes a single point; ``jax.vmap`` maps it over all
points::

    def point(t, x):
        return jnp.tanh(x)
    y = jax.vmap(point)(jnp.arange(T, dtype=jnp.int32), x)

Stores that a point accesses only at its own index are *mapped*: the inner function gets them
without that axis. All others are passed whole and read at traced indices. The rows that points
write are results of the ``vmap``, and one update writes them into their store; only a store that a
point reads after writing it passes through the inner function.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from tempoc.base.names import Names
from tempoc.codegen.kernels.distances import Clamped, is_chained, shift
from tempoc.codegen.kernels.mapped_axes import Element, pointwise
from tempoc.codegen.kernels.mapped_store import MappedStore
from tempoc.codegen.kernels.point_body import Body, forwarded_write
from tempoc.codegen.kernels.shared_windows import with_window
from tempoc.codegen.kernels.vmap_batches import axes_text, joined, point_bytes, vmapped
from tempoc.codegen.stores.access import KernelFrame, from_axis_order, slot
from tempoc.codegen.stores.context import KernelArgument, KernelCell, KernelResult, Stages
from tempoc.codegen.stores.kernel_buffer import KernelAxis, KernelBuffer
from tempoc.codegen.stores.ring_rows import short_ring
from tempoc.codegen.stores.slots import same_slots
from tempoc.codegen.stores.zero_columns import has_zero_columns
from tempoc.codegen.text.naming import names_in
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.dtype_text import tupled
from tempoc.ops.emission.emitter import KernelBlock, KernelEmitter
from tempoc.program.nodes.spelling import variable
from tempoc.sdg.statements.statements import Read, Statement, Write
from tempoc.symbolic import expr as ix
from tempoc.symbolic.expr import Expr
from tempoc.symbolic.walk import substitute, symbols


@dataclass(frozen=True, slots=True)
class _RowStart:
    """Where rows start along an axis; ``single``: they lack the axis; ``whole``: they fill it.

    ``moving``: it depends on the point.
    """

    start: str
    whole: bool
    single: bool = False
    moving: bool = False


class VectorBody:
    """Emits one vectorized kernel, with the interface of ``Body``; call ``run`` once."""

    def __init__(self, statement: Statement, stages: Stages, out: KernelEmitter, names: Names):
        self.forwarded = _forwarded(statement, stages)
        statement = _without_reads(statement, self.forwarded)
        self.statement, self.whole = statement, stages
        view = pointwise(statement, stages)
        self.window = next(iter(stages.windows), None)
        if self.window is not None:
            view = with_window(view, statement, self.window)
        self.single, self.stages, self.elements = view.single, view.stages, view.elements
        self.origins, self.moved, self.parts = view.origins, view.moved, view.parts
        self.joined = view.joined
        self.out = out
        self.names = names
        self.frame = KernelFrame(
            out=out,
            proves=lambda condition: stages.proves(statement, condition),
            dims=(*statement.domain.dims, *stages.graph.universe.lengths, *stages.starts),
            x64=stages.x64,
        )
        self.vector = {v.dim: v for v in statement.vector}
        self.arguments: dict[KernelCell, KernelArgument] = {}
        self.shown: tuple[str, ...] = ()
        self.endings: dict[str, str] = {}
        accesses: list[Read | Write] = [*self.single.reads, *self.single.writes]
        self.mapped_stores = {
            t: self._mapped_store(t) for t in dict.fromkeys(a.tensor for a in accesses)
        }
        read_back = {r.tensor for r in self.single.reads if r.forwarded}
        self.row_writes = {
            _alias(w, k): w for k, w in enumerate(self.single.writes) if w.tensor not in read_back
        }
        self._latest: dict[KernelCell, str] = {}
        self._fault = ""

    def run(self) -> tuple[KernelResult, ...]:
        """Emit the function of a point, its ``vmap`` and the updates of stores."""
        body = Body(*self._point_statement(), self.out, self.names)
        body.shared = {
            t: [d for d in self.vector if d not in home.shifts]
            for t, home in self.mapped_stores.items()
        }
        body.forwarded = self.forwarded
        body.rows_in_common = lambda t, dim: self.mapped_stores[t].is_mapped_behind(dim)
        body.whole, body.origins = (self.statement, self.whole), self._whole_origins()
        body.zero_columns = {t for t, e in self.elements.items() if self._has_zero_columns(e)}
        inner: list[KernelResult] = []

        def write() -> str:
            inner.extend(body.run())
            return self.out.failure() if self.out.checks else ""

        block = self.out.apart(write)
        self.out.checks += block.checks
        # Arrays passed whole come first, so that aliases of their elements share the name.
        for argument in sorted(body.arguments.values(), key=lambda a: a.cell[0] in self.origins):
            self._kernel_argument(argument)
        self._latest = {cell: a.name for cell, a in self.arguments.items()}
        outputs = self._call(block, inner, list(body.arguments.values()))
        self._fault = outputs[len(inner)] if block.checks else ""
        results: dict[KernelCell, KernelResult] = {}
        for result, text in zip(inner, outputs, strict=False):
            stored = self._stored(result, text)
            results[stored.cell] = stored
        return tuple(results.values())

    def _whole_origins(self) -> dict[str, str | None]:
        """The tensor that an alias is with all its axes; ``None`` if it is a part of it."""
        changed = {*self.elements, *self.moved, *self.parts, *self.joined}
        changed.update(t for t, origin in self.origins.items() if self.window is not None)
        return {t: None if t in changed else origin for t, origin in self.origins.items()}

    def _has_zero_columns(self, element: Element) -> bool:
        """Whether what reads of the elements of rows leave out is zeros."""
        assert self.statement.single is not None
        readers = {(r.member, r.slot) for r in self.single.reads if r.tensor == element.name}
        reads = [r for r in self.statement.single.reads if (r.member, r.slot) in readers]
        reads = [r for r in reads if r.tensor == element.tensor]
        whole, at = self.whole, (element.axis, element.at)
        return bool(reads) and all(has_zero_columns(r, whole, *at) for r in reads)

    def failure(self) -> str:
        """The number of the check that failed at the first point where one did, and which point."""
        return f"jnp.stack(first_lane({self._fault}))"

    def _kernel_argument(self, argument: KernelArgument) -> KernelArgument:
        """The argument of the kernel for an argument of the inner function."""
        tensor, key = argument.cell
        if tensor not in self.origins:
            return self.arguments.setdefault(argument.cell, argument)
        cell = self.origins[tensor], self._slot(self.origins[tensor], key)
        if cell not in self.arguments:
            name = self.names.fresh(self.stages.local_name(cell[0]))
            self.arguments[cell] = replace(argument, cell=cell, name=name)
        return self.arguments[cell]

    def _slot(self, tensor: str, key: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The key of a read array, as written by the write of the same array, if there is one."""
        store = self.stages.buffers[tensor]
        for write in self.single.writes if store.keys else ():
            if write.tensor == tensor:
                at = self.stages.entries(write)
                written = tuple(e for k in store.keys if isinstance(e := at[k.dim], Expr))
                if same_slots(store, written, key):
                    return written
        return key

    # ------------------------------------------------------------ one point

    def _mapped_store(self, tensor: str) -> MappedStore:
        """The store, with the dimensions that all accesses take at one distance from the point."""
        accesses: list[Read | Write] = [r for r in self.single.reads if r.tensor == tensor]
        accesses += [w for w in self.single.writes if w.tensor == tensor]
        store = self.stages.buffers[tensor]
        shifts: dict[str, Expr] = {}
        for dim in (a.dim for a in store.axes if a.dim in self.vector):
            distances = {shift(a, dim, self.stages) for a in accesses}
            distance = distances.pop()
            if not distances and distance is not None:
                shifts[dim] = distance
        element = self.elements.get(tensor)
        if element is not None:
            shifts[element.dim] = ix.sub(element.at, ix.Sym(element.dim))
        for part in self.parts.get(tensor, ()):
            if part.dim:  # it begins with what the first point reads
                shifts[part.dim] = ix.sub(ix.ZERO, self.vector[part.dim].lower)
        return MappedStore(store=store, shifts=shifts, element=element)

    def _point_statement(self) -> tuple[Statement, Stages]:
        """The statement of one point, and the stages with the stores that it gets."""
        buffers, tensors = dict(self.stages.buffers), dict(self.stages.statements.tensors)
        for name, home in self.mapped_stores.items():
            axes = tuple(a for a in home.store.axes if a.dim not in home.shifts)
            buffers[name] = replace(home.store, axes=axes)
        writes = list(self.single.writes)
        for k, w in enumerate(writes):
            if (alias := _alias(w, k)) in self.row_writes:
                writes[k] = replace(w, tensor=alias)
                buffers[alias] = replace(self.mapped_stores[w.tensor].store, name=alias, axes=())
                tensors[alias] = replace(tensors[w.tensor], name=alias)
        single = replace(self.single, writes=tuple(writes))
        others = (s for s in self.stages.statements.statements if s.name != single.name)
        statements = replace(self.stages.statements, tensors=tensors, statements=(*others, single))
        return single, replace(
            self.stages, statements=statements, buffers=buffers, rows_alone=False
        )

    # ------------------------------------------------------------ all points

    def _call(
        self, block: KernelBlock, inner: Sequence[KernelResult], arguments: Sequence[KernelArgument]
    ) -> list[str]:
        """Emit the function of a point and its mapped call; the names of the results."""
        if not block.lines and not block.checks:
            same = [self._passed_through(r, arguments) for r in inner]
            if all(same):
                return [text for text in same if text]
        returned = [*(r.text for r in inner), *([block.text] if block.checks else [])]
        size = point_bytes(replace(self.statement, single=self.single), self.stages)
        moving = [a for a in arguments if self.mapped_stores[a.cell[0]].is_partial]
        used = names_in((*block.lines, *returned))
        mapped = {d for a in moving for d in self.mapped_stores[a.cell[0]].shifts}
        indices = [d for d in self.vector if variable(d) in used or d not in mapped]
        point = self.names.fresh("point")
        starts = [self.window.start] if self.window else []
        parameters = [*map(variable, indices), *(a.name for a in moving), *starts]
        sizes = self._window_size(moving) if self.window and self.window.size in used else []
        lines = (*sizes, *block.lines, f"return {joined(returned)}")
        text = [f"def {point}({', '.join(parameters)}):", *(f"    {line}" for line in lines)]
        mapper = point
        inside = len(starts)
        for k, dim in reversed(list(enumerate(self.vector))):
            done = list(self.vector)[:k]
            places = [0 if d == dim else None for d in indices]
            places += [self.mapped_stores[a.cell[0]].place(dim, done) for a in moving]
            outs = [self._out_place(r, dim, done) for r in inner] + [0] * bool(block.checks)
            bytes_ = "" if size is None else self.out.static(size)
            count = ix.sub(self.vector[dim].upper, self.vector[dim].lower)
            if self.window and dim == self.window.dim:
                parts: list[int | None] = [None for _ in indices]
                parts += [self.mapped_stores[a.cell[0]].part(done) for a in moving]
                mapper = self._in_windows(mapper, bytes_, parts, places, outs)
                inside, count = 0, ix.mul(ix.Const(2), self.window.width)
            else:
                mapper = vmapped(mapper, [*places, *[None] * inside], outs, bytes_)
            if size is not None:
                size = ix.mul(size, count)
            if k > 0:
                text.append(f"{point} = {mapper}")
                mapper = point
        passed = [self._steps(d) for d in indices] + [self._mapped_slice(a) for a in moving]
        call = self._if_finite(text, f"{mapper}({', '.join(passed)})", arguments)
        outputs = [self.names.fresh(self._hint(r)) for r in inner]
        outputs += [self.names.fresh("fault")] * bool(block.checks)
        comma = "," if len(outputs) == 1 and len(returned) != 1 else ""
        self.out.lines.append(f"{', '.join(outputs)}{comma} = {call}")
        return outputs

    def _if_finite(
        self, lines: Sequence[str], call: str, arguments: Sequence[KernelArgument]
    ) -> str:
        """Write the lines that define what is called; the call, by whether arrays are finite.

        One branch is around all points, not one within each: JAX would bring the mapped axes of
        all that a branch reads to the front, and XLA fuses nothing into it.
        """
        if not self.out.ahead:
            self.out.lines += lines
            return call
        given = {a.name: self._kernel_argument(a).name for a in arguments}
        rows, finite = self.names.fresh("rows"), self.out.all_finite
        body = [f"    {line}" for line in (*lines, f"return {call}")]
        self.out.lines += [f"def {rows}({finite}):", *body]
        tests = dict.fromkeys(f"all_finite({given.get(x, x)})" for x in self.out.ahead)
        return f"usually({' & '.join(tests)}, lambda: {rows}(True), lambda: {rows}(False))"

    def _window_size(self, moving: Sequence[KernelArgument]) -> list[str]:
        """The line that takes the size of the shared window from an array."""
        assert self.window is not None
        homes = ((a.name, self.mapped_stores[a.cell[0]].part(list(self.vector))) for a in moving)
        name, axis = next((name, axis) for name, axis in homes if axis is not None)
        return [f"{self.window.size} = {name}.shape[{axis}]"]

    def _in_windows(
        self,
        function: str,
        size: str,
        parts: Sequence[int | None],
        places: Sequence[int | None],
        outs: Sequence[int],
    ) -> str:
        """The function mapped over all points in blocks that share a window."""
        assert self.window is not None
        dim, low = self.window.dim, self.vector[self.window.dim].lower
        first = self.out.index(substitute(self.window.entry.lo, {dim: ix.add(ix.Sym(dim), low)}))
        width = self.out.static(self.window.width)
        axes = f"axes={tupled([str(p) for p in parts])}{axes_text(places, outs)}"
        given = f"lambda {variable(dim)}: {first}, {width}, {size or 0}, {axes}"
        return f"in_windows({function}, {given})"

    def _passed_through(
        self, inner: KernelResult, arguments: Sequence[KernelArgument]
    ) -> str | None:
        """The array that the points return unchanged; ``None`` if they compute something."""
        argument = next((a for a in arguments if a.name == inner.text), None)
        home = self.mapped_stores[argument.cell[0]] if argument else None
        if argument is None or home is None or not all(d in home.shifts for d in self.vector):
            return None
        for k, dim in enumerate(self.vector):
            done = list(self.vector)[:k]
            if home.place(dim, done) != 0 or self._out_place(inner, dim, done) != 0:
                return None
        text = self._mapped_slice(argument)
        return text if text.isidentifier() else self.out.bind(self._hint(inner), text)

    def _hint(self, inner: KernelResult) -> str:
        tensor = inner.cell[0]
        write = self.row_writes.get(tensor)
        text = (
            inner.text
            if inner.text.isidentifier()
            else self.stages.local_name(write.member if write else tensor)
        )
        return f"{text}_rows"

    def _steps(self, dim: str) -> str:
        v = self.vector[dim]
        low = "" if v.lower == ix.ZERO else f"{self.out.static(v.lower)}, "
        return f"jnp.arange({low}{self.out.static(v.upper)}, dtype=jnp.int32)"

    def _mapped_slice(self, argument: KernelArgument) -> str:
        """The slice of a store that the points are mapped over."""
        home, alias = self.mapped_stores[argument.cell[0]], argument.cell[0]
        cuts = self._cuts(home)
        if cuts and not self.moved.get(alias) and (box := self._box(argument, cuts)):
            return box
        name = self._part_of(argument)
        moves: dict[str, list[str]] = {}
        for dim, far in self.moved.get(alias, {}).items():
            how = "clamped" if isinstance(far, Clamped) else "around"
            moves.setdefault(how, []).append(f"({far.steps}, {home.place(dim, ())})")
        chained = moves and is_chained(self.origins[alias], self.statement, self.whole)
        for how, each in moves.items():
            name = f"{how}({name}, {', '.join([*each, *['apart=True'] * bool(chained)])})"
        return f"{name}[{', '.join(cuts)}]" if cuts else name

    def _cuts(self, home: MappedStore) -> list[str]:
        """The static slices that the points access of the axes of a store; none: of all."""
        cuts: list[str] = []
        for k in home.store.order:
            if k >= len(home.store.axes):
                cuts.append(":")
                continue
            a = home.store.axes[k]
            cuts += [":"] * home.spatial_before(a.dim)
            cuts.append(self._range(a, home.shifts[a.dim]) if a.dim in home.shifts else ":")
        while cuts and cuts[-1] == ":":
            cuts.pop()
        return cuts

    def _box(self, argument: KernelArgument, cuts: Sequence[str]) -> str | None:
        """Slices of what lies at slots known only when the kernel runs, as one; ``None``: no such.

        XLA for CPUs computes a row of which several slices are read in a function that each of
        them calls, and what has calls in its loop takes ten times as long.
        """
        parts = {p.axis.dim: p for p in self.parts.get(argument.cell[0], ())}
        if not any(self._is_later(p.start) for p in parts.values()):
            return None
        store, left = self.stages.buffers[self.origins[argument.cell[0]]], iter(cuts)
        index: list[str] = []
        for k in store.order:
            part = parts.get(store.axes[k].dim) if k < len(store.axes) else None
            if part is None:
                index.append(next(left, ":"))
            elif part.dim or not self._is_later(part.start):
                return None
            else:
                index.append(slot(part.start, part.axis, self.frame))
        while index[-1] == ":":
            index.pop()
        name, first = self._kernel_argument(argument).name, store.axes[store.order[0]].dim
        at = {d: p.start for d, p in parts.items()}
        if first in at and (place := self.frame.ring_place(store, at)):
            return f"ring_row({name}, {place}, jnp.s_[{', '.join(index[1:])},])"
        return f"box_at({name}, jnp.s_[{', '.join(index)}])"

    def _part_of(self, argument: KernelArgument) -> str:
        """What an alias takes of the array of its tensor; all of it, for others."""
        name, alias = self._kernel_argument(argument).name, argument.cell[0]
        if (first := self.joined.get(alias)) is not None:
            return f"lax.collapse({name}, {first}, {first + 2})"
        parts = {p.axis.dim: p for p in self.parts.get(alias, ())}
        if not parts:
            return name
        store = self.stages.buffers[self.origins[alias]]
        index: list[str] = []
        left: list[str] = []
        for k in store.order:
            axis = store.axes[k] if k < len(store.axes) else None
            part = parts.get(axis.dim) if axis else None
            if axis is None or part is None or part.dim:
                index.append(":")
                left.append(axis.dim if axis else "")
                continue
            at = {axis.dim: part.start}
            if k == store.order[0] and (place := self.frame.ring_place(store, at)):
                name = f"ring_row({name}, {place})"
                continue
            index.append(slot(part.start, axis, self.frame))
        while index and index[-1] == ":":
            index.pop()
        text = f"{name}[{', '.join(index)}]" if index else name
        for dim, part in parts.items():
            if part.dim and (part.start, part.size) != (ix.ZERO, part.axis.size):
                start, rows = self.out.index(part.start), part.axis.size
                text = pads.window_text(text, start, part.size, left.index(dim), rows, self.out)
        return text

    def _is_later(self, step: Expr) -> bool:
        """Whether a step is known only when the kernel runs, and is not negative."""
        return not self.frame.is_static(step) and self.frame.proves(ix.compare(">=", step, ix.ZERO))

    def _range(self, axis: KernelAxis, shift: Expr) -> str:
        """The slots of an axis that the points access; ``:`` for all."""
        v = self.vector[axis.dim]
        low, high = ix.add(v.lower, shift), ix.add(v.upper, shift)
        if self._is_whole(axis, shift):
            return ":"
        return f"{'' if low == ix.ZERO else self.out.static(low)}:{self.out.static(high)}"

    def _is_whole(self, axis: KernelAxis, shift: Expr) -> bool:
        v = self.vector[axis.dim]
        low, high = ix.add(v.lower, shift), ix.add(v.upper, shift)
        ends = ix.compare("==", low, ix.ZERO), ix.compare("==", high, axis.size)
        return self.stages.proves(self.statement, ix.conjunction(*ends))

    def _out_place(self, inner: KernelResult, dim: str, done: Sequence[str]) -> int:
        """The position of the axis of ``dim`` in a result."""
        if inner.cell[0] not in self.row_writes:
            place = self.mapped_stores[inner.cell[0]].place(dim, done)
            assert place is not None, f"{inner.cell[0]} is written at other points than its own"
            return place
        return 0

    # ------------------------------------------------------------ stores

    def _stored(self, inner: KernelResult, text: str) -> KernelResult:
        """The store's new contents, given the results of all points."""
        name, key = inner.cell
        write = self.row_writes.get(name)
        cell = (write.tensor if write else name, key)
        home = self.mapped_stores[cell[0]]
        places = [self._row_start(axis, write, home) for axis in home.store.axes]
        order = home.store.order
        if write is not None:
            single = [k for k, p in enumerate(places) if p.single]
            text = from_axis_order(text, [k for k in order if k not in single])
        if all(p.whole for p in places) and (inner.where == ix.TRUE or self._replaces(cell)):
            self._latest[self._known_cell(cell)] = text
            return KernelResult(cell=cell, text=text, where=inner.where, value=inner.value)
        if self.stages.rows_alone:
            order = tuple(k for k in order if k >= len(places) or not places[k].moving)
        lead = ["None" if k < len(places) and places[k].single else ":" for k in order]
        last = max((n for n, k in enumerate(order) if k < len(places)), default=-1)
        lead = lead[: last + 1]
        rows = f"{text}[{', '.join(lead)}]" if "None" in lead else text
        if self.stages.rows_alone:
            return KernelResult(cell=cell, text=rows)
        old = self._old_contents(cell)
        zero = [self._index_literal("0")] * len(home.store.shape)
        starts = [[*(p.start for p in places), *zero][k] for k in order]
        comma = "," if len(starts) == 1 else ""
        given = f"{old}, {rows}, ({', '.join(starts)}{comma})"
        row = self._written_row(home.store, write, places) if inner.where == ix.TRUE else None
        if inner.where != ix.TRUE and all(p.whole for p in places):
            new = f"jnp.where({self.out.index(inner.where)}, {rows}, {old})"
        elif inner.where != ix.TRUE:
            new = f"updated({given}, {self.out.index(inner.where)})"
        elif row:
            rows = f"{text}[{', '.join(lead[1:])}]" if "None" in lead[1:] else text
            whole = sum(not p.whole for p in places) == 1
            part = [] if whole else [f"({', '.join(starts[1:])},)"]
            new = f"with_ring_row({', '.join([old, row, rows, *part])})"
        elif self._has_unit_axis(home.store, places):
            new = f"updated({given})"
        else:
            new = f"lax.dynamic_update_slice({given})"
        name = self._latest[self._known_cell(cell)] = self.out.bind(old, new)
        return KernelResult(cell=cell, text=name)

    def _written_row(
        self, store: KernelBuffer, write: Write | None, places: Sequence[_RowStart]
    ) -> str | None:
        """The arguments that say which row of a short ring is written."""
        ring = short_ring(store)
        if ring is None or write is None or not places[store.order[0]].single:
            return None
        return self.frame.ring_place(store, self.stages.point(write))

    def _has_unit_axis(self, store: KernelBuffer, places: Sequence[_RowStart]) -> bool:
        """Whether a fully written axis may have length 1 while another is written in part."""
        if all(p.whole for p in places):
            return False
        full_sizes = [a.size for a, p in zip(store.axes, places, strict=True) if p.whole]
        return any(
            not self.stages.proves(self.statement, ix.compare(">", s, ix.ONE)) for s in full_sizes
        )

    def _row_start(self, axis: KernelAxis, write: Write | None, home: MappedStore) -> _RowStart:
        """Where the results of the points start along an axis of a store."""
        at = home.shifts.get(axis.dim)
        if write is not None:
            entry = self.stages.point(write)[axis.dim]
            if axis.dim not in self.vector:
                moving = any(d in symbols(entry) for d in self.statement.domain.dims)
                start = slot(entry, axis, self.frame)
                text = start if moving else self._index_literal(start)
                return _RowStart(text, whole=False, single=True, moving=moving)
            at = shift(write, axis.dim, self.stages)
        elif axis.dim not in self.vector:
            return _RowStart(self._index_literal("0"), whole=True)
        assert at is not None, f"{home.store.name} is written at other points than its own"
        first = self.out.static(ix.add(self.vector[axis.dim].lower, at))
        return _RowStart(self._index_literal(first), whole=self._is_whole(axis, at))

    def _index_literal(self, text: str) -> str:
        """A static index beside traced ones, which are i32."""
        return f"jnp.int32({text})" if self.stages.x64 else text

    def _replaces(self, cell: KernelCell) -> bool:
        """Whether one write of the kernel gives a cell its contents, and nothing else names it.

        Then what it held is not needed to keep it where the condition of the write fails: the
        caller does, who may know that nothing reads it. The kernel may have read it as the cell of
        another step.
        """
        writes = [w for w in self.single.writes if w.tensor == cell[0]]
        return len(writes) == 1 and cell not in self._latest

    def _known_cell(self, cell: KernelCell) -> KernelCell:
        """The cell by which the kernel has the contents of an array: its key may be that of a read.

        A write that did not replace what was read would be lost where another write follows it.
        """
        tensor, key = cell
        store = self.mapped_stores[tensor].store
        same = (c for c in self._latest if c[0] == tensor and same_slots(store, key, c[1]))
        return next(same, cell)

    def _old_contents(self, cell: KernelCell) -> str:
        """The name of the current contents of a store."""
        if (known := self._latest.get(self._known_cell(cell))) is not None:
            return known
        tensor, _ = cell
        name = self.names.fresh(self.stages.local_name(tensor))
        self.arguments[cell] = KernelArgument(cell=cell, name=name)
        self._latest[cell] = name
        return name


def _alias(write: Write, number: int) -> str:
    """The tensor name for the rows of a write in the kernel; no other tensor has it."""
    return f"{write.tensor}.rows{number}"


def _forwarded(statement: Statement, stages: Stages) -> dict[tuple[str, int], Write]:
    """The operands that are what a point writes: their stores need not pass through its function.

    Those whose rows lie across the mapped axes would be transposed for it, all of them.
    """
    single = statement.single
    assert single is not None
    given: dict[tuple[str, int], Write] = {}
    for read in single.reads:
        write = forwarded_write(read, single, lambda where: stages.proves(single, where))
        if write is not None:
            given[read.member, read.slot] = write
    return given


def _without_reads(statement: Statement, operands: Collection[tuple[str, int]]) -> Statement:
    """A statement whose points do not read these operands."""
    single = statement.single
    assert single is not None
    reads = tuple(r for r in single.reads if (r.member, r.slot) not in operands)
    return replace(statement, single=replace(single, reads=reads))
