"""Numbers of values: drafts that compute the same at every point have the same number."""

from __future__ import annotations

from dataclasses import dataclass, field

from tempoc.frontend.environment.draft_node import Draft, Wire
from tempoc.ops.control.control import IdentityOp
from tempoc.ops.tensor.source import GivenTensor
from tempoc.symbolic import expr as ix

DraftKey = tuple[object, ...]


@dataclass(slots=True)
class ValueNumbers:
    """Numbers drafts by their operators and operands.

    Indexed tensors, what is given and what has an effect are equal to themselves alone.
    """

    numbers: dict[Draft, int] = field(default_factory=dict)
    keys: dict[DraftKey, int] = field(default_factory=dict)

    def of(self, wire: Wire) -> DraftKey:
        """What a read gives: equal keys have equal values at equal points."""
        read = _resolved(wire)
        pending = [read.source]
        while pending:
            last = pending[-1]
            reads = [] if _is_alone(last) else [_resolved(w) for w in last.inputs]
            missing = [r.source for r in reads if r.source not in self.numbers]
            if last in self.numbers:
                pending.pop()
            elif missing:
                pending += missing
            else:
                self.numbers[last] = self._number(last, reads)
        return self._key(read)

    def _number(self, draft: Draft, reads: list[Wire]) -> int:
        key: DraftKey = (draft,)
        if not _is_alone(draft):
            # The text tells 0.0 from -0.0 and 1 from True, which are equal in Python.
            key = (repr(draft.op), draft.dims, draft.types, *map(self._key, reads))
        return self.keys.setdefault(key, len(self.keys))

    def _key(self, read: Wire) -> DraftKey:
        return self.numbers[read.source], read.out, read.entries, read.guard


def _is_alone(draft: Draft) -> bool:
    """Whether nothing else is known to be equal to a draft. Cycles go through such drafts only."""
    return (
        draft.op is None
        or not draft.op.pure
        or isinstance(draft.op, GivenTensor)
        or bool(draft.written)
    )


def _resolved(wire: Wire) -> Wire:
    """What a read of a copy at its own points reads, of a constant for derivatives as well."""
    while (
        isinstance(wire.source.op, IdentityOp)
        and not _is_alone(wire.source)
        and wire.guard == ix.TRUE
        and wire.entries == tuple(ix.Sym(d) for d in wire.source.dims)
    ):
        (wire,) = wire.source.inputs
    return wire
