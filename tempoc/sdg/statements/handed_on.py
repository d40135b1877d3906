"""Tensors of which a loop needs few steps at a time, as weights that learn in it.

    for k in 0..K:
      g[i, k] = f(w[i, k], x[k])
      w[i, k+1] = w[i, k] - g[i, k]
    w[i+1, 0] = w[i, K]

What layers leave for a backward pass, or for the next token, is of another kind: there is a tensor
for each step, and another loop goes through them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tempoc.sdg.statements.statements import Read, Statement, Statements
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class InLoop:
    """A statement in a loop: the dimension that the loop goes through, and those around it."""

    dim: str
    around: frozenset[str]


def is_handed_on(
    tensor: str, position: int, inside: Mapping[str, InLoop], statements: Statements
) -> bool:
    """Whether no array for each step of a loop would hold a tensor, along one of its dimensions.

    ``inside`` are the statements of the loop. Inputs, and what is written at all points at once,
    are one array in any case.
    """
    origin = statements.tensors[tensor].origin
    if origin != "computed":
        return origin != "param"
    written = [(s, w.entries[position]) for s, w in statements.writers(tensor)]
    if any(isinstance(entry, ix.Slice) for _, entry in written):
        return True
    outside = (entry for s, entry in written if s.name not in inside)
    if any(isinstance(entry, ix.Expr) and symbols(entry) for entry in outside):
        return False
    dims = statements.tensors[tensor].domain.dims
    reads = statements.readers(tensor)
    return all(_is_near(s, read, position, inside.get(s.name), dims) for s, read in reads)


def outlives(tensor: str, position: int, statements: Statements) -> bool:
    """Whether elements along one dimension are kept from step to step of another one.

    So are weights of layers that learn, `w[i+1, l]` made of `w[i, l]`, and their caches, read at
    `k[l, 0:t+1]`; what the words of a sentence `h[i, t]` leave for a backward pass is not.
    """
    accesses = [(s, a.entries) for s, a in statements.readers(tensor)]
    accesses += [(s, a.entries) for s, a in statements.writers(tensor)]
    dims = statements.tensors[tensor].domain.dims
    for statement, entries in accesses:
        others = [
            (d, e) for k, (d, e) in enumerate(zip(dims, entries, strict=True)) if k != position
        ]
        if _varies(entries[position], statement) and any(
            _varies(e, statement) and e != ix.Sym(d) for d, e in others
        ):
            return True
    return False


def _varies(entry: ix.Entry, statement: Statement) -> bool:
    """Whether an index, or an end of a range, depends on the point."""
    return any(n in statement.domain.dims for n in symbols(entry))


def _is_near(
    statement: Statement,
    read: Read,
    position: int,
    place: InLoop | None,
    dims: tuple[str, ...],
) -> bool:
    """Whether a read is a fixed number of steps away, or at one step after the loop."""
    entry = read.entries[position]
    if isinstance(entry, ix.Slice):
        return False
    if place is None:
        return not {*symbols(entry)} & {*statement.domain.dims}
    pairs = zip(dims, read.entries, strict=True)
    own = all(e == ix.Sym(d) for d, e in pairs if d in place.around)
    return own and isinstance(ix.sub(entry, ix.Sym(place.dim)), ix.Const)
