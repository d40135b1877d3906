"""`run --tune`: which way to compute is the fastest here, measured and recorded."""

from tempoc.cli.options.options import refuse
from tempoc.cli.reports.terminal import echo, waiting
from tempoc.driver.progress import Progress
from tempoc.driver.search.recording import tune_and_record
from tempoc.runtime.data.files import check_writable
from tempoc.runtime.execute import check_targets, open_inputs
from tempoc.runtime.host.effects import saves
from tempoc.runtime.load.load import load
from tempoc.runtime.options import RunOptions
from tempoc.runtime.run import Settings


def check_tuning(request: RunOptions) -> None:
    """What is measured are whole runs, of which nothing is kept."""
    for name in ("checkpoint", "resume"):
        if getattr(request, name) is not None:
            refuse(f"--tune measures whole runs: --{name} belongs to a run of its own")


def tune_run(request: RunOptions, *, is_recorded: bool) -> None:
    """Measure a run of a compiled program, and record beside it what is the fastest.

    `is_recorded`: who runs the program again will find it. Raises `RunError`.
    """
    loaded = load(request.directory, request.extern_path)
    check_writable(request.directory, create=False)
    given = open_inputs(request)
    check_targets(request, saves(loaded.program.tree))
    settings = Settings(budget=request.memory_budget, precision=request.precision)
    progress = Progress()
    with waiting("tuning", progress):
        tuned = tune_and_record(request.directory, loaded, given, settings, _tell, progress)
    if not tuned.candidate.name:
        _tell("nothing is faster than the program as it is")
        return
    times = f"{tuned.seconds * 1e3:.2f} ms instead of {tuned.before * 1e3:.2f} ms"
    _tell(f"{tuned.candidate.about}: {times}, {'recorded' if is_recorded else 'for this run'}")


def _tell(line: str) -> None:
    echo(f"tune: {line}", err=True)
