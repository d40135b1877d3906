"""Noise of choices apart from them, so that it can be drawn for all steps of a loop at once.

    %a = categorical %a.key, %logits     : [t] i32
    ->
    %a.noise  = gumbel %a.key            : [t*] f32[2]
    %a.scores = add %logits, %a.noise    : [t] f32[2]
    %a        = argmax{axis=-1} %a.scores : [t] i32

Logits of a loop are known step by step, as those of a policy that acts; noise depends on the place
and the point alone. Threads share the drawing, and steps are shorter. What is drawn is the same to
the last bit. That is done along the innermost loop of a choice, where as much is stored anyway:
where something vectorized reads the logits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tempoc.ops.definition.types import DType
from tempoc.ops.indexing.search import ArgMax
from tempoc.ops.random.draws import Categorical, Gumbel, is_few
from tempoc.ops.tensor.arithmetic import Add
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.rewrite import replace_nodes
from tempoc.sdg.statements.build import identity
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


def with_noise_ahead(
    graph: Graph, space: Space, fits: Callable[[Node, tuple[str, ...]], bool]
) -> Graph:
    """The graph with noise drawn ahead; ``fits``: whether a node can have these dimensions starred.

    A key is drawn from once, so that nothing else reads it.
    """
    parts: dict[str, tuple[Node, ...]] = {}
    for node in graph.nodes.values():
        loops = [d for d in node.domain.dims if d not in node.vector]
        if not isinstance(node.op, Categorical) or not loops:
            continue
        new = NodeBuilder(graph=graph, space=space, node=node)
        key, logits = graph.nodes[node.inputs[0].source], node.inputs[1]
        type_ = new.type_of(logits)
        stars = graph.universe.ordered((*node.vector, loops[-1]))
        if type_ != replace(type_, dtype=DType.F32, weak=False) or not is_few(type_.shape[-1]):
            continue
        if key.domain != node.domain or node.inputs[0].entries != identity(key.domain):
            continue
        if graph.universe.is_ended(loops[-1]) or not fits(key, stars) or not fits(node, stars):
            continue
        if _is_kept(graph, logits, loops[-1]):
            noise = new.put("noise", Gumbel(shape=type_.shape), (node.inputs[0],))
            scores = new.put("scores", Add(), (logits, noise))
            made = new.finish(new.put("place", ArgMax(axis=-1), (scores,)))
            assert made is not None, "what is chosen is an i32 in either form"
            parts[node.name] = (replace(noise, vector=stars), *made[1:])
            parts[key.name] = (replace(key, vector=stars),)
    return replace_nodes(graph, parts)


def _is_kept(graph: Graph, read: Edge, dim: str) -> bool:
    """Whether what is read at a point is a tensor that others read at all points at once."""
    if any(isinstance(e, ix.Slice) for e in read.entries):
        return False
    source = graph.nodes[read.source]
    entries = (
        source.domain.at(edge.entries).get(dim)
        for node in graph.nodes.values()
        for edge in node.inputs
        if edge.source == source.name and dim in node.vector
    )
    return any(isinstance(e, ix.Expr) and dim in symbols(e) for e in entries)


def without_noise_ahead(graph: Graph) -> Graph:
    """The graph with choices that draw their noise themselves."""
    choices: dict[str, tuple[Node, ...]] = {}
    for node in graph.nodes.values():
        if not isinstance(node.op, ArgMax):
            continue
        scores = graph.nodes[node.inputs[0].source]
        if isinstance(scores.op, Add):
            logits, drawn = scores.inputs
            noise = graph.nodes[drawn.source]
            if isinstance(noise.op, Gumbel):
                inputs = (noise.inputs[0], logits)
                choices[node.name] = (replace(node, op=Categorical(), inputs=inputs),)
                choices[scores.name] = choices[noise.name] = ()
    return replace_nodes(graph, choices)
