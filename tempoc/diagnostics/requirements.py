"""The versions of packages that a compiled program needs, and which of them are not there."""

import importlib
import re
from collections.abc import Mapping

Release = tuple[int, ...]

RUNNER: Mapping[str, Release] = {
    "jax": (0, 8, 1), "jaxlib": (0, 8, 1), "ml_dtypes": (0, 5), "numpy": (2, 0),
}  # fmt: skip
"""Packages of a compiled program with the oldest version of each that works."""


def dotted(version: Release) -> str:
    """``0.8.1``."""
    return ".".join(map(str, version))


def unmet(package: str, version: str | None, needed: Release) -> str | None:
    """One sentence if a version, ``None`` if there is none, is older than what is needed."""
    if version is None:
        return f"{package} is not installed, {dotted(needed)} or later is needed"
    release = re.match(r"\d+(\.\d+)*", version)
    if release is None or tuple(map(int, release[0].split("."))) >= needed:
        return None
    return f"{package} {version} is too old, {dotted(needed)} or later is needed"


def unmet_here(needed: Mapping[str, Release] = RUNNER) -> dict[str, str]:
    """Sentences of `unmet` by package. It reads files: ask when something has failed."""
    sentences = {name: unmet(name, _installed(name), oldest) for name, oldest in needed.items()}
    return {name: sentence for name, sentence in sentences.items() if sentence}


def install(packages: Mapping[str, object], needed: Mapping[str, Release] = RUNNER) -> str:
    """The command that installs what these packages should be."""
    arguments = " ".join(f"'{name}>={dotted(needed[name])}'" for name in packages)
    return f"python -m pip install {arguments}"


def _installed(package: str) -> str | None:
    # Importing this takes longer than `tempoc --help`.
    metadata = importlib.import_module("importlib.metadata")
    try:
        return str(metadata.version(package))
    except metadata.PackageNotFoundError:
        return None
