"""Builds the SDG from draft nodes: names, domains, edges."""

from __future__ import annotations

from collections.abc import Mapping

from tempoc.base.names import Names
from tempoc.diagnostics.source import Span
from tempoc.frontend.declarations.outputs import OutputRead
from tempoc.frontend.environment.draft_node import Draft
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node, Output
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain


def assemble(
    name: str,
    doc: str,
    space: Space,
    drafts: list[Draft],
    results: list[OutputRead],
    assumed_at: Mapping[ix.Expr, Span],
) -> Graph:
    """The graph of the drafts, which are those that outputs and effects need."""
    names = _names(drafts)
    nodes = {names[d]: _node(names, d) for d in drafts}
    outputs = tuple(
        Output(
            name=r.name,
            source=names[r.ref.draft],
            out=r.ref.out,
            entries=r.entries,
            span=r.span,
        )
        for r in results
    )
    return Graph(
        name=name,
        universe=space.universe,
        nodes=nodes,
        outputs=outputs,
        doc=doc,
        assumed_at=assumed_at,
    )


def _names(drafts: list[Draft]) -> dict[Draft, str]:
    """Unique names; tensors of the program come first, so that they keep their own."""
    fresh = Names()
    names: dict[Draft, str] = {}
    for role in ("root", "local", "temporary"):
        for draft in drafts:
            if draft.role == role:
                names[draft] = fresh.fresh(draft.hint)
    return names


def _node(names: dict[Draft, str], draft: Draft) -> Node:
    assert draft.op is not None
    return Node(
        name=names[draft],
        op=draft.op,
        domain=Domain(draft.dims, draft.where),
        inputs=tuple(
            Edge(
                source=names[w.source],
                out=w.out,
                entries=w.entries,
                guard=w.guard,
                span=w.span,
            )
            for w in draft.inputs
        ),
        types=draft.types,
        spans=draft.spans,
    )
