"""Nothing that a test writes is synced to the disk: nobody pulls the plug, and disks are slow.

The directory of a compiled program has more than a hundred files. To sync them takes several times
as long as to compile a small program. Child processes sync what they write; `synced` is for tests
that are about it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

SYNC = os.fsync
"""What `os.fsync` is outside of tests."""


@pytest.fixture(scope="session", autouse=True)
def not_synced() -> Iterator[None]:
    """`os.fsync` does nothing, but to refuse what is no handle."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: os.fstat(handle) and None)
        yield


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[os.stat_result]:
    """Files and folders are synced, and listed here."""
    done: list[os.stat_result] = []

    def sync(handle: int) -> None:
        SYNC(handle)
        done.append(os.fstat(handle))

    monkeypatch.setattr(os, "fsync", sync)
    return done
