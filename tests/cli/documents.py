"""Pages of documentation as programs, commands with what they answer, and snippets of Python.

The language of a code block says what a test does with it:

- ``rt NAME.rt``: written to that file, which `tempoc check` must accept;
- ``console``: each line ``$ COMMAND`` is run and must answer what stands below it, where ``...``
  stands for any text; an answer with ``error[`` means exit status 1, or 3 for a failed check; one
  that begins with ``Usage:`` 2;
- ``python``: executed, after the blocks before it, in one namespace for a page;
- ``python FILE OPTIONS``: an excerpt of what `explain FILE OPTIONS --dump-kernels` shows;
- ``sh`` and no language: shown only (long, other devices, drawings); its options must exist.
"""

from __future__ import annotations

import contextlib
import doctest
import math
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np

from tests.cli.session import Session
from tests.support.golden import ROOT as GOLDEN

ROOT = GOLDEN.parent
MANUAL = ROOT / "tempoc" / "manual"
_BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A code block: the words behind its opening fence, and its lines."""

    words: tuple[str, ...]
    text: str

    @property
    def language(self) -> str:
        """The first word; empty if there is none."""
        return self.words[0] if self.words else ""


FAILED_CHECKS = ("RT316", "RT317", "RT910")
"""What `run --check` and `run --verify` say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command line, and what a terminal shows after it."""

    line: str
    answer: str

    @property
    def status(self) -> int:
        """The exit status that the answer speaks of."""
        if code := re.search(r"^error\[(\w+)", self.answer, re.MULTILINE):
            return 3 if code[1] in FAILED_CHECKS else 1
        return 2 if self.answer.startswith("Usage:") else 0


def blocks(text: str) -> tuple[Block, ...]:
    """All code blocks of a page."""
    return tuple(Block(words=tuple(w.split()), text=body) for w, body in _BLOCK.findall(text))


def commands(block: Block) -> Iterator[Command]:
    """The commands of a ``console`` block."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, _, answer = part.partition("\n")
        yield Command(line=line, answer=answer)


def prepare(folder: Path) -> None:
    """What pages take for granted: the first program and its data, as page `start` makes them.

    And the folders of a checkout.
    """
    page = blocks((MANUAL / "start.md").read_text(encoding="utf-8"))
    (at,) = (k for k, block in enumerate(page) if block.words == ("rt", "smooth.rt"))
    (folder / "smooth.rt").write_text(page[at].text, encoding="utf-8")
    with contextlib.chdir(folder):
        exec(compile(page[at + 1].text, "start.md", "exec"), {"np": np})
    np.save(folder / "short.npy", np.ones((5, 7), np.float32))
    for name in ("examples", "tests"):
        (folder / name).symlink_to(ROOT / name)


def readme() -> str:
    """The text of `README.md`."""
    return (ROOT / "README.md").read_text(encoding="utf-8")


def answers(tempoc: Session, command: Command) -> str:
    """Run a command; what a terminal would show. Its exit status must be the right one."""
    program, *rest = shlex.split(command.line, comments=True)
    if program == "tempoc":
        assert tempoc(rest) == command.status, f"{command.line}\n{tempoc.out}{tempoc.err}"
        return tempoc.out + tempoc.err
    assert program in {"python", "ls"}, f"no test runs `{program}`"
    argv = [sys.executable if program == "python" else program, *rest]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == command.status, done.stdout + done.stderr
    return done.stdout + done.stderr


def agrees(shown: str, answer: str) -> bool:
    """Whether this is what a page shows; ``...`` there stands for any text.

    Values of outputs may differ by rounding, which other processors do in other ways.
    """
    if doctest.OutputChecker().check_output(shown, answer, doctest.ELLIPSIS):
        return True
    pairs = list(zip_longest(shown.split(), answer.split(), fillvalue=""))
    return shown.startswith("output ") and all(a == b or _close(a, b) for a, b in pairs)


def _close(shown: str, answer: str) -> bool:
    """Whether both are the same number but for rounding."""
    try:
        return math.isclose(float(shown), float(answer), rel_tol=1e-3, abs_tol=1e-6)
    except ValueError:
        return False
