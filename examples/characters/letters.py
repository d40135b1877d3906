"""Letters and numbers.

    python examples/characters/letters.py encode sonnets.txt text.npz    # an input `text`
    python examples/characters/letters.py decode letters.npy             # print what was written
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

SONNETS = Path(__file__).resolve().parent / "sonnets.txt"


def alphabet(text: str) -> str:
    """The letters of a text, in order; a letter's number is its place here."""
    return "".join(sorted(set(text)))


def encode(text: str, letters: str) -> np.ndarray:
    return np.array([letters.index(c) for c in text], np.int32)


def decode(numbers: np.ndarray, letters: str) -> str:
    return "".join(letters[n] for n in numbers)


def main(task: str, source: str, target: str = "") -> None:
    letters = alphabet(SONNETS.read_text(encoding="utf-8"))
    if task == "encode":
        np.savez(target, text=encode(Path(source).read_text(encoding="utf-8"), letters))
    else:
        for row in np.atleast_2d(np.load(source)):
            print(decode(row, letters) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
