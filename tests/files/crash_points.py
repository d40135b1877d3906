"""`python -m tests.files.crash_points FOLDER`: every command ends early at every operation.

A process of its own, which no thread of JAX runs in: it forks for each operation.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.files.scenarios import SCENARIOS, attack

MOST = 1000


def main() -> None:
    folder = Path(sys.argv[1])
    # Nobody pulls the plug here, and disks are slow.
    os.fsync = lambda _: None
    for name, scenario in SCENARIOS.items():
        for dies in (False, True):
            count = attack(scenario, folder / f"{name} {dies}", dies=dies, points=range(1, MOST))
            print(f"{name}, {'killed' if dies else 'full disk'}: {count} operations", flush=True)


if __name__ == "__main__":
    main()
