"""Lays nodes out by diagonals: the rewriting of `wavefront`.

Cell ``(i, j)`` of a lattice is at place ``i`` of row ``w = i + j + begin``. An expression over
``i`` and ``j`` is one over the row and the place once ``w - begin - i`` is put for ``j``. Reads are
kept within what they read, since rows go beyond the rim of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast

from tempoc.base.names import fresh_name
from tempoc.ops.control.control import Copy, Merge, Select
from tempoc.ops.definition.dtype_text import Scalar
from tempoc.ops.definition.shapes import axes_of
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.tensor.reduction import Reduction
from tempoc.ops.tensor.source import IndexValue, Literal
from tempoc.passes.analysis.lattice import (
    Lattice,
    Shift,
    StaysNested,
    axes_of_slices,
    filled,
    is_recomputable,
    map_entry,
    takes_of_larger,
)
from tempoc.passes.context import PassContext
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.new_dimension import with_dimension
from tempoc.sdg.graph.query import has_run_lengths, substitute_in_op, type_of_read
from tempoc.sdg.graph.rewrite import compose, compose_node, replace_nodes, rewrite_reads
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import is_computed
from tempoc.sdg.verification.verify import DomainFacts
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Dim, Domain, Universe, entries_at, slice_count
from tempoc.symbolic.walk import substitute, symbols

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagonals:
    """The dimension ``dim`` that numbers the diagonals along ``row`` and ``other``.

    Diagonal ``at(row, other)`` has the cell of these coordinates; ``begin`` diagonals come before
    the first one. Cells at ``row`` and one less of ``other`` lie ``step`` diagonals apart.
    """

    dim: str
    row: str
    other: str
    size: ix.Expr
    other_size: ix.Expr
    begin: int
    step: int

    def at(self, row: ix.Expr, other: ix.Expr) -> ix.Expr:
        """The diagonal of a cell."""
        far = other if self.step == 1 else ix.sub(ix.sub(self.other_size, ix.ONE), other)
        return ix.add(ix.add(row, far), ix.Const(self.begin))

    def cell(self) -> ix.Expr:
        """The other coordinate of the cell at a diagonal and place in its row."""
        far = ix.sub(ix.sub(ix.Sym(self.dim), ix.Const(self.begin)), ix.Sym(self.row))
        return far if self.step == 1 else ix.sub(ix.sub(self.other_size, ix.ONE), far)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skewed:
    """Where the rows of a node are that has been laid out by diagonals."""

    rows: str
    diagonals: Diagonals


@dataclass(slots=True, kw_only=True)
class Skewing:
    """The nodes that compute a lattice by diagonals."""

    graph: Graph
    lattice: Lattice
    space: Space
    diagonals: Diagonals
    line: Dim
    earlier: Mapping[str, Skewed]
    branches: set[str]
    names: dict[str, str] = field(default_factory=dict)
    rows: dict[str, str] = field(default_factory=dict)
    table: list[str] = field(default_factory=list)
    nodes: dict[str, Node] = field(default_factory=dict)
    laid_out: dict[Edge, Edge | None] = field(default_factory=dict)
    extents: dict[Edge, int] = field(default_factory=dict)

    @staticmethod
    def of(
        graph: Graph, cells: Lattice, context: PassContext, earlier: Mapping[str, Skewed]
    ) -> Skewing:
        """The beginning; declares the new dimensions."""
        row, other = cells.dims
        size, width = (ix.Sym(graph.universe.dim(d).bound) for d in cells.dims)
        alike = cells.directions[0] == cells.directions[1]
        count = ix.add(ix.sub(ix.add(size, width), ix.ONE), ix.Const(cells.reach))
        universe, dim = declared(graph, graph.universe, "diagonal", count, row)
        diagonals = Diagonals(
            dim=dim.name, row=row, other=other, size=count, other_size=width,
            begin=cells.reach if cells.directions[0] == 1 else 0, step=1 if alike else -1,
        )  # fmt: skip
        universe, line = declared(graph, universe, "line", ix.sub(ix.add(size, count), ix.ONE))
        context.declare(universe)
        return Skewing(
            graph=replace(graph, universe=universe), lattice=cells, space=context.space.symbolic,
            diagonals=diagonals, line=line, earlier=earlier, branches={*enclosing_conds(graph)},
        )  # fmt: skip

    # ------------------------------------------------------------ the new graph

    def result(self) -> Graph:
        """The graph with the lattice by diagonals. Raises ``StaysNested`` if that is not possible.

        Who reads a node of the lattice elsewhere reads a copy of its name, laid out as before.
        """
        cells, shifts = self.lattice.nodes, self.lattice.shifts
        totals = self._totals()
        ahead = (cells[n].inputs[k].source for (n, k), shift in shifts.items() if any(shift))
        carried = dict.fromkeys([*ahead, *(t.inputs[0].source for t in totals.values())])
        elsewhere = {e.source for e in self._reads_elsewhere(totals)}
        for name in cells:
            self.names[name] = self._fresh(f"{name}.skewed")
        for name in carried:
            self.rows[name] = self._fresh(f"{name}.rows")
        self.table = [name for name in cells if name in elsewhere]
        for name, node in cells.items():
            self._compute(name, node)
        for name in carried:
            self._put_rows(self.nodes[self.names[name]], self.rows[name])
        replacements: dict[str, tuple[Node, ...]] = dict.fromkeys(cells, ())
        replacements |= {total.name: (self._of_rows(total),) for total in totals.values()}
        copies = {n: self._copy_back(n) for n in self.table}
        replacements |= {name: (copy,) for name, copy in copies.items()}
        first = next(n for n in self.graph.nodes if n in cells)
        replacements[first] = (*self.nodes.values(), *replacements[first])
        graph = replace_nodes(self.graph, replacements)
        return _without_unused(_with_direct_reads(graph, copies), self.line)

    def skewed(self) -> dict[str, Skewed]:
        """Where those nodes are that are read elsewhere."""
        return {n: Skewed(rows=self.names[n], diagonals=self.diagonals) for n in self.table}

    def _reads_elsewhere(self, besides: Mapping[str, Node]) -> Iterator[Edge]:
        """What is read of tables by nodes that are in no lattice, nor among others, and outputs."""
        for node in self.graph.nodes.values():
            outside = node.name not in self.lattice.nodes and node.name not in besides
            yield from node.inputs if outside else ()
        yield from (o.edge for o in self.graph.outputs)

    def _fresh(self, wish: str) -> str:
        taken = {*self.names.values(), *self.rows.values()}
        return fresh_name(wish, self.graph.nodes, self.nodes, taken)

    def _put(self, node: Node) -> Node:
        self.nodes[node.name] = node
        return node

    # ------------------------------------------------------------ cells

    def _at(self, e: T) -> T:
        """An expression or operator over both dimensions as one over rows and places."""
        at = {self.diagonals.other: self.diagonals.cell()}
        if isinstance(e, ix.Expr):
            return cast(T, substitute(e, at))
        return substitute_in_op(e, at)

    def _domain(self, names: Iterable[str]) -> Domain:
        """All places of all rows that have cells, for what varies with these dimensions."""
        own, dims = self.diagonals, tuple(n for n in names if self.graph.universe.is_dim(n))
        if own.other not in dims:
            return Domain(self.graph.universe.sorted(dims))
        dims = (*(d for d in dims if d != own.other), own.row, own.dim)
        return Domain(self.graph.universe.sorted(dims), self._is_cell())

    def _is_cell(self) -> ix.Expr:
        """Which rows have cells: those after the first ones, or those before the last ones."""
        own, reach = self.diagonals, self.lattice.reach
        row, first = ix.Sym(own.dim), ix.Const(own.begin)
        last = ix.sub(own.size, ix.Const(reach + 1))
        return ix.compare(">=", row, first) if own.begin else ix.compare("<=", row, last)

    def _compute(self, name: str, node: Node) -> None:
        """Put the node that computes all places of a row of a node of the lattice."""
        edges: list[Edge] = []
        for slot, edge in enumerate(node.inputs):
            shift = self.lattice.shifts.get((name, slot))
            read = self._read(edge) if shift is None else self._neighbour(edge, shift)
            if read is None or (edge.guard != ix.TRUE and not isinstance(node.op, Merge)):
                raise StaysNested(f"`{edge.source}` cannot be read beyond the rim of the table")
            edges.append(read)
        domain = self._domain(node.domain.dims)
        new = replace(node, name=self.names[name], domain=domain, inputs=tuple(edges))
        if isinstance(node.op, Merge):
            new = self._selection(new, [e.guard for e in node.inputs])
        else:
            new = replace(new, op=self._at(node.op))
            if not self._stays_within(new):
                raise StaysNested(f"`{name}` is not defined beyond the rim of the table")
        self._put(new)

    def _neighbour(self, edge: Edge, shift: Shift) -> Edge:
        """A read of another cell of the lattice, or of another node of the own cell."""
        own, source = self.diagonals, self.lattice.nodes[edge.source]
        dims = self._domain(source.domain.dims).dims
        at = source.domain.at(edge.entries)
        at[own.row] = ix.Sym(own.row)
        if not any(shift):
            return replace(edge, source=self.names[edge.source], entries=entries_at(dims, at))
        at[own.row] = self._inside(ix.add(ix.Sym(own.row), ix.Const(shift[0])), own.row)
        at[own.dim] = ix.add(ix.Sym(own.dim), ix.Const(shift[0] + own.step * shift[1]))
        return replace(edge, source=self.rows[edge.source], entries=entries_at(dims, at))

    def _inside(self, entry: ix.Expr, dim: str) -> ix.Expr:
        """An index kept within a dimension."""
        bound = ix.Sym(self.graph.universe.dim(dim).bound)
        return self._between(entry, ix.ZERO, ix.sub(bound, ix.ONE), Domain((dim,)))

    def _between(self, entry: ix.Expr, low: ix.Expr, high: ix.Expr, domain: Domain) -> ix.Expr:
        """An index kept between two values."""
        below = not self.space.implies(domain, ix.compare(">=", entry, low))
        above = not self.space.implies(domain, ix.compare("<=", entry, high))
        entry = ix.minimum(entry, high) if above else entry
        return ix.maximum(entry, low) if below else entry

    def _selection(self, merge: Node, guards: list[ix.Expr]) -> Node:
        """What is selected among the equations of a tensor."""
        *others, last = (replace(e, guard=ix.TRUE) for e in merge.inputs)
        node = replace(merge, op=Copy(), inputs=(last,))
        for guard, edge in reversed([*zip(guards[:-1], others, strict=True)]):
            if node.op != Copy():
                node = self._put(replace(node, name=self._fresh(f"{merge.name}.which")))
                last = read_of(node)
            condition = self._at(guard)
            when = self._put(
                replace(
                    merge, name=self._fresh(f"{merge.name}.when"), op=IndexValue(expr=condition),
                    domain=self._domain(symbols(guard)), inputs=(),
                    types=(TensorType(DType.BOOL),),
                )
            )  # fmt: skip
            node = replace(node, op=Select(), inputs=(read_of(when), edge, last))
            types = node.op.infer(tuple(map(self._type, node.inputs)), self._facts(node))
            node = replace(node, types=types)
        if [(t.dtype, t.shape) for t in node.types] != [(t.dtype, t.shape) for t in merge.types]:
            raise StaysNested("its equations differ in their types")
        return replace(node, name=merge.name, types=merge.types)

    def _type(self, edge: Edge) -> TensorType:
        """The type of a read; rows have that of the node that they belong to."""
        for name, node in self.lattice.nodes.items():
            if edge.source in (self.names[name], self.rows.get(name)):
                return node.types[edge.out]
        source = self.nodes.get(edge.source) or self.graph.nodes[edge.source]
        return type_of_read(source, edge)

    def _facts(self, node: Node) -> DomainFacts:
        return DomainFacts(self.space, node.domain)

    def _stays_within(self, node: Node) -> bool:
        """Whether an operator stays within the axes of its operands at all places."""
        conditions = node.op.within(tuple(map(self._type, node.inputs)))
        return all(self.space.implies(node.domain, c) for c in conditions)

    def _put_rows(self, node: Node, name: str, rim_value: Scalar = 0) -> None:
        """Put the tensor of a node's rows for those after them, one value where there are no cells.

        It is not read elsewhere, so that a few rows are stored of it: if they were read from a
        table in the step that writes it, XLA would copy the table.
        """
        (type_,) = node.types
        op = filled(type_, rim_value)
        along, box = self.diagonals, Domain(node.domain.dims)
        row = Domain(tuple(d for d in box.dims if d != along.dim))
        own = replace(node, vector=(), inputs=())
        rim = self._put(replace(own, name=self._fresh(f"{name}.0"), op=op, domain=row))
        same, at = tuple(map(ix.Sym, box.dims)), ix.Sym(along.dim)
        first = ix.ZERO if along.begin else ix.sub(along.size, ix.Const(self.lattice.reach))
        places = [ix.add(first, ix.Const(k)) for k in range(self.lattice.reach)]
        inputs = [replace(read_of(rim), guard=ix.compare("==", at, p)) for p in places]
        inputs.append(replace(read_of(node), guard=self._is_cell()))
        targets = (*(entries_at(box.dims, {along.dim: p}) for p in places), same)
        op = Merge(targets=targets)
        self._put(replace(own, name=name, op=op, domain=box, inputs=tuple(inputs)))

    def _copy_back(self, name: str) -> Node:
        """A node of the lattice as a copy of what has been computed."""
        old, own = self.graph.nodes[name], self.diagonals
        pins = self.lattice.pins.get(name, {})
        row, other = (pins.get(d, ix.Sym(d)) for d in (own.row, own.other))
        at = {own.row: row, own.dim: own.at(row, other)}
        node = self.nodes[self.names[name]]
        edge = Edge(source=node.name, entries=entries_at(node.domain.dims, at))
        return replace(old, op=Copy(), inputs=(edge,), vector=())

    # ------------------------------------------------------------ totals of tables

    def _totals(self) -> dict[str, Node]:
        """The reductions over tables that nothing else reads, by name: a row at a time will do.

        Only those whose result does not depend on their order.
        """
        totals = [n for n in self.graph.nodes.values() if self._is_total(n)]
        others = {e.source for e in self._reads_elsewhere({n.name: n for n in totals})}
        return {n.name: n for n in totals if n.inputs[0].source not in others}

    def _is_total(self, node: Node) -> bool:
        """Whether a node reduces a box of a table to less than a row."""
        if not isinstance(node.op, Reduction) or node.name in self.branches:
            return False
        if has_run_lengths(self.graph, [node.name]):
            return False
        (edge,) = node.inputs
        source = self.lattice.nodes.get(edge.source)
        monoid = node.op.monoid
        if source is None or edge.source in self.lattice.pins or edge.guard != ix.TRUE:
            return False
        if source.types[0] != node.types[0] or source.types[0].shape or monoid is None:
            return False
        dims = {d.name for d in self.graph.universe.dims}
        at = source.domain.at(edge.entries)
        both = [at.pop(d, None) for d in self.lattice.dims]
        plain = [isinstance(e, ix.Slice) and e.step == 1 and not dims & {*symbols(e)} for e in both]
        apart = not any(d in symbols(e) for e in at.values() for d in self.lattice.dims)
        gone = axes_of(node.op.axes, slice_count(edge.entries))
        axes = axes_of_slices(source, edge)
        alike = all(plain) and {axes[d] for d in self.lattice.dims} <= {*gone}
        return alike and apart and monoid.exact and not node.op.keepdims

    def _of_rows(self, node: Node) -> Node:
        """A total as that of a last row, in each place of which is that of all rows before it.

        Rows get what is in the row before: if they got what the same step computes, XLA would
        compute it once more for them. What is in the last row is added here.
        """
        (edge,), own = node.inputs, self.diagonals
        assert isinstance(node.op, Reduction) and node.op.monoid is not None
        source, monoid = self.lattice.nodes[edge.source], node.op.monoid
        op = monoid.combine
        assert op is not None
        table = self.nodes[self.rows[source.name]]
        model = replace(table, inputs=(), vector=(), spans=node.spans)
        value = monoid.identity(table.types[0].dtype)
        identity = Literal(value=value, dtype=table.types[0].dtype)
        self.rows[node.name] = self._fresh(f"{node.name}.rows")
        total = replace(model, name=self.rows[node.name])

        def with_row(part: str, diagonal: ix.Expr, domain: Domain) -> Node:
            """The total before a diagonal, and what of that is in the box."""
            at = entries_at(table.domain.dims, {own.dim: diagonal})
            prior, row = (Edge(source=n.name, entries=at) for n in (total, table))
            names = (f"{node.name}.{part}{n}" for n in (".when", ".nothing", ".own", ""))
            when, nothing, mine, result = (replace(model, name=self._fresh(n)) for n in names)
            inside = self._box(source, edge, diagonal)
            dims = self.graph.universe.sorted(tuple(d for d in symbols(inside) if d in domain.dims))
            when = replace(when, op=IndexValue(expr=inside), domain=Domain(dims))
            when = self._put(replace(when, types=(TensorType(DType.BOOL),)))
            nothing = self._put(replace(nothing, op=identity, domain=Domain(())))
            inputs = (read_of(when), row, read_of(nothing))
            mine = self._put(replace(mine, op=Select(), inputs=inputs, domain=domain))
            return self._put(replace(result, op=op, inputs=(prior, read_of(mine)), domain=domain))

        before = ix.sub(ix.Sym(own.dim), ix.Const(self.lattice.directions[0]))
        rows = with_row("row", before, self._domain(source.domain.dims))
        self._put_rows(rows, total.name, value)
        last = ix.sub(own.size, ix.ONE) if own.begin else ix.ZERO
        rest = Domain(tuple(d for d in table.domain.dims if d != own.dim))
        whole = with_row("last", last, rest)

        at = source.domain.at(edge.entries)
        at[own.row] = ix.Slice(ix.ZERO, ix.Sym(self.graph.universe.dim(own.row).bound))
        axes = axes_of_slices(source, edge)
        gone = axes_of(node.op.axes, len(axes))
        axes_left = tuple(k - (k > axes[own.other]) for k in gone if k != axes[own.other])
        edge = replace(edge, source=whole.name, entries=tuple(at[d] for d in rest.dims))
        return replace(node, op=replace(node.op, axes=axes_left), inputs=(edge,), vector=())

    def _box(self, source: Node, edge: Edge, diagonal: ix.Expr) -> ix.Expr:
        """Whether a place on a diagonal is in the box that a read takes of a table."""
        own, at = self.diagonals, source.domain.at(edge.entries)
        places = {own.row: ix.Sym(own.row), own.other: substitute(own.cell(), {own.dim: diagonal})}
        conditions: list[ix.Expr] = []
        for dim, place in places.items():
            box = at[dim]
            assert isinstance(box, ix.Slice)
            conditions += [ix.compare(">=", place, box.lo), ix.compare("<", place, box.hi)]
        return ix.conjunction(*conditions)

    # ------------------------------------------------------------ other tensors

    def _read(self, edge: Edge) -> Edge | None:
        """A read of another tensor by rows; ``None`` if it would leave the tensor."""
        key = replace(edge, guard=ix.TRUE, span=None)
        if key not in self.laid_out:
            source = self.graph.nodes[edge.source]
            orders = [self._of_earlier, self._recomputed, self._staged, self._staged_or_zero]
            pairs = zip(source.domain.dims, edge.entries, strict=True)
            own = [e for d, e in pairs if e != ix.Sym(d) or d in self.lattice.dims]
            if takes_of_larger(self.graph, key, self.lattice.dims, self.extents):
                orders = [self._of_earlier, self._staged, self._staged_or_zero, self._recomputed]
            elif len(own) < 2 and not source.op.cheap:
                orders = [self._of_earlier, self._staged, self._recomputed, self._staged_or_zero]
            if source.domain == Domain(()):
                orders = [lambda edge: edge]
            reads = (read_by(key) for read_by in orders)
            self.laid_out[key] = next((r for r in reads if r is not None), None)
        read = self.laid_out[key]
        return None if read is None else replace(read, guard=edge.guard, span=edge.span)

    def _of_earlier(self, edge: Edge) -> Edge | None:
        """A read of the rows of another lattice at a constant distance."""
        own, earlier = self.diagonals, self.earlier.get(edge.source)
        if earlier is None or earlier.rows not in self.graph.nodes:
            return None
        theirs = earlier.diagonals
        if (theirs.row, theirs.other, theirs.step) != (own.row, own.other, own.step):
            return None
        at = self.graph.nodes[edge.source].domain.at(edge.entries)
        shifts: list[int] = []
        for dim in self.lattice.dims:
            entry = at.pop(dim, None)
            far = ix.sub(entry, ix.Sym(dim)) if isinstance(entry, ix.Expr) else None
            if not isinstance(far, ix.Const):
                return None
            shifts.append(far.value)
        if any(d in symbols(e) for e in at.values() for d in self.lattice.dims):
            return None
        later = shifts[0] + own.step * shifts[1] + theirs.begin - own.begin
        diagonal = ix.add(ix.Sym(own.dim), ix.Const(later))
        rows = self.graph.nodes[earlier.rows]
        first, last = self._ends(theirs.dim, rows.domain)
        at[theirs.dim] = self._between(diagonal, first, last, self._domain(self.lattice.dims))
        at[own.row] = self._inside(ix.add(ix.Sym(own.row), ix.Const(shifts[0])), own.row)
        return replace(edge, source=rows.name, entries=entries_at(rows.domain.dims, at))

    def _recomputed(self, edge: Edge) -> Edge | None:
        """A read of a node that computes at each place what a cell reads, if that is little."""
        source = self.graph.nodes[edge.source]
        points = [e for e in edge.entries if isinstance(e, ix.Expr)]
        if not is_recomputable(source) or source.name in self.branches:
            return None
        composed = compose_node(source, edge, self.graph.universe)
        if len(points) < len(edge.entries) or composed is None:
            return None
        reads = [self._read(e) for e in composed[1]]
        inputs = tuple(r for r in reads if r is not None)
        if len(inputs) < len(reads) or any(e.guard != ix.TRUE for e in source.inputs):
            return None
        domain = self._domain(s for e in points for s in symbols(e))
        name, op = self._fresh(f"{source.name}.skewed"), self._at(composed[0])
        node = replace(source, name=name, op=op, domain=domain, inputs=inputs, vector=())
        return read_of(self._put(node), edge.out) if self._stays_within(node) else None

    def _staged_or_zero(self, edge: Edge) -> Edge | None:
        """As `_staged`, of a node that has no points for some bounds: zeros for these."""
        some = self.space.project(self.graph.nodes[edge.source].domain, ()).where
        return None if some == ix.TRUE else self._staged(edge, some)

    def _staged(self, edge: Edge, some: ix.Expr = ix.TRUE) -> Edge | None:
        """A read of a copy that has been laid out as rows take it; of zeros unless ``some``."""
        own, source = self.diagonals, self.graph.nodes[edge.source]
        names = [s for e in edge.entries for s in symbols(e)]
        slices = [e for e in edge.entries if isinstance(e, ix.Slice)]
        types = (type_of_read(source, edge),)
        if any(d in symbols(e) for e in (*slices, *types[0].shape) for d in self.lattice.dims):
            return None
        domain, place = self._domain(names), "places"
        at: Callable[[ix.Expr], ix.Expr] = self._at
        if own.other in names and own.row not in names:
            at, place = self._on_line, "line"
            others = (d for d in domain.dims if d not in (own.row, own.dim))
            domain = Domain(self.graph.universe.sorted((*others, self.line.name)))
        elif own.other in names:
            place = "rows"
        entries = self._clamped(source, tuple(map_entry(e, at) for e in edge.entries), domain)
        points = Domain(domain.dims, ix.conjunction(domain.where, some))
        zeros = some == ix.TRUE or types[0].dtype is not DType.KEY
        if not zeros or self.space.outside(points, entries, source.domain) is not None:
            return None
        same = entries == edge.entries and some == ix.TRUE
        if own.other not in names and same and self._is_own(source, entries):
            return edge
        read = replace(edge, entries=entries)
        name = self._fresh(f"{source.name}.{place}")
        copy = replace(
            source, name=name, op=Copy(), domain=points, inputs=(read,), types=types, vector=()
        )
        if some != ix.TRUE:
            copy = self._or_zero(copy, some, domain)
        last = ix.sub(own.size, ix.ONE)
        along = ix.add(ix.sub(ix.Sym(own.row), ix.Sym(own.dim)), last)
        places = entries_at(domain.dims, {self.line.name: along})
        return Edge(source=self._put(copy).name, entries=places)

    def _or_zero(self, node: Node, some: ix.Expr, domain: Domain) -> Node:
        """A node, where bounds are such that it has points, and zero everywhere if they are not."""
        none = ix.negation(some)
        part = self._put(replace(node, name=self._fresh(f"{node.name}.some")))
        zero = replace(node, name=self._fresh(f"{node.name}.none"), inputs=())
        at = Domain(domain.dims, ix.conjunction(domain.where, none))
        zero = self._put(replace(zero, op=filled(node.types[0], 0), domain=at))
        same = tuple(map(ix.Sym, domain.dims))
        inputs = (replace(read_of(part), guard=some), replace(read_of(zero), guard=none))
        return replace(node, op=Merge(targets=(same, same)), domain=domain, inputs=inputs)

    def _is_own(self, source: Node, entries: tuple[ix.Entry, ...]) -> bool:
        """Whether a read takes the place of its own, or nothing that varies with it."""
        row = self.diagonals.row
        pairs = zip(source.domain.dims, entries, strict=True)
        return all(row not in symbols(e) or e == ix.Sym(d) for d, e in pairs)

    def _on_line(self, e: ix.Expr) -> ix.Expr:
        """An expression over the other coordinate, along the line.

        Position ``q`` of a line is what place ``i`` of row ``w`` takes with ``q = i - w + W - 1``.
        """
        own = self.diagonals
        along = ix.sub(ix.Sym(self.line.name), ix.sub(own.size, ix.ONE))
        at = {own.other: substitute(own.cell(), {own.row: along, own.dim: ix.ZERO})}
        return substitute(e, at)

    def _clamped(
        self, source: Node, entries: tuple[ix.Entry, ...], domain: Domain
    ) -> tuple[ix.Entry, ...]:
        """Entries kept between the first and the last point of what is read."""
        clamped: list[ix.Entry] = []
        for dim, entry in zip(source.domain.dims, entries, strict=True):
            if isinstance(entry, ix.Expr):
                low, high = self._ends(dim, source.domain)
                entry = self._between(entry, low, high, domain)
            clamped.append(entry)
        return tuple(clamped)

    def _ends(self, dim: str, domain: Domain) -> tuple[ix.Expr, ix.Expr]:
        """The first and the last point of a domain along a dimension."""
        at = ix.Sym(dim)
        return self.space.lower_bound(at, domain), self.space.upper_bound(at, domain)


def declared(
    graph: Graph, universe: Universe, name: str, size: ix.Expr, before: str = ""
) -> tuple[Universe, Dim]:
    """A universe with a dimension of that size, in front of another or at the end, and that.

    An existing one of that size, and of that name but for a number, is reused.
    """
    for dim in universe.dims:
        bound = universe.bound(dim.bound)
        if dim.name.rstrip("0123456789") == name and bound.value == size:
            return universe, dim
    place = next((k for k, d in enumerate(universe.dims) if d.name == before), len(universe.dims))
    return with_dimension(graph, universe, name, size, place)


def _with_direct_reads(graph: Graph, copies: Mapping[str, Node]) -> Graph:
    """The graph with single cells, rows and columns of the table read from where they are."""
    dims = {d.name for d in graph.universe.dims}

    def direct(edge: Edge, reader: Node | None) -> Edge:
        copy = copies.get(edge.source)
        if copy is None or (reader is not None and not is_computed(reader)):
            return edge
        (rows,) = copy.inputs
        both = [
            d
            for d, e in zip(copy.domain.dims, edge.entries, strict=True)
            if isinstance(e, ix.Slice) or dims & {*symbols(e)}
        ]
        twice = [d for d in both if sum(d in symbols(e) for e in rows.entries) > 1]
        entries = compose(edge.entries, copy.domain.dims, rows.entries, graph.universe)
        if entries is None or twice:
            return edge
        return replace(edge, source=rows.source, entries=entries)

    return rewrite_reads(graph, direct)


def _without_unused(graph: Graph, dim: Dim) -> Graph:
    """The graph without a dimension that no node has."""
    universe = graph.universe
    if any(dim.name in n.domain.dims for n in graph.nodes.values()):
        return graph
    dims = tuple(d for d in universe.dims if d != dim)
    bounds = tuple(b for b in universe.bounds if b.name != dim.bound)
    return replace(graph, universe=replace(universe, dims=dims, bounds=bounds))
