"""The reports of `explain --copies` and `--capture`: kernels are compiled for them.

Imports what a run needs: the command imports this file late.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tempoc.cli.options.options import refuse
from tempoc.cli.reports.cost import values_of
from tempoc.cli.reports.terminal import echo, show, waiting
from tempoc.diagnostics.diagnostic import RunError
from tempoc.driver.capture.capture import capture_bounds, capture_report, capture_text
from tempoc.driver.compilation import Compilation
from tempoc.driver.report.copies import audit, copies_text
from tempoc.files.temporary import temporary_folder
from tempoc.footprint.compiled import launched
from tempoc.footprint.launches import Launches
from tempoc.runtime.device import backend
from tempoc.runtime.forecast.least_run import default_filled_stores
from tempoc.runtime.load.load import load
from tempoc.runtime.options import parse_bounds


def echo_copies(
    compilation: Compilation, given: tuple[str, ...], paths: Sequence[str], *, after: bool
) -> None:
    """Print what XLA makes of the functions of a program for some bounds; `after`: a line first.

    The user's functions are looked for in `paths`.
    """
    bounds = parse_bounds(given, refuse)
    backend.check_device()
    show("\n" * after)
    with temporary_folder() as folder:
        directory = str(Path(folder, "out"))
        compilation.write(directory, durable=False)
        show(copies_text(audit(directory, bounds, paths)))


def echo_capture(
    compilation: Compilation, given: tuple[str, ...], paths: Sequence[str], *, after: bool
) -> None:
    """Print what CUDA graphs hold of a program. Raises `RunError` for missing or wrong bounds."""
    values = values_of(compilation, given)
    compiled = None
    if _is_on_gpu():
        with waiting("compiling kernels for the GPU", compilation.progress):
            compiled = compiled_launches(compilation, values, paths)
    if after:
        echo()
    show(capture_text(capture_report(compilation, values, compiled)))


def _is_on_gpu() -> bool:
    """Whether JAX has a GPU; without any device the structure of the program is all there is."""
    try:
        backend.check_device()
    except RunError:
        return False
    return backend.has_commands()


def compiled_launches(
    compilation: Compilation, values: Mapping[str, int] | None, paths: Sequence[str] = ()
) -> dict[str, Launches]:
    """What XLA launches for each function that a run with these bounds calls."""
    with temporary_folder() as folder:
        directory = str(Path(folder, "out"))
        compilation.write(directory, durable=False)
        loaded = load(directory, paths)
        bounds = capture_bounds(compilation, values)
        filled = default_filled_stores(loaded.program)
        return dict(launched(loaded, bounds, filled))
