"""`python -m tests.files.race FOLDER SECONDS`: two processes compile to a directory, one reads it.

What is read is always one of the programs, whole, and never an error.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from pathlib import Path

from tempoc.files import exchange
from tempoc.runtime.load.directory import read_stored
from tempoc.runtime.load.sources import read_sources
from tests.files.faults import rubbish
from tests.files.scenarios import compile_to

PAUSE = 0.02


def race(folder: Path, seconds: float, *, at_once: bool) -> int:
    """How often the directory was read. Raises what goes wrong."""
    if not at_once:
        exchange.exchange_at_once = lambda *_: False
    folder.mkdir(parents=True)
    compile_to(folder, "# 0 0\n")
    end = time.monotonic() + seconds
    writers = [start_writer(folder, number, end) for number in (1, 2)]
    reads, texts = 0, set[bytes]()
    while time.monotonic() < end:
        stored = read_stored(folder / "out")
        program, sources = read_sources(folder / "out")
        assert stored.program.kernels == program.kernels
        texts.update(sources.values())
        reads += 1
    for writer in writers:
        assert os.waitpid(writer, 0)[1] == 0, "a writer failed"
    # Another one removes what is left, if anything.
    assert not rubbish(folder), rubbish(folder)
    assert len(texts) > 1, "nobody wrote"
    return reads


def start_writer(folder: Path, number: int, end: float, *, whole: bool = False) -> int:
    """Start a process that compiles again and again."""
    child = os.fork()
    if not child:
        status = 1
        try:
            for k in itertools.count():
                status = compile_to(folder, f"# {number} {k}\n", whole=whole)
                if status or time.monotonic() > end:
                    break
                # Who waits for the lock must have a chance.
                time.sleep(PAUSE)
        finally:
            os._exit(status)
    return child


def main() -> None:
    folder, seconds = Path(sys.argv[1]), float(sys.argv[2])
    for at_once in (True, False):
        place = folder / ("at once" if at_once else "step by step")
        print(f"{place.name}: {race(place, seconds, at_once=at_once)} reads", flush=True)


if __name__ == "__main__":
    main()
