"""Statements that make large tensors of small ones: they run where their results are read.

An outer product of two vectors of 64 elements is 32 times as large as these. Run in a loop before
that of its consumers, all its points would be stored until then.
"""

from __future__ import annotations

from collections.abc import Iterator

from tempoc.base.cost_model import MODEL
from tempoc.ops.definition.shapes import constant_elements
from tempoc.sdg.statements.statements import Statement, Statements
from tempoc.symbolic import expr as ix


def expansions(statements: Statements) -> Iterator[str]:
    """The statements without effects whose results are much larger than what each point reads."""
    for s in statements.statements:
        if s.vector or s.turn or s.ends or not s.reads:
            continue
        if any(isinstance(e, ix.Slice) for r in s.reads for e in r.entries):
            continue
        written = _elements(statements, dict.fromkeys(w.tensor for w in s.writes))
        moving = [r.tensor for r in s.reads if _moves(s, statements, r.tensor)]
        read = _elements(statements, dict.fromkeys(moving))
        if written is not None and read is not None and MODEL.is_much_of_little(written, read):
            yield s.name


def _moves(s: Statement, statements: Statements, name: str) -> bool:
    """Whether the points of a statement read different points of a tensor."""
    return bool({*s.domain.dims} & {*statements.tensors[name].domain.dims})


def _elements(statements: Statements, names: dict[str, None]) -> int | None:
    """The elements of some tensors at a point; ``None`` where an extent is not known."""
    counts = [constant_elements(statements.tensors[name].type.shape) for name in names]
    known = [c for c in counts if c is not None]
    return sum(known) if len(known) == len(counts) else None
