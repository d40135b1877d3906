"""Write a checkpoint again with matrices of 8 bits a number and a scale for each of their rows.

    python examples/llama/quantize.py [--home build/llama] [--to build/llama-8bit]

Row `r` of a matrix becomes `round(w[r] / scale[r])` with `scale[r] = max(abs(w[r])) / 127`; the
scales are called like the matrix, with `_scale` at the end. Vectors are float32.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

import ml_dtypes  # noqa: F401  # NumPy then knows bfloat16
import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

HOME = Path(__file__).resolve().parents[2] / "build" / "llama"


def rounded(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Numbers from -127 to 127, and what to multiply each row of them by."""
    largest = np.abs(matrix).max(axis=1)
    scale = np.where(largest > 0, largest, 1).astype(np.float32) / np.float32(127)
    return np.rint(matrix / scale[:, None]).astype(np.int8), scale


def quantize(home: Path, to: Path) -> None:
    """Leave the smaller `model.safetensors` in `to`, last, with a copy of what stands beside it."""
    to.mkdir(parents=True, exist_ok=True)
    tensors: dict[str, NDArray[np.generic]] = {}
    for file in sorted(home.glob("*.safetensors")):
        for name, value in load_file(file).items():
            if value.ndim == 2:
                tensors[name], tensors[f"{name}_scale"] = rounded(value.astype(np.float32))
            else:
                tensors[name] = value.astype(np.float32)
    if not tensors:
        sys.exit(f"{home} has no weights: fetch.py makes them")
    for name in ("tokenizer.json", "config.json"):
        if (home / name).is_file():
            shutil.copyfile(home / name, to / name)
    partial = to / "model.safetensors.partial"
    save_file(tensors, partial)
    partial.replace(to / "model.safetensors")
    print(f"wrote {to / 'model.safetensors'}", file=sys.stderr)


def beside(home: Path) -> Path:
    """Where the smaller checkpoint goes unless told: beside a link, not beside what it names."""
    whole = Path(os.path.abspath(home))
    return whole.with_name(f"{whole.name}-8bit")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--home", type=Path, default=HOME, metavar="DIR", help="the checkpoint")
    parser.add_argument(
        "--to", type=Path, metavar="DIR", help="where to write [HOME-8bit, beside it]"
    )
    options = parser.parse_args()
    quantize(options.home, options.to or beside(options.home))


if __name__ == "__main__":
    main()
