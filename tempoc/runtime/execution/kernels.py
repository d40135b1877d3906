"""The kernels of a program, compiled for bounds; equal ones are shared between bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tempoc.program.analysis.recorded_loops import command_modes, counted_regions
from tempoc.program.analysis.traversal import statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.functions import Extern
from tempoc.program.nodes.gpu_commands import COMMON
from tempoc.program.nodes.spelling import variable
from tempoc.runtime.device import backend
from tempoc.runtime.device.stores import Layout, fitting
from tempoc.runtime.device.whole_loops import compiled_whole
from tempoc.runtime.load.load import LoadedProgram
from tempoc.symbolic.walk import evaluate, symbols


def compiled_kernels(
    loaded: LoadedProgram, bounds: Mapping[str, int], layouts: Mapping[str, Layout], precision: str
) -> list[Callable[..., Any]]:
    """The kernels, compiled lazily; their results are checked to fit their stores.

    A kernel to which other bounds give the same values and results is the same function, of which
    JAX knows for which shapes it is compiled. Shapes that the user's functions must give are looked
    at when kernels are traced, so these are the same, too.
    """
    program, known = loaded.program, loaded.known
    results, counted = _results(program), counted_kernels(program)
    modes = command_modes(program) if backend.has_commands() else {}
    required = tuple([_named_bounds(traced.extern, bounds) for traced in loaded.traced])
    kernels: list[Callable[..., Any]] = []
    for kernel, function in zip(program.kernels, loaded.functions, strict=True):
        names, more = results.get(kernel.name, ([], 0))
        stores = [layouts[name] for name in names]
        key = (
            *("kernel", kernel.name, precision),
            tuple([evaluate(e, bounds) for e in kernel.static]),
            tuple([store.shape for store in stores if store.group < 0]),
            required,
        )
        if key not in known:
            compiled = backend.compile_region if kernel.name in counted else backend.compile_kernel
            static = {variable(b): bounds[b] for b in kernel.bounds}
            checked = fitting(function, stores, more + bool(kernel.checks))
            commands = modes.get(kernel.name, COMMON)
            how = static, kernel.donated, precision, commands
            tuning = program.tuning
            most = tuning.whole_loop_bytes, tuning.whole_operator_bytes, tuning.drawn_keys
            known[key] = compiled_whole(_compiler(compiled, how), checked, *most)
        kernels.append(known[key])  # type: ignore[arg-type]
    return kernels


def _named_bounds(extern: Extern, bounds: Mapping[str, int]) -> tuple[int, ...]:
    """The values of bounds in the extents of a function's results."""
    extents = (e for result in extern.results for e in result.shape)
    return tuple(bounds[name] for e in extents for name in symbols(e) if name in bounds)


def _compiler(
    compiled: Callable[..., Any], how: tuple[object, ...]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return lambda function: compiled(function, *how)


def counted_kernels(program: prog.Program) -> frozenset[str]:
    """The kernels that this device compiles for each number of steps."""
    return counted_regions(program) if backend.compiles_late() else frozenset()


def _results(program: prog.Program) -> dict[str, tuple[list[str], int]]:
    """For the kernel of each call the stores of its results, and how many more results follow."""
    results: dict[str, tuple[list[str], int]] = {}
    for s in statements_in(program.tree):
        if isinstance(s, prog.Call):
            results[s.kernel] = [cell.store for cell in s.results], len(s.endings)
        elif isinstance(s, prog.Region | prog.Block):
            changed = (*s.carried, *(s.made if isinstance(s, prog.Block) else ()))
            more = bool(s.endings) + (len(s.prints) if isinstance(s, prog.Region) else 0)
            results[s.kernel] = [cells.store for cells in changed], more
    return results
