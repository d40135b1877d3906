"""The dependences of a program: flow dependences, effects in order, run-time lengths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from tempoc.poly.relations.run_lengths import EndDependence, depends_on_end
from tempoc.poly.scheduling.problem import Flow
from tempoc.sdg.graph.effect_order import PrecedingPoints, preceding_points
from tempoc.sdg.statements.statements import Statement, Statements
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, Universe
from tempoc.symbolic.walk import symbols


def flows(statements: Statements, universe: Universe) -> tuple[Flow, ...]:
    """All dependences, without duplicates."""
    edges = dict.fromkeys(data_dependences(statements))
    edges |= dict.fromkeys(effect_dependences(statements, universe))
    edges |= dict.fromkeys(length_dependences(statements, universe))
    return tuple(edges)


def data_dependences(statements: Statements) -> Iterator[Flow]:
    """Each read depends on each writer of the tensor."""
    writers = {name: statements.writers(name) for name in statements.tensors}
    for reader in statements.statements:
        for read in reader.reads:
            for writer, write in writers[read.tensor]:
                yield Flow(
                    reader=reader.name,
                    writer=writer.name,
                    tensor=statements.tensors[read.tensor].domain,
                    read=read.entries,
                    written=write.entries,
                    where=write.where,
                    forwarded=read.forwarded,
                )


def length_dependences(statements: Statements, universe: Universe) -> Iterator[Flow]:
    """Dependences of statements on the stop tensors whose lengths affect what they do."""
    for stop in statements.statements:
        for bound in stop.ends:
            for s in statements.statements:
                dependence = length_dependence(s, bound, universe)
                if dependence is not None:
                    yield Flow(
                        reader=s.name,
                        writer=stop.name,
                        tensor=stop.domain,
                        read=tuple(ix.Slice(ix.ZERO, ix.Sym(d)) for d in stop.domain.dims),
                        written=tuple(ix.Sym(d) for d in stop.domain.dims),
                        waits=dependence,
                    )


def length_dependence(s: Statement, bound: str, universe: Universe) -> EndDependence | None:
    """How a statement may depend on the length of a bound; None if it does not."""
    at_once = tuple(v.dim for v in s.vector)
    # Expressions over vectorized dimensions are stated at single points.
    if any(d in symbols(e) for e in s.mentions for d in at_once) and s.single is not None:
        s = s.single
    else:
        at_once = ()
    reads = tuple(dict.fromkeys(r.entries for r in s.reads))
    dependence = EndDependence(
        bound=bound, domain=s.domain, reads=reads, mentions=s.mentions, together=at_once
    )
    # A statement that may run speculatively still depends on lengths in its domain.
    domain_varies = any(universe.roots(name) for name in symbols(s.domain.where))
    return (
        None
        if (s.is_free and not domain_varies) or not depends_on_end(universe, dependence)
        else dependence
    )


def effect_dependences(
    statements: Statements, universe: Universe, ordered: Mapping[str, int] = MappingProxyType({})
) -> Iterator[Flow]:
    """The order of effects, as dependences of each effect on all that precede it in its queue.

    Effects with one number in ``ordered`` are known to be in order.
    """
    effects = [(s, s.turn) for s in statements.statements if s.turn is not None]
    for later, position in effects:
        number = ordered.get(later.name)
        for earlier, earlier_position in effects:
            if number is not None and number == ordered.get(earlier.name):
                continue
            if position.queue == earlier_position.queue:
                first = earlier_position.number < position.number
                dims = later.domain.dims, earlier.domain.dims
                for before in preceding_points(*dims, first, universe):
                    yield _flow(later, earlier, before)


def _flow(later: Statement, earlier: Statement, before: PrecedingPoints) -> Flow:
    """A dependence through a fictitious tensor over the shared dimensions."""
    prefix = tuple(ix.Sym(d) for d in before.shared)
    return Flow(
        reader=later.name,
        writer=earlier.name,
        tensor=Domain(before.shared),
        read=(*prefix[:-1], ix.Slice(ix.ZERO, prefix[-1])) if before.less else prefix,
        written=prefix,
    )
