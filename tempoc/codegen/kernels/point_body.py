"""Emits the body of one kernel: reads of operands, computation of members, updates of stores.

Order matters where a store is both read and written. Reads of *old* rows come before the update;
reads that include the row just written (``Read.forwarded``) come after it, from the updated store,
so that the old contents are dead at the update and XLA updates in place. A forwarded read of
exactly the row just written uses the value itself (store-to-load forwarding).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial

from tempoc.base.names import Names
from tempoc.codegen.kernels.masked_scores import masked_scores
from tempoc.codegen.kernels.stencil_chains import stencil_chains
from tempoc.codegen.stores import access, context
from tempoc.codegen.stores.access import KernelFrame
from tempoc.codegen.stores.branches import branch_members, outputs_used_outside
from tempoc.codegen.stores.kernel_buffer import KernelBuffer
from tempoc.codegen.stores.padding_zeros import ends_vary, has_zero_padding
from tempoc.codegen.stores.ring_order import order_free_operands
from tempoc.codegen.stores.slots import same_slots
from tempoc.codegen.stores.window_axis import window_positions
from tempoc.codegen.text.naming import access_name
from tempoc.ops.control.effects import EffectOp
from tempoc.ops.control.until import Until
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.dtype_text import cast
from tempoc.ops.definition.operator import EmittedValue, Interval, OperandError
from tempoc.ops.definition.types import TensorType
from tempoc.ops.emission.emitter import KernelEmitter
from tempoc.ops.emission.ragged_layout import resolve_layout
from tempoc.ops.indexing.pick import Pick
from tempoc.ops.tensor.monoids import MAX
from tempoc.ops.tensor.source import Full, Literal
from tempoc.sdg.graph.graph import Node
from tempoc.sdg.graph.query import operand_type
from tempoc.sdg.statements.branches import computing_branches
from tempoc.sdg.statements.statements import Read, Statement, Write
from tempoc.sdg.verification.verify import DomainFacts
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import substitute


class Body:
    """Emits one kernel: call ``run`` once, then read ``arguments`` and the emitter's lines."""

    def __init__(
        self, statement: Statement, stages: context.Stages, out: KernelEmitter, names: Names
    ):
        self.statement = statement
        self.stages = stages
        self.out = out
        self.names = names
        self.arguments: dict[context.KernelCell, context.KernelArgument] = {}
        self._latest: dict[context.KernelCell, str] = {}
        self._values: dict[tuple[str, int], EmittedValue] = {}
        self._fetched: dict[tuple[str, str, tuple[object, ...]], EmittedValue] = {}
        self._pending: list[Write] = []
        self.shown: tuple[str, ...] = ()
        self.endings: dict[str, str] = {}
        # By tensor, the vectorized dimensions along which all points read the whole tensor.
        self.shared: Mapping[str, Sequence[str]] = {}
        self.whole = statement, stages
        self.origins: Mapping[str, str | None] = {}
        # Aliases of columns, of which all that points leave out is zeros.
        self.zero_columns: Set[str] = frozenset()
        # Tensors and dimensions along which data pick rows whose own axes points are mapped over.
        self.rows_in_common: Callable[[str, str], bool] = lambda tensor, dim: False
        # Operands that are results of members, beside those that statements read from a write.
        self.forwarded: Mapping[tuple[str, int], Write] = {}
        self._owners = computing_branches(stages.graph, statement.members)
        self._unordered = order_free_operands(statement, stages)
        self._scores = masked_scores(statement, stages.graph, self._is_local)
        self._chains = stencil_chains(statement, stages.graph, self._is_local)
        self.frame = KernelFrame(
            out=out,
            proves=lambda condition: stages.proves(statement, condition),
            dims=(*statement.domain.dims, *stages.graph.universe.lengths, *stages.starts),
            x64=stages.x64,
        )

    def run(self) -> tuple[context.KernelResult, ...]:
        """Write the whole body; the results in the order of the statement's writes."""
        for read in self.statement.reads:
            if self._is_local(read.member, read.slot):
                continue
            if forwarded_write(read, self.statement, self.frame.proves) is None:
                self._argument(self._cell(read), self._old_content_condition(read))
        for write in self.statement.writes:
            if self._store(write).axes and not self.stages.rows_alone:
                self._argument(self._cell(write))
        for member in self.statement.members:
            if member not in self._owners:
                self._member(member)
        if self.stages.rows_alone:
            return tuple(
                context.KernelResult(
                    cell=self._cell(w),
                    text=access.written_rows(
                        self._store(w), self.stages.point(w), self._row(w), self.frame
                    ),
                )
                for w in self.statement.writes
            )
        self._update([w.tensor for w in self._pending])
        return self._results()

    def failure(self) -> str:
        """The text of the number of the first check that failed, or 0."""
        return self.out.failure()

    def _member(self, name: str) -> None:
        node = self.stages.graph.nodes[name]
        computed = [name]
        self.out.needed = self.stages.needed.get(name, ix.TRUE)
        if isinstance(node.op, EffectOp):
            args = tuple(self._operand(name, slot) for slot in range(len(node.inputs)))
            self.shown = node.op.emit(args, (), self.out)
        elif isinstance(node.op, Until):
            (self.endings[node.op.bound],) = node.op.emit((self._operand(name, 0),), (), self.out)
        elif (op := access.row_pick(node)) is not None and not self._is_local(name, 0):
            self._values[name, 0] = self._row_of(name, op)
        elif any(owner[0] == name for owner in self._owners.values()):
            served = branch_members(name, self.statement.members, self._owners)
            self._emit_cond(name, served)
            computed += served
        else:
            self._emit(name, node)
        if name not in self._owners:  # members of a branch are stored after their ``cond``
            self._pending += [
                w for w in self.statement.writes if w.member in computed and self._store(w).axes
            ]

    def _emit(self, name: str, node: Node) -> None:
        """Emit the operator of a member."""
        args = tuple(self._matching_operand(name, slot) for slot in range(len(node.inputs)))
        types = self._inferred(node, args)
        same = DomainFacts(self.stages.space, node.domain).equal
        if (
            positions := window_positions(node.op, types, self.stages.windows, self.out)
        ) is not None:
            self._values[name, 0] = self._converted(positions, node.types[0])
            return
        args, valid = resolve_layout(node.op, args, types, same, self.out)
        reduced = self._scores.distances.get(name)
        if reduced is not None:
            masked = self.out.masked(args[0], reduced, MAX.neutral(args[0].type.dtype))
            args = replace(args[0], text=masked, stored=""), *args[1:]
        texts = node.op.emit(args, types, self.out)
        if name in self._chains:
            texts = tuple(f"computed_first({text})" for text in texts)
        for k, (text, type_, declared) in enumerate(zip(texts, types, node.types, strict=True)):
            hint = self._hint(name) if len(texts) == 1 else f"{self._hint(name)}_{k}"
            constant = node.op.value if isinstance(node.op, Literal | Full) else None
            inline = text.isidentifier() or isinstance(node.op, Literal)
            value = EmittedValue(
                text=text if inline else self.out.bind(hint, text),
                type=type_,
                padded=self._padded(type_),
                valid=valid[k],
                vanishing=self._scores.weights.get(name, ()),
                finite=any(_is_same(v, text, type_, valid[k]) for v in args if v.finite is True),
                constant=constant,
            )
            self._values[name, k] = self._converted(value, declared)

    def _inferred(self, node: Node, args: tuple[EmittedValue, ...]) -> tuple[TensorType, ...]:
        """The node's types with the extents inferred from the operands, which decide the padding.

        Extents that are provably equal but written differently may have different paddings.
        """
        ragged = any(v.is_ragged(k) for v in args for k in range(v.type.ndim))
        if not ragged or not any(t.shape for t in node.types):
            return node.types
        facts = DomainFacts(self.stages.space, node.domain)
        try:
            inferred = node.op.infer(tuple(v.type for v in args), facts)
        except OperandError:
            return node.types
        pairs = zip(node.types, inferred, strict=True)
        return tuple(replace(type_, shape=other.shape) for type_, other in pairs)

    def _padded(self, type_: TensorType) -> tuple[ix.Expr, ...]:
        return tuple(self.out.pad(e) for e in type_.shape)

    def _emit_cond(self, name: str, served: list[str]) -> None:
        """Emit a ``cond`` and the members of its branches as nested functions.

        Outputs of these members that have other consumers are results of the ``cond``, too.
        """
        condition = self._operand(name, 0).text
        for member in served:
            self._fetch_points(member)
        results = [
            (name, 0),
            *outputs_used_outside(name, served, self.statement, self.stages.graph),
        ]
        types = [self.stages.graph.nodes[m].types[out] for m, out in results]
        branches = (partial(self._branch, name, results, slot) for slot in (1, 2))
        then, orelse = map(self.out.apart, branches)
        hints = tuple(self._hint(m) if out == 0 else f"{self._hint(m)}_{out}" for m, out in results)
        texts = self.out.choose(hints, condition, then, orelse)
        for output, text, type_ in zip(results, texts, types, strict=True):
            self._values[output] = EmittedValue(text, type_, self._padded(type_))

    def _fetch_points(self, member: str) -> None:
        """Fetch the rows that a member of a branch reads, so that branches do not capture stores.

        Pending writes that it reads are flushed before the branch.
        """
        for read in [r for r in self.statement.reads if r.member == member]:
            if self._is_local(member, read.slot):
                continue
            if read.forwarded:
                self._flush(read.tensor)
            if not any(isinstance(e, ix.Slice) for e in read.entries):
                self._operand(member, read.slot)

    def _branch(self, name: str, results: list[tuple[str, int]], slot: int) -> str:
        """Emit the members of one branch; the texts of all results, zeros for the other's."""
        values, fetched = dict(self._values), dict(self._fetched)
        for member in self.statement.members:
            if self._owners.get(member) == (name, slot):
                self._member(member)
        texts: list[str] = []
        for member, out in results:
            type_ = self.stages.graph.nodes[member].types[out]
            value = self._operand(name, slot) if member == name else self._values.get((member, out))
            if value is None:
                value = pads.zeros(type_, self.out)
            texts.append(self.out.align(self.out.first(value), self._padded(type_)).text)
        self._values, self._fetched = values, fetched
        return ", ".join(texts)

    def _row_of(self, name: str, op: Pick) -> EmittedValue:
        """The row of a slice that an index selects, read without the slice."""
        read = next(r for r in self.statement.reads if (r.member, r.slot) == (name, 0))
        index = self._operand(name, 1)
        at = self.stages.entries(read)
        dim, entry = [(d, e) for d, e in at.items() if isinstance(e, ix.Slice)][op.axis]
        place = op.place(index, entry.lo, entry.step, self.out)
        if read.forwarded:
            self._flush(read.tensor)
        store, contents, hint = self._store(read), self._contents(read), self._hint(name)
        array = access.read(contents, store, at, self.frame, hint, {dim: place})
        text = array.text
        if self.rows_in_common(read.tensor, dim) and text == f"{contents}[{place}]":
            text = f"picked_row({contents}, {place})"
        text = text if text.isidentifier() else self.out.bind(hint, text)
        type_ = self.stages.graph.nodes[name].types[0]
        value = EmittedValue(text, type_, array.padded, valid=array.valid)
        return self.out.align(self.out.first(value), self._padded(type_))

    def _flush(self, tensor: str) -> None:
        """Flush the pending writes of a tensor, after the reads of its old contents."""
        self._fetch_old(tensor)
        self._update([tensor])

    def _hint(self, member: str) -> str:
        """A name for the result; with the dimensions of the row if its store has the same name."""
        base, store = self.stages.local_name(member), self.stages.buffers.get(member)
        if store is None or all(base != a.name for a in self.arguments.values()):
            return base
        return "_".join([base, *(axis.dim for axis in store.axes)])

    def _operand(self, member: str, slot: int) -> EmittedValue:
        return self.out.first(self._raw_operand(member, slot))

    def _matching_operand(self, member: str, slot: int) -> EmittedValue:
        """An operand, rotated as the windows of rings with which it is combined."""
        value = self._raw_operand(member, slot)
        axes = self._unordered.turned.get((member, slot), {})
        if not axes:
            return value
        value = self.out.first(value)
        padded = [axes[k].size if k in axes else e for k, e in enumerate(value.padded)]
        value = self.out.align(value, tuple(padded))
        for k, turn in axes.items():
            rolled = f"jnp.roll({value.text}, {self.out.index(turn.first)}, {k})"
            value = replace(value, text=self.out.bind(f"{value.text}_turned", rolled))
        return replace(value, constant=None, vanishing=())

    def _raw_operand(self, member: str, slot: int) -> EmittedValue:
        """An operand, of which valid elements may not come first (``EmittedValue.valid``)."""
        edge = self.stages.graph.nodes[member].inputs[slot]
        type_ = operand_type(self.stages.graph, edge)
        if self._is_local(member, slot):
            return self._converted(self._values[edge.source, edge.out], type_)
        row = self.forwarded.get((member, slot))
        if row is None:
            read = next(r for r in self.statement.reads if (r.member, r.slot) == (member, slot))
            row = forwarded_write(read, self.statement, self.frame.proves)
        if row is not None:
            return self._converted(self._values[row.member, row.out], type_)
        if read.forwarded:
            self._flush(read.tensor)
        return self._fetch(read)

    def _converted(self, value: EmittedValue, type_: TensorType) -> EmittedValue:
        """A local value converted to the type and padded extents of its use."""
        text = cast(value.text, value.type.dtype, type_.dtype)
        if text != value.text:
            value = replace(value, text=self.out.bind(value.text, text), constant=None)
        value = replace(value, type=type_, finite=value.finite is True)
        return self.out.align(value, self._padded(type_))

    def _is_local(self, member: str, slot: int) -> bool:
        """Whether the operand is another member's result at the same point."""
        edge = self.stages.graph.nodes[member].inputs[slot]
        same = tuple(ix.Sym(d) for d in self.stages.graph.nodes[edge.source].domain.dims)
        return edge.source in self.statement.members and edge.entries == same

    def _store(self, access: Read | Write) -> KernelBuffer:
        return self.stages.buffers[access.tensor]

    def _cell(self, access: Read | Write) -> context.KernelCell:
        """The cell of an access; old rows are read from the array that takes the new ones."""
        key, store = self._key(access), self._store(access)
        if isinstance(access, Read) and store.axes and not access.forwarded:
            written = (self._key(w) for w in self.statement.writes if w.tensor == access.tensor)
            key = next((k for k in written if same_slots(store, k, key)), key)
        return access.tensor, key

    def _key(self, access: Read | Write) -> tuple[ix.Expr, ...]:
        at = self.stages.entries(access)
        key: list[ix.Expr] = []
        for k in self._store(access).keys:
            entry = at[k.dim]
            assert not isinstance(entry, ix.Slice), (
                f"{access.tensor} is sliced over its key {k.dim}"
            )
            key.append(entry)
        return tuple(key)

    def _argument(self, cell: context.KernelCell, when: ix.Expr = ix.TRUE) -> None:
        if cell in self.arguments:
            argument = self.arguments[cell]
            self.arguments[cell] = replace(argument, when=ix.disjunction(argument.when, when))
            return
        tensor, key = cell
        dims = [k.dim for k in self.stages.buffers[tensor].keys]
        name = self.names.fresh(access_name(self.stages.local_name(tensor), dims, key))
        self.arguments[cell] = context.KernelArgument(cell=cell, name=name, when=when)
        self._latest[cell] = name

    def _fetch_old(self, tensor: str) -> None:
        """Fetch the reads of the tensor's old contents before it is overwritten."""
        if any(w.tensor == tensor for w in self._pending):
            for read in self.statement.reads:
                local = self._is_local(read.member, read.slot)
                if read.tensor == tensor and not read.forwarded and not local:
                    self._fetch(read)

    def _fetch(self, read: Read) -> EmittedValue:
        op, age = self.stages.graph.nodes[read.member].op, "new" if read.forwarded else "old"
        at = self.stages.entries(read)
        uncut = op.sums_padding and access.is_nearly_whole(self._store(read), at, self.frame)
        place = (read.tensor, f"uncut {age}" if uncut else age, read.entries)
        if place not in self._fetched:
            self._fetched[place] = self._read(read, uncut)
        return self._fetched[place]

    def _read(self, read: Read, uncut: bool = False) -> EmittedValue:
        store, at = self._store(read), self.stages.entries(read)
        axes = [axis.dim for axis in store.axes]
        hint = access_name(self.stages.local_name(read.tensor), axes, [at[d] for d in axes])
        if axes and hint == self.stages.local_name(read.tensor):
            hint = "_".join([hint, *axes])
        name = self._contents(read)
        turned = (read.member, read.slot) in self._unordered.windows
        array = access.read(name, store, at, self.frame, hint, turned=turned, uncut=uncut)
        text = array.text if array.text.isidentifier() else self.out.bind(hint, array.text)
        node = self.stages.graph.nodes[read.member]
        type_ = operand_type(self.stages.graph, node.inputs[read.slot])
        own = array.gathered or array.valid
        finite = not own and self._has_zero_padding(read, turned)
        finite = finite or (read.tensor in self.zero_columns and not array.gathered)
        differs = ends_vary(read, self.shared.get(read.tensor, ()), array.gathered)
        shared = differs and name == self.arguments[self._cell(read)].name
        padding = finite or (shared and name)
        stored = name if text == name else ""
        value = EmittedValue(text, type_, array.padded, padding, array.valid, stored=stored)
        return value if uncut else self.out.align(value, self._padded(type_))

    def _has_zero_padding(self, read: Read, turned: bool) -> bool:
        """Whether the padding is zeros, by what all points of the kernel write, not this one."""
        origin = self.origins.get(read.tensor, read.tensor)
        if origin is None:
            return False
        return has_zero_padding(replace(read, tensor=origin), *self.whole, turned)

    def _overlapping_writes(self, read: Read) -> list[tuple[Write, ix.Expr]]:
        """Earlier writes of this instance that may be of the read's cell, with the conditions."""
        if not read.forwarded:
            return []
        cell, order, overlaps = self._cell(read), self.statement.members, []
        for w in self.statement.writes:
            earlier = order.index(w.member) < order.index(read.member)
            if w.tensor != read.tensor or not earlier:
                continue
            written = self._cell(w)
            if written == cell and self._store(w).axes:
                continue  # the array itself, which `_update` has written
            pairs = zip(cell[1], written[1], strict=True)
            meet = ix.conjunction(w.where, *(ix.compare("==", a, b) for a, b in pairs))
            if not self.frame.proves(ix.negation(meet)):
                overlaps.append((w, meet))
        return overlaps

    def _old_content_condition(self, read: Read) -> ix.Expr:
        """The condition that a read needs the old content of its cell: no write replaces it."""
        if self._store(read).axes:
            return ix.TRUE
        return ix.conjunction(*(ix.negation(meet) for _, meet in self._overlapping_writes(read)))

    def _contents(self, read: Read) -> str:
        """The array that a read accesses, including earlier writes of this instance."""
        name = self._latest[self._cell(read)]
        for w, meet in self._overlapping_writes(read):
            new = self._latest[self._cell(w)] if self._store(w).axes else self._row(w)
            name = self.out.bind(name, f"jnp.where({self.out.index(meet)}, {new}, {name})")
        return name

    def _row(self, write: Write) -> str:
        """The value of a write: the member's result with the dtype and extents of the store."""
        value = self.out.first(self._values[write.member, write.out])
        type_, store = self.stages.statements.tensors[write.tensor].type, self._store(write)
        text = cast(value.text, value.type.dtype, type_.dtype)
        if value.type.ndim < type_.ndim:  # a literal, broadcast
            return f"jnp.broadcast_to({text}, {pads.static_shape(store.shape, self.out)})"
        at = self.stages.point(write)
        row_type = TensorType(type_.dtype, tuple(substitute(e, at) for e in type_.shape))
        return self.out.align(EmittedValue(text, row_type, value.padded), store.shape).text

    def _update(self, tensors: list[str]) -> None:
        """Emit the pending writes of these tensors."""
        for w in [w for w in self._pending if w.tensor in tensors]:
            self._pending.remove(w)
            name = self._latest[cell := self._cell(w)]
            at = self.stages.point(w)
            where = ix.TRUE if self.frame.proves(w.where) else w.where
            text = access.write(name, self._store(w), at, self._row(w), where, self.frame)
            if any(value.text == name for value in self._fetched.values()):
                self._latest[cell] = self.out.bind(name, text)
            else:
                self.out.assign(name, text)

    def _results(self) -> tuple[context.KernelResult, ...]:
        results: dict[context.KernelCell, context.KernelResult] = {}
        for w in self.statement.writes:
            cell = self._cell(w)
            if self._store(w).axes:
                results[cell] = context.KernelResult(cell=cell, text=self._latest[cell])
                continue
            where = ix.TRUE if self.frame.proves(w.where) else w.where
            row = self._row(w)
            result = context.KernelResult(cell=cell, text=row, where=where, value=row)
            results[cell] = (
                context.merge_results(results[cell], result, self.out)
                if cell in results
                else result
            )
        return tuple(results.values())


def _is_same(v: EmittedValue, text: str, type_: TensorType, valid: Mapping[int, Interval]) -> bool:
    """Whether a result of this text and type, valid there, is an operand as it is."""
    if v.text != text or v.valid != valid or v.type.ndim != type_.ndim:
        return False
    extents = enumerate(zip(v.type.shape, type_.shape, strict=True))
    return all(k in valid or mine == other for k, (mine, other) in extents)


def forwarded_write(
    read: Read, statement: Statement, proves: Callable[[ix.Expr], bool]
) -> Write | None:
    """The earlier write of this instance that a read can be forwarded from, if any."""
    if not read.forwarded:
        return None
    order = statement.members
    for w in statement.writes:
        earlier = order.index(w.member) < order.index(read.member)
        same = w.tensor == read.tensor and w.entries == read.entries
        if same and earlier and proves(w.where):
            return w
    return None
