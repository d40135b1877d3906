"""Learning curves: runs programs with several seeds and draws what they call `score`.

    python examples/rl/curves.py ppo reinforce                 # draws build/rl/curves.svg
    python examples/rl/curves.py --seeds 5 --output dqn.png dqn
    python examples/rl/curves.py                               # all of them; takes a while

Each run is a `tempoc run`; scores are kept in `build/rl` and not computed again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import matplotlib
import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes

HERE = Path(__file__).resolve().parent


class Run(NamedTuple):
    """How to run a program, and how many steps of environments lie between two scores."""

    title: str
    bounds: str
    steps: int


RUNS = {
    "reinforce": Run("REINFORCE", "I=20,T=200,B=16", 200 * 16),
    "gym": Run("REINFORCE, gymnasium", "I=20,T=200,B=16", 200 * 16),
    "a2c": Run("A2C", "I=200,T=16,B=64", 16 * 64),
    "ppo": Run("PPO", "I=20,T=128", 128 * 64),
    "dqn": Run("DQN", "T=6000", 16),
    "breakout": Run("PPO, Breakout", "I=60,T=64", 64 * 64),
}


def tempoc(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "tempoc", *map(str, arguments)], check=True)


def scores(name: str, seeds: int, folder: Path) -> np.ndarray:
    """The scores [seed, point] of a program."""
    found = []
    for seed in range(seeds):
        file = folder / f"{name}-{seed}.npz"
        if not file.exists():
            out = folder / name
            tempoc("compile", HERE / f"{name}.rt", "-o", out)
            bounds = RUNS[name].bounds
            tempoc("run", out, "--bounds", bounds, "--seed", seed, "--output", file)
        with np.load(file) as kept:
            found.append(kept["score"])
    return np.stack(found)


def draw(axes: Axes, name: str, values: np.ndarray) -> None:
    """A thin line for each seed, a thick one for their mean."""
    every = max(1, values.shape[1] // 100)  # enough to see no corners
    shown = values[:, ::every]
    steps = (1 + np.arange(shown.shape[1])) * every * RUNS[name].steps / 1000
    axes.plot(steps, shown.T, color="tab:blue", linewidth=0.6, alpha=0.5)
    axes.plot(steps, shown.mean(0), color="tab:blue", linewidth=1.8)
    axes.set_title(RUNS[name].title, fontsize=10)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.tick_params(labelsize=8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("programs", nargs="*", help=f"of {', '.join(RUNS)}; all if none is named")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("build/rl/curves.svg"))
    parser.add_argument("--runs", type=Path, default=Path("build/rl"), help="where runs are kept")
    options = parser.parse_args()
    names = options.programs or list(RUNS)
    for name in names:
        if name not in RUNS:
            parser.error(f"there is no program {name}")
    options.runs.mkdir(parents=True, exist_ok=True)

    matplotlib.use("Agg")
    matplotlib.rcParams |= {"svg.hashsalt": "tempoc", "svg.fonttype": "none"}
    columns = min(3, len(names))
    rows = -(-len(names) // columns)
    size = (3.2 * columns, 2.3 * rows)
    figure, grid = pyplot.subplots(rows, columns, figsize=size, squeeze=False)
    for name, axes in zip(names, grid.flat, strict=False):
        draw(axes, name, scores(name, options.seeds, options.runs))
    for axes in list(grid.flat)[len(names) :]:
        axes.remove()
    figure.supxlabel("thousand steps of all environments", fontsize=9)
    figure.supylabel("score", fontsize=9)
    figure.tight_layout()
    options.output.parent.mkdir(parents=True, exist_ok=True)
    date = {"Date": None} if options.output.suffix == ".svg" else {}
    figure.savefig(options.output, metadata=date)
    print(options.output)


if __name__ == "__main__":
    main()
