"""Equivalent programs, and the conditions under which each is run.

*Variants* are written by the compiler, one for each range of bounds; the program lists them.
*Choices* are recorded by tuning: the fastest program for certain bounds on a certain device. They
are in ``tuned/choices.json`` beside a compiled program, and each names a folder with a program.
They are optional: without the folder ``tuned`` the program runs as it was compiled.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

VERSION = 1
FOLDER = "tuned"
"""The folder beside a program that has all choices."""
FILE = "choices.json"
_FOLDER = re.compile(r"[a-z]+/[A-Za-z0-9][A-Za-z0-9_.-]*")


def is_folder(name: str) -> bool:
    """Whether a program beside another one may have this name: a folder in a folder."""
    return _FOLDER.fullmatch(name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A program that computes the same: the one in the folder ``name`` below, or this one (``""``).

    A run takes the first variant whose stores fit into its budget. ``about`` says how it differs,
    ``upto`` gives the largest bounds with which it fits into the budget of the compilation, if all
    bounds rise together.
    """

    name: str
    about: str
    upto: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedChoice:
    """The program in the folder ``name`` was measured to be faster than the one in ``instead``.

    It applies to runs on the same ``device``, with the same version of ``jax``, ``precision`` and
    values of all free bounds. ``digest`` is the SHA-256 of its ``program.json``, ``about`` says how
    it differs; ``nanoseconds`` and ``before`` are the medians of both programs.
    """

    name: str
    about: str
    digest: str
    instead: str
    device: str
    jax: str
    precision: str
    bounds: tuple[tuple[str, int], ...]
    nanoseconds: int
    before: int

    def applies(self, other: TunedChoice) -> bool:
        """Whether both have the same conditions."""
        own, others = ((c.instead, c.device, c.jax, c.precision, c.bounds) for c in (self, other))
        return own == others


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """All choices about the program whose ``program.json`` has that SHA-256."""

    version: int = VERSION
    program: str
    choices: tuple[TunedChoice, ...]
