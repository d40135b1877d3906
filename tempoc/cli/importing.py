"""Importing many modules, before a command or in the middle of one."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from tempoc.base.effort import EFFORT
from tempoc.cli.kept_methods import kept_methods


@contextmanager
def importing(name: str) -> Iterator[None]:
    """Within the block, modules are imported, whose methods are kept under this name.

    What is imported stays until the end: collecting garbage there costs a tenth of `check`.
    """
    gc.disable()
    try:
        with kept_methods(name):
            yield
    finally:
        gc.freeze()
        gc.enable()
        # Hardly anything that a compilation makes is garbage: look for it more rarely.
        gc.set_threshold(*EFFORT.collect)
