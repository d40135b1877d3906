"""Mutants of the JSON of compiled programs and of files: what a tool or an attacker might make."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from tempoc.program.codec import SEAL

Json = Any
Slot = tuple[Any, Any]
"""A list or an object, and an index or a key of it."""
VALUES: tuple[Json, ...] = (
    0, -1, 1, 2, 3, 7, -5, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 10**18, 10**400, 1.5, float("nan"),
    float("inf"), True, False, None, "", "x", "T", "t", "I", "i", "../x", "/x/y", "a/../../x",
    "x\0y", ".", "..", "h", "w", "{", "{t}", "x" * 300, "nan", "é", "class", "f32", "key", [], {},
    [[]], [0], ["T"], ["//", "t", 0], ["%", "T", 0], ["//", "T", -2], ["at", "T", 0],
    ["at", "t", "t"], ["and"], ["or"], ["max", 0], ["*", "T", "T", "T", "T"], ["-", 0, "T"],
    ["min"], ["?", 1], ["*", 2**62, 2**62], {"node": "Sequence", "items": []},
    {"node": "Free", "cells": []}, {"node": "Jump"},
)  # fmt: skip


DEEP = {
    "@60@": '["-", ' * 60 + '"T"' + ", 1]" * 60,
    "@900@": '["-", ' * 900 + '"T"' + ", 1]" * 900,
    "@lists@": "[" * 100_000 + "]" * 100_000,
    "@guards@": '{"node": "Guard", "condition": ["and"], "body": ' * 150
    + '{"node": "Sequence", "items": []}'
    + "}" * 150,
    "@long@": f'"{"y" * 10_000_000}"',
    "@digits@": "9" * 5000,
}
"""What is too much for a writer of JSON, by what stands for it."""


def sealed(data: Json) -> str:
    """Data as text, with the seal of that text."""
    text = json.dumps(data | {SEAL: ""}, ensure_ascii=False)
    for name, content in DEEP.items():
        text = text.replace(f'"{name}"', content)
    head = text.removesuffix('""}')
    return head + f'"{sha256(text.encode(errors="replace")).hexdigest()}"}}'


def slots(data: Json) -> Iterator[Slot]:
    """All places of values in JSON data."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in list(pairs):
        yield data, key
        if isinstance(value, dict | list):
            yield from slots(value)


def distort(owner: Json, key: Json, rng: random.Random) -> None:
    """Put something there that hardly ever belongs there."""
    kind = rng.randrange(10)
    if kind < 6:
        owner[key] = rng.choice(VALUES)
    elif kind == 6:
        del owner[key]
    elif kind == 7:
        owner[key] = rng.choice(["+", "-", "*"]), owner[key], rng.choice((1, 2, -1, 10**18, "T"))
    elif kind == 8:
        owner[key] = rng.choice(list(DEEP))
    elif isinstance(owner, dict):
        owner[rng.choice(("colour", f"{key}s"))] = owner.pop(key)


def rearrange(owner: Json, key: Json, places: list[Slot], rng: random.Random) -> None:
    """Put something there that belongs somewhere else, or change it a little."""
    value, kind = owner[key], rng.randrange(6)
    if type(value) is int and kind:
        owner[key] = value + rng.choice((-2, -1, 1, 2, 3, 100, 10**6))
    elif type(value) is bool and kind:
        owner[key] = not value
    elif isinstance(owner, list) and kind < 4:
        other = rng.randrange(len(owner))
        if kind == 0:
            del owner[key]
        elif kind == 1:
            owner.insert(other, json.loads(json.dumps(value)))
        else:
            owner[key], owner[other] = owner[other], owner[key]
    elif value is None:
        owner[key] = rng.choice((0, 1, "T", ["and"], [">=", "T", 3]))
    else:
        # Names of other things, statements and expressions from elsewhere.
        alike = [o[k] for o, k in places if type(o) is type(owner) and type(o[k]) is type(value)]
        owner[key] = json.loads(json.dumps(rng.choice(alike)))


def mutate(data: Json, rng: random.Random) -> str:
    """Change one thing in JSON data; in words, what."""
    places = list(slots(data))
    owner, key = rng.choice(places)
    before = json.dumps(owner[key])[:60]
    if rng.random() < 0.3:
        distort(owner, key, rng)
    else:
        rearrange(owner, key, [(o, k) for o, k in places if k == key or isinstance(o, list)], rng)
    after = json.dumps(owner.get(key) if isinstance(owner, dict) else owner[key : key + 1])
    return f"{key} of {str(list(owner))[:60]}: {before} -> {after[:60]}"


def reseal(folder: Path, without: Path | None = None) -> None:
    """Make digests and seals as if what is there had been compiled so."""
    # A program lists the files of its variants, so that it comes after them.
    for path in sorted(folder.rglob("program.json"), key=lambda p: -len(p.parts)):
        if path != without:
            data = json.loads(path.read_text())
            del data[SEAL]
            for entry in data["files"]:
                entry[1] = sha256((path.parent / entry[0]).read_bytes()).hexdigest()
            path.write_text(sealed(data))


def change_program(folder: Path, rng: random.Random) -> str:
    """Change something in ``program.json``, or in that of a variant, and seal it again."""
    path = rng.choice(sorted(folder.rglob("program.json")))
    data = json.loads(path.read_text())
    data.pop(SEAL)
    part = rng.choice(list(data)) if rng.random() < 0.5 else ""
    if part and isinstance(data[part], dict | list) and data[part]:
        what = f"{part}: {mutate(data[part], rng)}"
    else:
        what = mutate(data, rng)
    for _ in range(rng.choice((0, 0, 0, 1, 3))):
        what += f"; {mutate(data, rng)}"
    path.write_text(sealed(data))
    reseal(folder, without=path)
    return f"{path.parent.name}/program.json {what}"


def change_kernels(folder: Path, rng: random.Random) -> str:
    """Change a line of ``kernels.py``, with the right digest."""
    path = rng.choice(sorted(folder.rglob("kernels.py")))
    lines = path.read_text().splitlines()
    number = rng.randrange(len(lines))
    before = lines[number]
    match rng.randrange(6):
        case 0:
            del lines[number]
        case 1:
            lines[number] = lines[number].replace("def ", "def other_")
        case 2:
            lines[number] = lines[number].replace("(at", "(at, more")
        case 3:
            lines[number] = lines[number].replace("return ", "return None, ")
        case 4:
            lines[number] += rng.choice((")", " + 1", "\\", "\n1 / 0", ","))
        case _:
            lines.insert(number, rng.choice(("raise SystemExit(0)", "import nowhere", "\tx", "\0")))
    path.write_text("\n".join(lines) + "\n")
    reseal(folder)
    return f"kernels.py:{number + 1}: {before!r}"


def change_bytes(path: Path, rng: random.Random) -> str:
    """Change a file as a bad disk or a careless hand would, without a new digest."""
    content = bytearray(path.read_bytes())
    kind = rng.randrange(8)
    match kind:
        case 0:
            path.write_bytes(content[: rng.randrange(len(content))])
        case 1:
            path.unlink()
        case 2:
            path.unlink()
            rng.choice((os.mkdir, os.mkfifo))(path)
        case 3:
            path.unlink()
            path.symlink_to(rng.choice(("/dev/zero", "nowhere", path.name)))
        case 4:
            path.write_bytes(content + rng.randbytes(rng.randrange(1, 9)))
        case _:
            for _ in range(rng.choice((1, 1, 3, 50))):
                content[rng.randrange(len(content))] = rng.randrange(256)
            path.write_bytes(content)
    return f"{path.name}: damage {kind}"


def change_files(folder: Path, rng: random.Random) -> str:
    """Change any file of a compiled program; its seal and digests stay as they were."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    used = [path for path in paths if path.name in ("program.json", "kernels.py")]
    return change_bytes(rng.choice(used if rng.random() < 0.8 else paths), rng)


Change = Callable[[Path, random.Random], str]
CHANGES: tuple[Change, ...] = (
    *[change_program] * 7, change_kernels, *[change_files] * 2,
)  # fmt: skip


def copied(source: Path, target: Path) -> None:
    """A fresh copy of a folder."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
