"""`python -m tests.files.crash_points FOLDER [N]`: commands end early at each N-th operation.

A process of its own, which no thread of JAX runs in: it forks for each operation.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.files.scenarios import SCENARIOS, attack

MOST = 1000


def main() -> None:
    folder, stride = Path(sys.argv[1]), int((*sys.argv[2:], "1")[0])
    # Nobody pulls the plug here, and disks are slow.
    os.fsync = lambda _: None
    for name, scenario in SCENARIOS.items():
        for dies in (False, True):
            points = range(1, MOST, stride)
            count = attack(scenario, folder / f"{name} {dies}", dies=dies, points=points)
            print(f"{name}, {'killed' if dies else 'full disk'}: {count} operations", flush=True)


if __name__ == "__main__":
    main()
