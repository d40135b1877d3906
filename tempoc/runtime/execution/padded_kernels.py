"""The kernels of a program that are compiled for many lengths."""

from __future__ import annotations

from functools import partial

from tempoc.program.analysis.traversal import called_by_host, statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import BUDGET
from tempoc.runtime.device import backend
from tempoc.runtime.device.capacity import groups
from tempoc.runtime.execution.bound_kernel import BoundKernel
from tempoc.runtime.execution.kept_kernels import compiled_kept, kept_in
from tempoc.runtime.execution.kernel_cells import operands_of, results_of
from tempoc.runtime.execution.lengths import KernelOfLengths
from tempoc.runtime.load.load import LoadedProgram


def kernels_of_lengths(loaded: LoadedProgram, precision: str) -> dict[str, KernelOfLengths]:
    """The kernels that may be compiled for several lengths: those of no region.

    None of a program for a budget, nor such as call functions of the user, nor on a GPU, which is
    slow with loops of which it does not know how long they are.
    """
    program = loaded.program
    if not backend.pads_arrays() or BUDGET in dict(program.provenance):
        return {}
    key = "lengths", precision
    if isinstance(made := loaded.compiled.get(key), dict):
        return made
    names = [*called_by_host(program.tree)]
    loops = (part for part in statements_in(program.tree) if isinstance(part, prog.Loop))
    looped = {name for loop in loops for name in called_by_host(loop)}
    stores = {store.name: store for store in program.stores}
    results, operands = results_of(program), operands_of(program, names)
    free = tuple(b.name for b in program.bounds if b.value is None)
    disk, kernels = kept_in(loaded), dict[str, KernelOfLengths]()
    for kernel, function in zip(program.kernels, loaded.functions, strict=True):
        if kernel.name not in names or kernel.name in loaded.calling:
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
        how = backend.JitOptions(donated=kernel.donated, precision=precision)
        about = f"{('padded', kernel.name, kernel.donated, precision)}"
        compile_kernel = backend.compile_kernel
        compiled = partial(compiled_kept, disk, compile_kernel, how, program.tuning, about)
        repeated = 1 if kernel.name in looped else program.tuning.repeated_factor
        kernels[kernel.name] = KernelOfLengths(free, source, compiled, program.tuning, repeated)
    loaded.compiled[key] = kernels
    return kernels
