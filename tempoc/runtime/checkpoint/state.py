"""A checkpoint: what a run needs to go on from a boundary, as one file in a directory of its own.

The file is in the safetensors format: the cells of stores that are live, and a text about all else.
It appears complete or not at all, in place of the one before. Beside it stands the number of lines
that were printed, which is brought up to date with each of them, so that nothing is shown twice.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from tempoc.runtime.data.dtypes import HostArray
from tempoc.runtime.data.safetensors import open_safetensors, read_metadata, write_safetensors
from tempoc.runtime.messages import run as errors
from tempoc.runtime.messages.memory import (
    broken_checkpoint,
    checkpoint_exists,
    no_checkpoint,
    other_run,
)
from tempoc.runtime.messages.problem import RunError

STATE = "state.safetensors"
PRINTED = "printed"
VARIANT = "the variant"
"""The kind in an identity that names the folder of a program, where there are several."""
FORMAT = 2
_PART = ".part"
_WIDTH = 20

ArrayKey = tuple[int, ...]
Identity = dict[str, dict[str, str]]
"""What tells runs apart, by kind and name: digests of the program and of data, values of bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A run at a boundary, but for the arrays.

    ``variables`` are those of the walk: integers, and ranges as three of them. ``cells`` says where
    the value of a store at a key is: the name of an array, "given" or "none"; and whether it was on
    the "device", with the "host", or "both". ``lengths`` are those that were found, by bound.
    ``printed`` counts lines so far, ``saved`` are the paths of files. ``tops`` are for the ledger:
    the most bytes on the device and with the host, by store too; ``copied`` to and from there.
    """

    identity: Identity
    position: int
    variables: dict[str, int | list[int]]
    cells: list[tuple[str, list[int] | None, str, str]]
    bounds: dict[str, int]
    lengths: dict[str, list[tuple[list[int], int]]]
    rooms: list[int]
    done: int
    printed: int
    saved: list[str]
    tops: list[tuple[int, list[int]]] = field(default_factory=list)
    copied: list[int] = field(default_factory=list)
    format: int = FORMAT


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredCheckpoint:
    """A checkpoint that was read: the state, its arrays, and how many lines were printed by now."""

    state: State
    arrays: Mapping[str, Callable[[], HostArray]]
    printed: int


def check_free(directory: Path) -> None:
    """Refuse to write over the checkpoint of an earlier run. Raises ``RunError``."""
    if (directory / STATE).exists():
        raise RunError(checkpoint_exists(str(directory)))


def write_state(directory: Path, state: State, arrays: Mapping[str, HostArray]) -> None:
    """Replace the checkpoint of a directory; it is on the disk afterwards. Raises ``RunError``."""
    text = json.dumps(asdict(state), ensure_ascii=False)
    path = directory / STATE
    part = path.with_name(path.name + _PART)
    metadata = {"state": text, "digest": _digest(text, _array_bytes(arrays))}
    try:
        with part.open("wb") as file:
            write_safetensors(file, arrays, metadata)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise RunError(errors.unwritable(str(path), error.strerror or str(error))) from None


def read_state(directory: Path, identity: Identity) -> RestoredCheckpoint:
    """The checkpoint of a directory, if it is one of this run. Raises ``RunError``."""
    path = directory / STATE
    if not path.is_file():
        raise RunError(no_checkpoint(str(directory), directory.is_dir()))
    try:
        metadata = read_metadata(path)
        sources = open_safetensors(path)
        state = _state(metadata.get("state", ""))
        arrays = {name: source.read for name, source in sources.items()}
        contents = _array_bytes({name: read() for name, read in arrays.items()})
        if metadata.get("digest") != _digest(metadata["state"], contents):
            raise ValueError("its bytes have changed since it was written")
        missing = [c for c in state.cells if c[2] not in ("none", "given", *arrays)]
        if missing:
            raise ValueError(f"it lacks the tensor {missing[0][2]}")
        printed = _printed(directory, state.printed)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise RunError(broken_checkpoint(str(path), reason or str(error))) from None
    if differing := [*_differences(state.identity, identity)]:
        raise RunError(other_run(str(directory), differing))
    return RestoredCheckpoint(state=state, arrays=arrays, printed=printed)


def variant_of(directory: Path) -> str:
    """The folder of the program that wrote a checkpoint, of several that compute the same.

    It is empty if nothing there says so, or can be read: whoever reads it all tells what is wrong.
    """
    try:
        state = _state(read_metadata(directory / STATE).get("state", ""))
        return state.identity.get(VARIANT, {}).get("", "")
    except (OSError, ValueError, TypeError, AttributeError):
        return ""


def _state(text: str) -> State:
    """The state of a text. Raises ``ValueError``."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("it is no checkpoint: it says nothing about a run") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError("another version of tempoc wrote it")
    if data.keys() != {f.name for f in fields(State)}:
        raise ValueError("what it says about the run is not complete")
    return State(**data)


def _differences(held: Identity, now: Identity) -> Iterator[str]:
    """What is another now than it was."""
    for kind in dict.fromkeys((*held, *now)):
        old, new = held.get(kind, {}), now.get(kind, {})
        for name in dict.fromkeys((*old, *new)):
            if old.get(name) != new.get(name):
                values = old.get(name, "none"), new.get(name, "none")
                short = max(map(len, values)) < _WIDTH
                yield f"{kind} {name}".rstrip() + (
                    " was {}, is {}".format(*values) if short else ""
                )


def _array_bytes(arrays: Mapping[str, HostArray]) -> Iterator[bytes]:
    for name, array in arrays.items():
        yield f"{name} {array.dtype} {array.shape}".encode()
        yield bytes_of(array)


def bytes_of(array: HostArray) -> bytes:
    """The elements of an array as they follow each other."""
    return array.tobytes()


def _digest(text: str, parts: Iterator[bytes]) -> str:
    digest = hashlib.sha256(text.encode())
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


# ------------------------------------------------------------------ what was printed


def _printed(directory: Path, least: int) -> int:
    """How many lines were printed until the run ended, or at least when it was held."""
    path = directory / PRINTED
    text = path.read_text(encoding="ascii").strip() if path.exists() else str(least)
    if not text.isdigit():
        raise ValueError(f"{PRINTED} beside it holds no number")
    return max(least, int(text))


class Counter:
    """The number of lines that were printed, in a file: right also if the process is killed."""

    def __init__(self, directory: Path, count: int) -> None:
        self.path = directory / PRINTED
        self.handle = self._do(lambda: os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o666))
        self.put(count)

    def put(self, count: int) -> None:
        """So many by now. Raises ``RunError``."""
        self._do(lambda: os.pwrite(self.handle, f"{count:>{_WIDTH}}\n".encode(), 0))

    def close(self) -> None:
        """No more are counted."""
        os.close(self.handle)

    def _do(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except (OSError, UnicodeError) as error:
            raise RunError(errors.unwritable(str(self.path), str(error))) from None
