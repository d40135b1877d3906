"""Runs that are held at every boundary, and gone on with from each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from tempoc.program.nodes.tuning import RunTuning
from tempoc.runtime.checkpoint import suspend as keeping
from tempoc.runtime.checkpoint.state import State, write_state
from tempoc.runtime.checkpoint.suspend import CheckpointOptions
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.dtypes import HostArray
from tempoc.runtime.execution import machine
from tempoc.runtime.host.effects import Shown
from tempoc.runtime.load.load import LoadedProgram
from tempoc.runtime.run import RunResult, Settings, run_given
from tempoc.runtime.walk import blocks, region_calls as turns


@dataclass(slots=True)
class Lines:
    """What was shown, in order."""

    found: list[tuple[str, ...]] = field(default_factory=list)

    def __call__(self, shown: Shown, values: Sequence[HostArray]) -> None:
        """One effect."""
        data = tuple(np.asarray(v).tobytes().hex() for v in values)
        self.found.append((*shown.labels, *shown.names, *shown.texts, shown.path, *data))


def short_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let regions run a few steps in a call, then one, and no block be a single call.

    So there are boundaries where otherwise only long runs have some.
    """
    monkeypatch.setattr(blocks, "single_call_blocks", lambda *_: frozenset())
    short = RunTuning(first_steps=3, call_ms=0)
    monkeypatch.setattr(machine, "Pace", lambda _, is_counted: turns.Pace(short, is_counted))


def held_everywhere(
    loaded: LoadedProgram,
    given: Given,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    most: int = 1000,
    account: bool = False,
) -> int:
    """Hold a run at each boundary, go on from them (no more than ``most``): all end alike.

    ``account``: all of them count bytes. Returns how many boundaries there were.
    """
    whole, lines = _run(loaded, given, None, account)
    places: list[Path] = []

    def write(directory: Path, state: State, arrays: dict[str, HostArray]) -> None:
        places.append(folder / str(len(places)))
        places[-1].mkdir(parents=True)
        write_state(places[-1], state, arrays)

    with monkeypatch.context() as patch:
        patch.setattr(keeping, "write_state", write)
        keep = CheckpointOptions(directory=folder / "here", every=0.0)
        held, again = _run(loaded, given, keep, account)
    same(held, whole)
    assert again == lines
    for place in places[:: -(-len(places) // most)] if places else ():
        found, rest = _run(loaded, given, CheckpointOptions(resume=place), account)
        same(found, whole)
        assert rest == lines[len(lines) - len(rest) :]
        if account:
            assert (found.peak_bytes, found.stores) == (whole.peak_bytes, whole.stores)
            assert (found.away_bytes, found.away_stores) == (whole.away_bytes, whole.away_stores)
            assert (found.loaded, found.evicted) == (whole.loaded, whole.evicted)
    return len(places)


def _run(
    loaded: LoadedProgram, given: Given, keep: CheckpointOptions | None, account: bool
) -> tuple[RunResult, list[tuple[str, ...]]]:
    lines = Lines()
    settings = Settings(show=lines, keep=keep, account=account)
    return run_given(loaded, given, settings), lines.found


def same(found: RunResult, wanted: RunResult) -> None:
    """Equal outputs, bit by bit, and lengths."""
    assert found.outputs.keys() == wanted.outputs.keys()
    for name, value in wanted.outputs.items():
        there = found.outputs[name]
        assert (there.dtype, there.shape) == (value.dtype, value.shape), name
        assert there.tobytes() == value.tobytes(), name
    assert (found.lengths, found.bounds) == (wanted.lengths, wanted.bounds)
