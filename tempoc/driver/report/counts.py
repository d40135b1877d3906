"""How much there is of everything, after each pass and at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from tempoc.driver.compilation import Compilation
from tempoc.memory.text import kinds
from tempoc.ops.control.control import Merge
from tempoc.program.analysis.traversal import blocks, regions
from tempoc.schedule.tree import loops
from tempoc.sdg.graph.graph import Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSize:
    """A graph in numbers; ``stars`` counts the vectorized dimensions of all nodes."""

    nodes: int
    edges: int
    merges: int
    stars: int
    kernels: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PassRow:
    """A pass, the graph after it, and how long it took in seconds."""

    step: str
    size: GraphSize
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The front end and all passes, then what was made of the last graph.

    ``kernels`` are functions in the emitted text without those of ``regions`` and ``blocks``,
    ``stores`` counts them by kind.
    """

    rows: tuple[PassRow, ...]
    statements: int
    loops: int
    kernels: int
    regions: int
    blocks: int
    stores: Mapping[str, int]


def size_of(graph: Graph) -> GraphSize:
    """A graph in numbers."""
    nodes = graph.nodes.values()
    return GraphSize(
        nodes=len(nodes),
        edges=sum(len(n.inputs) for n in nodes),
        merges=sum(isinstance(n.op, Merge) for n in nodes),
        stars=sum(len(n.vector) for n in nodes),
        kernels=len(graph.groups),
    )


def counts(compilation: Compilation) -> Counts:
    """The numbers of a compilation, which goes through all stages for them."""
    times = dict(compilation.timings)
    graph = compilation.graph
    front = PassRow(step="elaborate", size=size_of(graph), seconds=times.get("elaborate", 0.0))
    rows = [
        PassRow(step=r.step, size=size_of(r.after), seconds=r.seconds)
        for r in compilation.passes.records
    ]
    number = Counter(kinds(compilation.plan, compilation.statements).values())
    program = compilation.emitted.program
    device_loops = len([*regions(program.tree)])
    parts = len([*blocks(program.tree)])
    return Counts(
        rows=(front, *rows),
        statements=len(compilation.statements.statements),
        loops=len([*loops(compilation.tree)]),
        kernels=len(program.kernels) - device_loops - parts,
        regions=device_loops,
        blocks=parts,
        stores={kind: number[kind] for kind in sorted(number)},
    )


def show_counts(numbers: Counts) -> str:
    """A table of what each pass left, then what became of the last graph."""
    width = max(len(r.step) for r in numbers.rows)
    lines = [f"{'':<{width}}  nodes  edges  merges  stars  kernels        ms"]
    for row in numbers.rows:
        s = row.size
        lines.append(
            f"{row.step:<{width}}  {s.nodes:5}  {s.edges:5}  {s.merges:6}  {s.stars:5}"
            f"  {s.kernels:7}  {row.seconds * 1e3:8.1f}"
        )
    kinds = ", ".join(f"{count} {kind}" for kind, count in numbers.stores.items())
    stores = f"{sum(numbers.stores.values())} stores" + (f" ({kinds})" if kinds else "")
    lines.append(
        f"{numbers.statements} statements, {numbers.loops} loops, {numbers.kernels} kernels, "
        f"{numbers.regions} regions, {numbers.blocks} blocks, {stores}"
    )
    return "".join(f"{line}\n" for line in lines)
