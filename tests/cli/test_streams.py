"""The real process: interrupts, pipes, full disks, odd environments."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.session import Session
from tests.house.source import ROOT
from tests.support.session.long import sampled

TEMPOC = [sys.executable, "-m", "tempoc"]
# A job in the background of a shell does not hear interrupts.
HEARS = """\
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from tempoc.cli.main import main
main()
"""
LONG = "dim t < T\nh[0] = 1.0\nh[t] = tanh(h[t-1])\ny = sum(h[0:T])\noutput y\n"


def run(*argv: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*TEMPOC, *argv], capture_output=True, text=True, env=os.environ | more)


def test_processes_run_this_checkout(tempoc: Session) -> None:
    code = "import tempoc; print(tempoc.__file__)"
    where = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert where.stdout.strip() == str(ROOT / "tempoc" / "__init__.py")


@pytest.mark.parametrize(
    "number", sampled([signal.SIGINT, signal.SIGTERM], "the other signal", of=2)
)
def test_interrupts_leave_nothing_behind(tempoc: Session, number: signal.Signals) -> None:
    Path("long.rt").write_text(LONG)
    Path("temporary").mkdir()
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            HEARS,
            "run",
            "long.rt",
            "--bounds",
            "T=200000000",
            "--output",
            "r.npz",
        ],
        stderr=subprocess.PIPE,
        env=os.environ | {"TMPDIR": "temporary"},
    )
    before = sorted(os.listdir())
    deadline = time.monotonic() + 60
    while not list(Path("temporary").glob("*/out")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    # Python may end by the signal itself, which shells report as 130 too.
    assert process.returncode in (130, -signal.SIGINT)
    assert err.decode().strip() == "interrupted"
    assert sorted(os.listdir()) == before and not os.listdir("temporary")


def test_a_reader_that_goes_away_is_no_error(tempoc: Session) -> None:
    assert tempoc("compile fib.rt -o out") == 0
    for command in (
        [*TEMPOC, "explain", "out"],
        [*TEMPOC, "--help"],
        [sys.executable, "-I", "out", "--bounds", "N=3"],
    ):
        ends, start = os.pipe()
        os.close(ends)
        done = subprocess.run(command, stdout=start, stderr=subprocess.PIPE, text=True)
        os.close(start)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_said_once(tempoc: Session) -> None:
    assert tempoc("compile fib.rt -o out") == 0
    for command in ([*TEMPOC, "explain", "out"], [sys.executable, "-I", "out", "--bounds", "N=3"]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1
        assert done.stderr.startswith("error[RT") and done.stderr.count("\n") == 1


def test_closed_streams(tempoc: Session) -> None:
    line = f"{sys.executable} -m tempoc check broken.rt"
    assert subprocess.run(f"{line} 2>&-", shell=True).returncode == 1
    line = f"{sys.executable} -m tempoc explain fib.rt"
    done = subprocess.run(f"{line} >&-", shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_terminals_without_unicode_and_users_without_a_home(tempoc: Session) -> None:
    Path("psi.rt").write_text('"""Schrödinger → ψ"""\n' + LONG, encoding="utf-8")
    done = subprocess.run(
        [*TEMPOC, "explain", "psi.rt", "--dump-sdg"],
        capture_output=True,
        env={
            "LC_ALL": "C",
            "PYTHONIOENCODING": "ascii",
            "HOME": "/dev/null/home",
            "PYTHONPATH": os.environ["PYTHONPATH"],
        },
    )
    assert done.returncode == 0, done.stderr
    assert "Schrödinger → ψ" in done.stdout.decode()


def test_caches_that_cannot_be_written_are_no_trouble(tempoc: Session) -> None:
    Path("cache/tempoc").mkdir(parents=True)
    for name in ("jax", "grammar"):
        Path("cache/tempoc", name).symlink_to("/proc")
    done = run("run", "fib.rt", "--bounds", "N=3", XDG_CACHE_HOME=os.path.abspath("cache"))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs terminals")
def test_colours_only_on_terminals_that_want_them(tempoc: Session) -> None:
    for more, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        ours, theirs = os.openpty()
        environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | more
        subprocess.run([*TEMPOC, "check", "broken.rt"], stderr=theirs, env=environment)
        os.close(theirs)
        assert (b"\x1b[" in os.read(ours, 4096)) is coloured
        os.close(ours)
    assert "\x1b[" not in run("check", "broken.rt").stderr


def test_two_at_the_same_time(tempoc: Session) -> None:
    line = [*TEMPOC, "compile", "fib.rt", "-o", "out"]
    both = [subprocess.Popen(line, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in both:
        _, err = process.communicate()
        assert process.returncode == 0 or err.startswith("error[RT470]"), err
    assert tempoc("run out --bounds N=5 --verify") == 0
    assert not [name for name in os.listdir() if name.startswith(".")]
