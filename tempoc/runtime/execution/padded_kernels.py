"""The kernels of a program that are compiled for many lengths."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tempoc.program.analysis.traversal import called_once
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import BUDGET
from tempoc.runtime.device import backend
from tempoc.runtime.device.capacity import groups
from tempoc.runtime.execution.bound_kernel import BoundKernel
from tempoc.runtime.execution.kept_kernels import kept_compiler, kept_in
from tempoc.runtime.execution.kernel_cells import operands_of, results_of
from tempoc.runtime.execution.lengths import KernelOfLengths
from tempoc.runtime.load.load import LoadedProgram
from tempoc.runtime.rewriting.whole_loops import compiled_whole


def kernels_of_lengths(loaded: LoadedProgram, precision: str) -> dict[str, KernelOfLengths]:
    """The kernels that may be compiled for several lengths: those that a run calls once.

    None of a program for a budget, nor of one that computes with functions of the user, nor on a
    GPU, which is slow with loops of which it does not know how long they are.
    """
    program = loaded.program
    if not backend.pads_arrays() or loaded.traced or BUDGET in dict(program.provenance):
        return {}
    key = "lengths", precision
    if isinstance(made := loaded.compiled.get(key), dict):
        return made
    once = [*called_once(program.tree)]
    stores = {store.name: store for store in program.stores}
    results, operands = results_of(program), operands_of(program, once)
    names = tuple(b.name for b in program.bounds if b.value is None)
    kernels: dict[str, KernelOfLengths] = {}
    for kernel, function in zip(program.kernels, loaded.functions, strict=True):
        if kernel.name not in once:
            continue
        made_of, more = results[kernel.name]
        source = BoundKernel(
            program=program,
            kernel=kernel,
            function=function,
            results=tuple(stores[name] for name in made_of),
            more=more + bool(kernel.checks),
            operands=tuple(stores[name] for name in operands[kernel.name]),
            growing=groups(program),
            precision=precision,
        )
        compiled = partial(_compiled, loaded, kernel, precision)
        kernels[kernel.name] = KernelOfLengths(names, source, compiled, program.tuning)
    loaded.compiled[key] = kernels
    return kernels


def _compiled(
    loaded: LoadedProgram,
    kernel: prog.Kernel,
    precision: str,
    function: Callable[..., Any],
    about: str,
) -> Callable[..., Any]:
    """A function of padded arrays and lengths, compiled; ``about`` says which one it is."""
    tuning = loaded.program.tuning
    most = tuning.whole_loop_bytes, tuning.whole_operator_bytes, tuning.drawn_keys
    how = backend.JitOptions(donated=kernel.donated, precision=precision)
    made_of = f"{('padded', kernel.name, kernel.donated, precision, most)}{about}"
    compiler = kept_compiler(kept_in(loaded), backend.compile_kernel, how, function, made_of)
    return compiled_whole(compiler, function, *most)
