"""The kernels of a program, compiled for bounds; equal ones are shared between bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tempoc.program.analysis.recorded_loops import command_modes, counted_regions
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.functions import Extern
from tempoc.program.nodes.gpu_commands import COMMON
from tempoc.program.nodes.spelling import variable
from tempoc.runtime.device import backend
from tempoc.runtime.device.stores import Layout, fitting
from tempoc.runtime.execution.kept_kernels import compiled_kept, kept_in
from tempoc.runtime.execution.kernel_cells import results_of
from tempoc.runtime.execution.padded_kernels import kernels_of_lengths
from tempoc.runtime.load.load import LoadedProgram
from tempoc.runtime.rewriting.usual_branches import compiled_as_usual
from tempoc.symbolic.walk import evaluate, symbols


def compiled_kernels(
    loaded: LoadedProgram, bounds: Mapping[str, int], layouts: Mapping[str, Layout], precision: str
) -> list[Callable[..., Any]]:
    """The kernels, compiled lazily; their results are checked to fit their stores.

    A kernel to which other bounds give the same values and results is the same function, of which
    JAX knows for which shapes it is compiled. Shapes that the user's functions must give are looked
    at when kernels are traced, so these are the same, too. Those that are compiled for lengths are
    told apart by what they are given as well.
    """
    program = loaded.program
    results, counted = results_of(program), counted_kernels(program)
    modes = command_modes(program) if backend.has_commands() else {}
    required = tuple([_named_bounds(traced.extern, bounds) for traced in loaded.traced])
    disk = kept_in(loaded)
    several = kernels_of_lengths(loaded, precision)
    kernels: list[Callable[..., Any]] = []
    for kernel, function in zip(program.kernels, loaded.functions, strict=True):
        names, more = results.get(kernel.name, ([], 0))
        stores = [layouts[name] for name in names]
        calls = kernel.name in loaded.calling
        known = loaded.known if calls else loaded.compiled
        many = several.get(kernel.name)
        given = [layouts[store.name] for store in many.source.operands] if many else []
        key = (
            *("kernel", kernel.name, precision),
            tuple([evaluate(e, bounds) for e in kernel.static]),
            tuple([store.shape for store in stores if store.group < 0]),
            tuple([store.shape for store in given if store.group < 0]),
            required if calls else (),
        )
        if key not in known:
            compiled = backend.compile_region if kernel.name in counted else backend.compile_kernel
            static = {variable(b): bounds[b] for b in kernel.bounds}
            fitted = partial(fitting, stores=stores, more=more + bool(kernel.checks))
            commands = modes.get(kernel.name, COMMON)
            how = backend.JitOptions(static, kernel.donated, precision, commands)
            about = f"{(key, stores, more, kernel.donated, len(kernel.checks))}"
            place = (None, "") if calls else disk
            make = partial(compiled_kept, place, compiled, how, program.tuning, about)
            made = compiled_as_usual(make, function, kernel.donated, fitted)
            known[key] = many.kernel(made, bounds) if many else made
        kernels.append(known[key])  # type: ignore[arg-type]
    return kernels


def _named_bounds(extern: Extern, bounds: Mapping[str, int]) -> tuple[int, ...]:
    """The values of bounds in the extents of a function's results."""
    extents = (e for result in extern.results for e in result.shape)
    return tuple(bounds[name] for e in extents for name in symbols(e) if name in bounds)


def counted_kernels(program: prog.Program) -> frozenset[str]:
    """The kernels that this device compiles for each number of steps."""
    return counted_regions(program) if backend.compiles_late() else frozenset()
