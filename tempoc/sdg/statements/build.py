"""Lowers a graph to statements and stored tensors.

Merges are eliminated: a merge becomes a tensor with one writer per branch, and the write is stated
in the writer's coordinates: for ``h = {t == 0: h.0; t >= 1: h.1[t-1]}`` with the targets ``(0)``
and ``(t+1)``, ``h.0`` writes ``h[0]`` and ``h.1`` writes ``h[t+1]`` where ``t+1 < T``. Any other
node with a consumer outside of its statement instance is a tensor with one writer, at the identity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tempoc.ops.control.control import Merge
from tempoc.ops.control.until import Until
from tempoc.ops.random.draws import Seed
from tempoc.ops.tensor.source import Input, Param
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.effect_order import effect_position
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import node_expressions
from tempoc.sdg.statements.statements import (
    Read,
    Statement,
    Statements,
    Tensor,
    TensorOrigin,
    Write,
)
from tempoc.sdg.statements.vectorized import vectorize_statement
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, own_point
from tempoc.symbolic.walk import substitute, symbols


def statements(graph: Graph, space: Space) -> Statements:
    """The statements and tensors of a graph; without groups each node is a statement.

    ``space`` simplifies the conditions of writes and detects forwarded reads. Statements are in
    the order of the groups or nodes, tensors in the order of the nodes.
    """
    homes = _statement_of(graph)
    tensors = _tensors(graph, homes)
    merges = _merge_writes(graph, space)
    built = [
        _vectorized(graph, space, _statement(graph, space, name, members, homes, tensors, merges))
        for name, members in _statement_members(graph)
    ]
    return Statements(tensors={t.name: t for t in tensors.values()}, statements=tuple(built))


def is_computed(node: Node) -> bool:
    """Whether the node is executed: neither an input, param or seed nor a merge."""
    return node.op.computed


def is_identity(edge: Edge, graph: Graph) -> bool:
    """Whether the edge reads its source at the point of the sink."""
    return edge.entries == identity(graph.nodes[edge.source].domain)


def identity(domain: Domain) -> tuple[ix.Expr, ...]:
    """The entries of an access at the reader's own point."""
    return own_point(domain.dims)


def tensor_name(node: str, out: int) -> str:
    """The name of the tensor of a node's output."""
    return node if out == 0 else f"{node}.out{out}"


def written_where(merge: Node, branch: int, graph: Graph) -> ix.Expr:
    """The condition, in the coordinates of a branch's source, under which the source writes.

    The target is inside of the box and the domain of the merge, and satisfies the branch's guard.
    """
    assert isinstance(merge.op, Merge)
    target = merge.domain.at(merge.op.targets[branch])
    box: list[ix.Expr] = []
    for dim, at in target.items():
        if at != ix.Sym(dim):  # the source's own domain keeps unshifted dimensions in range
            const = at.const if isinstance(at, ix.IndexSum) else 0
            box.append(ix.compare(">=", at - const, ix.Const(-const)))
            box.append(ix.compare("<", at, ix.Sym(graph.universe.dim(dim).bound)))
    guard = ix.conjunction(merge.domain.where, merge.inputs[branch].guard)
    return ix.conjunction(*box, substitute(guard, target))


def may_overlap(domain: Domain, read: tuple[ix.Entry, ...], write: Write, space: Space) -> bool:
    """Whether a read includes the element written at the same point, for some point."""
    parts: list[ix.Expr] = [domain.where, write.where]
    for entry, at in zip(read, write.point, strict=True):
        if isinstance(entry, ix.Slice):
            parts.append(ix.compare("<=", entry.lo, at))
            parts.append(ix.compare("<", at, entry.hi))
            parts.append(ix.compare("==", ix.mod(ix.sub(at, entry.lo), entry.step), ix.ZERO))
        else:
            parts.append(ix.compare("==", entry, at))
    meeting = ix.conjunction(*parts)
    return not space.is_empty(Domain(domain.dims, meeting))


# ---------------------------------------------------------------- parts and tensors


def _statement_members(graph: Graph) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Name and members of each future statement."""
    if graph.groups:
        yield from ((g.name, g.members) for g in graph.groups)
    else:
        yield from ((n.name, (n.name,)) for n in graph.nodes.values() if is_computed(n))


def _statement_of(graph: Graph) -> dict[str, str]:
    """For each computed node the statement it belongs to."""
    return {member: name for name, members in _statement_members(graph) for member in members}


def _tensors(graph: Graph, homes: Mapping[str, str]) -> dict[tuple[str, int], Tensor]:
    """The stored tensors, by node and output, in node order."""
    stored = {(o.source, o.out) for o in graph.outputs}
    for node in graph.nodes.values():
        if is_computed(node):
            stored |= {
                (e.source, e.out)
                for e in node.inputs
                if homes.get(e.source) != homes[node.name]
                or e.source == node.name
                or not is_identity(e, graph)
            }
    return {
        (node.name, out): Tensor(
            name=tensor_name(node.name, out),
            node=node.name,
            out=out,
            domain=node.domain,
            type=type_,
            origin=_origin(node),
        )
        for node in graph.nodes.values()
        for out, type_ in enumerate(node.types)
        if not is_computed(node) or (node.name, out) in stored
    }


def _origin(node: Node) -> TensorOrigin:
    match node.op:
        case Input() | Seed():
            return "input"
        case Param():
            return "param"
        case _:
            return "computed"


def _merge_writes(graph: Graph, space: Space) -> dict[str, list[Write]]:
    """The writes of each node into merges and params, by node."""
    writes: dict[str, list[Write]] = {}
    for node in graph.nodes.values():
        if not isinstance(node.op, Merge | Param):
            continue
        for k, edge in enumerate(node.inputs):
            source = graph.nodes[edge.source]
            entries = identity(node.domain)
            where: ix.Expr = ix.TRUE
            if isinstance(node.op, Merge):
                entries = node.op.targets[k]
                where = space.simplify(written_where(node, k, graph), source.domain)
            if where == ix.FALSE:  # a branch that is never taken
                continue
            write = Write(
                tensor=tensor_name(node.name, 0),
                member=source.name,
                out=edge.out,
                entries=entries,
                where=where,
            )
            writes.setdefault(source.name, []).append(write)
    return writes


# ---------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True, kw_only=True)
class _PendingRead:
    """An operand of a member, before it becomes a ``Read``."""

    member: str
    slot: int
    edge: Edge


def _statement(
    graph: Graph,
    space: Space,
    name: str,
    members: tuple[str, ...],
    homes: Mapping[str, str],
    tensors: Mapping[tuple[str, int], Tensor],
    merges: Mapping[str, list[Write]],
) -> Statement:
    domain = graph.nodes[members[0]].domain
    writes: list[Write] = []
    for member in members:
        node = graph.nodes[member]
        writes += [
            Write(tensor=t.name, member=member, out=out, entries=identity(node.domain))
            for out in range(len(node.types))
            if (t := tensors.get((member, out))) is not None
        ]
        writes += merges.get(member, [])
    reads = [
        Read(
            tensor=tensors[a.edge.source, a.edge.out].name,
            member=a.member,
            slot=a.slot,
            entries=a.edge.entries,
        )
        for a in _accesses(graph, members)
        if homes.get(a.edge.source) != name
        or a.edge.source == a.member  # a value that needs itself: the scheduler says so
        or not is_identity(a.edge, graph)
    ]
    return Statement(
        name=name,
        domain=domain,
        members=members,
        reads=tuple(_forwarded(r, domain, members, writes, space) for r in reads),
        writes=tuple(writes),
        turn=next(
            (
                position
                for m in members
                if (position := effect_position(graph.nodes[m])) is not None
            ),
            None,
        ),
        ends=tuple(op.bound for m in members if isinstance(op := graph.nodes[m].op, Until)),
        mentions=_mentions(graph, members, writes),
    )


def _vectorized(graph: Graph, space: Space, single: Statement) -> Statement:
    vector = graph.nodes[single.members[0]].vector
    return vectorize_statement(single, vector, space) if vector else single


def _mentions(graph: Graph, members: tuple[str, ...], writes: list[Write]) -> tuple[ix.Expr, ...]:
    """The expressions of a statement, other than its reads, that name a length."""
    lengths = graph.universe.lengths
    if not lengths:
        return ()
    candidates = [e for m in members for e in node_expressions(graph.nodes[m])]
    candidates += [e for w in writes for e in (*w.point, w.where)]
    return tuple(dict.fromkeys(e for e in candidates if any(n in lengths for n in symbols(e))))


def _accesses(graph: Graph, members: tuple[str, ...]) -> Iterator[_PendingRead]:
    for member in members:
        for slot, edge in enumerate(graph.nodes[member].inputs):
            yield _PendingRead(member=member, slot=slot, edge=edge)


def _forwarded(
    read: Read, domain: Domain, members: tuple[str, ...], writes: list[Write], space: Space
) -> Read:
    """The read, marked if an earlier member of the same instance writes part of it.

    A read of something that the reader itself or a later member writes at the same point is not
    marked: no order of execution satisfies that dependence, and the scheduler reports it.
    """
    earlier = members[: members.index(read.member)]
    meets = any(
        w.tensor == read.tensor
        and w.member in earlier
        and may_overlap(domain, read.entries, w, space)
        for w in writes
    )
    return replace(read, forwarded=True) if meets else read
