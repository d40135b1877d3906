"""Tunes a compiled program and records the choice beside it, for later runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tempoc.codegen.program.tuned_choice import write_choice
from tempoc.driver.compilation import Compilation
from tempoc.driver.progress import Progress
from tempoc.driver.search.tuning import LineSink, Tuned, tune
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.execution.specialize import specialize
from tempoc.runtime.execution.variants import choose_program, condition
from tempoc.runtime.load.load import LoadedProgram
from tempoc.runtime.run import Settings

LONG = 60
"""The longest name of a folder."""


def tune_and_record(
    directory: str,
    loaded: LoadedProgram,
    given: Given,
    settings: Settings,
    tell: LineSink,
    progress: Progress,
) -> Tuned:
    """Tune the program in a directory for a run, and record the fastest candidate there.

    An earlier choice under the same conditions is ignored and replaced. Raises ``RunError``.
    """
    plain = replace(loaded, choices=(), known={})
    base = choose_program(plain, given, settings.budget, settings.precision)
    compilation = Compilation.from_directory(str(Path(directory, base.variant)))
    compilation.progress = progress
    tuned = tune(compilation, base, given, settings, tell)
    bounds = specialize(base, given)[0].bounds
    choice = replace(
        condition(loaded.program, bounds, base.variant, settings.precision),
        name=tuned.candidate.name[:LONG].rstrip("-"),
        about=", ".join(text for text in (base.about, tuned.candidate.about) if text),
        nanoseconds=round(tuned.seconds * 1e9),
        before=round(tuned.before * 1e9),
    )
    best = tuned.candidate.compilation
    emitted = best.emitted if tuned.candidate.name else None
    write_choice(directory, choice, emitted, best.options.to_provenance(), loaded.program)
    return tuned
