"""Dispatch: equations that a table has a kernel for become calls of it.

    %s = matmul %k[0:t+1], %q                    : [t*] f32[t+1]
    %m = max{axes=(-1,), keepdims=true} %s       : [t*] f32[1]
    %e = exp (%s - %m)                           : [t*] f32[t+1]
    %w = div %e, sum{axes=(-1,), keepdims=true} %e
    %a = matmul %w, %v[0:t+1]                    : [t*] f32[8]
    ->
    %a.rows = attention{causal=true} %q[0:T], %k[0:T], %v[0:T] : [] f32[T, 8]
    %a      = getitem{entries=(t,)} %a.rows                    : [t*] f32[8]

A pattern is a formula in the language itself, a graph that has been through the passes before this
one (``match.py``). Its dimensions are axes of what the function takes and gives, so they have to be
vectorized in the program, with points ``0 <= t < N``. What lies between its result and its operands
must have no other readers. The result is rounded as the operands are; the kernels of the compiler's
own table are taken only where the program rounds it so, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import ClassVar

from tempoc.ops.control.control import Merge
from tempoc.ops.control.dispatched import DispatchedCall
from tempoc.ops.control.externs import signature_text
from tempoc.ops.definition.operator import Op, OperandError
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.linear.attention import Attention
from tempoc.ops.tensor.elementwise import Cast
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.dispatch.match import BoundTensor, Matcher, MatchState
from tempoc.passes.dispatch.pattern import FormulaPattern, GivenNumber, KernelEntry
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder, read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import users
from tempoc.sdg.graph.rewrite import drop_dead, replace_nodes
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import is_affine, symbols


class _NotDispatched(Exception):
    """Why equations that match are computed as they are written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch(GraphPass):
    """Replaces what entries match by calls of their functions; the first entry that fits wins.

    Entries for another ``device`` are left out.
    """

    entries: tuple[KernelEntry, ...] = field(default=(), metadata={"spelled": False})

    name: ClassVar[str] = "dispatch"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with calls; remarks say of which functions, or what is in the way.

        They also say which entries of users match nothing.
        """
        floats = {t.dtype for n in graph.nodes.values() for t in n.types if t.dtype.is_float}
        for entry in self.entries:
            before = len(context.remarks.entries)
            for dtype in (d for d in entry.dtypes or tuple(DType) if d in floats):
                pattern = entry.pattern(dtype)
                for name in [*graph.nodes]:
                    if name in graph.nodes:
                        graph = _dispatched(graph, name, entry, pattern, context)
            if entry.module and len(context.remarks.entries) == before:
                dtypes = " or ".join(d.value for d in entry.dtypes)
                message = f"no equation matches the formula of entry {entry.name}, in {dtypes}"
                context.remarks.add(Dispatch.name, message)
        return graph


def _dispatched(
    graph: Graph, name: str, entry: KernelEntry, pattern: FormulaPattern, context: PassContext
) -> Graph:
    """The graph with one node made by the entry's function, if it matches and may be."""
    node, missed = graph.nodes[name], dict[str, None]()
    for state, dims in _matches(graph, node, pattern):
        try:
            call = _CallBuilder(graph, node, entry, pattern, state, dims, context.space)
            nodes = call.nodes()
        except _NotDispatched as why:
            missed[f"`{name}` is not dispatched to {entry.name}: {why}"] = None
            continue
        where = "" if call.where == ix.TRUE else f" where {show(call.where)}"
        message = (
            f"`{name}` is computed by {_function_text(entry)}{where}, as entry {entry.name} says"
        )
        context.remarks.add(Dispatch.name, message, node.span)
        return drop_dead(replace_nodes(graph, nodes))
    for message in missed:
        context.remarks.add(Dispatch.name, message, node.span)
    return graph


def _function_text(entry: KernelEntry) -> str:
    return f"{entry.module}:{entry.function}" if entry.module else f"`{entry.function}`"


def _matches(
    graph: Graph, node: Node, pattern: FormulaPattern
) -> Iterator[tuple[MatchState, Mapping[str, str]]]:
    """The ways in which a node is the pattern's result, with the dimensions by the pattern's."""
    result = pattern.graph.nodes[pattern.result]
    if len(node.types) != 1 or node.types[0].ndim != result.types[0].ndim:
        return
    own = result.domain.dims
    matcher = Matcher(pattern, graph)
    for chosen in permutations(node.vector, len(own)):
        dims = dict(zip(own, chosen, strict=True))
        state = matcher.match(node, dims)
        if state is not None and not _varying(graph, state, dims):
            yield state, dims


def _varying(graph: Graph, state: MatchState, dims: Mapping[str, str]) -> bool:
    """Whether an extent differs from point to point."""
    extents = (e for n, e in state.unifier.values.items() if n not in dims)
    return any(graph.universe.is_dim(n) for e in extents for n in symbols(e))


@dataclass(slots=True)
class _CallBuilder:
    """Builds the nodes of one call."""

    graph: Graph
    node: Node
    entry: KernelEntry
    pattern: FormulaPattern
    state: MatchState
    dims: Mapping[str, str]
    space: Space
    where: ix.Expr = ix.TRUE

    def nodes(self) -> Mapping[str, tuple[Node, ...]]:
        """What takes the place of nodes: the call, and the node, which takes its point of it.

        Raises ``_NotDispatched``.
        """
        self.check_readers()
        counts = {g: self.count(g) for g in self.dims.values()}
        universe = self.pattern.graph.universe
        for p, g in self.dims.items():
            bound = universe.dim(p).bound
            if not self.state.unifier.unify(ix.Sym(bound), counts[g]):
                raise _NotDispatched(f"its points along {g} are not {bound} of them")
        domain = self.outer_domain(counts)
        self.check_extents(domain)
        condition = self.where = self.condition(domain)
        own = self.space.restrict(self.node.domain, condition)
        domain = self.space.restrict(domain, condition)
        edges = [
            self.operand(name, tensor, domain)
            for name in self.pattern.arguments
            if (tensor := self.state.tensors.get(name)) is not None
        ]
        builder = NodeBuilder(
            graph=self.graph, space=self.space, node=replace(self.node, domain=own)
        )
        try:
            call = builder.put("rows", self.operator(builder, edges, counts), edges, domain)
            points = tuple(ix.Sym(g) for g in counts)
            rest = tuple((ix.ZERO, n, 1) for n in call.types[0].shape[len(points) :])
            value = call
            if points:
                value = builder.put("row", SpatialIndex(entries=(*points, *rest)), (read_of(call),))
            type_ = self.node.types[0]
            if value.types[0].dtype is not type_.dtype:
                self.check_rounding(value.types[0].dtype)
                value = builder.put("cast", Cast(dtype=type_.dtype), (read_of(value),))
        except OperandError as error:
            raise _NotDispatched(error.message) from None
        value = replace(value, types=tuple(replace(t, weak=type_.weak) for t in value.types))
        if value.types != self.node.types:
            raise _NotDispatched("the function gives another shape")
        if condition == ix.TRUE:
            nodes = builder.finish(value)
            assert nodes is not None
            return {self.node.name: nodes}
        builder.add(value)
        return self.alternatives(builder, value, condition)

    def alternatives(
        self, builder: NodeBuilder, value: Node, condition: ix.Expr
    ) -> Mapping[str, tuple[Node, ...]]:
        """The call where the condition holds, and else the equations as they are."""
        node, other = self.node, ix.negation(condition)
        replaced: dict[str, tuple[Node, ...]] = {}
        for name in self.own_nodes():
            inner = self.graph.nodes[name]
            domain = self.space.restrict(inner.domain, other)
            replaced[name] = (replace(inner, domain=domain),)
        plain = replace(
            node,
            name=builder.fresh_name("plain"),
            domain=self.space.restrict(node.domain, other),
        )
        builder.add(plain)
        targets = (tuple(map(ix.Sym, node.domain.dims)),) * 2
        pairs = ((value, condition), (plain, other))
        branches = tuple(replace(read_of(n), guard=guard) for n, guard in pairs)
        merge = replace(node, op=Merge(targets=targets), inputs=branches, vector=())
        return replaced | {node.name: (*builder.nodes.values(), merge)}

    def own_nodes(self) -> list[str]:
        """What lies between the result and the operands and differs along the dimensions.

        What does not, such as a mask, may have other readers.
        """
        dims, nodes = {*self.dims.values()}, self.graph.nodes
        inner = (n for n in nodes if n in self.state.inner and n != self.node.name)
        return [n for n in inner if not dims or dims & {*nodes[n].domain.dims}]

    def check_readers(self) -> None:
        """Nothing else reads these nodes."""
        readers = users(self.graph)
        outputs = {o.source for o in self.graph.outputs}
        for name in self.own_nodes():
            others = [u.reader for u in readers[name] if u.reader not in self.state.inner]
            if name in outputs or others:
                reader = f"`{others[0]}`" if others else "an output"
                raise _NotDispatched(f"{reader} reads `{name}`")

    def check_rounding(self, dtype: DType) -> None:
        """Who gives a table answers for it; ours rounds only what is rounded by all readers."""
        name, nodes = self.node.name, self.graph.nodes
        readers = [nodes[u.reader].op for u in users(self.graph)[name]]
        is_rounded = all(isinstance(op, Cast) and op.dtype is dtype for op in readers)
        is_output = any(o.source == name for o in self.graph.outputs)
        if not self.entry.module and (is_output or not is_rounded):
            raise _NotDispatched(
                f"it would be rounded to {dtype.value}, which its readers do not ask for: "
                f"write `{dtype.value}(...)` around it"
            )

    def count(self, dim: str) -> ix.Expr:
        """The number of points along a dimension, which begin at 0."""
        domain, place = self.node.domain, ix.Sym(dim)
        if self.space.lower_bound(place, domain) != ix.ZERO:
            raise _NotDispatched(f"its points along {dim} do not begin at 0")
        count = ix.add(self.space.upper_bound(place, domain), ix.ONE)
        return self.space.reduce(count, self.space.project(domain, ()))

    def outer_domain(self, counts: Mapping[str, ix.Expr]) -> Domain:
        """The domain without the pattern's dimensions, which have all their points everywhere."""
        domain = self.node.domain
        rest = tuple(d for d in domain.dims if d not in counts)
        outer = self.space.project(domain, rest)
        box = Domain(domain.dims, outer.where)
        for dim, count in counts.items():
            box = self.space.restrict(box, ix.compare("<", ix.Sym(dim), count))
        if not self.space.contains(domain, box):
            raise _NotDispatched("its points along " + ", ".join(counts) + " are no box")
        return outer

    def check_extents(self, domain: Domain) -> None:
        """Extents are at least 1, and known before a run."""
        for name, value in self.state.unifier.values.items():
            if name in self.dims:
                continue
            if any(n in self.graph.universe.lengths for n in symbols(value)):
                raise _NotDispatched(f"{name}, which is {show(value)}, is not known before a run")
            positive = ix.compare(">=", value, ix.ONE)
            if is_affine(value) and not self.space.implies(domain, positive):
                raise _NotDispatched(f"{name} is {show(value)}, which may be less than 1")

    def condition(self, domain: Domain) -> ix.Expr:
        """The bounds for which the function is called: those for which the entry wants it."""
        when = self.entry.when
        condition = self.state.unifier.known(when)
        if any(n.startswith("?") for n in symbols(condition)):
            raise _NotDispatched(f"`{show(when)}` names what is no extent of it")
        if is_affine(condition):
            if self.space.implies(domain, condition):
                return ix.TRUE
            if not self.space.is_empty(self.space.restrict(domain, condition)):
                return condition
        elif symbols(condition):
            raise _NotDispatched(f"`{show(condition)}` is no affine condition of bounds")
        raise _NotDispatched(f"`{show(when)}` does not hold")

    def operand(self, name: str, tensor: BoundTensor, domain: Domain) -> Edge:
        """All of an argument, with an axis for each dimension of the pattern's input."""
        edge, source = tensor.edge, self.graph.nodes[tensor.edge.source]
        own = self.pattern.graph.nodes[name].domain.dims
        extents = {
            g: self.state.unifier.known(ix.Sym(self.pattern.graph.universe.dim(p).bound))
            for p, g in zip(own, tensor.dims, strict=True)
        }
        entries: list[ix.Entry] = []
        for dim, entry in zip(source.domain.dims, edge.entries, strict=True):
            entries.append(ix.Slice(ix.ZERO, extents[dim]) if dim in extents else entry)
        named = {n for e in entries for n in symbols(e)}
        named |= {n for e in source.types[edge.out].shape for n in symbols(e)}
        if named & {*self.dims.values()}:
            raise _NotDispatched(f"`{source.name}` differs from point to point beyond the pattern")
        if any(n.startswith("?") for n in named):
            raise _NotDispatched(f"how much of `{source.name}` is read is not known")
        if self.space.outside(domain, tuple(entries), source.domain) is not None:
            raise _NotDispatched(f"`{source.name}` has no value at some of the points")
        return Edge(source=source.name, out=edge.out, entries=tuple(entries), span=edge.span)

    def operator(
        self, builder: NodeBuilder, edges: list[Edge], counts: Mapping[str, ix.Expr]
    ) -> Op:
        """The call's operator."""
        given = {name: self.value(value) for name, value in self.entry.given.items()}
        if not self.entry.module:
            return _attention(given)
        dtype = self.pattern.graph.nodes[self.pattern.result].types[0].dtype
        result = TensorType(dtype, (*counts.values(), *self.node.types[0].shape))
        names = [n for n in self.pattern.arguments if n in self.state.tensors]
        return DispatchedCall(
            extern=self.entry.name,
            module=self.entry.module,
            function=self.entry.function,
            arguments=tuple(signature_text(builder.type_of(e)) for e in edges),
            results=(signature_text(result),),
            takes=tuple(names),
            gives=("value",),
            given=tuple(given.items()),
        )

    def value(self, value: GivenNumber | ix.Expr) -> GivenNumber | ix.Expr:
        """A number that the function is given by name: a constant, or one of the pattern's."""
        if not isinstance(value, ix.Expr):
            return value
        if isinstance(value, ix.Sym) and value.name in self.pattern.numbers:
            return self.state.numbers[value.name]
        known = self.state.unifier.known(value)
        if any(n.startswith("?") for n in symbols(known)):
            raise _NotDispatched(f"`{show(value)}` is no extent of it")
        return known


def _attention(given: Mapping[str, GivenNumber | ix.Expr]) -> Attention:
    """The operator for what an entry gives it."""
    window = given.get("window", 0)
    return Attention(
        scale=float(given.get("scale", 1.0)),  # type: ignore[arg-type]
        causal=bool(given.get("causal", False)),
        window=window if isinstance(window, ix.Expr) else ix.Const(int(window)),
    )
