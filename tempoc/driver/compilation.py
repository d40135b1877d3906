"""One compilation: a cached property for each stage, so that no stage runs twice."""

import time
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

from tempoc.codegen.program.assemble import EmittedProgram, assemble
from tempoc.codegen.program.bundle import BundledVariant, write_bundle
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Span
from tempoc.driver import pipelines
from tempoc.driver.configuration import Configured, configured
from tempoc.driver.elaborate import ElaboratedProgram, elaborated
from tempoc.driver.kernel_table import entries, own_entries
from tempoc.driver.limited import limited
from tempoc.driver.memo import PassCache
from tempoc.driver.options import CPU, RECOMPUTE, Options
from tempoc.driver.progress import Progress
from tempoc.frontend.syntax.load_modules import (
    LoadedSources,
    decode_source,
    load_file,
    load_source,
)
from tempoc.memory.plan import plan
from tempoc.memory.plan_types import MemoryPlan
from tempoc.memory.proof import Proof, prove
from tempoc.memory.verify import verify as verify_memory
from tempoc.offload.chunks import with_chunks
from tempoc.offload.rewrite import offloaded
from tempoc.ops.control.dispatched import DispatchedCall
from tempoc.ops.tensor.elementwise import Exp
from tempoc.passes.context import PassContext
from tempoc.passes.dispatch.pattern import KernelEntry
from tempoc.passes.vectorization.vectorize import Vectorize
from tempoc.pipeline.manager import Outcome
from tempoc.pipeline.spec import parse_pipeline
from tempoc.pipeline.step import LoopRemark, Remark
from tempoc.poly.relations.space import Space
from tempoc.program.nodes.variants import Variant
from tempoc.runtime.load.directory import source_folders
from tempoc.runtime.load.sources import read_sources
from tempoc.schedule.compute import Scheduled, compute, refuse_cycle
from tempoc.schedule.placement.regions import place_loops
from tempoc.schedule.tree import ScheduleTree
from tempoc.schedule.verify import verify_schedule
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.statements.branches import group_branches
from tempoc.sdg.statements.build import statements
from tempoc.sdg.statements.checked_points import with_checked_points
from tempoc.sdg.statements.dead_nodes import without_dead_nodes
from tempoc.sdg.statements.statements import Statements
from tempoc.sdg.text.text import show
from tempoc.sdg.verification.equivalence import Equivalence
from tempoc.sdg.verification.verify import verify as verify_graph
from tempoc.symbolic.amounts import bytes_text
from tempoc.symbolic.text import show as text

R = TypeVar("R")


class ScheduledGraph(NamedTuple):
    """A graph, its statements, and their schedule.

    ``is_plain``: the program as it is written, since what the passes made has no order.
    """

    graph: Graph
    statements: Statements
    scheduled: Scheduled
    is_plain: bool = False


class Compilation:
    """A program on its way from source to a directory; every stage raises `DiagnosticError`."""

    def __init__(self, loaded: LoadedSources, options: Options) -> None:
        """Compute nothing: each stage runs when its property is read first."""
        self.loaded = loaded
        self.options = options
        self.configuration = Configured(options=options, absent={})
        self.timings: list[tuple[str, float]] = []
        self.later_remarks: list[Remark] = []
        self.shared = PassCache(options.limits)
        self.progress = Progress()

    @classmethod
    def from_path(cls, path: str, options: Options) -> "Compilation":
        """Read a program and what it imports; `-` is standard input, a directory a compiled one."""
        if path != "-" and Path(path).is_dir():
            return cls.from_directory(path, verify_each=options.verify_each)
        started = time.perf_counter()
        loaded = load_file(path, tolerant=True)
        chosen = configured(options, loaded.main.tree)
        compilation = cls(loaded, chosen.options)
        compilation.configuration = chosen
        compilation.timings.append(("parse", time.perf_counter() - started))
        return compilation

    @classmethod
    def from_directory(cls, path: str, *, verify_each: bool = False) -> "Compilation":
        """The compilation that made a directory, from the sources and options kept there.

        Raises `RunError` if they are missing or have changed.
        """
        program, contents = read_sources(path)
        provenance = dict(program.provenance)
        names = ((key, str(Path(path, provenance[f"source.{key}"]))) for key in contents)
        texts = {key: decode_source(name, contents[key]) for key, name in names}
        main = next(iter(texts.values()))
        loaded = load_source(replace(main, path=next(iter(texts))), Path(path), texts)
        loaded = replace(loaded, beside=source_folders(tuple(provenance.items())))
        return cls(loaded, replace(Options.from_provenance(provenance), verify_each=verify_each))

    @cached_property
    def graph(self) -> Graph:
        """The graph as the front end makes it; every access is proved to be inside its domain."""
        return self.elaborated.graph

    @cached_property
    def elaborated(self) -> ElaboratedProgram:
        """The program as the front end makes it, and with its derivatives."""
        given = self.loaded, self.options.defines, self.options.limits
        name = self.configuration.naming
        return self._timed("elaborate", lambda: name(lambda: elaborated(*given)))

    @cached_property
    def prepared(self) -> Graph:
        """The graph that the passes begin with, which computes the same as `graph`."""
        if self.options.level < 2 or self.options.passes is not None:
            return with_checked_points(self.graph, self.space)
        if "graph" in vars(self) and "elaborated" not in vars(self):  # it was given
            return self.graph
        context = PassContext(space=self.space, size_hints=dict(self.options.sizes))
        program, launched = self.elaborated, self.options.device != CPU
        heads = not launched and not self.kernels
        graph = self._timed(
            "elaborate",
            lambda: pipelines.with_cheaper_gradients(
                program, context, heads=heads, launched=launched
            ),
        )
        self.later_remarks += context.remarks.entries
        return graph

    @cached_property
    def space(self) -> Space:
        """The polyhedral space of the program as it is written."""
        return self.space_of(self.graph)

    def space_of(self, graph: Graph) -> Space:
        """The polyhedral space of a graph; one for all that have the same dimensions."""
        return self.shared.space_of(graph)

    def variant(self, options: Options) -> "Compilation":
        """The same program with other options but the same constants; it shares finished stages."""
        assert dict(options.defines) == dict(self.options.defines)
        compilation = Compilation(self.loaded, options)
        compilation.shared, compilation.progress = self.shared, self.progress
        compilation.graph, compilation.prepared = self.graph, self.prepared
        return compilation

    @cached_property
    def steps(self) -> tuple[pipelines.Pass, ...]:
        """The passes that run: those of the level, or those that the options name."""
        steps = pipelines.LEVELS[self.options.level]
        if self.options.passes is not None:
            steps = parse_pipeline(self.options.passes, pipelines.REGISTRY)
        if self.kernels:
            steps = pipelines.with_dispatch(steps, self.kernels)
        if self.options.device != CPU:
            steps = pipelines.with_launched_steps(steps)
        if self.options.recompute is not None:
            steps = pipelines.with_recompute(steps, work=self.options.recompute == RECOMPUTE[-1])
        if self.options.apart:
            steps = pipelines.without_scans(steps)
        if self.options.running:
            steps = pipelines.with_running_sums(steps)
        if self.options.walk:
            steps = pipelines.with_serialize(steps)
        if self.options.limit is not None:
            steps = pipelines.with_limit(steps, self.options.limit)
        return (
            steps if self.options.tile is None else pipelines.with_tiles(steps, self.options.tile)
        )

    @cached_property
    def kernels(self) -> tuple[KernelEntry, ...]:
        """The entries of the tables of kernels for the device that the program is compiled for."""
        table = self.options.kernels
        known = (*(entries(*table) if table else ()), *(own_entries() if self._may_attend else ()))
        return tuple(e for e in known if e.device in ("", self.options.device))

    @property
    def _may_attend(self) -> bool:
        """Whether the table that comes with the compiler is worth reading."""
        on_gpu = self.options.library and self.options.device != CPU
        return on_gpu and any(isinstance(n.op, Exp) for n in self.graph.nodes.values())

    @property
    def called_kernels(self) -> tuple[KernelEntry, ...]:
        """The entries of the user's table whose functions the program calls."""
        ops = (n.op for n in self.passes.graph.nodes.values())
        called = {op.extern for op in ops if isinstance(op, DispatchedCall)}
        return tuple(e for e in self.kernels if e.module and e.name in called)

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders of files that name Python functions."""
        table = self.options.kernels
        beside = self.loaded.beside
        return (*beside, *((table[2],) if table and table[2] not in beside else ()))

    @cached_property
    def passes(self) -> Outcome[Graph]:
        """All passes with what they did; the graph is verified before and after each."""
        graph, steps = self.prepared, self.steps
        equivalence = Equivalence(graph) if self.options.verify_values else None

        def check(result: Graph, space: Space, step: str) -> None:
            verify_graph(result, space, after=step)
            if equivalence is not None:
                equivalence.check(result, step)

        verify = check if self.options.verify_each else None
        if verify is not None:
            verify(graph, self.space_of(graph), "elaborate")
        shared, sizes = self.shared, self.options.sizes

        def began(number: int) -> None:
            detail = f"{steps[number].name}, {number + 1} of {len(steps)}"
            self.progress.phase("passes", detail)

        outcome = self._timed("passes", lambda: shared.run(graph, steps, sizes, verify, began))
        self.timings += [(f"  {r.step}", r.seconds) for r in outcome.records]
        return outcome

    @cached_property
    def ordered(self) -> ScheduledGraph:
        """The graph after all passes, its statements, and a proven order of execution for them.

        Raises `DiagnosticError` if the order is wrong; another one is not tried in its place.
        """
        ordered = self._ordered()
        space, replayed = self.space_of(ordered.graph), self.options.verify_each
        parts = ordered.statements, ordered.scheduled.tree, space
        self._timed("verify schedule", lambda: verify_schedule(*parts, replayed=replayed))
        return ordered

    def _ordered(self) -> ScheduledGraph:
        """The graph after all passes with an order, or what is less optimized and has one.

        Dead nodes are dropped at every level: the reference evaluator never evaluates them. If the
        fused kernels cannot be scheduled, fusion is undone; if the program cannot be scheduled
        either, it is refused with the cycle between its equations as they are written.
        """
        graph = self.passes.graph
        graph = without_dead_nodes(graph, self.space_of(graph))
        plain = without_dead_nodes(self.graph, self.space)
        if graph != plain:
            written = statements(plain, self.space)
            limited(self.options.limits, lambda: refuse_cycle(written, self.space, plain))
        try:
            return self._order(graph)
        except DiagnosticError:
            if graph == plain:
                raise
        message = "no order of execution for the fused kernels: each operator is one of its own"
        try:
            ordered = self._order(replace(graph, groups=()))
        except DiagnosticError:
            ordered = self._order(plain)._replace(is_plain=True)
            message = "no order of execution for what the passes made: nothing is optimized, each "
            message += "operator is a kernel of its own, and computes point after point"
        self.later_remarks.append(Remark(step="schedule", message=message))
        return ordered

    def _order(self, graph: Graph) -> ScheduledGraph:
        if not graph.groups and (grouped_graph := group_branches(graph)) is not graph:
            try:
                return self._order(grouped_graph)
            except DiagnosticError:
                pass  # schedule without grouping: both branches are then always computed
        space = self.space_of(graph)
        parts = self._timed("statements", lambda: statements(graph, space))
        scheduled = self._timed("schedule", lambda: compute(parts, space, graph))
        if self.options.on_device:
            tree = place_loops(
                scheduled.tree,
                parts,
                graph,
                space,
                self._about_regions,
                self.options.hosted,
                self.options.chunks,
            )
            scheduled = replace(scheduled, tree=tree)
        return ScheduledGraph(graph, parts, scheduled)

    def _about_regions(self, message: str, span: Span | None, loop: LoopRemark | None) -> None:
        self.later_remarks.append(Remark(step="regions", message=message, span=span, loop=loop))

    @property
    def optimized(self) -> Graph:
        """The graph after all passes, with groups if `fuse` ran."""
        return self.ordered.graph

    @property
    def statements(self) -> Statements:
        """The graph as statements that read and write tensors."""
        return self.ordered.statements

    @property
    def scheduled(self) -> Scheduled:
        """The order of execution, as loops and as times."""
        return self.ordered.scheduled

    @property
    def tree(self) -> ScheduleTree:
        """The order of execution as loops."""
        return self.scheduled.tree

    @cached_property
    def plan(self) -> MemoryPlan:
        """The buffer and the live range of every tensor."""
        space = self.space_of(self.optimized)
        parts = self.statements, self.scheduled, self.optimized.outputs, space
        options, graph = self.options, self.optimized
        least, apart, chunks = options.bucket, options.apart, options.chunks
        rounds = least > 0 and not apart and options.memory_budget is None
        memory = self._timed(
            "memory",
            lambda: plan(
                *parts, least=least, graph=graph, apart=apart, rounds=rounds, chunks=chunks
            ),
        )
        if self.options.verify_each:
            self._timed("verify memory", lambda: verify_memory(memory, *parts))
        return memory

    @cached_property
    def proof(self) -> Proof:
        """A proof of the memory plan for all bounds; where it is incomplete, the plan is replayed.

        Raises `DiagnosticError` if the replay finds a mistake.
        """
        memory, outputs = self.plan, self.optimized.outputs
        space = self.space_of(self.optimized)
        parts = self.statements, self.tree, outputs, space.universe
        proof = self._timed("prove memory", lambda: prove(memory, *parts))
        if not proof.is_whole and not self.options.verify_each:
            replay = memory, self.statements, self.scheduled, outputs, space
            self._timed("verify memory", lambda: verify_memory(*replay))
        return proof

    @cached_property
    def emitted(self) -> EmittedProgram:
        """The program and the text of its kernels."""
        space = self.space_of(self.optimized)
        parts = self.optimized, self.statements, self.scheduled.tree, self.plan, space
        most = next((s.batch for s in self.steps if isinstance(s, Vectorize)), Vectorize().batch)
        batch, blocks = most * 2**20, self.options.on_device and not self.options.chunks
        emitted = self._timed("codegen", lambda: assemble(*parts, batch=batch, blocks=blocks))
        away, ahead = self.options.away, self.options.ahead
        program = with_chunks(emitted.program, emitted.input_rows)
        emitted = replace(emitted, program=offloaded(program, away, ahead))
        for name, size in emitted.batches.items():
            message = f"points of `{name}` take {bytes_text(size)} each, at most {most} MiB at once"
            self._about(name, message)
        for name, window in emitted.windows.items():
            message = f"neighbours share a part of what `{name}` reads at {text(window)}"
            self._about(name, message)
        for var in emitted.left:
            message = "which arrays its calls share depends on the loops around"
            message = f"the loop over `{var}` stays with the host: {message}"
            self._about_regions(message, None, LoopRemark(reason="arrays", dim=var))
        return emitted

    def with_away(self, reach: Mapping[str, int], ahead: tuple[str, ...]) -> "Compilation":
        """The same program with these stores offloaded to the host; no stage runs again."""
        compilation = copy(self)
        compilation.options = replace(self.options, away=dict(reach), ahead=ahead)
        program = offloaded(self.emitted.program, reach, ahead)
        compilation.emitted = replace(self.emitted, program=program)
        return compilation

    def with_commands(self, commands: Mapping[str, str]) -> "Compilation":
        """The same program with other GPU command buffers by kernel; no stage runs again."""
        compilation = copy(self)
        compilation.options = replace(self.options, commands={**self.options.commands, **commands})
        return compilation

    def _about(self, name: str, message: str) -> None:
        """Add a remark of `vectorize` about a statement."""
        members = self.statements.by_name[name].members
        spans = self.optimized.nodes[members[-1]].spans
        span = spans[0] if spans else None
        self.later_remarks.append(Remark(step="vectorize", message=message, span=span))

    def texts_after(self, step: str) -> tuple[str, ...]:
        """The graph after each run of a pass of that name, as text."""
        return tuple(show(graph) for graph in self.passes.after(step))

    @property
    def is_plain(self) -> bool:
        """Whether it turned out that the program has to run as it is written."""
        return "ordered" in vars(self) and self.ordered.is_plain

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """The remarks of all stages, without those on optimizations that were undone."""
        return (*(() if self.is_plain else self.passes.remarks), *self.later_remarks)

    def write(
        self,
        directory: str,
        family: Mapping[Variant, "Compilation"] | None = None,
        *,
        durable: bool = True,
    ) -> None:
        """Compile and write the directory atomically; synced to the disk if it is `durable`.

        ``family`` holds all variants of the program to be written there, this one included.
        """
        emitted = self.emitted
        members = family or {}
        if members:
            emitted = replace(emitted, program=replace(emitted.program, variants=(*members,)))
        bundled = [
            BundledVariant(name=v.name, emitted=c.emitted, options=c.options.to_provenance())
            for v, c in members.items()
            if v.name
        ]
        main, modules = self.loaded.main, self.loaded.modules.values()
        sources = {m.key: m.source for m in (main, *modules)}
        options = self.options.to_provenance()
        folders = self.folders
        parts = emitted, sources, options, folders, bundled
        self._timed("write", lambda: write_bundle(directory, *parts, durable=durable))

    def _timed(self, name: str, stage: Callable[[], R]) -> R:
        started = time.perf_counter()
        self.progress.phase(name)
        result = limited(self.options.limits, stage)
        self.timings.append((name, time.perf_counter() - started))
        return result
