"""Whether points whose loops have lengths of their own can take their steps together.

Of a bound that varies over ``i`` the *common length* is the greatest one of all ``i``. With it in
place of each own length, every node has the points that it had, and more: the *late* ones, which
are past the end of their ``i``. What is asked here is whether all other points stay as they are,
and whether all late values can be kept apart from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from tempoc.base.graphs import reachable
from tempoc.ops.control.control import Merge
from tempoc.ops.control.until import Until
from tempoc.ops.definition.axis_links import Link
from tempoc.ops.definition.types import TensorType
from tempoc.ops.tensor.movement import BroadcastTo
from tempoc.ops.tensor.reduction import Mean
from tempoc.ops.tensor.source import Full, IndexValue, Input, Param
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import ancestors, expressions, node_expressions, operand_types, users
from tempoc.sdg.verification.verify import DomainFacts
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Bound, Domain, Universe, conjuncts
from tempoc.symbolic.walk import substitute, symbols


class KeepsItsLoop(Exception):
    """Why points cannot take their steps together, and the node that is in the way."""

    def __init__(self, why: str, node: Node | None = None) -> None:
        super().__init__(why)
        self.why, self.node = why, node


@dataclass(frozen=True, kw_only=True)
class CommonLength:
    """A bound of a graph that a tensor ends, and the dimensions that are to have one length.

    ``space`` is that of the graph.
    """

    graph: Graph
    bound: Bound
    space: Space

    # ------------------------------------------------------------ what there is

    @cached_property
    def until(self) -> Node:
        """The node that ends the bound."""
        nodes = self.graph.nodes.values()
        return next(n for n in nodes if isinstance(n.op, Until) and n.op.bound == self.bound.name)

    @cached_property
    def step(self) -> str:
        """The dimension of steps."""
        return next(d for d in self.until.domain.dims if d not in self.bound.outer)

    @cached_property
    def step_dims(self) -> tuple[str, ...]:
        """All dimensions with this bound."""
        return tuple(d.name for d in self.graph.universe.dims if d.bound == self.bound.name)

    @cached_property
    def together(self) -> tuple[str, ...]:
        """The dimensions over which the length varies and whose points never wait for each other.

        Nodes between a point that depends on the length and the end condition read one another at
        their own point of such a dimension.
        """
        readers = users(self.graph)
        dependent = [n.name for n in self.graph.nodes.values() if self._depends(n)]
        after = {*reachable(dependent, lambda name: [u.reader for u in readers[name]])}
        between = after & ancestors(self.graph, [self.until.name])
        moved: set[str] = set()
        for name in between:
            for edge in self.graph.nodes[name].inputs:
                if edge.source in between:
                    dims = self.graph.nodes[edge.source].domain.dims
                    pairs = zip(dims, edge.entries, strict=True)
                    moved |= {d for d, entry in pairs if entry != ix.Sym(d)}
        lengths = self.graph.universe.lengths
        return tuple(
            d
            for d in self.bound.outer
            if d not in moved and self.graph.universe.dim(d).bound not in lengths
        )

    def names(self, e: ix.Entry) -> bool:
        """Whether an expression names the bound."""
        return self.bound.name in symbols(e)

    def has_steps(self, node: Node) -> bool:
        """Whether a node has a point for each step."""
        return any(d in self.step_dims for d in node.domain.dims)

    def _depends(self, node: Node) -> bool:
        entries = chain.from_iterable(e.entries for e in node.inputs)
        return self.has_steps(node) or any(map(self.names, (*entries, *node_expressions(node))))

    def late_axes(self, type_: TensorType) -> tuple[int, ...]:
        """The axes of which some elements can be late: those whose extents name the bound."""
        return tuple(k for k, e in enumerate(type_.shape) if self.names(e))

    def skipped(self, extent: ix.Expr) -> int | None:
        """The ``c`` of an extent ``K - c``, of at least 0; ``None`` of another extent."""
        fixed = not any(self.graph.universe.is_dim(n) for n in symbols(extent))
        for arg in extent.args if isinstance(extent, ix.IndexMax) and fixed else ():
            if self.names(arg) and self.space.equal(arg, extent, Domain(())):
                extent = arg
                break
        gap = ix.sub(ix.Sym(self.bound.name), extent)
        return gap.value if isinstance(gap, ix.Const) and gap.value >= 0 else None

    def links(self, node: Node) -> tuple[Link, ...]:
        """The links of a node's axes."""
        facts = DomainFacts(self.space, node.domain)
        operands = operand_types(self.graph, node)
        return tuple(node.op.links(operands, node.types, facts.equal))

    # ------------------------------------------------------------ whether it can be

    def check(self) -> None:
        """Raise ``KeepsItsLoop`` unless all late values can be kept apart."""
        universe = self.graph.universe
        if not self.together:
            raise KeepsItsLoop("its points depend on each other")
        derived = [b.name for b in universe.bounds if self.bound in universe.roots(b.name)]
        if derived != [self.bound.name]:
            raise KeepsItsLoop(f"{', '.join(derived[1:])} varies with it")
        if not self._assumed_of_each():
            raise KeepsItsLoop("an assumption is about the length of each")
        rest = [d for d in self.bound.outer if d not in self.together]
        if any(d in universe.outer(r) for r in rest for d in self.together):
            raise KeepsItsLoop("the dimensions around it have lengths of their own")
        if self.until.domain.where != ix.TRUE:
            raise KeepsItsLoop("its condition has not all points", self.until)
        if any(self.names(e) for o in self.graph.outputs for e in o.entries):
            raise KeepsItsLoop("an output is read at one length")
        for node in self.graph.nodes.values():
            self._check_domain(node)
            self._check_op(node)
            for edge in node.inputs:
                self._check_read(node, edge)

    def _assumed_of_each(self) -> bool:
        """Whether what is assumed of the greatest length, and so checked, holds for all others."""
        facts = self.graph.universe.assumptions
        later = {self.bound.name: self._greater}
        of_greatest = Space(
            replace(
                self._more, assumptions=(self._no_less, *(substitute(a, later) for a in facts))
            ),
            limits=self.space.frame.limits,
        )
        return all(of_greatest.implies(Domain(()), a) for a in facts if self.names(a))

    def _check_domain(self, node: Node) -> None:
        """Points stay points, and branches the branches of their points."""
        conditions = [(node.domain, node.domain.where)]
        if isinstance(node.op, Merge):
            where = node.domain.where
            conditions += [
                (Domain(node.domain.dims, ix.conjunction(where, e.guard)), e.guard)
                for e in node.inputs
            ]
        for domain, condition in conditions:
            if node.name in self.last_points or node.name in self.backward_states:
                continue
            if self.names(condition) and not self._stays(domain, condition):
                raise KeepsItsLoop(f"`{node.name}` needs to know which step is the last", node)

    def _stays(self, domain: Domain, condition: ix.Expr) -> bool:
        """Whether a condition that holds at points of a domain does for all greater lengths."""
        later = {self.bound.name: self._greater}
        return self._more_lengths.implies(domain, substitute(condition, later))

    @cached_property
    def _greater(self) -> ix.Sym:
        return ix.Sym(f"{self.bound.name}''")

    @cached_property
    def _more_lengths(self) -> Space:
        """The space with the greater length."""
        more = replace(self._more, assumptions=(*self._more.assumptions, self._no_less))
        return Space(more, limits=self.space.frame.limits)

    @cached_property
    def _more(self) -> Universe:
        """The declarations with one more bound, which is a length that is as great or greater."""
        universe = self.graph.universe
        return replace(universe, bounds=(*universe.bounds, Bound(name=self._greater.name)))

    @cached_property
    def _no_less(self) -> ix.Expr:
        return ix.compare(">=", self._greater, ix.Sym(self.bound.name))

    def _check_op(self, node: Node) -> None:
        """Late points do no harm, and no late element of an axis reaches another position."""
        last = self.last_points.get(node.name)
        if last is not None and any(last in symbols(e) for e in node_expressions(node)):
            raise KeepsItsLoop(f"`{node.name}` needs to know which step is the last", node)
        if self.has_steps(node):
            if not node.op.pure:
                raise KeepsItsLoop(f"`{node.name}` has an effect at each step", node)
            if node.op.checks:
                raise KeepsItsLoop(f"`{node.name}` is checked at each step", node)
        if node.op.checks and self.names(node.domain.where):
            raise KeepsItsLoop(f"`{node.name}` is checked where the length suffices", node)
        if isinstance(node.op, IndexValue):
            if self.names(node.op.expr) and any(d in self.step_dims for d in symbols(node.op.expr)):
                raise KeepsItsLoop(f"`{node.name}` counts from the last step", node)
            return
        shaped = isinstance(node.op, Full | BroadcastTo)
        own = any(map(self.names, expressions(node.op)))
        if own and not shaped and not isinstance(node.op, Merge):
            raise KeepsItsLoop(f"`{node.name}` needs to know the length", node)
        if isinstance(node.op, Merge) and any(map(self.names, expressions(node.op))):
            raise KeepsItsLoop(f"`{node.name}` is written from its end", node)
        self._check_axes(node)

    def _check_axes(self, node: Node) -> None:
        operands = operand_types(self.graph, node)
        late = {(k, axis) for k, t in enumerate(operands) for axis in self.late_axes(t)}
        types = (*operands, *node.types)
        if not any(map(self.late_axes, types)):
            return
        given = isinstance(node.op, Input | Param)
        extents = [t.shape[axis] for t in types for axis in self.late_axes(t)]
        if given or node.op.checks or any(self.skipped(e) is None for e in extents):
            raise KeepsItsLoop(f"the extents of `{node.name}` depend on it", node)
        if isinstance(node.op, Merge):
            return
        links = self.links(node)
        linked = {(k, axis) for link in links for k, axis in enumerate(link.operands)}
        made = {(k, axis) for link in links for k, axis in enumerate(link.results)}
        results = {(k, axis) for k, t in enumerate(node.types) for axis in self.late_axes(t)}
        if not (late <= linked and results <= made):
            raise KeepsItsLoop(f"`{node.name}` moves values of all steps", node)
        for link in links:
            own = any((k, axis) in late for k, axis in enumerate(link.operands))
            # a mean divides by the number of elements, which is not that of the axis
            combined = node.op.multilinear or (node.op.monoid and not isinstance(node.op, Mean))
            if own and link.is_reduced and not combined:
                raise KeepsItsLoop(f"`{node.name}` combines values of all steps", node)

    def _check_read(self, node: Node, edge: Edge) -> None:
        """Reads that name the length are of the last step, or of a range of steps."""
        named = [entry for entry in edge.entries if self.names(entry)]
        self._check_last_point(node, edge)
        if not named:
            return
        source = self.graph.nodes[edge.source]
        at = source.domain.at(edge.entries)
        moved = any(d in at and at[d] != ix.Sym(d) for d in self.together)
        if moved or isinstance(node.op, Merge) or len(named) > 1:
            raise KeepsItsLoop(f"`{node.name}` reads `{source.name}` by the length", node)
        for dim, entry in at.items():
            if self.names(entry):
                point = not isinstance(entry, ix.Slice)  # which may be one of a shorter loop
                uneven = point and dim in symbols(source.domain.where)
                if dim not in self.step_dims or uneven or not self._is_plain(entry):
                    raise KeepsItsLoop(f"`{node.name}` reads `{source.name}` by the length", node)
                if any(dim in symbols(e) for e in source.types[edge.out].shape):
                    raise KeepsItsLoop(f"the extents of `{source.name}` grow with it", source)

    def _check_last_point(self, node: Node, edge: Edge) -> None:
        """What has only the last step reads others there, so that they can be held."""
        at = self.last_points.get(node.name)
        if at is None:
            return
        source = self.graph.nodes[edge.source]
        inside = [e for e in edge.entries if at in symbols(e)]
        uneven = [*source.types[edge.out].shape, source.domain.where]
        held = [*self._dims_at_last_step(node, edge)]
        uneven = [e for e in uneven if held and held[0] in symbols(e)]
        if uneven or any(e != ix.Sym(at) for e in inside):
            raise KeepsItsLoop(f"`{node.name}` reads `{source.name}` by the length", node)

    def _is_plain(self, entry: ix.Entry) -> bool:
        if isinstance(entry, ix.Slice):
            first = not self.names(entry.lo)
            return first and entry.step == 1 and self.skipped(entry.hi) is not None
        return self.skipped(entry) == 1

    def last_reads(self) -> Iterator[tuple[str, int, str]]:
        """The reads of last steps: the reader, the number of its operand, the dimension."""
        for node in self.graph.nodes.values():
            for slot, edge in enumerate(node.inputs):
                dims = self.graph.nodes[edge.source].domain.dims
                for dim, entry in zip(dims, edge.entries, strict=True):
                    if isinstance(entry, ix.Expr) and self.names(entry):
                        yield node.name, slot, dim
                for dim in self._dims_at_last_step(node, edge):
                    yield node.name, slot, dim

    # ------------------------------------------------------------ from the last step backwards

    @cached_property
    def last_points(self) -> Mapping[str, str]:
        """The nodes that have only the last step, with their dimension of steps."""
        dim_of: dict[str, str] = {}
        last = ix.Sym(self.bound.name) - 1
        for node in self.graph.nodes.values():
            for dim in (d for d in node.domain.dims if d in self.step_dims):
                at_last = ix.compare("==", ix.Sym(dim), last)
                if self.names(node.domain.where) and self.space.implies(node.domain, at_last):
                    dim_of[node.name] = dim
        return dim_of

    @cached_property
    def backward_states(self) -> Mapping[str, tuple[str, tuple[int, ...]]]:
        """Recurrences that begin at the last step: the dimension, and the branches of other steps.

        Derivatives are such recurrences. In late steps they may keep what they begin with.
        """
        merges = [n for n in self.graph.nodes.values() if isinstance(n.op, Merge)]
        pairs = ((n, d) for n in merges for d in n.domain.dims if d in self.step_dims)
        return {
            n.name: (d, steps)
            for n, d in pairs
            if n.domain.where == ix.TRUE and (steps := self._earlier_branches(n, d))
        }

    def _earlier_branches(self, merge: Node, dim: str) -> tuple[int, ...]:
        """The branches that make a state of the next one; empty unless the rest are of the end."""
        assert isinstance(merge.op, Merge)
        at, last = ix.Sym(dim), ix.Sym(self.bound.name) - 1
        own = tuple(ix.Sym(d) for d in merge.domain.dims)
        earlier: list[int] = []
        for slot, (edge, target) in enumerate(zip(merge.inputs, merge.op.targets, strict=True)):
            branch = self.graph.nodes[edge.source]
            if target != own or edge.entries != own or branch.domain.dims != merge.domain.dims:
                return ()
            points = Domain(merge.domain.dims, edge.guard)
            if branch.name in self.last_points:
                others = [c for c in conjuncts(edge.guard) if c != ix.compare("==", at, last)]
                if any(self.names(c) or dim in symbols(c) for c in others):
                    return ()
                continue
            before = self.space.implies(branch.domain, ix.compare("<", at, last))
            lasting = not self.names(edge.guard) or self._stays(points, edge.guard)
            if not before or not lasting or branch.types[edge.out] != merge.types[0]:
                return ()
            earlier.append(slot)
        sources = [merge.inputs[k].source for k in earlier]
        again = self._reads_next_state(merge.name, dim, sources)
        return tuple(earlier) if again and len(earlier) < len(merge.inputs) else ()

    def _reads_next_state(self, state: str, dim: str, sources: list[str]) -> bool:
        """Whether something of which the branches are made reads the state of the next step."""
        place = self.graph.nodes[state].domain.dims.index(dim)
        next_step = ix.Sym(dim) + 1
        return any(
            edge.source == state and edge.entries[place] == next_step
            for name in ancestors(self.graph, sources)
            for edge in self.graph.nodes[name].inputs
        )

    def _dims_at_last_step(self, node: Node, edge: Edge) -> Iterator[str]:
        """The dimension along which a node of the last step reads another node at its own point."""
        dim = self.last_points.get(node.name)
        special = edge.source in self.last_points or edge.source in self.backward_states
        if dim is not None and not special:
            source = self.graph.nodes[edge.source]
            for own, entry in zip(source.domain.dims, edge.entries, strict=True):
                if isinstance(entry, ix.Expr) and entry == ix.Sym(dim):
                    yield own
