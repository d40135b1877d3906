"""Global value numbering: nodes that compute the same at every point become one, also in cycles.

    %a = add %h, %x : [t] f32
    %b = add %h, %x : [t] f32      ->   only %a is left; what read %b reads %a

Partition refinement: all nodes of one operator, domain and type start in one class; classes are
split as long as corresponding operands are in different classes. Nodes left in one class are equal:
two nodes that read equal values at equal points have equal values, by induction along the order of
evaluation. This optimistic start finds duplicates in cycles (two equal recurrences). The operands
of sums, products and merges may be in any order. Nodes that only a branch of a `cond` needs are not
merged with those that others need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from tempoc.ops.control.control import Merge
from tempoc.passes.analysis.variance import is_external
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.graph.rewrite import redirect
from tempoc.sdg.statements.branches import BranchCondition, branch_conditions
from tempoc.symbolic import expr as ix
from tempoc.symbolic.interned import MEMORY

ValueKey = tuple[object, ...]


def merge_duplicates(graph: Graph) -> Graph:
    """Redirect the uses of duplicates to the first of each class; the others are then dead."""
    classes = _value_classes(graph)
    first: dict[int, str] = {}
    replacements: dict[tuple[str, int], tuple[str, int]] = {}
    merged_spans: dict[str, Node] = {}
    for name, node in graph.nodes.items():
        representative = first.setdefault(classes[name], name)
        if representative == name:
            continue
        for out in range(len(node.types)):
            replacements[name, out] = (representative, out)
        first_node = merged_spans.get(representative, graph.nodes[representative])
        more = tuple(s for s in node.spans if s not in first_node.spans)
        merged_spans[representative] = replace(first_node, spans=first_node.spans + more)
    if not replacements:
        return graph
    merged = replace(graph, nodes={**graph.nodes, **merged_spans})
    redirected = redirect(merged, replacements)
    duplicates = {name for name, _ in replacements}
    return replace(
        redirected, nodes={n: node for n, node in redirected.nodes.items() if n not in duplicates}
    )


def _value_classes(graph: Graph) -> dict[str, int]:
    """The number of each node's class.

    After a split, of which the largest part keeps its number, the worklist has the nodes that read
    a node of a new class, or whose `cond` does (Hopcroft, An n log n algorithm for minimizing
    states in a finite automaton, 1971).
    """
    classes = _numbered({name: _initial_key(node) for name, node in graph.nodes.items()})
    conditions = branch_conditions(graph)
    uses: dict[str, list[str]] = {name: [] for name in graph.nodes}
    for name, node in graph.nodes.items():
        for source in dict.fromkeys(_sources(node, conditions[name])):
            uses[source].append(name)
    members: dict[int, dict[str, None]] = {}
    for name, number in classes.items():
        members.setdefault(number, {})[name] = None

    places = {
        name: _operand_keys(node) for name, node in graph.nodes.items() if _is_unordered(node)
    }

    def key(name: str) -> ValueKey:
        operands: ValueKey = tuple(classes[e.source] for e in graph.nodes[name].inputs)
        if name in places:
            operands = tuple(sorted(zip(operands, places[name], strict=True)))
        return operands, tuple(
            (classes[n.condition.source], _condition_key(n)) for n in conditions[name]
        )

    worklist = dict.fromkeys(graph.nodes)
    while worklist:
        changed: dict[int, list[str]] = {}
        for name in worklist:
            changed.setdefault(classes[name], []).append(name)
        moved: list[str] = []
        for number, names in changed.items():
            if len(members[number]) == 1:
                continue
            parts: dict[ValueKey, list[str]] = {}
            for name in names:
                parts.setdefault(key(name), []).append(name)
            # The others of the class read nothing of a new class: they are a part by themselves.
            inside = {*names}
            others = [n for n in members[number] if n not in inside]
            *smaller, _ = sorted([*parts.values(), *([others] if others else [])], key=len)
            for part in smaller:
                fresh = len(members)
                members[fresh] = dict.fromkeys(part)
                for name in part:
                    del members[number][name]
                classes.update(dict.fromkeys(part, fresh))
                moved += part
        worklist = dict.fromkeys(reader for name in moved for reader in uses[name])
    return classes


def _sources(node: Node, conditions: Sequence[BranchCondition]) -> list[str]:
    return [*node.sources, *(n.condition.source for n in conditions)]


def _condition_key(need: BranchCondition) -> ValueKey:
    """The parts of a condition that must agree besides its source's class."""
    return need.condition.out, need.condition.entries, need.holds


def _initial_key(node: Node) -> ValueKey:
    """The parts of a node that must agree besides its operands' classes."""
    unique = node.name if is_external(node) else ""
    if _is_unordered(node):
        places = tuple(sorted(_operand_keys(node)))
        return (unique, node.op.name, node.domain, node.vector, node.types, places)
    accesses = tuple((e.out, e.entries, e.guard) for e in node.inputs)
    # The text tells 0.0 from -0.0 and 1 from True, which are equal in Python.
    return (unique, repr(node.op), node.domain, node.vector, node.types, accesses)


def _is_unordered(node: Node) -> bool:
    """Whether operands change places: those of commutative operators, and branches of merges."""
    return node.op.commutative or isinstance(node.op, Merge)


def _operand_keys(node: Node) -> list[str]:
    """For each operand its access, and its target if the node is a merge."""
    targets = node.op.targets if isinstance(node.op, Merge) else ((),) * len(node.inputs)
    pairs = zip(node.inputs, targets, strict=True)
    return [_operand_key(e.out, e.entries, e.guard, target) for e, target in pairs]


@lru_cache(MEMORY)
def _operand_key(
    out: int, entries: tuple[ix.Entry, ...], guard: ix.Expr, target: tuple[ix.Expr, ...]
) -> str:
    """The access as text, so that keys can be sorted."""
    return repr((out, entries, guard, target))


def _numbered(keys: Mapping[str, ValueKey]) -> dict[str, int]:
    numbers: dict[ValueKey, int] = {}
    return {name: numbers.setdefault(key, len(numbers)) for name, key in keys.items()}
