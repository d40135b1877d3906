"""What experiments share: samples, and the table and the plot that are made of them.

An experiment yields samples, points of curves. A table has the values of a panel for each system,
a plot a curve.
"""

from __future__ import annotations

import csv
import json
import math
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from importlib.util import find_spec
from pathlib import Path

import jax

from tests.bench.measure import show

OURS = "tempoc"
"""The system that the others are compared with; other ways to run ours are `tempoc, ...`."""
NOTHING = math.nan
"""The value of what cannot be measured here; a note says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A point of a curve: what a system measured, in seconds, in bytes ("MB") or a number ("")."""

    panel: str
    system: str
    x: float | str
    y: float
    unit: str = "s"
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """An experiment of a paper: `measure` takes a scale, one of `SCALES`.

    `claim` is what the paper says, with its source; `x` what is varied.
    """

    claim: str
    x: str
    measure: Callable[[str], Iterator[Sample]]
    is_logarithmic: bool = True


SCALES = ("tiny", "small", "full")
"""For the test, for two cores, and for a GPU with the sizes of the paper."""
Curves = Mapping[str, Mapping[float | str, Sample]]


def panels(samples: Sequence[Sample]) -> dict[str, dict[str, dict[float | str, Sample]]]:
    """Samples by panel, system and place, all in the order in which they came."""
    sorted_out: dict[str, dict[str, dict[float | str, Sample]]] = {}
    for sample in samples:
        curves = sorted_out.setdefault(sample.panel, {})
        curves.setdefault(sample.system, {})[sample.x] = sample
    return sorted_out


def places(curves: Curves) -> list[float | str]:
    """All places of a panel: numbers in their order, words as they came."""
    every = dict.fromkeys(x for curve in curves.values() for x in curve)
    return sorted(every, key=lambda x: (isinstance(x, str), x if not isinstance(x, str) else 0))


def holes(samples: Sequence[Sample]) -> list[str]:
    """Where a table would have an empty cell: a system was measured at some places only."""
    return [
        f"{panel}: {system} at {x}"
        for panel, curves in panels(samples).items()
        for x in places(curves)
        for system in curves
        if x not in curves[system]
    ]


def table(experiment: Experiment, samples: Sequence[Sample]) -> str:
    """A table for each panel; the last column is ours to the best of the others."""
    lines = []
    for panel, curves in panels(samples).items():
        others = [system for system in curves if not system.startswith(OURS)]
        titles = [*curves, *(["ratio"] if others and OURS in curves else [])]
        width = max(len(title) for title in titles) + 2
        lines.append(f"\n{panel}")
        lines.append(f"{experiment.x:>24}" + "".join(f"{t:>{max(width, 14)}}" for t in titles))
        for x in places(curves):
            cells = [shown(curves[system].get(x)) for system in curves]
            if "ratio" in titles:
                best = min((value(curves[system].get(x)) for system in others), default=math.nan)
                cells.append(f"{value(curves[OURS].get(x)) / best:.2f}" if best else "")
            text = x if isinstance(x, str) else f"{x:g}"
            lines.append(f"{text:>24}" + "".join(f"{c:>{max(width, 14)}}" for c in cells))
    notes = dict.fromkeys(
        f"{s.panel}, {s.system}, {s.x if isinstance(s.x, str) else f'{s.x:g}'}: {s.note}"
        for s in samples
        if s.note
    )
    return "\n".join([*lines, *(["", *notes] if notes else [])]) + "\n"


def value(sample: Sample | None) -> float:
    return math.inf if sample is None or math.isnan(sample.y) else sample.y


def shown(sample: Sample | None) -> str:
    return "-" if sample is None or math.isnan(sample.y) else show(sample.y, sample.unit).strip()


def write(folder: Path, name: str, scale: str, about: Experiment, samples: list[Sample]) -> None:
    """Write NAME.txt, NAME.csv and NAME.json below a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.txt").write_text(table(about, samples))
    columns = ("panel", "system", "x", "y", "unit", "note")
    with (folder / f"{name}.csv").open("w", newline="") as file:
        rows = csv.DictWriter(file, columns, lineterminator="\n")
        rows.writeheader()
        rows.writerows(asdict(sample) for sample in samples)
    plain = [{**asdict(s), "y": None if math.isnan(s.y) else s.y} for s in samples]
    machine = {
        "date": date.today().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "device": str(jax.devices()[0]),
        "jax": jax.__version__,
    }
    whole = {"experiment": name, "claim": about.claim, "scale": scale, **machine, "samples": plain}
    (folder / f"{name}.json").write_text(json.dumps(whole, indent=2) + "\n")


def draw(path: Path, about: Experiment, samples: Sequence[Sample]) -> None:
    """Draw a panel beside the other, a curve for each system; a word on stderr if that is not
    possible here."""
    if all(math.isnan(sample.y) for sample in samples):
        print(f"without {path.name}: nothing was measured", file=sys.stderr)
        return
    if find_spec("matplotlib") is None:
        print(f"without {path.name}: no matplotlib here (extra `bench`)", file=sys.stderr)
        return
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    parts = panels(samples)
    across = min(len(parts), 3)
    down = -(-len(parts) // across)
    figure, grid = pyplot.subplots(down, across, figsize=(5 * across, 3.6 * down), squeeze=False)
    for axes, (panel, curves) in zip(grid.flat, parts.items(), strict=False):
        every = places(curves)
        words = any(isinstance(x, str) for x in every)
        unit = next(s.unit for curve in curves.values() for s in curve.values())
        for system, curve in curves.items():
            points = [x for x in every if x in curve and not math.isnan(curve[x].y)]
            across_x = [every.index(x) if words else x for x in points]
            heights = [curve[x].y / (1e6 if unit == "MB" else 1) for x in points]
            axes.plot(across_x, heights, "o-" if len(every) < 15 else "-", label=system)
        if words:
            axes.set_xticks(range(len(every)), [str(x) for x in every], rotation=30, ha="right")
        elif about.is_logarithmic and all(not isinstance(x, str) and x > 0 for x in every):
            axes.set_xscale("log", base=2)
            axes.set_xticks(every, [f"{x:g}" for x in every])
            axes.minorticks_off()
        axes.set(title=panel, xlabel=about.x, ylabel={"s": "seconds", "": "number"}.get(unit, unit))
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    for axes in [*grid.flat][len(parts) :]:
        axes.set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
