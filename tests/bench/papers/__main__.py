"""The experiments of the papers, as commands.

    python -m tests.bench.papers [NAME ...] [--full] [--output DIR]

Each experiment prints its table and writes NAME.txt, NAME.csv, NAME.json and NAME.svg below
`build/bench/papers`, or DIR: with sizes for two cores, or with `--full` those of the papers, for a
GPU. `tests/bench/README.md` says what the papers claim and what was measured.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from tests.bench.compiled import BUILD, all_bits
from tests.bench.papers.ablation import ABLATION
from tests.bench.papers.caching import CACHING
from tests.bench.papers.capture import CAPTURE
from tests.bench.papers.depth import DEPTH
from tests.bench.papers.figures import Experiment, draw, table, write
from tests.bench.papers.footprint import FOOTPRINT
from tests.bench.papers.latency import LATENCY
from tests.bench.papers.observations import OBSERVATIONS
from tests.bench.papers.returns import RETURNS
from tests.bench.papers.sweep import SWEEP
from tests.bench.papers.tiles import TILES

EXPERIMENTS: Mapping[str, Experiment] = {
    "latency": LATENCY,
    "tiles": TILES,
    "footprint": FOOTPRINT,
    "sweep": SWEEP,
    "observations": OBSERVATIONS,
    "caching": CACHING,
    "returns": RETURNS,
    "depth": DEPTH,
    "ablation": ABLATION,
    "capture": CAPTURE,
}


def main(words: list[str] | None = None) -> None:
    """Run some experiments, or all; what was measured is written after each sample."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.papers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(EXPERIMENTS))
    parser.add_argument("--full", action="store_true", help="the sizes of the papers")
    parser.add_argument("--output", type=Path, default=BUILD / "papers", metavar="DIR")
    given = parser.parse_args(words)
    unknown = [name for name in given.names if name not in EXPERIMENTS]
    if unknown:
        parser.error(f"no experiment {', '.join(unknown)}: there are {', '.join(EXPERIMENTS)}")
    scale = "full" if given.full else "small"
    all_bits()
    for name in given.names or EXPERIMENTS:
        experiment = EXPERIMENTS[name]
        print(f"\n# {name}\n{experiment.claim}", flush=True)
        samples = []
        for sample in experiment.measure(scale):
            samples.append(sample)
            write(given.output, name, scale, experiment, samples)
        print(table(experiment, samples), flush=True)
        draw(given.output / f"{name}.svg", experiment, samples)


if __name__ == "__main__":
    main()
