"""Wrong command lines: exit status 2, one sentence, nothing written."""

from __future__ import annotations

import json
import os

import pytest

from tests.cli.session import Session
from tests.support.golden import Golden

LINES = (
    "nosuch",
    "--nosuch",
    "check",
    "check ''",
    "check fib.rt --nosuch",
    "check sums.rt -D D",
    "check sums.rt -D D=",
    "check sums.rt -D =4",
    "check sums.rt -D D=1 -D D=2",
    "compile fib.rt",
    "compile fib.rt -o ''",
    "compile fib.rt -o out -O3",
    "explain fib.rt --error-format xml",
    "explain fib.rt --passes nosuch",
    "explain fib.rt --passes 'canonicalize fuse'",
    "explain fib.rt --dump-after nosuch",
    "explain fib.rt -O1 --tile 4",
    "explain fib.rt --dump-dir w.npz",
    "run",
    "run fib.rt sums.rt",
    "run fib.rt --bounds N",
    "run fib.rt --bounds N=",
    "run fib.rt --bounds N=4,N=5",
    "run fib.rt --bounds N=4 --seed x",
    "run fib.rt --bounds N=4 --seed -1",
    "run fib.rt --bounds N=4 --seed ٣",
    "run fib.rt --bounds N=4 --seed 1_0",
    "explain fib.rt --tile 0",
    "explain fib.rt --bucket ٣",
    "run fib.rt --bounds N=4 --checkpoint c --every 6ſ",
    "run fib.rt --bounds N=4 --memory-budget 1\N{KELVIN SIGN}B",
    "run fib.rt --bounds N=4 --input x=",
    "run fib.rt --bounds N=4 --input =x.npy",
    "run fib.rt --bounds N=4 --output ''",
    "eval fib.rt --bounds ''",
    "opt w.npz --passes",
)


def test_wrong_command_lines(tempoc: Session, golden: Golden) -> None:
    before = sorted(os.listdir())
    for line in LINES:
        assert tempoc(line) == 2, line
        assert not tempoc.out
    golden("cli/command_lines.txt", tempoc.text)
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    ("line", "code", "status"),
    [
        ("check --nosuch", "RT900", 2),
        ("nosuch", "RT900", 2),
        ("run fib.rt --bounds N", "RT900", 2),
        ("explain fib.rt --passes nosuch", "RT321", 2),
        ("check broken.rt", "RT200", 1),
        ("check nosuch.rt", "RT014", 1),
        ("fmt nosuch.rt", "RT014", 1),
        ("opt fib.rt", "RT300", 1),
        ("run nosuch", "RT501", 1),
        ("run fib.rt", "RT510", 1),
        ("eval fib.rt", "RT510", 1),
        ("compile fib.rt -o fib.rt", "RT471", 1),
        ("explain fib.rt --dump-dir fib.rt/x", "RT901", 1),
    ],
)
@pytest.mark.parametrize("option", [["--error-format", "json"], ["--error-format=json"]])
def test_json(tempoc: Session, line: str, code: str, status: int, option: list[str]) -> None:
    name, *rest = line.split()
    assert tempoc([name, *option, *rest]) == status
    assert [d["code"] for d in json.loads(tempoc.err)] == [code]
    assert not tempoc.out
