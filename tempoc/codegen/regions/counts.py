"""Numbers that a region or block is told, and need not know when JAX traces it: ends of loops,
and bounds that conditions on its steps compare with.

::

    def block(at, tok, best):
        t_end = at[0]
        ...
        tok, best = lax.fori_loop(1, t_end, step_t, (tok, best))

With ``lax.fori_loop(1, T, ...)`` it would be compiled for each ``T``. That is what happens where
something else in the program depends on ``T``, and there nothing is gained: the shape of an array,
or what a kernel computes from it. The minimum of ``T`` and something else does not count as such,
nor ``max(0, 3-T)``: for long sequences they are the same for all.

A condition is traced if it names the step, so that the bound may as well be: ``t < T - 1`` becomes
``t < T_now - 1``. A condition on bounds alone stays with Python: it has two values, whatever ``T``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tempoc.codegen.regions.context import ProgramContext
from tempoc.program.analysis.traversal import statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer
from tempoc.program.nodes.spelling import variable
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import children, symbols


def loop_counts(s: prog.ProgramStatement, context: ProgramContext) -> dict[ix.Expr, str]:
    """Ends of loops, and coordinates, over bounds that only count; each with a name for it."""
    counted = counting_bounds(context)
    counts: dict[ix.Expr, str] = {}
    for part in statements_in(s.body if isinstance(s, prog.Loop) else s):
        named: Iterable[tuple[ix.Expr, str]] = ()
        match part:
            case prog.Loop(place="device", step=1, var=var, lower=lower, upper=upper):
                named = ((lower, f"{variable(var)}_first"), (upper, f"{variable(var)}_end"))
            case prog.Call(kernel=kernel, point=point):
                dims = context.kernels[kernel].dims
                passed = context.lengths_of(part)
                named = (
                    *zip(point, (f"{variable(d)}_at" for d in dims), strict=False),
                    *((e, f"{variable(e.name)}_now") for e in passed if isinstance(e, ix.Sym)),
                )
        for e, name in named:
            if {*symbols(e)} & counted and {*symbols(e)} <= {*context.bounds}:
                counts.setdefault(e, name)
    return counts


def counting_bounds(context: ProgramContext) -> frozenset[str]:
    """The bounds given at run time on which no shape of a store and no kernel depends."""
    fixed = {dependent for e in _traced(context) for dependent in _dependent(e)}
    return frozenset(n for n, v in context.bounds.items() if v is None and n not in fixed)


def _traced(context: ProgramContext) -> Iterator[ix.Expr]:
    """What JAX knows when it traces kernels: values that they compute, and sizes of arrays."""
    for kernel in context.kernels.values():
        yield from kernel.static
    for store in context.stores.values():
        yield from _sizes(store)


def _sizes(store: Buffer) -> Iterator[ix.Expr]:
    yield from (axis.size for axis in store.axes if not axis.grows)
    yield from store.shape
    yield from (key.modulo for key in store.keys if key.modulo is not None)


def _dependent(e: ix.Expr) -> Iterator[str]:
    """The bounds that decide the value of an expression, however large they are."""
    match e:
        case ix.Sym(name=name):
            yield name
        case ix.IndexMin() | ix.Relation():
            pass
        case ix.IndexMax(args=args) if any(isinstance(a, ix.Const) for a in args):
            for part in args:
                falls = isinstance(part, ix.IndexSum) and all(k < 0 for k, _ in part.terms)
                yield from () if falls else _dependent(part)
        case _:
            for part in children(e):
                yield from _dependent(part)
