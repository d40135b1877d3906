"""Small programs from graph text, with schedules and stores written by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tempoc.codegen.program.assemble import EmittedProgram, assemble
from tempoc.codegen.program.bundle import write_bundle
from tempoc.memory.plan_types import MemoryPlan, MemoryRelease
from tempoc.ops.tensor.source import Param
from tempoc.poly.relations.space import Space
from tempoc.program.nodes.buffers import Buffer, BufferAxis, Key
from tempoc.runtime.run import run
from tempoc.schedule.tree import Execute, ScheduleTree, TreeGuard, TreeLoop, TreeSequence
from tempoc.sdg.statements.build import statements
from tempoc.sdg.text.parse import parse_graph
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import TRUE, Expr
from tempoc.symbolic.parse import parse


def at(statement: str, *point: str) -> ScheduleTree:
    """Execute a statement at a point."""
    return Execute(statement=statement, point=tuple(parse(e) for e in point))


def seq(*items: ScheduleTree) -> ScheduleTree:
    """One after the other."""
    return TreeSequence(items=items)


def loop(var: str, lower: str, upper: str, *body: ScheduleTree) -> ScheduleTree:
    """A loop with step 1."""
    inner = body[0] if len(body) == 1 else seq(*body)
    return TreeLoop(var=var, lower=parse(lower), upper=parse(upper), step=1, body=inner)


def when(condition: str, body: ScheduleTree) -> ScheduleTree:
    """A guard."""
    return TreeGuard(condition=parse(condition), body=body)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A graph, its schedule, and how each dimension of a tensor is stored.

    ``roles["h"] = {"t": "key 2"}``: ``key``, ``key E`` (modulo), ``axis``, ``axis E`` (size) or
    ``ring E``. Dimensions not mentioned are axes of full size, those of params keys.
    """

    graph: str
    tree: ScheduleTree
    roles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    releases: Mapping[str, tuple[tuple[str, tuple[str, ...], str], ...]] = field(
        default_factory=dict
    )
    donations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def emit(self) -> EmittedProgram:
        """Run codegen."""
        graph = parse_graph(self.graph, "case.sdg")
        space = Space(graph.universe)
        found = statements(graph, space)
        stores: dict[str, Buffer] = {}
        for tensor in found.tensors.values():
            op = graph.nodes[tensor.node].op
            default = "key" if isinstance(op, Param) else "axis"
            keys: list[Key] = []
            axes: list[BufferAxis] = []
            for dim in tensor.domain.dims:
                bound = graph.universe.dim(dim).bound
                word, _, size = self.roles.get(tensor.name, {}).get(dim, default).partition(" ")
                if word == "key":
                    keys.append(Key(dim=dim, modulo=parse(size) if size else None))
                else:
                    axes.append(BufferAxis(dim=dim, size=parse(size or bound), ring=word == "ring"))
            box = Domain(tensor.domain.dims, tensor.domain.where)
            stores[tensor.name] = Buffer(
                name=tensor.name,
                dtype=tensor.type.dtype.value,
                keys=tuple(keys),
                axes=tuple(axes),
                shape=tuple(space.upper_bound(e, box) for e in tensor.type.shape),
            )
        releases = {
            name: tuple(
                MemoryRelease(tensor=t, key=tuple(parse(e) for e in key), where=_condition(where))
                for t, key, where in items
            )
            for name, items in self.releases.items()
        }
        plan = MemoryPlan(stores=stores, releases=releases, donations=self.donations)
        return assemble(graph, found, self.tree, plan, space)

    def run(self, path: Path, bounds=None, inputs=None, params=None):
        """Emit, write, load and run; the outputs by name."""
        write_bundle(path / "out", self.emit())
        return run(path / "out", bounds, inputs, params).outputs


def _condition(text: str) -> Expr:
    return parse(text) if text else TRUE
