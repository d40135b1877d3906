"""Processes that are asked to end while a library computes that hears no signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.support.session.long import sampled

DEAF = """\
import hashlib, os, signal, sys, threading
from tempoc.files import interrupts, temporary
signal.signal(signal.SIGINT, signal.default_int_handler)
interrupts._PATIENCE = 0.05
interrupts.end_when_asked()
with temporary.temporary_folder() as folder:
    print(folder, flush=True)
    threading.Timer(0.2, os.kill, (os.getpid(), int(sys.argv[1]))).start()
    hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)
"""


@pytest.mark.parametrize(
    "number", sampled([signal.SIGTERM, signal.SIGINT], "the other signal", of=2)
)
def test_a_process_ends_during_a_call_that_hears_no_signals(number: signal.Signals) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DEAF, str(int(number))], capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
    assert done.stdout and not os.path.exists(done.stdout.strip())
