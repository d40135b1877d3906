"""Letters and their numbers.

python examples/characters/letters.py text build/text.npz                # what is learnt from
python examples/characters/letters.py prompt build/prompt.npz "Shall I"  # a beginning
python examples/characters/letters.py show build/written.npy             # what was written
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

SONNETS = Path(__file__).resolve().parent / "sonnets.txt"
ALPHABET = "".join(sorted(set(SONNETS.read_text(encoding="utf-8"))))


def encode(text: str) -> np.ndarray:
    """A letter's number is its place in the alphabet."""
    return np.array([ALPHABET.index(letter) for letter in text], np.int32)


def decode(numbers: np.ndarray) -> str:
    return "".join(ALPHABET[number] for number in numbers)


def main(task: str, file: str, beginning: str = "") -> None:
    if task == "text":
        np.savez(file, text=encode(SONNETS.read_text(encoding="utf-8")))
    elif task == "prompt":
        np.savez(file, prompt=encode(beginning))
    else:
        for row in np.load(file):
            print(f"{decode(row)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
