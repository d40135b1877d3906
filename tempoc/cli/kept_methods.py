"""Methods of dataclasses, whose code is kept in the user's cache folder.

Python keeps the code of modules. But `dataclasses` writes up to six methods of a class as texts,
and compiles these in each process anew: a thousand texts, 0.13 of the 0.46 s of `tempoc check` (CPU
time, 2026-11-29). What code a text has depends on nothing but Python.
"""

import dataclasses
import marshal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType
from typing import Any

from tempoc.base.resources import cache_folder
from tempoc.files.durable import replace_file
from tempoc.files.snapshot import digest

MethodCodes = dict[str, CodeType]
_EXECUTE = "exec"
"""The name by which `dataclasses` calls the builtin."""
_MANY = 4096
"""From how many texts on some must be of classes that have changed: `compile` has 2700."""


@contextmanager
def kept_methods(name: str) -> Iterator[None]:
    """Within the block, classes are made with the code that was kept under this name.

    Other texts are added to it; of too many those of this block stay. One thread may be in such a
    block.
    """
    folder = cache_folder("methods")
    if folder is None or _EXECUTE in vars(dataclasses):
        yield
        return
    made_of = repr((sys.version, sys.implementation.cache_tag, sys.flags.optimize))
    path = folder / f"{name}-{digest(made_of.encode())[:24]}"
    known, used = _read(path), MethodCodes()

    def execute(text: Any, *scopes: Any) -> None:
        code = known.get(text) or compile(text, "<string>", "exec", dont_inherit=True)
        used[text] = code
        exec(code, *scopes)

    vars(dataclasses)[_EXECUTE] = execute
    try:
        yield
    finally:
        del vars(dataclasses)[_EXECUTE]
    if used.keys() - known.keys():
        _write(path, known | used if len(known) < _MANY else used)


def _read(path: Path) -> MethodCodes:
    with suppress(Exception):  # no such file, or it is damaged: that costs time, nothing else
        named, _, content = path.read_bytes().partition(b"\n")
        if named.decode() == digest(content):
            codes: MethodCodes = marshal.loads(content)
            return codes
    return {}


def _write(path: Path, codes: MethodCodes) -> None:
    content = marshal.dumps(codes)
    text = digest(content).encode() + b"\n" + content
    with suppress(OSError):  # a full disk
        # Not synced: what a crash damages is recognized and made anew.
        replace_file(path, lambda file: file.write(text), durable=False)
