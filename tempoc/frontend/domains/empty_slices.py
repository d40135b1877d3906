"""Replaces operands without demand (their slice is always empty) by empty tensors."""

from __future__ import annotations

from dataclasses import replace

from tempoc.frontend.environment.draft_node import Draft, Wire
from tempoc.frontend.environment.round import Round
from tempoc.ops.definition.types import DType
from tempoc.ops.tensor.source import Full
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.walk import extent, substitute, symbols


def replace_empty_slices(round: Round, live: dict[Draft, None]) -> None:
    """Replace operands that are not needed, so that operands of needed nodes are needed."""
    for draft in list(live):
        for k, wire in enumerate(draft.inputs):
            if wire.source not in live:
                draft.inputs[k] = _empty_operand(round, draft, wire)
                live[round.add(draft.inputs[k].source)] = None


def _empty_operand(round: Round, sink: Draft, wire: Wire) -> Wire:
    source, type = wire.source, wire.source.types[wire.out]
    pairs = list(zip(source.dims, wire.entries, strict=True))
    at = {d: e for d, e in pairs if not isinstance(e, ix.Slice)}
    shape = tuple(extent(e) for _, e in pairs if isinstance(e, ix.Slice))
    shape += tuple(substitute(e, at) for e in type.shape)
    dims = round.universe.ordered(tuple(n for e in shape for n in symbols(e)))
    box = Domain(sink.dims, sink.where)
    draft = Draft(
        hint=f"{sink.hint}.nothing",
        dims=dims,
        types=(replace(type, shape=shape),),
        origin=sink.origin,
        op=Full(shape=shape, value=False if type.dtype is DType.BOOL else 0, dtype=type.dtype),
        where=round.space.symbolic.project(box, dims).where,
        spans=(wire.span,),
    )
    entries = tuple(ix.Sym(d) for d in dims)
    return replace(wire, source=draft, out=0, entries=entries)
