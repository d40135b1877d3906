"""Tuning: measures which candidate compilation is the fastest for given bounds and data.

A greedy search: the moves of ``candidates.py`` are tried one after the other, each from the best
candidate so far. Candidates are measured by interleaved whole runs, so that other load on the
machine affects all of them alike. One is accepted only if it is faster in most pairs of runs and by
a few percent in the median, gives the same outputs, and fits into the memory budget. At the end the
best is measured against the original once more, since the winner of many comparisons may have been
lucky.

Printed and saved tensors of these runs are discarded. Programs that call host functions are
refused, since these may have side effects.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median

from tempoc.base.cost_model import MODEL
from tempoc.base.effort import EFFORT
from tempoc.diagnostics.diagnostic import DiagnosticError, RunError
from tempoc.driver.compilation import Compilation
from tempoc.driver.errors import not_measured
from tempoc.driver.search.candidates import (
    AS_IT_IS,
    MOVES,
    Candidate,
    Move,
    device_row,
    most_candidates,
)
from tempoc.files.temporary import temporary_folder
from tempoc.program.analysis.count_calls import count_calls
from tempoc.runtime.checkpoint.suspend import called_hosts
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.compare import differences
from tempoc.runtime.data.dtypes import HostArray
from tempoc.runtime.data.source import TensorSource
from tempoc.runtime.execution.specialize import specialize
from tempoc.runtime.host.effects import Shown
from tempoc.runtime.load.load import LoadedProgram, load
from tempoc.runtime.run import Settings, run_given

LineSink = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TimedRun:
    """A run to measure, and how its program differs."""

    about: str
    run: Callable[[], object]


Clock = Callable[[Sequence[TimedRun]], list[list[float]]]
"""Measures runs, interleaved; gives the seconds of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """The result of tuning: the best candidate, and the medians of its time and the original's.

    ``candidate`` has no name if the original is the fastest.
    """

    candidate: Candidate
    seconds: float
    before: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _MeasuredCandidate:
    """A candidate with its outputs; ``first`` are the seconds of its first warm run."""

    candidate: Candidate
    loaded: LoadedProgram
    outputs: Mapping[str, HostArray]
    first: float


def tune(
    compilation: Compilation,
    loaded: LoadedProgram,
    arguments: Given,
    settings: Settings,
    tell: LineSink,
    clock: Clock | None = None,
    moves: Sequence[Move] = MOVES,
) -> Tuned:
    """The fastest way to run ``loaded``, which that compilation made. Raises ``RunError``.

    ``tell`` is called with a line about each candidate.
    """
    silent = replace(settings, show=_silent)
    with temporary_folder() as folder:
        tuner = _Tuner(
            loaded, _read_all(arguments), silent, tell, clock or interleaved, Path(folder)
        )
        return tuner.run(compilation, moves)


class _Tuner:
    """The greedy search over candidates."""

    def __init__(
        self,
        loaded: LoadedProgram,
        arguments: Given,
        settings: Settings,
        tell: LineSink,
        clock: Clock,
        folder: Path,
    ) -> None:
        self.loaded = loaded
        self.given = arguments
        self.settings = settings
        self.log = tell
        self.clock = clock
        self.folder = folder
        bindings, specialization = specialize(loaded, arguments)
        if names := called_hosts(loaded.program, specialization.stores):
            raise RunError(not_measured(names))
        self.bounds = bindings.bounds
        self.count = 0
        self.model = device_row()

    def run(self, compilation: Compilation, moves: Sequence[Move]) -> Tuned:
        """Try all moves."""
        free = [b.name for b in self.loaded.program.bounds if b.value is None]
        sizes = {name: self.bounds[name] for name in free}
        progress = compilation.progress
        progress.phase("measure")
        progress.search()
        first = best = self.first_run(Candidate(compilation=compilation), self.loaded)
        progress.tried()
        for number, move in enumerate(moves):
            progress.expect(most_candidates(moves[number:]))
            rivals = [*self.valid(move(best.candidate, sizes), best, first)]
            if rivals:
                progress.phase("measure")
                best = self.fastest(best, rivals)
                progress.tried(len(rivals))
        if best is first:
            times = baseline = self.clock([self.timed(first)])[0]
        else:
            times, baseline = self.clock([self.timed(best), self.timed(first)])
            if not is_faster(times, baseline):
                self.log(f"{best.candidate.about}: not faster when measured once more")
                best, times = first, baseline
        return Tuned(candidate=best.candidate, seconds=median(times), before=median(baseline))

    def valid(
        self, candidates: Iterator[Candidate], best: _MeasuredCandidate, first: _MeasuredCandidate
    ) -> Iterator[_MeasuredCandidate]:
        """The candidates that compile, give the same outputs, and are not much too slow."""
        for candidate in candidates:
            try:
                if self.is_hopeless(candidate, best):
                    self.log(f"{candidate.about}: too many calls of kernels")
                    continue
                measured = self.first_run(candidate, self.compiled(candidate))
            except DiagnosticError as error:
                self.log(f"{candidate.about}: not possible: {_reason(error)}")
                continue
            if lines := differences(measured.outputs, first.outputs):
                self.log(f"{candidate.about}: not taken, its outputs differ: {lines[0]}")
            elif measured.first > MODEL.hopeless_factor * best.first:
                self.log(f"{candidate.about}: {_text(measured.first)} in its first run")
            else:
                yield measured

    def fastest(
        self, best: _MeasuredCandidate, rivals: Sequence[_MeasuredCandidate]
    ) -> _MeasuredCandidate:
        """The fastest candidate; ``best`` unless a rival is significantly faster."""
        candidates = [best, *rivals]
        times = self.clock([self.timed(c) for c in candidates])
        for measured, seconds in zip(candidates, times, strict=True):
            self.log(f"{measured.candidate.about or AS_IT_IS}: {_text(median(seconds))}")
        faster = [0, *(k for k in range(1, len(candidates)) if is_faster(times[k], times[0]))]
        return candidates[min(faster, key=lambda k: median(times[k]))]

    def is_hopeless(self, candidate: Candidate, best: _MeasuredCandidate) -> bool:
        """Whether the kernel calls alone take too long."""
        if candidate.compilation.options.on_device:
            return False
        program = candidate.compilation.emitted.program
        values = {b.name: self.bounds.get(b.name, 1) for b in program.bounds}
        seconds = self.model.call_ns * 1e-9 * count_calls(program.tree, values)
        return seconds > MODEL.hopeless_factor * best.first

    def compiled(self, candidate: Candidate) -> LoadedProgram:
        """Write a candidate to a folder, and load it."""
        self.count += 1
        directory = self.folder / str(self.count)
        candidate.compilation.write(str(directory), durable=False)
        return load(directory, self.loaded.extern_path)

    def first_run(self, candidate: Candidate, loaded: LoadedProgram) -> _MeasuredCandidate:
        """Run twice: the kernels are compiled in the first run."""
        outputs = run_given(loaded, self.given, self.settings).outputs
        start = time.perf_counter()
        run_given(loaded, self.given, self.settings)
        first = time.perf_counter() - start
        return _MeasuredCandidate(candidate=candidate, loaded=loaded, outputs=outputs, first=first)

    def timed(self, measured: _MeasuredCandidate) -> TimedRun:
        """A run of a candidate to measure."""
        run = partial(run_given, measured.loaded, self.given, self.settings)
        return TimedRun(measured.candidate.about or AS_IT_IS, run)


def interleaved(runs: Sequence[TimedRun]) -> list[list[float]]:
    """Measure runs in rounds, each once per round; a first round is for warming up."""
    seconds: list[list[float]] = [[] for _ in runs]
    for timed in runs:
        timed.run()
    start, count = time.perf_counter(), 0
    (least, most), seconds_for_all = EFFORT.tuned_runs, EFFORT.tuned_seconds * len(runs)
    while count < least or (count < most and time.perf_counter() - start < seconds_for_all):
        turn = [*zip(seconds, runs, strict=True)]
        for times, timed in turn if count % 2 == 0 else reversed(turn):
            begin = time.perf_counter()
            timed.run()
            times.append(time.perf_counter() - begin)
        count += 1
    return seconds


def is_faster(times: Sequence[float], baseline: Sequence[float]) -> bool:
    """Whether times are significantly shorter than the baseline in the same rounds."""
    ratios = [a / b for a, b in zip(times, baseline, strict=True)]
    often = sum(r < 1 for r in ratios) >= MODEL.faster_rounds * len(ratios)
    return median(ratios) <= MODEL.gain and often


def _read_all(arguments: Given) -> Given:
    """The arguments with all data read into memory."""

    def read(source: TensorSource) -> TensorSource:
        array = source.read()
        return source._replace(read=lambda: array)

    inputs = {name: read(source) for name, source in arguments.inputs.items()}
    params = {name: read(source) for name, source in arguments.params.items()}
    return arguments._replace(inputs=inputs, params=params)


def _silent(shown: Shown, values: Sequence[HostArray]) -> None:
    """Discard printed and saved tensors."""


def _reason(error: DiagnosticError) -> str:
    return error.diagnostics[0].message


def _text(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"
