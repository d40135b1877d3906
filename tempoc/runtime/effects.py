"""Effects while a program runs: lines on standard error, files in the output directory."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tempoc.program.arith import Arith, evaluate
from tempoc.program.nodes import Effect, Span
from tempoc.runtime import errors
from tempoc.runtime.dtypes import Array
from tempoc.runtime.files import write_below
from tempoc.runtime.problems import RunError

_HOLE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Shown:
    """An effect at a point: tensors by the names they go by there, and the file they go to.

    Without a ``path`` they are printed, under ``labels`` (``loss[i=10]``).
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    path: str = ""


Show = Callable[[Shown, Sequence[Array]], None]


def described(effect: Effect, at: Mapping[str, int]) -> Shown:
    """An effect at a point; ``at`` holds bounds and coordinates."""
    labels = []
    for place in effect.places:
        inside = ", ".join(f"{dim}={_entry(e, at)}" for dim, e in place.entries)
        labels.append(f"{place.name}[{inside}]" if inside else place.name)
    names = tuple(place.name for place in effect.places)
    return Shown(names, tuple(labels), filled(effect.path, at))


def filled(path: str, at: Mapping[str, int]) -> str:
    """A path with the indices of a point."""
    return _HOLE.sub(lambda hole: str(at[hole[1]]), path)


def _entry(entry: Arith | Span, at: Mapping[str, int]) -> str:
    if not isinstance(entry, Span):
        return str(evaluate(entry, at))
    step = f":{entry.step}" if entry.step != 1 else ""
    return f"{evaluate(entry.lower, at)}:{evaluate(entry.upper, at)}{step}"


class Outside:
    """Prints to standard error and writes below a directory. Raises ``RunError``."""

    def __init__(self, directory: str | Path = ".") -> None:
        """Files are written when something is saved, each once."""
        self.directory = Path(directory)
        self.written: dict[str, None] = {}

    def __call__(self, shown: Shown, values: Sequence[Array]) -> None:
        """Perform one effect."""
        if not shown.path:
            for label, value in zip(shown.labels, values, strict=True):
                sys.stderr.write(f"{label} = {text(value, label)}\n")
            sys.stderr.flush()
            return
        if shown.path in self.written:
            raise RunError(errors.saved_twice(shown.path))
        self.written[shown.path] = None
        write_below(self.directory, shown.path, dict(zip(shown.names, values, strict=True)))


def text(value: Array, label: str = "") -> str:
    """A tensor as NumPy prints it, rows below each other."""
    if not value.shape:
        return str(value[()])
    return np.array2string(value, prefix=f"{label} = ")
