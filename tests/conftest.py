"""What every test can use."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Child processes run this checkout, wherever they are, not one that is installed.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
)
pytest_plugins = [
    "tests.support.session.disks",
    "tests.support.session.draws",
    "tests.support.golden",
    "tests.support.session.long",  # before those that import it
    "tests.support.session.kernels",
    "tests.support.session.stages",
]
