"""Runs the user's Python: what it raises becomes text, and the working directory stays.

`KeyboardInterrupt` is passed on: whether Ctrl-C or the function raised it cannot be told apart.
"""

from __future__ import annotations

import importlib
import os
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import accumulate, takewhile
from pathlib import Path
from types import TracebackType
from typing import TypeVar

R = TypeVar("R")
_LINE = 400
_TRACE = 1800
"""Characters of a line, and of a traceback; a diagnostic shows no more of a note."""


class UserCodeError(Exception):
    """The user's code raised; ``trace`` is the traceback."""

    def __init__(self, text: str, trace: str) -> None:
        super().__init__(text)
        self.text = text
        self.trace = trace


def run_user_code(call: Callable[..., R], *args: object) -> R:
    """The result of a call, after which the working directory is the one before it.

    Raises `UserCodeError` for every exception but `KeyboardInterrupt`.
    """
    folder = _working_directory()
    try:
        return call(*args)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise UserCodeError(exception_text(error), user_traceback(error)) from error
    finally:
        if folder is not None and _working_directory() != folder:
            with suppress(OSError):
                os.chdir(folder)


def _working_directory() -> str | None:
    """``None`` if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return None


def exception_text(error: BaseException) -> str:
    """``ValueError: boom``, or the bare name of an exception without a text; its first line."""
    kind = type(error).__name__
    try:
        text = str(error)
    except KeyboardInterrupt:
        raise
    except BaseException as other:
        return f"{kind}, whose text cannot be had: {type(other).__name__}"
    line = shortened(text.strip().partition("\n")[0])
    return f"{kind}: {line}" if line else kind


def user_traceback(error: BaseException) -> str:
    """Python's traceback without the frames of the runner, long ones without their middle."""
    parts = traceback.format_exception(type(error), error, _user_frames(error.__traceback__))
    lines = [shortened(line) for line in "".join(parts).rstrip().splitlines()]
    if sum(map(len, lines)) > _TRACE:
        first, last = _until(lines, _TRACE // 3), _until(lines[::-1], _TRACE // 2)
        left_out = len(lines) - first - last
        lines[first : len(lines) - last] = [f"  ... {left_out} lines are left out ..."]
    return "\n".join(lines)


def shortened(text: str) -> str:
    """The first characters of a text that is too long to be read."""
    return text if len(text) <= _LINE else f"{text[:_LINE]}..."


def _until(lines: Sequence[str], characters: int) -> int:
    """How many of the first lines have at most so many characters."""
    sizes = accumulate(len(line) for line in lines)
    return sum(1 for _ in takewhile(lambda size: size <= characters, sizes))


def _user_frames(trace: TracebackType | None) -> TracebackType | None:
    """The part of a traceback after the files of this package and of importlib."""
    library = str(Path(importlib.__file__).parent)
    prefixes = (str(Path(__file__).resolve().parents[1]), "<frozen importlib", library)
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(prefixes):
            break
        trace = trace.tb_next
    return trace
