"""Command lines whose Python functions change what the run needs, or end it."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from tempoc.program import codec
from tempoc.runtime.data.files import open_bundle
from tempoc.runtime.host.effects import EffectSink
from tests.cli.session import Session
from tests.support.functions import laid_out

PROGRAM = """
dim t < T
extern host f(x: f32) -> (y: f32) from "MODULE:f"
input x[t]: f32
y = f(x)
output y
save y[t] to "y-{t}.safetensors"
"""
SECOND = "def f(x):\n    if x == 1:\n        {}\n    return x\n"


@pytest.fixture(autouse=True)
def folder(tempoc: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Data, and the import path as it was."""
    np.save("x.npy", np.arange(3, dtype=np.float32))
    monkeypatch.setattr(sys, "path", [*sys.path])


def attacked(module: str, python: str) -> None:
    sys.modules.pop(module, None)
    files = {"main.rt": PROGRAM.replace("MODULE", module), f"{module}.py": python}
    laid_out(Path.cwd(), files)


@pytest.mark.parametrize("command", ["run", "eval"])
def test_outputs_go_where_they_were_to_go(command: str, tempoc: Session) -> None:
    attacked("ar_chdir", "import os\nos.chdir('/')\ndef f(x):\n    os.chdir('/')\n    return x\n")
    assert tempoc(f"{command} main.rt --input x=x.npy --output-dir r") == 0, tempoc.err
    assert sorted(os.listdir("r")) == [*(f"y-{t}.safetensors" for t in range(3)), "y.npy"]


@pytest.mark.parametrize("command", ["run", "eval"])
def test_streams_are_those_of_the_command(
    command: str, tempoc: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    attacked("ar_none", "import sys\n" + SECOND.format("sys.stdout = sys.stderr = None"))
    assert tempoc(f"{command} main.rt --input x=x.npy") == 0
    assert tempoc.out.startswith("output  type    values\ny       f32[3]  0 1 2\n")
    attacked("ar_raises", "import sys\nsys.stderr = None\n" + SECOND.format("1 / 0"))
    assert tempoc(f"{command} main.rt --input x=x.npy") == 1
    assert "f (ar_raises:f) raised ZeroDivisionError" in tempoc.err
    attacked("ar_closes", "import sys\ndef f(x):\n    sys.stdout.close()\n    return x\n")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO()))
        assert tempoc(f"{command} main.rt --input x=x.npy") == 1
    assert tempoc.err.startswith("error[") and "standard output" in tempoc.err
    attacked("ar_both", "import sys\nsys.stdout.close()\nsys.stderr.close()\ndef f(x): pass\n")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO()))
        patch.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO()))
        assert tempoc(f"{command} main.rt --input x=x.npy --output-dir r") == 1


@pytest.mark.parametrize("module", ["sys", "tempoc", "random", "json"])
def test_modules_that_are_in_use_are_refused(module: str, tempoc: Session) -> None:
    files = {"main.rt": PROGRAM.replace("MODULE", module), f"{module}.py": "def f(x): return x\n"}
    laid_out(Path.cwd(), files)
    assert tempoc("run main.rt --input x=x.npy") == 1
    assert f"error[RT576]: another Python module {module} is in use" in tempoc.err


def test_modules_of_the_runner_are_not_those_of_the_user(tempoc: Session) -> None:
    """A compiled directory holds folders and files of many names: `program`, `files`, `kernels`."""
    attacked("program", "import kernels\ndef f(x): return kernels.f(x)\n")
    Path("kernels.py").write_text("def f(x): return 2 * x\n")
    for name in ("profile", "tempoc", "numpy"):  # nobody asks for these
        Path(f"{name}.py").write_text("raise SystemExit(7)\n")
    assert tempoc("compile main.rt -o out") == 0
    line = [sys.executable, "out", "--input", "x=x.npy", "--output-dir", "r"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load("r/y.npy"), [0, 2, 4])


def test_python_out_tells_every_exception(tempoc: Session) -> None:
    attacked("ar_out", "class B(BaseException): pass\n" + SECOND.format("raise B('b')"))
    assert tempoc("compile main.rt -o out") == 0
    line = [sys.executable, "out", "--input", "x=x.npy", "--output-dir", "r"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("error[RT573]: f (ar_out:f) raised B: b at t = 1\n")
    assert os.listdir("r") == ["y-0.safetensors"]
    assert open_bundle("r/y-0.safetensors")["y"].read() == 0


@pytest.mark.parametrize(("status", "wanted"), [("0", 1), ("7", 7), ("'no'", 1)])
def test_handlers_that_exit_leave_no_success(status: str, wanted: int, tempoc: Session) -> None:
    handler = f"signal.signal(signal.SIGUSR1, lambda *_: sys.exit({status}))\n"
    attacked("ar_handler", f"import signal, sys\n{handler}def f(x): return x\n")
    before = signal.getsignal(signal.SIGUSR1)
    sink = EffectSink.__call__

    def killing(self: EffectSink, *args: object) -> None:
        sink(self, *args)  # type: ignore[arg-type]
        os.kill(os.getpid(), signal.SIGUSR1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EffectSink, "__call__", killing)
        assert tempoc("run main.rt --input x=x.npy --output-dir r") == wanted
    signal.signal(signal.SIGUSR1, before)
    assert os.listdir("r") == ["y-0.safetensors"]


NO_CALLS = (
    "check main.rt", "fmt main.rt", "compile main.rt -o out", "check out", "explain out",
    "compile main.rt -o other --verify-each", "explain main.rt --dump-kernels --remarks",
    "explain main.rt --memory --cost --bounds T=3", "explain out --variants --dump-program",
)  # fmt: skip


def test_only_runs_import_functions_and_execute_kernels(tempoc: Session) -> None:
    """What the page `trust` promises to those who look at programs of others."""
    attacked("ar_marks", "open('imported', 'w')\ndef f(x): return x\n")
    for line in NO_CALLS:
        assert tempoc(line) == 0, tempoc.err
        if line.startswith("check"):
            assert "calls the Python functions ar_marks:f" in tempoc.err
    kernels, stored = Path("out/kernels.py"), Path("out/program.json")
    kernels.write_text(f"open('executed', 'w')\n{kernels.read_text()}")
    program = codec.load(stored.read_text())
    changed = sha256(kernels.read_bytes()).hexdigest()
    files = tuple((n, changed if n == "kernels.py" else d) for n, d in program.files)
    stored.write_text(codec.dump(replace(program, files=files)))
    for line in ("check out", "explain out --dump-kernels", "explain out --variants"):
        assert tempoc(line) == 0, tempoc.err
    assert not Path("imported").exists() and not Path("executed").exists()
    assert tempoc("run out --input x=x.npy --output-dir r") == 0
    assert Path("imported").exists() and Path("executed").exists()


def test_ctrl_c_in_a_function_is_an_interruption(tempoc: Session) -> None:
    sleep = "import pathlib, time\npathlib.Path('here').touch()\n        time.sleep(60)"
    attacked("ar_sleeps", SECOND.format(sleep.replace("\npathlib", "\n        pathlib")))
    assert tempoc("compile main.rt -o out") == 0
    line = [sys.executable, "out", "--input", "x=x.npy", "--output-dir", "r"]
    reset = "import os, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
    run = (
        f"{reset} import runpy; sys.argv = {line[1:]!r}; runpy.run_path('out', run_name='__main__')"
    )
    process = subprocess.Popen([sys.executable, "-c", run], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not Path("here").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "interrupted\n")
    assert os.listdir("r") == ["y-0.safetensors"]
