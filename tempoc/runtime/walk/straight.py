"""Programs that are a single kernel call: what they pass to it, and what comes out of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tempoc.program.analysis.traversal import kernel_numbers, lengths_of, statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import bounds_set_by_run
from tempoc.runtime.device import backend
from tempoc.runtime.device.stores import Layout
from tempoc.runtime.walk.blocks import used_stores
from tempoc.runtime.walk.bound_program import BoundProgram
from tempoc.runtime.walk.frame import RunLengths
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate, symbols, table


@dataclass(frozen=True, slots=True, kw_only=True)
class StraightCall:
    """The only kernel call of a program, at a point.

    Results of ``on_host`` may be arrays of the host, those of ``kernel`` are on the device.
    ``operands`` and ``results`` are stores; of operands in ``zeros`` that function makes the array.
    ``straight`` are the given stores whose host arrays can be passed as they are. After the results
    come the lengths that the call found out, of the bounds ``ends``, if there are any (an empty
    name stands for the steps that are left), and the fault, if the call has checks: 0 at the place
    ``verdict`` if none failed. ``late``: what outputs take of stores depends on the lengths.
    ``attempted`` names the kernel of a block that is called with smaller lengths: if one of them
    did not end, the results are none.
    """

    kernel: Callable[..., Sequence[Any]]
    on_host: Callable[..., Sequence[Any]]
    at: Any
    operands: tuple[str, ...]
    zeros: Mapping[str, Callable[[], Any]]
    results: tuple[str, ...]
    straight: frozenset[str]
    ends: tuple[str, ...]
    verdict: int | None
    late: bool
    attempted: str


def straight_call(
    bound: BoundProgram,
    kernels: Sequence[Callable[..., Any]],
    capacities: Sequence[tuple[int, ...]],
) -> StraightCall | None:
    """The call of a program that is nothing else; ``None`` if it is more.

    All stores are single cells of fixed size. If it ends lengths, nothing has to be checked of
    them, and no output takes what depends on one of several. ``capacities`` are the sizes of groups
    of stores whose size is chosen.
    """
    program, layouts, given = bound.program, bound.layouts, bound.given
    single_calls = {*bound.single_calls, *bound.attempted}
    ended = bounds_set_by_run(program.bounds, program.lengths)
    node = _only_call(bound, ended, single_calls)
    late = any(_depends(o, layouts[o.store], ended) for o in program.outputs)
    several = {n.bound for n in program.lengths if n.outer}
    varying = any(_depends(o, layouts[o.store], several) for o in program.outputs)
    if node is None or varying or _says_of_lengths(program):
        return None
    number = kernel_numbers(program)[node.kernel]
    kernel = program.kernels[number]
    operands, results = _operands(node), _results(node)
    if not ended.isdisjoint(kernel.lengths) or operands is None or results is None:
        return None
    read = dict.fromkeys(output.store for output in program.outputs)
    used = (layouts[name] for name in (*read, *operands, *results))
    fixed = all(_is_fixed(store, capacities) for store in used)
    if not fixed or not {*read} <= {*results, *given} or not given.isdisjoint(results):
        return None
    point = bound.attempted.get(node.kernel) or _point(node, program, bound.bounds)
    made = [layouts[name] for name in operands if name not in given]
    slots = [sizes[-1] for sizes in capacities]
    return StraightCall(
        kernel=kernels[number],
        on_host=getattr(kernels[number], "on_host", kernels[number]),
        at=backend.constant(point) if point else (),
        operands=operands,
        zeros={
            s.name: partial(backend.zeros, s.shaped(slots), s.dtype, program.tuning, True)
            for s in made
        },
        results=results,
        straight=direct_inputs(program, single_calls),
        ends=_ends(node),
        verdict=int(isinstance(node, prog.Block)) if kernel.checks else None,
        late=late,
        attempted=node.kernel if node.kernel in bound.attempted else "",
    )


def _only_call(
    bound: BoundProgram, ended: Collection[str], single_calls: Collection[str]
) -> prog.Call | prog.Block | None:
    """The only statement of a program that calls a kernel; ``None`` if there are others."""
    nodes: list[prog.Call | prog.Block] = []
    for item in flattened(bound.program.tree, single_calls):
        match _taken(item, bound.bounds, ended):
            case prog.Block() as node:
                nodes.append(node)
            case prog.Call(endings=()) as node:
                made = any(cell.store not in bound.given for cell in node.results)
                nodes += [node] if made else []
            case None | prog.Free():
                pass
            case _:
                return None
    return nodes[0] if len(nodes) == 1 else None


def _point(
    node: prog.Call | prog.Block, program: prog.Program, bounds: Mapping[str, int]
) -> tuple[int, ...]:
    """The ``at`` of a call while no length has ended."""
    tables = {table(n.bound): RunLengths(bounds[n.bound]) for n in program.lengths}
    if isinstance(node, prog.Call):
        kernel = program.kernels[kernel_numbers(program)[node.kernel]]
        passed = lengths_of(node, kernel, program.bounds, program.lengths)
        return tuple(evaluate(e, bounds) for e in (*node.point, *passed))
    expressions = (*map(ix.Sym, node.point), *node.lengths, *node.counts)
    return tuple(evaluate(e, {**bounds, **tables}) for e in expressions)


def _ends(node: prog.Call | prog.Block) -> tuple[str, ...]:
    """The bounds that a block ends; an empty name for the steps that are left."""
    if isinstance(node, prog.Call):
        return ()
    ended = (symbols(node.lengths[place])[0] for place in node.endings)
    return (*ended, *([""] if node.begun != ix.ZERO else []))


def _says_of_lengths(program: prog.Program) -> bool:
    """Whether something has to be checked of the lengths that a run finds out."""
    ended = bounds_set_by_run(program.bounds, program.lengths)
    is_assumed = any(not ended.isdisjoint(symbols(a.condition)) for a in program.assumptions)
    derived = ended.difference(*((n.bound, n.largest) for n in program.lengths))
    return is_assumed or bool(derived)


def _is_fixed(store: Layout, capacities: Sequence[tuple[int, ...]]) -> bool:
    """Whether a store is one cell on the device, of one size during the run."""
    grows = store.group >= 0 and len(capacities[store.group]) > 1
    return store.is_single and not store.away and not grows


def _depends(output: prog.ProgramOutput, layout: Layout, lengths: Collection[str]) -> bool:
    """Whether what an output takes of its store depends on lengths that the run finds out.

    Which point is read of a key does not matter where the store is one cell.
    """
    ends = [*output.shape]
    for dim, e in zip(output.dims, output.entries, strict=True):
        if isinstance(e, prog.OutputSpan):
            ends += [e.lower, e.upper]
        elif dim in layout.axes:
            ends.append(e)
    return any(not {*symbols(e)}.isdisjoint(lengths) for e in ends)


def _taken(
    s: prog.ProgramStatement, bounds: Mapping[str, int], ended: Collection[str]
) -> prog.ProgramStatement | None:
    """A guarded statement itself, unless lengths decide; ``None`` where its condition fails."""
    while isinstance(s, prog.Guard) and not {*symbols(s.condition)} & {*ended}:
        if not evaluate(s.condition, bounds):
            return None
        s = s.body
    return s


def _operands(node: prog.Call | prog.Block) -> tuple[str, ...] | None:
    return _stores(node.args if isinstance(node, prog.Call) else (*node.carried, *node.read))


def _results(node: prog.Call | prog.Block) -> tuple[str, ...] | None:
    return _stores(node.results if isinstance(node, prog.Call) else (*node.carried, *node.made))


def _stores(cells: Sequence[prog.Cell | prog.Cells]) -> tuple[str, ...] | None:
    """The stores of operands; ``None`` if one has a condition, or is a dict of cells."""
    if any(c.places if isinstance(c, prog.Cells) else c.when is not None for c in cells):
        return None
    return tuple(cell.store for cell in cells)


def direct_inputs(program: prog.Program, single_calls: Collection[str]) -> frozenset[str]:
    """Unkeyed stores of inputs, params and the seed whose only use is one call outside of loops.

    Their host arrays can be passed directly to that call. None if the program calls user functions
    or has effects, which might change the arrays.
    """
    if any(isinstance(s, prog.Host | prog.Effect) for s in statements_in(program.tree)):
        return frozenset()
    items = [*flattened(program.tree, single_calls)]
    uses = Counter(
        store for item in items for store in dict.fromkeys(used_stores(item, single_calls))
    )
    uses += Counter(output.store for output in program.outputs)
    calls = [item for item in items if isinstance(item, prog.Block | prog.Call)]
    operands = frozenset(store for item in calls for store in used_stores(item, single_calls))
    rings = (store.name for store in program.stores if any(axis.ring for axis in store.axes))
    excluded = frozenset(store.name for store in program.stores if store.away or store.keys)
    excluded = excluded.union(rings)
    inputs = [i.store for i in program.inputs] + [p.store for p in program.params] + [program.seed]
    candidates = (name for name in inputs if uses[name] == 1 and name in operands)
    return frozenset(candidates) - excluded


def flattened(
    s: prog.ProgramStatement, single_calls: Collection[str]
) -> Iterator[prog.ProgramStatement]:
    """The top-level statements in order, with blocks that are not single calls flattened."""
    match s:
        case prog.Sequence(items=items):
            for item in items:
                yield from flattened(item, single_calls)
        case prog.Block(kernel=kernel, body=body) if kernel not in single_calls:
            yield from flattened(body, single_calls)
        case _:
            yield s
