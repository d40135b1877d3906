"""Suspends runs at suspend points and resumes them: between a frame and its checkpoint file.

A snapshot is a copy of the frame (``walk/frame.py``): live cells, variables, the stack of loops,
capacities of growing stores, known lengths; and which effects have happened. Random
numbers depend on the seed and on the point where they are drawn only, so there is no generator
state.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import time
from collections.abc import Iterator, Mapping, Sequence as Many
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from tempoc.diagnostics.diagnostic import RunError
from tempoc.files.locks import exclusive
from tempoc.program.analysis.traversal import statements_in
from tempoc.program.codec import dump
from tempoc.program.nodes import nodes as prog
from tempoc.runtime.checkpoint.restorable import (
    BOTH,
    ON_DEVICE,
    ON_HOST,
    check_restored,
    chunk_of,
    chunk_place,
)
from tempoc.runtime.checkpoint.state import (
    MACHINE,
    STATE,
    VARIANT,
    Counter,
    Identity,
    RestoredCheckpoint,
    SavedCell,
    SavedLoop,
    State,
    bytes_of,
    check_free,
    read_state,
    write_state,
)
from tempoc.runtime.data.bindings import Bindings
from tempoc.runtime.data.dtypes import HostArray
from tempoc.runtime.data.files import check_writable
from tempoc.runtime.data.source import TensorSource
from tempoc.runtime.device import backend
from tempoc.runtime.device.backend import OnHost
from tempoc.runtime.device.stores import CellArrays, bare_key
from tempoc.runtime.host.effects import Show, Shown
from tempoc.runtime.load.directory import KERNELS
from tempoc.runtime.load.load import LoadedProgram
from tempoc.runtime.messages import run as errors
from tempoc.runtime.messages.memory import broken_checkpoint, busy_checkpoint, host_functions
from tempoc.runtime.walk.code import HostCode
from tempoc.runtime.walk.frame import ActiveLoop, RunFrame
from tempoc.runtime.walk.values import Variables

EVERY = 60.0
"""Seconds between two checkpoints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointOptions:
    """Where and how often (in seconds) to write checkpoints, and the checkpoint to resume from.

    ``anyway``: resume on another device, with another JAX, under other flags of XLA as well.
    ``stop`` requests a checkpoint at the next suspend point and the end of the run
    (`RunSuspended`).
    """

    directory: Path | None = None
    every: float = EVERY
    resume: Path | None = None
    anyway: bool = False
    stop: Event = field(default_factory=Event)


def checkpoint_options(
    checkpoint: str | Path | None, every: float | None, resume: str | Path | None, anyway: bool
) -> CheckpointOptions | None:
    """The options for these arguments of a run; ``None`` without checkpoints."""
    if checkpoint is None and resume is None:
        return None
    return CheckpointOptions(
        directory=None if checkpoint is None else Path(checkpoint),
        every=EVERY if every is None else every,
        resume=None if resume is None else Path(resume),
        anyway=anyway,
    )


class RunSuspended(KeyboardInterrupt):
    """The run was asked to stop, and its checkpoint is written."""


class Suspender:
    """Snapshots of one run; in a resumed run, skips the effects that happened before."""

    def __init__(self, keep: CheckpointOptions, identity: Identity, show: Show) -> None:
        self.options = keep
        self.identity = identity
        self.perform = show
        self.restored: RestoredCheckpoint | None = None
        self.printed = self.shown = 0
        self.saved: list[str] = []
        self.counter: Counter | None = None
        self.written_at = time.monotonic()
        self.held = ExitStack()
        try:
            self._open(keep)
        except BaseException:
            self.close()
            raise

    def _open(self, keep: CheckpointOptions) -> None:
        if keep.directory is not None:
            check_writable(keep.directory, create=True)
            try:
                self.held.enter_context(exclusive(keep.directory / STATE, 0.0))
            except TimeoutError:
                raise RunError(busy_checkpoint(str(keep.directory))) from None
        if keep.resume is not None:
            self.restored = read_state(keep.resume, self.identity, anyway=keep.anyway)
            self.printed, self.shown = self.restored.state.printed, self.restored.printed
            self.saved = [*self.restored.state.saved]
        if keep.directory is not None:
            if keep.resume is None or keep.resume.resolve() != keep.directory.resolve():
                check_free(keep.directory)
            self.counter = Counter(keep.directory, self.shown)

    # -------------------------------------------------------------- the outside

    def show(self, shown: Shown, values: Many[HostArray]) -> None:
        """Perform an effect, unless it is a line that was printed before the resumption."""
        if shown.path:
            path = os.path.normpath(shown.path)
            if path in self.saved:
                raise RunError(errors.saved_twice(path))
            self.perform(shown, values)
            self.saved.append(path)
            return
        self.printed += 1
        if self.printed <= self.shown:
            return
        self.perform(shown, values)
        self.shown = self.printed
        if self.counter is not None:
            self.counter.put(self.shown)

    def close(self) -> None:
        """Close the counter of lines, and let other runs write to the directory."""
        if self.counter is not None:
            self.counter.close()
        self.held.close()

    # -------------------------------------------------------------- snapshots

    def attach(self, frame: RunFrame, given: Mapping[str, CellArrays], code: HostCode) -> None:
        """Take the frame of the run; one that resumes is restored. Raises ``RunError``."""
        self.frame = frame
        self.given = {name: {bare_key(k): c for k, c in cs.items()} for name, cs in given.items()}
        self.numbers = {store.name: i for i, store in enumerate(frame.layouts)}
        if self.restored is not None:
            try:
                check_restored(self.restored, frame, self.given, code)
            except ValueError as error:
                path = str(self.options.resume / STATE) if self.options.resume else ""
                raise RunError(broken_checkpoint(path, str(error))) from None
            self._restore(self.restored)
            frame.position = code.resume[self.restored.state.position]
            self.restored = None

    def is_due(self) -> bool:
        """Whether a checkpoint is due."""
        if self.options.directory is None:
            return False
        return (
            self.options.stop.is_set() or time.monotonic() - self.written_at >= self.options.every
        )

    def suspend(self, boundary: int) -> None:
        """Write a checkpoint at a suspend point, by number."""
        frame, arrays = self.frame, dict[str, HostArray]()
        frame.check()
        assert self.options.directory is not None
        state = State(
            identity=self.identity,
            position=boundary,
            variables={n: int(v) for n, v in frame.variables.items() if not isinstance(v, dict)},
            loops=[_remaining(loop, frame.variables) for loop in frame.loops],
            cells=[*self._cells(arrays)],
            bounds=dict(frame.bounds),
            lengths={
                bound: [([*map(int, point)], int(n)) for point, n in ends.items()]
                for bound, ends in frame.ends.items()
            },
            capacities=[*frame.capacities.now],
            done=frame.done[0],
            printed=self.printed,
            saved=self.saved,
            tops=frame.ledger.peaks(),
            copied=[frame.ledger.loaded, frame.ledger.evicted],
        )
        write_state(self.options.directory, state, arrays)
        self.written_at = time.monotonic()
        if self.options.stop.is_set():
            raise RunSuspended

    def _cells(self, arrays: dict[str, HostArray]) -> Iterator[SavedCell]:
        """All cells with their places; adds their arrays."""
        for store, cells in zip(self.frame.layouts, self.frame.cells, strict=True):
            if store.is_single:
                yield store.name, None, *self._put(store.name, (), cells, arrays)
                continue
            for key, cell in cells.items():
                point = [key] if isinstance(key, int) else [*key]
                yield store.name, point, *self._put(store.name, key, cell, arrays)

    def _put(
        self, store: str, key: Any, cell: Any, arrays: dict[str, HostArray]
    ) -> tuple[str, str]:
        """The entry of a cell in `State.cells`: source and place; adds its array to ``arrays``."""
        if cell is None or backend.is_donated(cell):
            return "none", ON_DEVICE
        if (chunk := self.frame.transfers.chunks.get(self.numbers[store])) is not None:
            return "given", chunk_place(chunk)
        copy = self.frame.transfers.aside.get((self.numbers[store], key))
        where = ON_HOST if isinstance(cell, OnHost) else ON_DEVICE if copy is None else BOTH
        cell = cell if copy is None else copy
        if self.given.get(store, {}).get(key) is cell:
            return "given", where
        name = store if key == () else f"{store}[{key}]"
        arrays[name] = backend.host(cell)
        return name, where

    def _restore(self, restored: RestoredCheckpoint) -> None:
        """Restore the frame from a checkpoint."""
        frame, state = self.frame, restored.state
        ledger = frame.ledger
        ledger.restart(state.tops)
        frame.capacities.now[:] = state.capacities
        frame.bounds.update(state.bounds)
        frame.done[0] = state.done
        for bound, lengths in state.lengths.items():
            for point, length in lengths:
                frame.set_length(bound, tuple(point), length)
        for number, store in enumerate(frame.layouts):
            if store.is_single:
                frame.cells[number] = None
            else:
                frame.cells[number].clear()
        for name, coordinates, source, where in state.cells:
            number = self.numbers[name]
            key = () if coordinates is None else bare_key(tuple(coordinates))
            cell = self._get(restored, name, key, source, where)
            if coordinates is None:
                frame.cells[number] = cell
            else:
                frame.cells[number][key] = cell
        ledger.loaded, ledger.evicted = state.copied
        frame.variables |= state.variables
        for var, start, stop, step, divided in state.loops:
            steps = range(start, stop, step)
            frame.loops.append(ActiveLoop(var, steps, None if divided else iter(steps)))

    def _get(
        self, restored: RestoredCheckpoint, store: str, key: Any, source: str, where: str
    ) -> Any:
        """Restore a cell to the place where it was."""
        if source == "none":
            return None
        frame, number = self.frame, self.numbers[store]
        put = backend.put if where == ON_DEVICE else backend.put_on_host
        if frame.layouts[number].is_chunked and number in frame.transfers.sources:
            row = chunk_of(where) * frame.layouts[number].rings[0]
            load = frame.transfers.chunk(number, row, row)
            return None if load is None else load()
        if source == "given":
            cell = self.given[store][key]
        else:
            cell = put(restored.arrays[source](), frame.layouts[number].dtype)
        if where == ON_DEVICE:
            frame.ledger.wrote(number, key)
            return cell
        frame.ledger.put_away(number, key)
        entry = number, key
        return frame.transfers.loaded({entry: cell})[entry] if where == BOTH else cell


def _remaining(loop: ActiveLoop, variables: Variables) -> SavedLoop:
    """The steps of a loop that are still to come; whether they are divided into calls."""
    steps = loop.steps
    assert isinstance(steps, range)
    if loop.iterator is None:
        return loop.var, steps.start, steps.stop, steps.step, True
    return loop.var, variables[loop.var] + steps.step, steps.stop, steps.step, False


# ------------------------------------------------------------------ which run it is


def suspender_of(
    keep: CheckpointOptions,
    program: prog.Program,
    run_identity: Identity,
    given: frozenset[str],
    show: Show,
) -> Suspender:
    """The suspender of a run. Raises ``RunError`` if it cannot be suspended, or not resumed."""
    if names := called_hosts(program, given):  # their state is unknown
        raise RunError(host_functions(names))
    return Suspender(keep, run_identity, show)


def called_hosts(program: prog.Program, given: frozenset[str]) -> list[str]:
    """The host functions that a run calls, given the stores that are filled before it."""
    aliases = {
        s.extern: None
        for s in statements_in(program.tree)
        if isinstance(s, prog.Host) and not (s.unless and given.issuperset(s.unless))
    }
    return [e.name for e in program.externs if e.alias in aliases]


def identity(loaded: LoadedProgram, bindings: Bindings, precision: str) -> Identity:
    """The identity of a run, which its resumption must share."""
    # The runner and the sources, which are listed as well, may differ.
    kernels = tuple(f for f in loaded.program.files if f[0].endswith(KERNELS))
    text = dump(replace(loaded.program, provenance=(), files=kernels))
    modules = {t.extern.module: _module(t.function) for t in loaded.traced}
    return {
        VARIANT: {"": loaded.variant} if loaded.variant else {},
        "the program": {"": _digest(text.encode())},
        "the precision": {"": precision},
        MACHINE: backend.numerics(),
        "the Python module": modules,
        "the bound": {name: str(value) for name, value in bindings.bounds.items()},
        "the seed": {"": str(bindings.seed)} if loaded.program.seed else {},
        "the input": {name: _digest(*_parts(s)) for name, s in bindings.inputs.items()},
        "the param": {
            name: _digest(*(_digest(*_parts(s)).encode() for s in sources.values()))
            for name, sources in bindings.params.items()
        },
    }


def _parts(source: TensorSource) -> tuple[bytes, bytes]:
    plain = np.asarray(source.read())
    return f"{plain.dtype.newbyteorder('=')} {plain.shape}".encode(), bytes_of(plain)


def _module(function: Any) -> str:
    """A digest of the file that a function is from; empty if there is none."""
    try:
        path = inspect.getsourcefile(inspect.unwrap(function))
        return _digest(Path(path).read_bytes()) if path else ""
    except (OSError, TypeError):
        return ""


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
