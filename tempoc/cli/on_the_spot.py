"""A program that is compiled for one run."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tempoc.cli.options.kernels import compare_kernels, kernel_notes
from tempoc.cli.reports.memory import within_budget_of_run
from tempoc.cli.reports.terminal import echo_notes, waiting
from tempoc.codegen.program.signature import signature
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.files.temporary import temporary_folder
from tempoc.runtime.data.bindings import bind
from tempoc.runtime.device import available
from tempoc.runtime.execute import open_inputs
from tempoc.runtime.forecast.budget import most_bytes
from tempoc.runtime.options import RunOptions


@contextmanager
def compiled(
    request: RunOptions, chosen: Options, error_format: str
) -> Iterator[tuple[RunOptions, Compilation]]:
    """Compile `request.directory`, a .rt file, for the time of a run, within its memory budget.

    Yields the request for the compiled directory, and the compilation. Raises `DiagnosticError`,
    and `RunError` for wrong data, before anything is compiled.
    """
    program = request.directory
    compilation = Compilation.from_path(program, chosen)
    echo_notes(compilation.configuration.notes(), error_format)
    if request.resume is None:
        bind(signature(compilation.graph), open_inputs(request))
    with waiting(f"compiling {program}", compilation.progress):
        if request.memory_budget is not None or _may_exceed_device(compilation, request):
            compilation = within_budget_of_run(compilation, request, request.memory_budget)
    with temporary_folder() as folder:
        directory = str(Path(folder, "out"))
        with waiting(f"compiling {program}", compilation.progress):
            compare_kernels(compilation)
            compilation.write(directory, durable=False)
        echo_notes(kernel_notes(compilation), error_format)
        yield replace(request, directory=directory), compilation


def _may_exceed_device(compilation: Compilation, request: RunOptions) -> bool:
    """Whether all stores with temporary buffers may be more than the device has: a quick look."""
    memory = available.device_memory()
    if memory is None:
        return False
    program = compilation.emitted.program
    return most_bytes(program, bind(program, open_inputs(request)).bounds) > memory // 2
