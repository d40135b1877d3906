"""Folders that are gone when they are not needed any more."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from tempoc.files.interrupts import FOLDERS


@contextmanager
def temporary_folder() -> Iterator[str]:
    """A folder that is gone afterwards, also if the process is ended by `end_when_asked`."""
    with tempfile.TemporaryDirectory(prefix="tempoc-") as folder:
        FOLDERS[folder] = None
        try:
            yield folder
        finally:
            del FOLDERS[folder]
