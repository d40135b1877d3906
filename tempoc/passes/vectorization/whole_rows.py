"""Whole rows: triangular tables of recurrences are computed row by row, each row whole.

    %a.0 = mul %a[m-1, m-1-i], %k : [m, i | i < m] f32
    %a.1 = copy %k                : [m, i | i == m] f32
    %a   = merge %a.1 when i == m, %a.0 when i < m : [m, i | i <= m] f32
    ->
    %a.0     = mul %a[m-1, max(m-1-i, 0)], %k      : [m, i | m >= 1] f32
    %a.1     = copy %k                             : [m, i] f32
    %a.when  = index{expr=i == m}                  : [m, i | m >= 1] bool
    %a.which = where %a.when, %a.1, %a.0           : [m, i | m >= 1] f32
    %a       = merge %a.which when m >= 1, %a.1 when m == 0 : [m, i] f32

``predicate`` makes boxes of conditions on several dimensions, but not where a recurrence goes
through them: at new points a cell could wait for itself. If loops over the other dimensions carry
all that the recurrence needs, whatever its points are (Allen and Kennedy's test without the
dimension of the rows), then a row may be computed whole, and is vectorized. What is computed at
new points is not used; reads along a row are kept inside.

So that a loop over columns carries a factorization, an equation of the diagonal, ``i == j``, is
taken as one over the columns alone, and a read of the diagonal goes to that equation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tempoc.ops.control.control import Copy, Merge, Select
from tempoc.ops.control.until import Until
from tempoc.ops.definition.operator import Op, OperandError
from tempoc.ops.tensor.source import IndexValue
from tempoc.passes.analysis.cost import limited, op_in_box
from tempoc.passes.analysis.uncarried_cycles import is_carried_without
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.vectorization.diagonals import with_diagonals
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import OperandUse, components, index_expressions
from tempoc.sdg.graph.rewrite import replace_nodes
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import identity, is_computed, is_identity
from tempoc.sdg.statements.vectorized import vector_ranges
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import symbols


class WholeRows(GraphPass):
    """Extends the rows of triangular tables in recurrences to vectors of one length."""

    __slots__ = ()
    name: ClassVar[str] = "rows"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with whole rows; none in recurrences that need lengths that data decide."""
        space = context.space.symbolic
        choices = [(part, _row_dims(graph, part, space)) for part in components(graph)]
        alone = {d for _, dims in choices if len(dims) == 1 for d in dims}
        for part, dims in choices:
            for dim in sorted(dims, key=lambda d: d not in alone):
                whole = _with_whole_rows(graph, part, dim, space)
                if whole is not None:
                    tables = [n for n in part if isinstance(graph.nodes[n].op, Merge)]
                    message = f"`{tables[0]}`: all {dim} are computed at once, also those beyond "
                    message += "the rim of the table, whose values are not used"
                    context.remarks.add(self.name, message, graph.nodes[tables[0]].span)
                    graph = whole
                    break
        return graph


def _row_dims(graph: Graph, part: Sequence[str], space: Space) -> list[str]:
    """The dimensions along which rows of a recurrence may be whole, in order of declaration.

    Where there are several, that of other recurrences is better, which may have one only: both are
    then in one loop.
    """
    is_able = _is_recurrence(graph, part) and not _reads_lengths(graph, part)
    dims = _oblique_dims(graph, part, space) if is_able else []
    trials = ((d, with_diagonals(graph, part, d, space)) for d in dims)
    return [d for d, trial in trials if is_carried_without(trial, part, d)]


def _is_recurrence(graph: Graph, part: Sequence[str]) -> bool:
    """Whether a component is a recurrence of pure operators through a merge."""
    nodes = [graph.nodes[n] for n in part]
    return len(part) > 1 and all(n.op.pure and not isinstance(n.op, Until) for n in nodes)


def _reads_lengths(graph: Graph, part: Sequence[str]) -> bool:
    """Whether what is computed, read or selected in a recurrence depends on such lengths.

    Then a condition on them could become a value, which is known too late.
    """
    lengths = {*graph.universe.lengths}
    for node in (graph.nodes[n] for n in part if lengths):
        points = (node.domain.where,) if isinstance(node.op, Merge) else ()
        if any(n in lengths for e in (*index_expressions(node), *points) for n in symbols(e)):
            return True
    return False


def _oblique_dims(graph: Graph, part: Sequence[str], space: Space) -> list[str]:
    """The dimensions along which points of a merge's branch are an interval that varies."""
    names: dict[str, None] = {}
    for node in (graph.nodes[n] for n in part):
        for edge in node.inputs if isinstance(node.op, Merge) else ():
            domain = Domain(node.domain.dims, ix.conjunction(node.domain.where, edge.guard))
            if edge.source in part and not space.is_empty(domain):
                fixed = (d for d in domain.dims if not graph.universe.is_ended(d))
                oblique = (d for d in fixed if vector_ranges(domain, (d,), space) is None)
                names |= dict.fromkeys(oblique)
    return list(graph.universe.sorted(tuple(names)))


def _with_whole_rows(graph: Graph, part: Sequence[str], dim: str, space: Space) -> Graph | None:
    """The graph in which a recurrence has whole rows along a dimension; ``None`` if it cannot."""
    graph = with_diagonals(graph, part, dim, space)
    if not is_carried_without(graph, part, dim):
        return None
    rows = _Rows(graph=graph, space=space, part={*part}, dim=dim, fixed={*enclosing_conds(graph)})
    changed = rows.result()
    if changed is None:
        return None
    names = [n for n in changed.nodes if n in part or n not in graph.nodes]
    return changed if is_carried_without(changed, names, dim) else None


@dataclass(slots=True, kw_only=True)
class _Rows:
    """The nodes that get whole rows along ``dim``, each with its new domain.

    ``part``: the nodes of the recurrence; ``entries``: reads that are kept inside their sources.
    """

    graph: Graph
    space: Space
    part: set[str]
    dim: str
    fixed: set[str]
    domains: dict[str, Domain] = field(default_factory=dict)
    ops: dict[str, Op] = field(default_factory=dict)
    entries: dict[OperandUse, tuple[ix.Entry, ...]] = field(default_factory=dict)

    def result(self) -> Graph | None:
        """The graph with whole rows; ``None`` if a node cannot be computed beyond its points."""
        nodes = [self.graph.nodes[n] for n in self.part]
        nodes = [n for n in self.graph.nodes.values() if n in nodes and self.dim in n.domain.dims]
        merges = [n for n in nodes if isinstance(n.op, Merge)]
        for merge in merges:
            self.domains[merge.name] = self._row(merge.domain, merge.domain)
        for merge in merges:
            if not all(self._extend_branch(merge, edge) for edge in merge.inputs):
                return None
        for node in nodes:
            is_left = node.name not in self.domains and self._is_oblique(node.domain)
            if is_left and not self._extend(node, self._row(node.domain, node.domain)):
                return None
        replacements: dict[str, Sequence[Node]] = {
            name: (self._extended(name),)
            for name in self.domains
            if name not in self._names(merges)
        }
        for merge in merges:
            selections = self._selections(merge)
            if selections is None:
                return None
            replacements[merge.name] = selections
        return replace_nodes(self.graph, replacements)

    @staticmethod
    def _names(nodes: Sequence[Node]) -> set[str]:
        return {n.name for n in nodes}

    def _is_oblique(self, domain: Domain) -> bool:
        return vector_ranges(domain, (self.dim,), self.space) is None

    def _row(self, outer: Domain, along: Domain) -> Domain:
        """The points of ``outer`` in the other dimensions, with all that ``along`` ever has."""
        others = tuple(d for d in outer.dims if d != self.dim)
        at = ix.Sym(self.dim)
        low, high = self.space.lower_bound(at, along), self.space.upper_bound(at, along)
        ends = ix.compare(">=", at, low), ix.compare("<=", at, high)
        box = Domain(outer.dims)
        where = ix.conjunction(self.space.project(outer, others).where, *ends)
        return replace(box, where=self.space.simplify(where, box))

    # ------------------------------------------------------------ domains

    def _extend_branch(self, merge: Node, edge: Edge) -> bool:
        """Whether a branch has, or need not have, whole rows: those of the merge if it can.

        Else, in its own other points, all that the merge ever has of the dimension: those exist
        for all bounds, while ``1 <= y <= H-2`` is empty for some, and may then not be read.
        """
        source = self.graph.nodes[edge.source]
        if self.dim not in source.domain.dims:
            return True
        if is_identity(edge, self.graph):
            own = self._row(source.domain, merge.domain)
            ats = self.domains[merge.name], self._recurrent_rows(merge), own
            if any(self._extend(source, self.space.project(at, source.domain.dims)) for at in ats):
                return True
        if not self._is_oblique(source.domain):
            return True
        return self._extend(source, self._row(source.domain, source.domain))

    def _recurrent_rows(self, merge: Node) -> Domain:
        """The rows of a merge in which a branch of the recurrence has points."""
        box = self.domains[merge.name]
        recurrent = [e for e in merge.inputs if e.source in self.part]
        where = ix.disjunction(*(self._own(merge, e, box).where for e in recurrent))
        return self._row(Domain(box.dims, where), merge.domain)

    def _extend(self, node: Node, box: Domain) -> bool:
        """Whether a node can be computed in a box, with what it needs, which is then noted."""
        known = self.domains.get(node.name, node.domain)
        if self.space.contains(known, box):
            return True
        if not self.space.contains(box, known) and self.dim in node.domain.dims:
            whole = self._row(known, known)
            box = whole if self.space.contains(whole, box) else box
        before = dict(self.domains), dict(self.ops), dict(self.entries)
        is_merge = isinstance(node.op, Merge)
        if not is_merge and self.space.contains(box, known) and self._allowed(node, box):
            self.domains[node.name] = box
            if all(self._readable(node, slot, box) for slot in range(len(node.inputs))):
                return True
        self.domains, self.ops, self.entries = before
        return False

    def _allowed(self, node: Node, box: Domain) -> bool:
        """Whether a node may be computed at points at which nobody needs it."""
        if node.name in self.fixed:
            return False
        if any(self.dim in symbols(e) for t in node.types for e in t.shape):
            return False
        op = op_in_box(self.graph, node, box, self.space)
        if op is not None:
            self.ops[node.name] = op
        return op is not None

    def _readable(self, node: Node, slot: int, box: Domain) -> bool:
        """Whether an operand can be read at all points of a box; its source is then extended."""
        edge = node.inputs[slot]
        self.entries.pop(OperandUse(node.name, slot), None)
        if edge.guard != ix.TRUE:
            return False
        slices = [e for e in edge.entries if isinstance(e, ix.Slice)]
        if not all(self.space.implies(box, ix.compare(">=", e.hi, e.lo)) for e in slices):
            return False
        if any(self.dim in symbols(e) for e in slices):
            return False
        source = self.graph.nodes[edge.source]
        if self._is_inside(edge.source, box, edge.entries):
            return True
        if is_computed(source) and source.op.cheap and not source.inputs:
            return self._extend(source, Domain(source.domain.dims))
        if self.dim in source.domain.dims and not isinstance(source.op, Merge):
            own = self._row(source.domain, source.domain)
            if is_identity(edge, self.graph) and {*source.domain.dims} <= {*box.dims}:
                own = self.space.project(box, source.domain.dims)
            if self._extend(source, own) and self._is_inside(edge.source, box, edge.entries):
                return True
        entries = self._kept_inside(edge, box)
        if self._is_inside(edge.source, box, entries):
            self.entries[OperandUse(node.name, slot)] = entries
            return True
        return False

    def _is_inside(self, source: str, box: Domain, entries: tuple[ix.Entry, ...]) -> bool:
        domain = self.domains.get(source, self.graph.nodes[source].domain)
        return self.space.outside(box, entries, domain) is None

    def _kept_inside(self, edge: Edge, box: Domain) -> tuple[ix.Entry, ...]:
        """The entries of a read, those that move with the row limited to the source's points."""
        source = self.graph.nodes[edge.source]
        domain = self.domains.get(edge.source, source.domain)
        entries: list[ix.Entry] = []
        for dim, entry in zip(domain.dims, edge.entries, strict=True):
            if isinstance(entry, ix.Expr) and self.dim in symbols(entry):
                first = self.space.lower_bound(ix.Sym(dim), domain)
                last = self.space.upper_bound(ix.Sym(dim), domain)
                entry = limited(entry, first, last, box, self.space)
            entries.append(entry)
        return tuple(entries)

    # ------------------------------------------------------------ the new graph

    def _extended(self, name: str) -> Node:
        node = self.graph.nodes[name]
        inputs = tuple(
            replace(e, entries=self.entries.get(OperandUse(name, slot), e.entries))
            for slot, e in enumerate(node.inputs)
        )
        op = self.ops.get(name, node.op)
        return replace(node, op=op, domain=self.domains[name], inputs=inputs)

    def _selections(self, merge: Node) -> tuple[Node, ...] | None:
        """The nodes that take a merge's place: a selection where all branches can be read, and one
        where a recurrence begins or ends; ``None`` if that is no box."""
        box = self.domains[merge.name]
        others = tuple(d for d in box.dims if d != self.dim)
        where: ix.Expr = ix.TRUE
        for edge in merge.inputs:
            own = self._own(merge, edge, box)
            if edge.source in self.part and not self._is_inside(
                edge.source, box, self._kept_inside(edge, box)
            ):
                source = self.domains.get(edge.source)
                has_rows = source is not None and is_identity(edge, self.graph)
                has_rows = has_rows and source is not None and {*others} <= {*source.dims}
                points = source if has_rows and source is not None else own
                part = self.space.project(points, others).where
                overlap = Domain(box.dims, ix.conjunction(own.where, where, box.where))
                if not self.space.is_empty(overlap):
                    where = self.space.simplify(ix.conjunction(where, part), box)
        rest = self.space.subtract(box, Domain(box.dims, where))
        whole = replace(merge, domain=box)
        builder = NodeBuilder(graph=self._sources(), space=self.space, node=whole)
        regions = [
            Domain(
                box.dims, self.space.simplify(ix.conjunction(box.where, where), Domain(box.dims))
            )
        ]
        regions += [] if self.space.is_empty(rest) else [rest]
        parts = [self._selected(builder, merge, region) for region in regions]
        nodes = [node for node in parts if node is not None]
        if len(nodes) < len(parts):
            return None
        if len(nodes) == 1:
            return builder.finish(nodes[0])
        guards = [self.space.simplify(r.where, box) for r in regions]
        inputs = tuple(
            Edge(source=n.name, entries=identity(box), guard=g)
            for n, g in zip(nodes, guards, strict=True)
        )
        op = Merge(targets=(identity(box),) * len(nodes))
        return (*builder.nodes.values(), replace(merge, op=op, domain=box, inputs=inputs))

    def _own(self, merge: Node, edge: Edge, region: Domain) -> Domain:
        """The points of a branch within a region."""
        where = ix.conjunction(merge.domain.where, edge.guard, region.where)
        return Domain(merge.domain.dims, where)

    def _sources(self) -> Graph:
        """The graph with the new domains, for the types of reads."""
        nodes = {n: (self._extended(n),) for n in self.domains}
        return replace_nodes(self.graph, nodes)

    def _selected(self, builder: NodeBuilder, merge: Node, region: Domain) -> Node | None:
        """What is selected of the branches that have points in a region."""
        alive = [e for e in merge.inputs if not self.space.is_empty(self._own(merge, e, region))]
        reads: list[Edge] = []
        for edge in alive:
            entries = self._kept_inside(edge, region)
            if not self._is_inside(edge.source, region, entries):
                return None
            reads.append(replace(edge, entries=entries, guard=ix.TRUE))
        if not alive or vector_ranges(region, (self.dim,), self.space) is None:
            return None
        try:
            value: Node | Edge = reads[-1]
            for edge, read in reversed([*zip(alive[:-1], reads[:-1], strict=True)]):
                condition = self.space.simplify(edge.guard, region)
                when = builder.put("when", IndexValue(expr=condition), domain=region)
                value = builder.put("which", Select(), (when, read, value), domain=region)
            if isinstance(value, Edge):
                value = builder.put("only", Copy(), (value,), domain=region)
        except OperandError:
            return None
        return value if value.types == merge.types else None
