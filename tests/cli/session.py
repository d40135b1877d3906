"""A newcomer's session: programs and data in a directory, command lines, what they answer."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tempoc.cli.main import status

FIB = """\
dim n < N
f[0] = 0
f[1] = 1
f[n] = f[n-1] + f[n-2]
output f
"""
SUMS = '''\
"""Running sums of weighted rows."""
const D = 4
dim t < T
dim n < N = 3

input x[t]: f32[D]
param W: f32[D, D]

s[0] = W @ x[0]
s[t] = s[t-1] + W @ x[t]
k[n] = n * n

output s
output k
'''
BROKEN = """\
dim t < T
input x[t]: f32

y[t] = x[t] - x[t-1]
output y
"""


def fill(folder: Path) -> None:
    """Programs and data that are right."""
    for name, text in (("fib", FIB), ("sums", SUMS), ("broken", BROKEN)):
        (folder / f"{name}.rt").write_text(text, encoding="utf-8")
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.save(folder / "x.npy", x)
    np.savez(folder / "w.npz", W=np.eye(4, dtype=np.float32))


@dataclass(slots=True)
class Session:
    """Runs command lines; ``text`` is what a terminal would show, with the exit statuses."""

    capsys: pytest.CaptureFixture[str]
    text: str = ""
    out: str = ""
    err: str = ""

    def __call__(self, line: str | Sequence[str]) -> int:
        """The exit status of ``tempoc LINE``; what it says is in ``out`` and ``err``."""
        argv = shlex.split(line) if isinstance(line, str) else list(line)
        code = status(argv)
        self.out, self.err = self.capsys.readouterr()
        self.text += f"$ tempoc {shlex.join(argv)}\n{self.out}{self.err}"
        self.text += f"[exit status {code}]\n\n" if code else "\n"
        return code
