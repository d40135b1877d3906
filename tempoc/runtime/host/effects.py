"""Effects while a program runs: lines on standard error, files in the output directory."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence as Many
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from tempoc.diagnostics.diagnostic import RunError
from tempoc.diagnostics.render import printed
from tempoc.program.nodes import nodes as prog
from tempoc.runtime.data.dtypes import NUMPY, HostArray
from tempoc.runtime.data.files import OutputFolder
from tempoc.runtime.messages import run as errors
from tempoc.runtime.report.streams import write_notice
from tempoc.symbolic.expr import Expr
from tempoc.symbolic.walk import evaluate

_HOLE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Shown:
    """An effect at a point: the names of its tensors, and the file that they are saved to.

    Without a ``path`` they are printed, under ``labels`` (``loss[i=10]``) or between ``texts``.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    path: str = ""
    texts: tuple[str, ...] = ()


Show = Callable[[Shown, Many[HostArray]], None]


def perform(
    effect: prog.Effect, env: Mapping[str, int], values: Many[HostArray], show: Show
) -> None:
    """Show the tensors of an effect at a point; ``env`` holds bounds and coordinates."""
    pairs = [*zip(effect.places, values, strict=True)]
    if effect.conditional and not pairs.pop()[1]:
        return
    if not effect.path:
        labels = tuple(_label(place, env) for place, _ in pairs)
        names = tuple(place.name for place, _ in pairs)
        show(Shown(names, labels, texts=effect.texts), [value for _, value in pairs])
        return
    named = dict(part for place, value in pairs for part in _tensors(place, env, value))
    show(Shown(tuple(named), (), filled(effect.path, env)), tuple(named.values()))


def saves(s: prog.ProgramStatement) -> bool:
    """Whether a statement saves files."""
    match s:
        case prog.Sequence(items=items):
            return any(map(saves, items))
        case prog.Loop(body=body) | prog.Guard(body=body):
            return saves(body)
        case prog.Effect(path=path):
            return path != ""
        case _:
            return False


def _label(place: prog.EffectTensor, values: Mapping[str, int]) -> str:
    indices = ", ".join(f"{dim}={_entry(e, values)}" for dim, e in place.entries)
    return place.name + (f"[{indices}]" if indices else "") + place.part


def _tensors(
    place: prog.EffectTensor, values: Mapping[str, int], value: HostArray
) -> Iterator[tuple[str, HostArray]]:
    """A tensor under its name in the file, or one for each index that a slice fills in there."""
    holes = _HOLE.findall(place.name)
    spans = [dim for dim, e in place.entries if isinstance(e, prog.OutputSpan)]
    indices = {dim: _indices(e, values) for dim, e in place.entries if dim in holes}
    for combination in product(*(enumerate(indices[dim]) for dim in indices)):
        point = {dim: k for dim, (_, k) in zip(indices, combination, strict=True)}
        rows = {dim: row for dim, (row, _) in zip(indices, combination, strict=True)}
        cut = tuple(rows.get(dim, slice(None)) for dim in spans)
        yield filled(place.name, point), value[cut]


def _indices(entry: Expr | prog.OutputSpan, values: Mapping[str, int]) -> Many[int]:
    if isinstance(entry, prog.OutputSpan):
        return range(evaluate(entry.lower, values), evaluate(entry.upper, values), entry.step)
    return (evaluate(entry, values),)


def filled(path: str, values: Mapping[str, int]) -> str:
    """A path with the indices of a point."""
    return _HOLE.sub(lambda hole: str(values[hole[1]]), path)


def _entry(entry: Expr | prog.OutputSpan, values: Mapping[str, int]) -> str:
    if not isinstance(entry, prog.OutputSpan):
        return str(evaluate(entry, values))
    step = f":{entry.step}" if entry.step != 1 else ""
    return f"{evaluate(entry.lower, values)}:{evaluate(entry.upper, values)}{step}"


class EffectSink:
    """Prints to standard error and writes below a directory. Raises ``RunError``."""

    def __init__(self, directory: str | Path = ".", reserved: Many[str | Path] = ()) -> None:
        """Save below ``directory``; each file once, and none that is ``reserved``."""
        self.folder = OutputFolder(directory)
        self.taken = [Path(path).resolve() for path in reserved]
        self.written: dict[str, None] = {}

    def __call__(self, shown: Shown, values: Many[HostArray]) -> None:
        """Perform one effect."""
        if not shown.path:
            write_notice(lines(shown, values))
            return
        path = os.path.normpath(shown.path)
        if path in self.written:
            raise RunError(errors.saved_twice(path))
        if (self.folder.directory / path).resolve() in self.taken:
            raise RunError(errors.saved_elsewhere(str(self.folder.directory / path)))
        self.written[path] = None
        self.folder.write(path, dict(zip(shown.names, values, strict=True)))


def lines(shown: Shown, values: Many[HostArray]) -> str:
    """A line for each value; with texts one line of all of them, whatever their shapes."""
    if not shown.texts:
        pairs = zip(shown.labels, values, strict=True)
        return "".join(f"{label} = {text(value, label)}\n" for label, value in pairs)
    parts = (*(" ".join(text(value).split()) for value in values), "\n")
    return "".join(printed(t) + part for t, part in zip(shown.texts, parts, strict=True))


def text(value: HostArray, label: str = "") -> str:
    """A tensor as NumPy prints it, rows below each other; bools as in the language."""
    if value.dtype == NUMPY["bf16"]:
        value = value.astype(np.float32)
    if value.dtype == np.bool_:
        value = np.where(value, "true", "false")
    if not value.shape:
        return str(value[()])
    return np.array2string(value, prefix=f"{label} = ", formatter={"str_kind": str})
