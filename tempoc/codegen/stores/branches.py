"""Which members of a kernel belong to the branches of a ``cond``, and which outputs leave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.statements.branches import BranchSide
from tempoc.sdg.statements.statements import Statement


def branch_members(
    cond: str, members: Sequence[str], owners: Mapping[str, BranchSide]
) -> list[str]:
    """The members that are computed in a branch of ``cond`` or of an inner one."""
    served: list[str] = []
    for member in reversed(members):  # an inner ``cond`` comes after its members
        owner = owners.get(member)
        if owner is not None and (owner[0] == cond or owner[0] in served):
            served.append(member)
    return served[::-1]


def outputs_used_outside(
    cond: str, served: Sequence[str], statement: Statement, graph: Graph
) -> list[tuple[str, int]]:
    """The outputs of ``served`` members that are stored or have consumers outside of ``cond``."""
    outputs = [(w.member, w.out) for w in statement.writes if w.member in served]
    for reader in statement.members:
        if reader != cond and reader not in served:
            edges = graph.nodes[reader].inputs
            outputs += [(e.source, e.out) for e in edges if e.source in served]
    return list(dict.fromkeys(outputs))
