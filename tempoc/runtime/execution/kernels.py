"""The kernels of a program, compiled for bounds; equal ones are shared between bounds."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tempoc.files.snapshot import digest
from tempoc.program.analysis.recorded_loops import command_modes, counted_regions
from tempoc.program.analysis.traversal import called_once, statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import BUDGET
from tempoc.program.nodes.functions import Extern
from tempoc.program.nodes.gpu_commands import COMMON
from tempoc.program.nodes.spelling import variable
from tempoc.runtime.device import backend
from tempoc.runtime.device.stores import Layout, fitting
from tempoc.runtime.execution.kept_kernels import runner_digest, with_executables
from tempoc.runtime.execution.lengths import KernelOfLengths
from tempoc.runtime.load.directory import KERNELS
from tempoc.runtime.load.load import LoadedProgram
from tempoc.runtime.rewriting.whole_loops import compiled_whole
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
    folder, made_of = _kept_in(loaded)
    once = _kernels_of_lengths(loaded, precision)
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
            about = f"{made_of}{(key, stores, more, kernel.donated, len(kernel.checks), most)}"
            make = _compiler(compiled, how, checked, folder, about)
            known[key] = made = compiled_whole(make, checked, *most)
            if kernel.name in once:
                exact = functools.update_wrapper(partial(checked, **static), checked)
                traced = backend.precise(exact, precision)
                known[key] = once[kernel.name].kernel(made, traced, bounds)
        kernels.append(known[key])  # type: ignore[arg-type]
    return kernels


def _kernels_of_lengths(loaded: LoadedProgram, precision: str) -> dict[str, KernelOfLengths]:
    """The kernels that may be compiled for several lengths: those that a run calls once.

    None of a program for a budget, nor of one that computes with functions of the user, nor on a
    GPU, which is slow with loops of which it does not know how long they are.
    """
    program = loaded.program
    if not backend.pads_arrays() or loaded.traced or BUDGET in dict(program.provenance):
        return {}
    key = "lengths", precision
    if isinstance(made := loaded.known.get(key), dict):
        return made
    bounds = tuple(b.name for b in program.bounds if b.value is None)
    tuning = program.tuning
    most = tuning.whole_loop_bytes, tuning.whole_operator_bytes, tuning.drawn_keys
    kernels: dict[str, KernelOfLengths] = {}
    for kernel in called_once(program.tree):
        donated = next(k.donated for k in program.kernels if k.name == kernel)
        compiled = partial(_compiled_for_lengths, donated, precision, most)
        kernels[kernel] = KernelOfLengths(bounds, compiled, tuning)
    loaded.known[key] = kernels
    return kernels


def _compiled_for_lengths(
    donated: tuple[int, ...],
    precision: str,
    most: tuple[int, int, int],
    function: Callable[..., Any],
) -> Callable[..., Any]:
    """A function of padded arrays and a length, compiled."""

    def compiled(marked: Callable[..., Any]) -> Callable[..., Any]:
        return backend.compile_kernel(marked, {}, donated, precision)

    return compiled_whole(compiled, function, *most)


def _named_bounds(extern: Extern, bounds: Mapping[str, int]) -> tuple[int, ...]:
    """The values of bounds in the extents of a function's results."""
    extents = (e for result in extern.results for e in result.shape)
    return tuple(bounds[name] for e in extents for name in symbols(e) if name in bounds)


def _compiler(
    compiled: Callable[..., Any],
    how: tuple[object, ...],
    plain: Callable[..., Any],
    folder: Path | None,
    made_of: str,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """What compiles a kernel, the ``plain`` one or with marks, kept in a folder if there is one."""

    def compiler(function: Callable[..., Any]) -> Callable[..., Any]:
        kernel: Callable[..., Any] = compiled(function, *how)
        if folder is None:
            return kernel
        return with_executables(kernel, folder, f"{made_of}{function is plain}")

    return compiler


def _kept_in(loaded: LoadedProgram) -> tuple[Path | None, str]:
    """Where executables are kept, and what those of all kernels are made of."""
    folder, about = backend.executables(), backend.making()
    if folder is None or about is None or loaded.traced or loaded.stored is None:
        return None, ""
    return folder, f"{about}{runner_digest()}{digest(loaded.stored.files[KERNELS])}"


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
