"""How many bytes the device has for the arrays of a run."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path

from tempoc.runtime.device import backend

_GROUPS = Path("/sys/fs/cgroup")
"""Where Linux says how much memory a group of processes may take."""


@functools.cache
def device_memory() -> int | None:
    """The bytes that arrays can take at most; ``None`` if nobody says.

    Of a GPU what JAX has reserved, of a CPU the memory of the machine or of the container. It does
    not depend on what else runs, so that a program is compiled the same each time.
    """
    return backend.reserved_memory() or min(_limits_of_host(), default=None)


def _limits_of_host() -> Iterator[int]:
    """The memory of the machine, and the limits of the groups that this process belongs to."""
    names = os.sysconf_names if hasattr(os, "sysconf") else {}
    if "SC_PHYS_PAGES" in names and "SC_PAGE_SIZE" in names:
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for path in _limit_files():
        try:
            text = path.read_text().strip()
        except OSError:
            continue
        if text.isdigit():  # and not `max`
            yield int(text)


def _limit_files() -> Iterator[Path]:
    """The files with limits, of both versions of control groups."""
    yield from (_GROUPS / "memory.max", _GROUPS / "memory" / "memory.limit_in_bytes")
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if not controllers:
            yield _GROUPS / group.strip("/") / "memory.max"
        elif "memory" in controllers.split(","):
            yield _GROUPS / "memory" / group.strip("/") / "memory.limit_in_bytes"
