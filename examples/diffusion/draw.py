"""Draw what the reverse process makes of noise: `python draw.py x.npy moons.png`."""

from __future__ import annotations

import sys

import matplotlib

matplotlib.use("Agg")
import numpy as np
from matplotlib import pyplot


def main(source: str, target: str) -> None:
    x = np.load(source)  # level, sample, coordinate; the last level is noise
    levels = np.linspace(len(x) - 1, 0, 5).round().astype(int)
    figure, axes = pyplot.subplots(1, len(levels), figsize=(10, 1.9), sharex=True, sharey=True)
    for axis, level in zip(axes, levels, strict=True):
        axis.scatter(*x[level].T, s=1, color="black", linewidths=0)
        axis.set_title(f"level {level}", fontsize=9)
        axis.set(xlim=(-3, 3), ylim=(-2, 2), xticks=[], yticks=[], aspect="equal")
    figure.tight_layout()
    figure.savefig(target, dpi=100)


if __name__ == "__main__":
    main(*sys.argv[1:])
