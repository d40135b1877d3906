"""Suspends runs at suspend points and resumes them: between the machine and its checkpoint file.

A snapshot holds all that the walk still needs (``walk/suspend_points.py``): live cells, remaining
steps of loops, capacities of growing stores, known lengths, and which effects have happened. Random
numbers depend on the seed and on the point where they are drawn only, so there is no generator
state.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import time
from collections.abc import Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any, Protocol

import numpy as np

from tempoc.program.analysis.traversal import statements_in
from tempoc.program.codec import dump
from tempoc.program.nodes.nodes import Host, Program
from tempoc.runtime.checkpoint.state import (
    VARIANT,
    Counter,
    Identity,
    RestoredCheckpoint,
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
from tempoc.runtime.device.accounting import Ledger
from tempoc.runtime.device.backend import OnHost
from tempoc.runtime.device.stores import CellArrays, Layout
from tempoc.runtime.device.transfers import Transfers
from tempoc.runtime.host.effects import Show, Shown
from tempoc.runtime.load.load import LoadedProgram
from tempoc.runtime.messages import run as errors
from tempoc.runtime.messages.memory import host_functions
from tempoc.runtime.messages.problem import RunError
from tempoc.runtime.walk.region_calls import RegionCalls

EVERY = 60.0
"""Seconds between two checkpoints."""
_CELL = re.compile(r"s(\d+)")
ON_DEVICE, ON_HOST, BOTH = "device", "host", "both"
"""Where a cell is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointOptions:
    """Where and how often (in seconds) to write checkpoints, and the checkpoint to resume from.

    ``stop`` requests a checkpoint at the next suspend point and the end of the run
    (`RunSuspended`).
    """

    directory: Path | None = None
    every: float = EVERY
    resume: Path | None = None
    stop: Event = field(default_factory=Event)


def checkpoint_options(
    checkpoint: str | Path | None, every: float | None, resume: str | Path | None
) -> CheckpointOptions | None:
    """The options for these arguments of a run; ``None`` without checkpoints."""
    if checkpoint is None and resume is None:
        return None
    return CheckpointOptions(
        directory=None if checkpoint is None else Path(checkpoint),
        every=EVERY if every is None else every,
        resume=None if resume is None else Path(resume),
    )


class RunSuspended(KeyboardInterrupt):
    """The run was asked to stop, and its checkpoint is written."""


class SuspendedRun(Protocol):
    """The parts of a machine that a snapshot reads and restores."""

    program: Program
    bounds: dict[str, int]
    layouts: tuple[Layout, ...]
    keyed: Any
    lengths: Any
    capacities: Any
    done: list[int]
    ledger: Ledger
    transfers: Transfers

    def check(self) -> None:
        """Evaluate all pending checks."""


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
        if keep.resume is not None:
            self.restored = read_state(keep.resume, identity)
            self.printed, self.shown = self.restored.state.printed, self.restored.printed
            self.saved = [*self.restored.state.saved]
        if keep.directory is not None:
            check_writable(keep.directory, create=True)
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
        """Close the counter of lines."""
        if self.counter is not None:
            self.counter.close()

    # -------------------------------------------------------------- the walk

    def names(self, machine: SuspendedRun, given: Mapping[str, CellArrays]) -> dict[str, Any]:
        """The names that a walk with suspend points uses."""
        self.machine = machine
        self.given = {name: {_walk_key(k): c for k, c in cs.items()} for name, cs in given.items()}
        self.numbers = {store.name: i for i, store in enumerate(machine.layouts)}
        position = 0 if self.restored is None else self.restored.state.position
        return {"again": position, "due": self.due, "hold": self.suspend, "back": self.restore}

    def due(self) -> bool:
        """Whether a checkpoint is due."""
        if self.options.directory is None:
            return False
        return (
            self.options.stop.is_set() or time.monotonic() - self.written_at >= self.options.every
        )

    def suspend(self, position: int, frame_locals: dict[str, Any]) -> None:
        """Write a checkpoint; ``frame_locals`` are the variables of the walk."""
        machine, arrays = self.machine, dict[str, HostArray]()
        machine.check()
        assert self.options.directory is not None
        state = State(
            identity=self.identity,
            position=position,
            variables=_variables(frame_locals),
            cells=[*self._local(frame_locals, arrays), *self._keyed(arrays)],
            bounds=dict(machine.bounds),
            lengths={
                bound: [([*map(int, point)], int(n)) for point, n in table.found.items()]
                for bound, table in machine.lengths.items()
            },
            rooms=[*machine.capacities.now],
            done=machine.done[0],
            printed=self.printed,
            saved=self.saved,
            tops=machine.ledger.peaks(),
            copied=[machine.ledger.loaded, machine.ledger.evicted],
        )
        # Python may keep this dict with the frame, which would keep freed arrays alive.
        frame_locals.clear()
        write_state(self.options.directory, state, arrays)
        self.written_at = time.monotonic()
        if self.options.stop.is_set():
            raise RunSuspended

    def _local(self, frame_locals: Mapping[str, Any], arrays: dict[str, HostArray]) -> Any:
        for name, cell in frame_locals.items():
            if match := _CELL.fullmatch(name):
                store = self.machine.layouts[int(match[1])].name
                yield store, None, *self._put(store, (), cell, arrays)

    def _keyed(self, arrays: dict[str, HostArray]) -> Any:
        for store, cells in self.machine.keyed.items():
            for key, cell in cells.items():
                point = [key] if isinstance(key, int) else [*key]
                yield store, point, *self._put(store, key, cell, arrays)

    def _put(
        self, store: str, key: Any, cell: Any, arrays: dict[str, HostArray]
    ) -> tuple[str, str]:
        """The entry of a cell in `State.cells`: source and place; adds its array to ``arrays``."""
        if cell is None or backend.is_donated(cell):
            return "none", ON_DEVICE
        copy = self.machine.transfers.aside.get((self.numbers[store], key))
        where = ON_HOST if isinstance(cell, OnHost) else ON_DEVICE if copy is None else BOTH
        cell = cell if copy is None else copy
        if self.given.get(store, {}).get(key) is cell:
            return "given", where
        name = store if key == () else f"{store}[{key}]"
        arrays[name] = backend.host(cell)
        return name, where

    # -------------------------------------------------------------- going on

    def restore(self, *names: str) -> list[Any]:
        """Restore the machine from the checkpoint; returns the values of the walk's variables."""
        assert self.restored is not None
        machine, state = self.machine, self.restored.state
        ledger = machine.ledger
        ledger.restart(state.tops)
        machine.capacities.now[:] = state.rooms
        machine.bounds.update(state.bounds)
        machine.done[0] = state.done
        for bound, lengths in state.lengths.items():
            for point, length in lengths:
                machine.lengths[bound].put(tuple(point), length)
        for cells in machine.keyed.values():
            cells.clear()
        local: dict[str, Any] = {}
        for store, coordinates, place, where in state.cells:
            key = () if coordinates is None else _walk_key(tuple(coordinates))
            cell = self._get(store, key, place, where)
            if coordinates is None:
                local[f"s{self.numbers[store]}"] = cell
            else:
                machine.keyed[store][key] = cell
        ledger.loaded, ledger.evicted = state.copied
        for name, value in state.variables.items():
            local[name] = range(*value) if isinstance(value, list) else value
        self.restored = None
        return [local.get(name) for name in names]

    def _get(self, store: str, key: Any, place: str, where: str) -> Any:
        """Restore a cell to the place where it was."""
        assert self.restored is not None
        if place == "none":
            return None
        machine, number = self.machine, self.numbers[store]
        put = backend.put if where == ON_DEVICE else backend.put_on_host
        if place == "given":
            cell = self.given[store][key]
        else:
            cell = put(self.restored.arrays[place](), machine.layouts[number].dtype)
        if where == ON_DEVICE:
            machine.ledger.wrote(number, key)
            return cell
        machine.ledger.put_away(number, key)
        return machine.transfers.loaded(number, cell, key) if where == BOTH else cell


def _walk_key(key: tuple[int, ...]) -> Any:
    """A key in the form of the walk: an integer for one dimension, otherwise a tuple."""
    return key[0] if len(key) == 1 else key


def _variables(frame_locals: Mapping[str, Any]) -> dict[str, int | list[int]]:
    """The loop variables and the remaining steps of loops, out of the walk's local variables."""
    variables: dict[str, int | list[int]] = {}
    for name, value in frame_locals.items():
        steps = value.remaining if isinstance(value, RegionCalls) else value
        if isinstance(steps, range):
            variables[name] = [steps.start, steps.stop, steps.step]
        elif name.startswith("v_") and isinstance(value, int):
            variables[name] = value
    return variables


# ------------------------------------------------------------------ which run it is


def suspender_of(
    keep: CheckpointOptions,
    program: Program,
    run_identity: Identity,
    given: frozenset[str],
    show: Show,
) -> Suspender:
    """The suspender of a run. Raises ``RunError`` if it cannot be suspended, or not resumed."""
    refuse_hosts(program, given)
    return Suspender(keep, run_identity, show)


def refuse_hosts(program: Program, given: frozenset[str]) -> None:
    """Refuse runs that call host functions: their state is unknown. Raises ``RunError``."""
    if names := called_hosts(program, given):
        raise RunError(host_functions(names))


def called_hosts(program: Program, given: frozenset[str]) -> list[str]:
    """The host functions that a run calls, given the stores that are filled before it."""
    aliases = {
        s.extern: None
        for s in statements_in(program.tree)
        if isinstance(s, Host) and not (s.unless and given.issuperset(s.unless))
    }
    return [e.name for e in program.externs if e.alias in aliases]


def identity(loaded: LoadedProgram, bindings: Bindings, precision: str) -> Identity:
    """The identity of a run, which its resumption must share."""
    text = dump(replace(loaded.program, provenance=()))
    modules = {t.extern.module: _module(t.function) for t in loaded.traced}
    return {
        VARIANT: {"": loaded.variant} if loaded.variant else {},
        "the program": {"": _digest(text.encode())},
        "the precision": {"": precision},
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
