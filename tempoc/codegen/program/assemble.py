"""Assembles the program: kernels, stores, and the tree of calls.

The host evaluates points and keys, so they become arithmetic over loop variables here: each cell
that a kernel names in coordinates of its statement is rewritten to the point at which the tree
executes that statement.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import assert_never

import tempoc
from tempoc.base.cost_model import MODEL
from tempoc.base.names import Names
from tempoc.base.python_text import identifier
from tempoc.codegen.kernels.kernel import KernelFunction, function, passed_on
from tempoc.codegen.kernels.ring_uses import only_written, ring_uses
from tempoc.codegen.kernels.vmap_batches import point_bytes
from tempoc.codegen.program import interface, lengths
from tempoc.codegen.program.donation import donated
from tempoc.codegen.program.effects import to_effect
from tempoc.codegen.program.externs import externs, host_imports, imports
from tempoc.codegen.program.host_calls import HostCall, calls_host, host
from tempoc.codegen.program.module import module
from tempoc.codegen.program.passed_numbers import passed_numbers
from tempoc.codegen.program.run_tuning import RUN_TUNING
from tempoc.codegen.regions.blocks import Blocks
from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.regions.effects import row_stores
from tempoc.codegen.regions.joined_boxes import JoinedProgram, join_boxes
from tempoc.codegen.regions.regions import EmittedRegion, Regions
from tempoc.codegen.steps.at_steps import hoisted_conditions
from tempoc.codegen.steps.fresh_results import fresh_results
from tempoc.codegen.steps.kernel_kinds import KernelKinds
from tempoc.codegen.steps.last_steps import last_steps
from tempoc.codegen.steps.plain_results import plain_results
from tempoc.codegen.steps.rolled_steps import joined_loops, rolled_steps
from tempoc.codegen.steps.selected_results import selected_results
from tempoc.codegen.steps.unread import without_unread
from tempoc.codegen.stores.context import KernelCell, Stages
from tempoc.codegen.stores.input_rows import InputRows, input_rows
from tempoc.codegen.stores.kernel_buffer import kernel_buffer
from tempoc.codegen.stores.touched_bytes import touched_bytes
from tempoc.codegen.text.naming import REGION_NAMES, RESERVED
from tempoc.codegen.text.static_values import static_numbers, static_values
from tempoc.memory.plan_types import MemoryPlan
from tempoc.ops.control.control import After
from tempoc.ops.control.effects import EffectOp
from tempoc.ops.control.externs import ExternVjp
from tempoc.poly.relations.run_lengths import CompletedRun, largest, open_run
from tempoc.poly.relations.space import Space
from tempoc.program.analysis.traversal import regions
from tempoc.program.analysis.verify_made import verify_made
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import PointRange
from tempoc.program.nodes.buffers import Buffer
from tempoc.program.nodes.spelling import variable
from tempoc.schedule.placement.collected_lines import collected_rows, collected_types, effect_node
from tempoc.schedule.tree import Execute, ScheduleTree, TreeGuard, TreeLoop, TreeSequence
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.graph.query import operand_types
from tempoc.sdg.statements.needed_points import needed_points
from tempoc.sdg.statements.statements import Statement, Statements
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Universe, conjuncts
from tempoc.symbolic.walk import substitute


@dataclass(frozen=True, slots=True, kw_only=True)
class EmittedProgram:
    """The result of codegen: the program (without file hashes) and the text of ``kernels.py``.

    ``batches``: for each statement that runs in batches of points, the bytes that a point takes.
    ``windows``: for each statement, the window that neighbouring points read as one array.
    ``left``: the variables of loops that were scheduled on the device and stay with the host.
    ``members``: the nodes that each kernel of a statement computes.
    """

    program: prog.Program
    kernels: str
    batches: Mapping[str, ix.Expr]
    windows: Mapping[str, ix.Slice]
    left: tuple[str, ...] = ()
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    input_rows: Mapping[str, InputRows] = field(default_factory=dict)


def assemble(
    graph: Graph,
    statements: Statements,
    tree: ScheduleTree,
    plan: MemoryPlan,
    space: Space,
    batch: int = MODEL.array_bytes,
    blocks: bool = False,
) -> EmittedProgram:
    """Emit all kernels and the program that calls them; the program is verified.

    ``batch``: the most bytes that the largest intermediate array of a vectorized kernel may have.
    ``blocks``: whether consecutive statements that do not need the host become one kernel.
    """
    stages = _stages(graph, statements, tree, plan, space, batch)
    functions_of, hosts_of = stages.imports, host_imports(graph, stages.imports)
    names = Names([*RESERVED, *REGION_NAMES, *functions_of.values()])
    calling, computing = _by_place(statements.statements, graph)
    functions = {s.name: function(s, stages, names.fresh(identifier(s.name))) for s in computing}
    hosts = {s.name: host(s, stages, names, hosts_of) for s in calling}
    every = [*((s, functions[s.name]) for s in computing), *_around_hosts(calling, hosts)]
    stored = (*interface.stores(stages), *(t for h in hosts.values() for t in h.stores))
    rows = {functions[s.name].name: stores for s, stores in _row_stores(computing, graph)}
    context = ProgramContext(
        stores={s.name: s for s in (*stored, *(b for bs in rows.values() for b in bs))},
        kernels={f.name: _kernel(s, f, stages) for s, f in every},
        bounds=_constants(graph.universe),
        x64=stages.x64,
        narrow={f.name: reads for f, reads in _narrow(functions, computing)},
        declared=interface.bounds(graph.universe),
        lengths=interface.lengths(graph.universe),
        rows=rows,
        touched=_touched(functions, hosts, stages),
        step_local=stages.plan.step_local,
        changed={functions[s.name].name: _changed(s, graph) for s in computing},
        values={f.name: tuple(r.value for r in f.results) for f in functions.values()},
        assumed=tuple(a.condition for a in interface.assumptions(graph)),
    )
    steps = _steps(stages, functions, hosts, context)
    separate = frozenset(_separate(computing, functions, functions_of.values(), graph))
    joined = passed_numbers(join_boxes(steps, functions, context, stages, names, separate))
    device = _form_regions(joined, names, stages, separate if blocks else None)
    program = replace(
        _program(stages),
        stores=(*stored, *(b for kernel in device.prints for b in rows[kernel])),
        externs=externs(functions_of, hosts_of),
        kernels=(*joined.context.kernels.values(), *(r.kernel for r in device.emitted)),
        tree=device.tree,
    )
    verify_made(program)
    emitted = (*joined.functions, *(f for h in hosts.values() for f in h.kernels))
    return EmittedProgram(
        program=program,
        kernels=module(graph.name, emitted, functions_of, batch, [r.text for r in device.emitted]),
        batches=_point_sizes(computing, stages),
        windows={name: w.entry for name, f in functions.items() for w in f.windows},
        left=device.on_host,
        members=_members(every, joined),
        input_rows={f.name: input_rows(s, plan, space) for s, f in every},
    )


def _by_place(
    statements: Iterable[Statement], graph: Graph
) -> tuple[list[Statement], list[Statement]]:
    """The statements that call functions on the host, and those that compute on the device."""
    hosts: list[Statement] = []
    device: list[Statement] = []
    for s in statements:
        (hosts if calls_host(s, graph) else device).append(s)
    return hosts, device


def _point_sizes(statements: Sequence[Statement], stages: Stages) -> dict[str, ix.Expr]:
    """For each statement that runs in batches the bytes that a point takes."""
    sizes = ((s.name, point_bytes(s, stages)) for s in statements if s.vector)
    return {name: size for name, size in sizes if size is not None}


def _around_hosts(
    calling: Iterable[Statement], hosts: Mapping[str, HostCall]
) -> Iterator[tuple[Statement, KernelFunction]]:
    """The kernels before and after calls of host functions, with their statements."""
    return ((s, f) for s in calling for f in hosts[s.name].kernels)


def _members(
    every: Sequence[tuple[Statement, KernelFunction]], joined: JoinedProgram
) -> dict[str, tuple[str, ...]]:
    """The nodes of each kernel; of a joined one those of its parts."""
    members = {f.name: s.members for s, f in every}
    for name, parts in joined.parts.items():
        members[name] = tuple(dict.fromkeys(m for part in parts for m in members[part]))
    return members


@dataclass(frozen=True, slots=True, kw_only=True)
class _DeviceProgram:
    """The tree with regions and blocks, their kernels, and the loops that stay with the host.

    ``on_host`` has the variables of these loops.
    """

    tree: prog.ProgramStatement
    emitted: tuple[EmittedRegion, ...]
    on_host: tuple[str, ...]

    @property
    def prints(self) -> tuple[str, ...]:
        """The kernels of prints whose lines regions collect."""
        some = (k for part in regions(self.tree) for k in part.prints)
        return tuple(dict.fromkeys(some))


def _form_regions(
    joined: JoinedProgram, names: Names, stages: Stages, separate: frozenset[str] | None
) -> _DeviceProgram:
    """Replace device loops by regions, then, unless ``separate`` is ``None``, form blocks.

    ``separate`` are the kernels that no region or block inlines: those that call functions of the
    user, so that an error names its point, and those that rematerialize values, since XLA's common
    subexpression elimination would undo that.
    """
    functions = {f.name: f for f in joined.functions}

    @cache
    def written(kernel: str) -> frozenset[str]:
        return only_written(functions[kernel])

    uses = ring_uses(joined.functions, stages)
    context = replace(joined.context, ring_uses=uses, only_written=written)
    loops = Regions(context=context, names=names)
    # Not before: boxes are joined where conditions on bounds stand innermost.
    steps = hoisted_conditions(joined.tree, context.bounds)
    tree = loops.convert(steps, frozenset(o.store for o in interface.outputs(stages)))
    emitted = (*loops.emitted,)
    if separate is not None:
        filled = [i.store for i in interface.inputs(stages)] + [
            p.store for p in interface.params(stages)
        ]
        blocks = Blocks(
            context=context,
            names=names,
            filled=frozenset((*filled, interface.seed(stages))),
            live_out=frozenset(o.store for o in interface.outputs(stages)),
            separate=separate,
        )
        tree = blocks.convert(tree)
        emitted += (*blocks.emitted,)
    return _DeviceProgram(tree=tree, emitted=emitted, on_host=tuple(loops.on_host))


def _row_stores(
    statements: Iterable[Statement], graph: Graph
) -> Iterator[tuple[Statement, tuple[Buffer, ...]]]:
    """The statements that print what a region may collect, with the stores of the rows."""
    for s in statements:
        if s.turn is not None and (types := collected_types(s, graph)):
            yield s, row_stores(s.name, collected_rows(types), types)


def _calls_any(f: KernelFunction, names: Iterable[str]) -> bool:
    return any(f"{name}(" in f.text for name in names)


def _narrow(
    functions: Mapping[str, KernelFunction], statements: Iterable[Statement]
) -> Iterator[tuple[KernelFunction, frozenset[str]]]:
    """The functions that update arrays with an axis of possible length 1, and the tensors read."""
    for s in statements:
        if _calls_any(functions[s.name], ("updated", "with_ring_row")):
            yield functions[s.name], frozenset(r.tensor for r in s.reads)


def _changed(s: Statement, graph: Graph) -> frozenset[str]:
    """The tensors that a statement changes at one place."""
    return frozenset(w.tensor for w in s.writes if graph.nodes[w.member].op.changes_part)


def _touched(
    functions: Mapping[str, KernelFunction], hosts: Mapping[str, HostCall], stages: Stages
) -> dict[str, ix.Expr]:
    """The bytes of stores that a call of each kernel reads and writes."""
    touched: dict[str, ix.Expr] = {}
    for s in stages.statements.statements:
        host_call = hosts.get(s.name)
        for f in (functions[s.name],) if host_call is None else host_call.kernels:
            touched[f.name] = touched_bytes(s, stages)
    return touched


def _steps(
    stages: Stages,
    functions: Mapping[str, KernelFunction],
    hosts: Mapping[str, HostCall],
    context: ProgramContext,
) -> prog.ProgramStatement:
    """The tree of calls, without regions; steps at the ends of loops are in these if that pays."""
    tree = _Tree(stages=stages, functions=functions, hosts=hosts).convert(stages.tree)
    by_name = stages.statements.by_name
    context = replace(context, numbers=_numbers(functions, hosts))
    kinds = KernelKinds(
        light={f.name for n, f in functions.items() if _is_light(by_name[n], stages.graph)},
        heavy={f.name for n, f in functions.items() if _is_heavy(by_name[n], stages.graph)},
        checked={name for name, kernel in context.kernels.items() if kernel.checks},
        moves={f.name: passed for f in functions.values() if (passed := passed_on(f)) is not None},
    )
    outputs = {o.store for o in interface.outputs(stages)}
    tree = joined_loops(tree, context, kinds)
    longer = last_steps(rolled_steps(tree, context, kinds), context, outputs, kinds)
    if (shorter := without_unread(longer, context, outputs)) != longer:
        longer = last_steps(shorter, context, outputs, kinds)
    longer = rolled_steps(longer, context, kinds, "host")
    plain = plain_results(selected_results(longer, context, kinds), context, outputs)
    return fresh_results(plain, context, outputs)


def _is_heavy(s: Statement, graph: Graph) -> bool:
    """Whether XLA takes as long to compile a statement as several others."""
    ops = [graph.nodes[m].op for m in s.members]
    return sum(not op.moves for op in ops) >= MODEL.heavy_operators


def _is_light(s: Statement, graph: Graph) -> bool:
    """Whether a statement computes each element by itself."""
    ops = [graph.nodes[m].op for m in s.members]
    return all(op.elementwise or op.moves or op.cheap for op in ops)


def _separate(
    statements: Iterable[Statement],
    functions: Mapping[str, KernelFunction],
    imported: Collection[str],
    graph: Graph,
) -> Iterator[str]:
    """The kernels that call functions of users, or have to come after something."""
    for s in statements:
        is_after = any(isinstance(graph.nodes[m].op, After) for m in s.members)
        if is_after or _calls_any(functions[s.name], imported):
            yield functions[s.name].name


def _program(stages: Stages) -> prog.Program:
    """The declarative part of the program: no stores, kernels or tree."""
    graph = stages.graph
    return prog.Program(
        name=graph.name,
        doc=graph.doc,
        compiler=f"tempoc {tempoc.__version__}",
        x64=stages.x64,
        bounds=interface.bounds(graph.universe),
        lengths=interface.lengths(graph.universe),
        dims=tuple((d.name, d.bound) for d in graph.universe.dims),
        assumptions=interface.assumptions(graph),
        inputs=interface.inputs(stages),
        params=interface.params(stages),
        seed=interface.seed(stages),
        outputs=interface.outputs(stages),
        tuning=RUN_TUNING,
    )


def _stages(
    graph: Graph,
    statements: Statements,
    tree: ScheduleTree,
    plan: MemoryPlan,
    space: Space,
    batch: int,
) -> Stages:
    """The inputs of codegen; for lengths found at run time, with names for the largest ones."""
    nodes = graph.nodes.values()
    x64 = any(n.op.doubles or any(t.dtype.is_double for t in n.types) for n in nodes)
    run = CompletedRun(space) if graph.universe.ended else None
    largest: dict[str, ix.Expr] = (
        {} if run is None else {n: ix.Sym(m) for n, m in run.largest.items()}
    )
    plan = lengths.with_largest(plan, largest)
    return Stages(
        graph=graph,
        statements=statements,
        plan=plan,
        buffers={name: kernel_buffer(store) for name, store in plan.stores.items()},
        space=space if run is None else run,
        size_space=space if run is None else open_run(space),
        tree=lengths.loops_with_largest(tree, largest),
        x64=x64,
        imports=imports(graph),
        largest=largest,
        batch=batch,
        needed=needed_points(graph, space),
    )


def _constants(universe: Universe) -> dict[str, int | None]:
    """The bounds of a program, with the values of those that are constants."""
    values = {
        b.name: b.value.value if isinstance(b.value, ix.Const) else None
        for b in universe.bounds
        if b.name not in universe.lengths
    }
    return values | dict.fromkeys(largest(universe).values())


def _kernel(statement: Statement, f: KernelFunction, stages: Stages) -> prog.Kernel:
    return prog.Kernel(
        name=f.name,
        dims=statement.domain.dims,
        bounds=f.bounds,
        static=static_values(f.text, _bounds(f)),
        donated=donated(statement, f, stages),
        equations=f.equations,
        checks=f.checks,
        vector=tuple(PointRange(dim=v.dim, lower=v.lower, upper=v.upper) for v in f.vector),
        lengths=f.lengths,
        derives=_derived(statement, stages),
    )


def _numbers(
    functions: Mapping[str, KernelFunction], hosts: Mapping[str, HostCall]
) -> Callable[[str], tuple[ix.Expr, ...]]:
    """What gives the numbers over bounds in the text of a kernel."""
    every = {f.name: f for f in functions.values()}
    every |= {f.name: f for host_call in hosts.values() for f in host_call.kernels}

    @cache
    def numbers(kernel: str) -> tuple[ix.Expr, ...]:
        f = every[kernel]
        return static_numbers(f.text, _bounds(f))

    return numbers


def _bounds(f: KernelFunction) -> dict[str, str]:
    """The bounds that a kernel is given, by the names that they have in its text."""
    return {variable(b): b for b in f.bounds}


def _derived(statement: Statement, stages: Stages) -> tuple[str, ...]:
    """The names in ``kernels.py`` of functions of the user that a statement differentiates."""
    ops = (stages.graph.nodes[m].op for m in statement.members)
    derived = [op.declared for op in ops if isinstance(op, ExternVjp)]
    return tuple(dict.fromkeys(stages.imports[function] for function in derived))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tree:
    """Converts schedule trees; ``functions`` by statement.

    ``guarded``: conditions that the limits of enclosing loops already guarantee.
    """

    stages: Stages
    functions: Mapping[str, KernelFunction]
    hosts: Mapping[str, HostCall]
    guarded: tuple[ix.Expr, ...] = ()

    def convert(self, tree: ScheduleTree) -> prog.ProgramStatement:
        match tree:
            case TreeSequence(items=items):
                return _sequence([self.convert(item) for item in items])
            case TreeLoop():
                return self._loop(tree)
            case TreeGuard(condition=condition, body=body):
                return self._guard(condition, self.convert(body))
            case Execute():
                return self._execute(tree)
            case _:
                assert_never(tree)

    def _loop(self, tree: TreeLoop) -> prog.Loop:
        universe, end = self.stages.graph.universe, None
        if universe.ended:
            end = lengths.loop_limit(tree, self.stages.statements, universe)
        inner = self
        if end is not None and lengths.runs_to_end(tree, end, self.stages.statements, universe):
            inner = replace(self, guarded=(*self.guarded, ix.compare("<", ix.Sym(tree.var), end)))
        return prog.Loop(
            var=tree.var,
            lower=tree.lower,
            upper=tree.upper,
            step=tree.step,
            body=inner.convert(tree.body),
            limit=end,
            place=tree.place,
        )

    def _guard(self, condition: ix.Expr, body: prog.ProgramStatement) -> prog.ProgramStatement:
        """The body under what enclosing loops do not guarantee, unless the body implies that."""
        condition = ix.conjunction(*(p for p in conjuncts(condition) if p not in self.guarded))
        if condition == ix.TRUE:
            return body
        if isinstance(body, prog.Guard) and self._largest(body.condition) == condition:
            return body
        return prog.Guard(condition=condition, body=body)

    def _largest(self, e: ix.Expr) -> ix.Expr:
        """An expression with largest lengths in place of lengths."""
        return substitute(e, self.stages.largest)

    def _execute(self, tree: Execute) -> prog.ProgramStatement:
        statement = self.stages.statements.by_name[tree.statement]
        env = statement.domain.at(tree.point)
        point = tree.point
        h = self.hosts.get(tree.statement)
        calls: list[prog.ProgramStatement]
        if h is None:
            call = self._call(self.functions[tree.statement], statement, env)
            calls = [call if statement.turn is None else self._effect(statement, call)]
        else:
            calls = [self._call(h.before, statement, env), h.call(statement.domain.dims, point)]
            calls += [self._call(f, statement, env) for f in h.kernels[1:]]
            calls.append(prog.Free(cells=tuple(prog.Cell(store=t.name) for t in h.stores)))
        universe = self.stages.graph.universe
        present = self._at_point(lengths.presence_condition(statement, universe), env)
        present = lengths.uncertain(present, universe, env)
        return self._guard(present, _sequence([*calls, *self._frees(statement, env)]))

    def _at_point(self, e: ix.Expr, env: Mapping[str, ix.Expr]) -> ix.Expr:
        """An expression of a statement at a point; its lengths are those there."""
        return lengths.at_point(substitute(e, env), self.stages.graph.universe, env)

    def _call(
        self, f: KernelFunction, statement: Statement, env: Mapping[str, ix.Expr]
    ) -> prog.Call:
        endings = []
        for name in f.endings:
            outer = self.stages.graph.universe.outer(name)
            step = next(d for d in statement.domain.dims if d not in outer)
            point = tuple(env[d] for d in outer)
            endings.append(prog.Ending(bound=name, outer=point, length=env[step] + 1))
        return prog.Call(
            kernel=f.name,
            point=tuple(env.values()),
            args=tuple(self._cell(a.cell, env, a.when) for a in f.arguments),
            results=tuple(self._cell(r.cell, env, r.where) for r in f.results),
            endings=tuple(endings),
            needs=tuple(
                prog.CapacityNeed(
                    dim=n.dim,
                    size=n.size,
                    rows=tuple(dict.fromkeys(self._at_point(e, env) for e in n.rows)),
                )
                for n in self.stages.plan.needs.get(statement.name, ())
            ),
        )

    def _cell(
        self, cell: KernelCell, env: Mapping[str, ix.Expr], when: ix.Expr = ix.TRUE
    ) -> prog.Cell:
        tensor, key = cell
        return prog.Cell(
            store=tensor,
            key=tuple(self._at_point(e, env) for e in key),
            when=self._when(self._at_point(when, env)),
        )

    def _when(self, condition: ix.Expr) -> ix.Expr | None:
        """A condition of a cell, as the ends of loops are: with numbers that bounds are assumed to
        be.
        """
        settled = substitute(condition, self.stages.graph.universe.numbers)
        condition = condition if settled == ix.FALSE else settled
        return None if condition == ix.TRUE else condition

    def _effect(self, statement: Statement, call: prog.Call) -> prog.Effect:
        graph = self.stages.graph
        node = effect_node(statement, graph)
        assert node is not None and isinstance(node.op, EffectOp)
        effect = to_effect(node.op, operand_types(graph, node), call)
        return lengths.with_points(effect, graph.universe, statement.domain.dims)

    def _frees(
        self, statement: Statement, env: Mapping[str, ix.Expr]
    ) -> list[prog.ProgramStatement]:
        """Frees of the cells that are dead after the call, one statement for each condition."""
        groups: dict[ix.Expr, list[prog.Cell]] = {}
        for release in self.stages.plan.releases.get(statement.name, ()):
            always = self.stages.space.implies(statement.domain, release.where)
            condition = ix.TRUE if always else substitute(release.where, env)
            groups.setdefault(condition, []).append(self._cell((release.tensor, release.key), env))
        return [
            free if condition == ix.TRUE else prog.Guard(condition=condition, body=free)
            for condition, cells in groups.items()
            for free in [prog.Free(cells=tuple(cells))]
        ]


def _sequence(items: list[prog.ProgramStatement]) -> prog.ProgramStatement:
    """Flat; a single item stands alone."""
    flat: list[prog.ProgramStatement] = []
    for item in items:
        flat.extend(item.items if isinstance(item, prog.Sequence) else [item])
    return flat[0] if len(flat) == 1 else prog.Sequence(items=tuple(flat))
