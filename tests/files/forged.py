"""Forged checkpoints: what they say is changed, with the right digest, or their bytes, without.

A run that goes on from one ends with one diagnostic, or with outputs; where the digest is not made
again, with those of the whole run.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections import Counter
from pathlib import Path
from unittest.mock import patch

import numpy as np

from tempoc.runtime.checkpoint import suspend
from tempoc.runtime.checkpoint.state import (
    PRINTED,
    STATE,
    State,
    _array_bytes,
    _digest,
    write_state,
)
from tempoc.runtime.data.dtypes import HostArray
from tempoc.runtime.data.files import open_bundle
from tempoc.runtime.data.safetensors import read_metadata, write_safetensors
from tests.files.artifacts import command, compiled_once, ended, outputs_of, prepare, seen
from tests.files.mutants import change_bytes, copied, mutate, sealed

SUBJECTS = ("kept", "loops", "until")
DTYPES = (np.float64, np.int32, np.bool_, np.uint8, np.float16)


class ForgedRuns:
    """Checkpoints of one program, one for each suspend point of a run."""

    def __init__(self, name: str, folder: Path) -> None:
        self.folder = folder
        prepare(name, folder)
        os.chdir(folder)
        options = command(name, folder, "results")
        self.argv = [a for a in options if not a.startswith(("--checkpoint", "--every"))]
        self.states: list[Path] = []

        def write(directory: Path, state: State, arrays: dict[str, HostArray]) -> None:
            write_state(directory, state, arrays)
            self.states.append(folder / "states" / str(len(self.states)))
            copied(directory, self.states[-1])

        with patch.object(suspend, "write_state", write):
            first = ended([*self.argv, "--checkpoint=first", "--every=0s"], folder.parent / "said")
        assert not first.fault and not first.status and self.states, first
        self.wanted = outputs_of(folder / "results")
        self.endings: Counter[str] = Counter()

    def attack(self, rng: random.Random) -> str:
        """Go on from a forged checkpoint; what is wrong with that, empty for nothing."""
        place = self.folder / "forged"
        copied(rng.choice(self.states), place)
        shutil.rmtree(self.folder / "results", ignore_errors=True)
        is_sealed = rng.random() < 0.75
        what = forge(place, rng) if is_sealed else damage(place, rng)
        before = seen(self.folder, self.folder / "results")
        run = ended([*self.argv, f"--resume={place}"], self.folder.parent / "said")
        results = outputs_of(self.folder / "results")
        # What was saved before is not saved again.
        is_right = all(self.wanted.get(name) == content for name, content in results.items())
        code = run.said.partition("error[")[2][:5]
        self.endings[code or ("as it was" if is_right else "another result")] += 1
        fault = run.fault
        if not fault and seen(self.folder, self.folder / "results") != before:
            fault = "it wrote somewhere else"
        if not fault and not run.status and not is_sealed and not is_right:
            fault = "other outputs"
        return f"{what}: {fault}\n{run.said[:600]}" if fault else ""


def damage(folder: Path, rng: random.Random) -> str:
    """Change the bytes of a file of a checkpoint."""
    name = STATE if rng.random() < 0.8 else PRINTED
    return change_bytes(folder / name, rng)


def forge(folder: Path, rng: random.Random) -> str:
    """Change what a checkpoint says, or its tensors, and make its digest again."""
    path = folder / STATE
    arrays = {name: source.read().copy() for name, source in open_bundle(path).items()}
    data = json.loads(read_metadata(path)["state"])
    if arrays and rng.random() < 0.3:
        what = change_array(arrays, rng)
    else:
        part = rng.choice(list(data))
        inner = data[part] if isinstance(data[part], dict | list) and data[part] else data
        what = f"{part}: {mutate(inner, rng)}"
    text = sealed(data).rpartition(', "seal"')[0] + "}"
    metadata = {"state": text, "digest": _digest(text, _array_bytes(arrays))}
    with path.open("wb") as file:
        write_safetensors(file, arrays, metadata)
    return what


def change_array(arrays: dict[str, HostArray], rng: random.Random) -> str:
    """Change a tensor: its dtype, its shape, its name, its values."""
    name = rng.choice(list(arrays))
    array = arrays[name]
    kind = rng.randrange(7)
    match kind:
        case 0:
            arrays[name] = array.astype(rng.choice(DTYPES))
        case 1:
            arrays[name] = array[None]
        case 2:
            arrays[name] = array.ravel()[: rng.randrange(array.size + 1)]
        case 3:
            del arrays[name]
        case 4:
            arrays[f"{name}'"] = arrays.pop(name)
        case 5:
            arrays["more"] = array
        case _:
            arrays[name] = np.full_like(array, rng.choice((0, 1, 100)))
    return f"tensor {name}: change {kind}"


def campaign(count: int, seed: int, place: Path) -> list[str]:
    """Go on from so many forged checkpoints in all; what went wrong."""
    problems = []
    here = os.getcwd()
    try:
        with compiled_once():
            for name in SUBJECTS:
                runs = ForgedRuns(name, place / f"forged-{name}" / "place")
                for number in range(-(-count // len(SUBJECTS))):
                    problem = runs.attack(random.Random(f"{seed} {name} {number}"))
                    if problem:
                        problems.append(f"checkpoint of {name} {number}: {problem}")
                print(f"checkpoints of {name}", dict(runs.endings.most_common()), flush=True)
    finally:
        os.chdir(here)
    return problems
