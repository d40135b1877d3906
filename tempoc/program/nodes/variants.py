"""Programs that compute the same, and when each of them is to be run.

*Variants* are made by the compiler, one for each range of bounds; the program names them. *Choices*
were measured by somebody: which way to compute is the fastest, and where. They stand beside a
compiled program, in ``tuned/choices.json``; each names a folder with another program. Nobody needs
them: without the folder ``tuned`` all is as it was before.
"""

from __future__ import annotations

from dataclasses import dataclass

VERSION = 1
FOLDER = "tuned"
"""The folder beside a program that has all choices."""
FILE = "choices.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A program that computes the same: the one in the folder ``name`` below, or this one (``""``).

    It applies where its stores keep to the budget of a run, and those of no variant before it do.
    ``about`` says what is different, ``upto`` the largest of the bounds that it was made for with
    which it keeps to the budget of the compilation: as far as one may go if they rise together.
    """

    name: str
    about: str
    upto: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedChoice:
    """The program in the folder ``name`` was faster than the one ``instead`` of which it is taken.

    That was so on a ``device``, with a version of ``jax``, a ``precision`` and these values of all
    bounds that are given: there it applies. ``digest`` is the SHA-256 of its ``program.json``,
    ``about`` says what is different; medians of both in nanoseconds.
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
        """Whether another one is about the same runs."""
        own, others = ((c.instead, c.device, c.jax, c.precision, c.bounds) for c in (self, other))
        return own == others


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """All choices about the program whose ``program.json`` has that SHA-256."""

    version: int = VERSION
    program: str
    choices: tuple[TunedChoice, ...]
