"""Executables on disk, by which a later process runs a kernel without tracing it.

JAX keeps what XLA has compiled, but knows what that is only when the kernel is traced and lowered,
which takes large ones half a second. Here an executable is found by all that it is made of: the
text of the kernels, this runner, the device, versions and settings of JAX, and the types of the
arguments. Kernels that call functions of the user are made of more than that, and are not kept.
"""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tempoc.files.durable import replace_file
from tempoc.files.snapshot import digest
from tempoc.program.nodes.tuning import RunTuning
from tempoc.runtime.device import backend
from tempoc.runtime.device.backend import CompiledKernel, JitOptions
from tempoc.runtime.load.directory import KERNELS
from tempoc.runtime.load.load import LoadedProgram
from tempoc.runtime.rewriting.whole_loops import compiled_whole

_WORTH = 0.01
"""Seconds of tracing and lowering from which on a kernel is kept: its calls take 0.4 us longer.

A second process with SmolLM spends 0.2 s on all of its 16 kernels, with 0.05 here 0.35 s, without
executables 0.5 s (CPU time, 2026-11-27).
"""
_RUNNER = Path(__file__).parents[1]
ExecutablesPlace = tuple[Path | None, str]
"""A folder, if executables are kept, and what those of all kernels are made of."""


def kept_in(loaded: LoadedProgram) -> ExecutablesPlace:
    """Where executables are kept, and what those of all kernels are made of."""
    folder, about = backend.executables(), backend.executable_key()
    if folder is None or about is None or loaded.stored is None:
        return None, ""
    return folder, f"{about}{runner_digest()}{digest(loaded.stored.files[KERNELS])}"


def compiled_kept(
    place: ExecutablesPlace,
    compiled: Callable[..., CompiledKernel],
    how: JitOptions,
    tuning: RunTuning,
    about: str,
    plain: Callable[..., Any],
    which: str,
) -> Callable[..., Any]:
    """A ``plain`` kernel compiled, or one with marks, kept on disk if there is a place.

    ``about`` says what it is made of beside the text of the kernels, and ``which`` one of several;
    nothing is kept if that names objects of this process.
    """
    folder, common = place
    most = tuning.whole_loop_bytes, tuning.whole_operator_bytes, tuning.drawn_keys
    made_of = f"{common}{about}{most}{which}"

    def compiler(function: Callable[..., Any]) -> CompiledKernel:
        kernel = compiled(function, how)
        if folder is None or " at 0x" in made_of:
            return kernel
        return with_executables(kernel, folder, f"{made_of}{function is plain}")

    return compiled_whole(compiler, plain, *most)


def with_executables(kernel: Any, folder: Path, made_of: str) -> CompiledKernel:
    """A jitted kernel with executables in a folder, by what it and its arguments are.

    It goes on with JAX where its arguments alternate between types.
    """
    current: CompiledKernel = _unknown
    seen: set[str] = set()

    def call(*arrays: Any) -> tuple[Any, ...]:
        nonlocal current
        try:
            return current(*arrays)
        except TypeError:
            # An executable takes arrays of other types for a mistake, before it begins.
            if current is kernel:
                raise
        types = backend.argument_types(arrays)
        made: CompiledKernel = kernel
        if types is not None and types not in seen:
            seen.add(types)
            made = _executable(kernel, arrays, folder / _digest(made_of + types))
        current = made
        return made(*arrays)  # not the current one, which may be another thread's by now

    return call


def _unknown(*arrays: Any) -> tuple[Any, ...]:
    raise TypeError


def _executable(kernel: Any, arrays: tuple[Any, ...], path: Path) -> CompiledKernel:
    """The executable from a file, or a new one that is written there if that is worth it."""
    with suppress(Exception):  # no such file, or it is damaged: that costs time, nothing else
        digest, _, executable = path.read_bytes().partition(b"\n")
        if digest.decode() == _digest(executable):
            return backend.read_executable(executable)
    started = time.thread_time()
    lowered = kernel.lower(*arrays)
    if time.thread_time() - started < _WORTH:
        return kernel  # type: ignore[no-any-return]
    compiled, content = backend.new_executable(lowered)
    if content is not None:
        text = _digest(content).encode() + b"\n" + content
        with suppress(OSError):  # a full disk, or a folder that is not ours
            path.parent.mkdir(parents=True, exist_ok=True)
            # Not synced, which takes 12 ms: what a crash damages is recognized and made anew.
            replace_file(path, lambda file: file.write(text), durable=False)
    return compiled


@functools.cache
def runner_digest() -> str:
    """The digest of the texts of this runner, which traces kernels."""
    files = sorted(_RUNNER.rglob("*.py"))
    return _digest(b"\0".join(file.read_bytes() for file in files))


def _digest(content: str | bytes) -> str:
    return hashlib.sha256(content if isinstance(content, bytes) else content.encode()).hexdigest()
