"""The file of a checkpoint: what a run needs to resume at a suspend point.

It is in the safetensors format: the live cells of stores, and all other state as JSON in the
metadata. It is replaced atomically. A second file counts printed lines and is updated with each
of them, so that a resumed run prints no line twice.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from tempoc.diagnostics.diagnostic import RunError
from tempoc.files.durable import replace_file, replace_text
from tempoc.runtime.data.dtypes import HostArray
from tempoc.runtime.data.safetensors import open_safetensors, read_metadata, write_safetensors
from tempoc.runtime.messages import run as errors
from tempoc.runtime.messages.memory import (
    broken_checkpoint,
    checkpoint_exists,
    no_checkpoint,
    other_machine,
    other_run,
)

STATE = "state.safetensors"
PRINTED = "printed"
VARIANT = "the variant"
"""The kind in an identity that holds the folder of the variant that ran."""
MACHINE = "the machine:"
"""The kind in an identity that holds on what numbers depend beside program and data."""
FORMAT = 4
_WIDTH = 20
_INTEGERS = 2**63

SavedLoop = tuple[str, int, int, int, bool]
SavedCell = tuple[str, list[int] | None, str, str]
Identity = dict[str, dict[str, str]]
"""What must agree between a run and its resumption, by kind and name: digests of the program and of
data, values of bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The state of a run at a suspend point, without the arrays.

    ``variables`` are those of loops, ``loops`` the stack: variable, remaining steps as a range, and
    whether calls of a region divide them. ``cells`` has for each store and key the name of an
    array, "given" or "none", and the place of the cell: "device", "host", "both" or, of an input of
    which a chunk is on the device, which one that is. ``lengths`` are
    those known so far, by bound; ``capacities`` those of growing stores. ``printed`` counts
    lines, ``saved`` are the paths of files. ``tops`` are the peaks of the ledger on device and
    host, with the bytes by store; ``copied`` the bytes moved.
    """

    identity: Identity
    position: int
    variables: dict[str, int]
    loops: list[SavedLoop]
    cells: list[SavedCell]
    bounds: dict[str, int]
    lengths: dict[str, list[tuple[list[int], int]]]
    capacities: list[int]
    done: int
    printed: int
    saved: list[str]
    tops: list[tuple[int, list[int]]] = field(default_factory=list)
    copied: list[int] = field(default_factory=list)
    format: int = FORMAT


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredCheckpoint:
    """A checkpoint read from its file; ``printed`` counts lines until the run ended."""

    state: State
    arrays: Mapping[str, Callable[[], HostArray]]
    printed: int


def check_free(directory: Path) -> None:
    """Refuse to write over the checkpoint of an earlier run. Raises ``RunError``."""
    if (directory / STATE).exists():
        raise RunError(checkpoint_exists(str(directory)))


def write_state(directory: Path, state: State, arrays: Mapping[str, HostArray]) -> None:
    """Replace the checkpoint of a directory, synced to disk. Raises ``RunError``."""
    text = json.dumps(asdict(state), ensure_ascii=False)
    path = directory / STATE
    metadata = {"state": text, "digest": _digest(text, _array_bytes(arrays))}
    try:
        replace_file(path, lambda file: write_safetensors(file, arrays, metadata))
    except OSError as error:
        raise RunError(errors.unwritable(str(path), error.strerror or str(error))) from None


def read_state(directory: Path, identity: Identity, *, anyway: bool = False) -> RestoredCheckpoint:
    """Read a checkpoint; its identity must be that of this run. Raises ``RunError``.

    ``anyway``: the machine, on which numbers depend, may be another one.
    """
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
        printed = _printed(directory, state.printed)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise RunError(broken_checkpoint(str(path), reason or str(error))) from None
    kinds = dict.fromkeys((*state.identity, *identity))
    same_run = [kind for kind in kinds if kind != MACHINE]
    if differing := [*_differences(state.identity, identity, same_run)]:
        raise RunError(other_run(str(directory), differing))
    if not anyway and (differing := [*_differences(state.identity, identity, [MACHINE])]):
        raise RunError(other_machine(str(directory), differing))
    return RestoredCheckpoint(state=state, arrays=arrays, printed=printed)


def variant_of(directory: Path) -> str:
    """The folder of the variant that wrote a checkpoint.

    Empty if there is none or the file cannot be read; `read_state` reports that.
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
    for name, hint in get_type_hints(State).items():
        if not _is_a(data[name], hint):
            raise ValueError(f"what it says about {name} is of another type")
    return State(**data)


def _is_a(value: object, hint: Any) -> bool:
    """Whether a value of JSON is of a type; tuples are lists there."""
    parts, origin = get_args(hint), get_origin(hint)
    if origin is UnionType:
        return any(_is_a(value, part) for part in parts)
    if origin is dict and isinstance(value, dict):
        return all(_is_a(item, parts[1]) for item in value.values())
    if origin is list and isinstance(value, list):
        return all(_is_a(item, parts[0]) for item in value)
    if origin is tuple and isinstance(value, list):
        return len(value) == len(parts) and all(map(_is_a, value, parts))
    if hint is int:
        return type(value) is int and abs(value) < _INTEGERS
    return type(value) is hint or (value is None and hint is NoneType)


def _differences(held: Identity, now: Identity, kinds: list[str]) -> Iterator[str]:
    """The differences between two identities of these kinds, as texts."""
    for kind in kinds:
        old, new = held.get(kind, {}), now.get(kind, {})
        for name in dict.fromkeys((*old, *new)):
            if old.get(name) != new.get(name):
                values = old.get(name) or "none", new.get(name) or "none"
                short = kind == MACHINE or max(map(len, values)) < _WIDTH
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
    """The number of lines printed until the run ended, at least ``least`` (at the checkpoint)."""
    path = directory / PRINTED
    if path.exists() and not path.is_file():
        raise ValueError(f"{PRINTED} beside it is no file")
    text = path.read_text(encoding="ascii").strip() if path.exists() else str(least)
    if not text.isdigit():
        raise ValueError(f"{PRINTED} beside it holds no number")
    return max(least, int(text))


class Counter:
    """The number of printed lines, in a file, so that it survives a killed process."""

    def __init__(self, directory: Path, count: int) -> None:
        self.path = directory / PRINTED
        # Its length never changes again, so a crash leaves the old number or the new one.
        self._do(lambda: replace_text(self.path, _line(count)))
        self.handle = self._do(lambda: os.open(self.path, os.O_WRONLY))

    def put(self, count: int) -> None:
        """Set the number. Raises ``RunError``."""
        self._do(lambda: os.pwrite(self.handle, _line(count).encode(), 0))

    def close(self) -> None:
        """Close the file."""
        os.close(self.handle)

    def _do(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except (OSError, UnicodeError) as error:
            raise RunError(errors.unwritable(str(self.path), str(error))) from None


def _line(count: int) -> str:
    return f"{count:>{_WIDTH}}\n"
