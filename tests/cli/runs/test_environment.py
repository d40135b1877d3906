"""What the environment can do to a command: a diagnostic, or nothing, but never a wrong number."""

from __future__ import annotations

import importlib
import io
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tempoc.cli.main import status
from tempoc.codegen.program.contents import contents_of
from tests.cli.session import Session
from tests.support.session.long import chosen

ROOT = Path(__file__).parents[3]


def ran(
    folder: Path, *argv: str, module: bool = True, setup: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """A command line in another process, below a shell's ``setup``."""
    path = os.pathsep.join(filter(None, (environment.pop("before", ""), str(ROOT))))
    given = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": path, **environment}
    command = [sys.executable, *(("-m", "tempoc") if module else ()), *argv]
    if setup:
        command = ["bash", "-c", f'{setup}; exec "$@"', "bash", *command]
    return subprocess.run(
        command, cwd=folder, env=given, capture_output=True, text=True, timeout=300, check=False
    )


RUN = ("--input", "x=x.npy", "--params", "w.npz")


def is_refused(result: subprocess.CompletedProcess[str], code: str) -> bool:
    return result.returncode == 1 and result.stderr.startswith(f"error[{code}]")


def test_no_device(tempoc: Session, tmp_path: Path) -> None:
    for platform in ("bogus", "cuda") if chosen["long"] else ("bogus",):
        result = ran(tmp_path, "run", "sums.rt", *RUN, JAX_PLATFORMS=platform)
        assert is_refused(result, "RT556"), result.stderr
        assert f"JAX_PLATFORMS is {platform}" in result.stderr


def test_libraries_that_fail(tempoc: Session, tmp_path: Path) -> None:
    assert tempoc("compile sums.rt -o out") == 0
    bad = tmp_path / "bad"
    bad.mkdir()
    for text in ("import nothing_like_this", "x = 1 / 0"):
        (bad / "jax.py").write_text(text)
        assert is_refused(ran(tmp_path, "run", "out", *RUN, before=str(bad)), "RT903")
        # Only what needs it fails.
        assert ran(tmp_path, "check", "sums.rt", before=str(bad)).returncode == 0
    result = ran(tmp_path, "out", *RUN, module=False, before=str(bad))
    assert is_refused(result, "RT505"), result.stderr
    (bad / "jax.py").write_text("")
    (bad / "jax").mkdir()
    (bad / "jax" / "__init__.py").write_text("import sys; sys.modules['jax.numpy'] = sys")
    assert is_refused(ran(tmp_path, "run", "out", *RUN, before=str(bad)), "RT903")


@pytest.mark.parametrize("command", ["check ../sums.rt", "compile ../sums.rt -o out"])
def test_a_working_directory_that_is_gone(tempoc: Session, tmp_path: Path, command: str) -> None:
    setup = "mkdir gone && cd gone && rmdir ../gone"
    result = ran(tmp_path, *command.split(), setup=setup)
    assert is_refused(result, "RT901") or is_refused(result, "RT014"), result.stderr


def test_names_that_are_not_text(tempoc: Session, tmp_path: Path) -> None:
    """Also those that are text, where the locale knows ASCII alone."""
    folder = os.fsencode(tmp_path)
    (tmp_path / "fä.rt").write_text((tmp_path / "sums.rt").read_text() + 'import "gö.rt" as g\n')
    (tmp_path / "gö.rt").write_text("def f(x) = x\n")
    for old, new in ((b"sums.rt", b"m\xff.rt"), (b"x.npy", b"x\xff.npy")):
        os.link(os.path.join(folder, old), os.path.join(folder, new))
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    given = ("--input", "x=x\udcff.npy", "--params", "w.npz", "--output", "y.npz")
    for name, environment in (("m\udcff", {}), ("fä", ascii_only))[: 2 if chosen["long"] else 1]:
        assert ran(tmp_path, "compile", f"{name}.rt", "-o", name, **environment).stderr == ""
        result = ran(tmp_path, "run", name, *given, **environment)
        assert (result.returncode, result.stderr) == (0, "")
        y = np.load(tmp_path / "y.npz")["s"]
        np.testing.assert_array_equal(y, np.load(tmp_path / "x.npy").cumsum(0))
    result = ran(tmp_path, "m\udcff", *given, module=False)
    assert is_refused(result, "RT505") and "its name is not text" in result.stderr
    if chosen["long"]:
        assert ran(tmp_path, "fä", *given, module=False).returncode == 0


def test_without_asserts_and_docstrings(tempoc: Session, tmp_path: Path) -> None:
    assert tempoc("compile sums.rt -o out") == 0
    assert ran(tmp_path, "compile", "sums.rt", "-o", "again", PYTHONOPTIMIZE="2").stderr == ""
    programs = [(tmp_path / name / "program.json").read_bytes() for name in ("out", "again")]
    assert programs[0] == programs[1]
    assert not contents_of(tmp_path / "again").changed
    result = ran(tmp_path, "again", *RUN, module=False, PYTHONOPTIMIZE="2", PYTHONWARNINGS="error")
    assert (result.returncode, result.stderr) == (0, "")


def test_closed_streams_are_not_given_to_files(tempoc: Session, tmp_path: Path) -> None:
    result = ran(tmp_path, "run", "fib.rt", "--bounds=N=5", setup="exec 0<&- 1>&- 2>&-")
    assert result.returncode == 0
    assert ran(tmp_path, "check", "-", setup="exec 0<&-").stderr == (
        "error[RT014]: cannot read <stdin>: it is closed\n"
    )


def test_two_results_in_one_file(tempoc: Session) -> None:
    for place in ("y.npz", "./y.npz"):
        assert tempoc(f"run fib.rt --bounds N=5 --output y.npz --profile {place}") == 1
        assert tempoc.err.startswith("error[RT547]: --output and --profile would write the same")
    assert not Path("y.npz").exists()


# ------------------------------------------------------------------ sources and numbers

HUGE = "9" * 5000
NUMBERS = {
    f"x = {HUGE}": "RT017",
    "x = 1e999": "RT017",
    "x = 1e-99999": "",
    "const D = 2**5000\nx = 1.0": "RT017",
    "const D = (10**300)**300\nx = 1.0": "RT017",
    "const D = 10**308\nx = 1.0 * (D / 10**307)": "",
    "const D = (-10.0)**309\nx = D": "",
    "x = 0x10": "RT005",
    "x = 1_000": "RT005",
    "x = ٣": "RT004",
    "dim t < T\ninput y[t]: f32\nx = y[4294967296 * 4294967296 * T]": "RT084",
    f"x = {'(' * 3000}1{')' * 3000}": "",
    f"x = {'[' * 3000}1{']' * 3000}": "RT006",
    f"x = {'-' * 3000}1": "RT006",
}


@pytest.mark.parametrize("text", NUMBERS, ids=lambda text: text[:40])
def test_numbers_and_nesting(tempoc: Session, text: str) -> None:
    Path("m.rt").write_text(text + "\noutput x\n")
    code = NUMBERS[text]
    assert tempoc("check m.rt") == (1 if code else 0)
    assert tempoc.err.startswith(f"error[{code}]" if code else "m.rt: fine")
    assert len(tempoc.err) < 3000


def test_powers_have_the_right_sign(tempoc: Session) -> None:
    Path("m.rt").write_text("x = (-10.0)**309\ny = (-10.0)**310\noutput x, y\n")
    assert tempoc("eval m.rt") == 0
    assert "-inf" in tempoc.out and " inf" in tempoc.out


@pytest.mark.parametrize(
    ("option", "code"),
    [
        (f"-D D={HUGE}", "RT017"),
        (f"-D D=[{HUGE}]", "RT017"),
        (f"-D D={'[' * 5000}", "RT006"),
        ("-D D=٣", "RT032"),
        ("-D D=1_0", "RT032"),
        (f"--bounds T={HUGE}", "RT513"),
        ("--bounds T=٣", "RT513"),
        ("--bounds T=1_0", "RT513"),
        ("--bounds T=-1", "RT513"),
        (f"--memory-budget {HUGE}GB", "Usage"),
        ("--memory-budget ٣GB", "Usage"),
        (f"--seed {HUGE}", "Usage"),
        ("--seed -1", "Usage"),
    ],
    ids=lambda text: text[:40],
)
def test_numbers_in_options(tempoc: Session, option: str, code: str) -> None:
    assert tempoc(f"run sums.rt --input x=x.npy --params w.npz {option}") == (
        2 if code == "Usage" else 1
    )
    assert tempoc.err.startswith(code if code == "Usage" else f"error[{code}]")


def test_ranges_of_bounds(tempoc: Session) -> None:
    for ends in (f"1..{HUGE}", "٣..٤"):
        assert tempoc(f"compile sums.rt -o out --memory-budget 1GB --bounds T={ends}") == 1
        assert tempoc.err.startswith("error[RT513]")


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/stdin", "pipe", "loop", ".", "/proc/self/mem"])
def test_what_is_no_file(tempoc: Session, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "/dev/stdin":
        reading, _ = os.pipe()
        name = f"/dev/fd/{reading}"
    os.mkfifo("pipe")
    os.symlink("loop", "loop")
    Path("m.rt").write_text(f'import "{name}" as m\nx = 1\noutput x\n')
    assert tempoc("check m.rt") == 1 and tempoc.err.startswith("error[RT014]: cannot read")
    if name != ".":
        for command in ("check", "eval", "fmt", "explain"):
            assert tempoc([command, name]) == 1
            assert tempoc.err.startswith("error[RT014]: cannot read")


def test_long_sources(tempoc: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "x = 1 # " + "y" * (1 << 20) + "\noutput x\n"
    Path("m.rt").write_text(text)
    assert tempoc("check m.rt") == 1 and "more than 1048576 bytes" in tempoc.err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert tempoc("check -") == 1 and "more than 1048576 bytes" in tempoc.err
    Path("m.rt").write_text("x = (" + "1, " * 9000 + "?)\noutput x\n")
    assert tempoc("check m.rt") == 1 and len(tempoc.err) < 3000


def test_chains_of_imports(tempoc: Session) -> None:
    for k in range(500):
        Path(f"c{k}.rt").write_text(f'import "c{k + 1}.rt" as m\ndef f(x) = x\n')
    assert tempoc("check c0.rt") == 1
    assert tempoc.err.startswith("error[RT018]: this import is the end of a chain of more than 100")
    os.symlink("self.rt", "link.rt")
    Path("self.rt").write_text('import "link.rt" as m\nx = 1\noutput x\n')
    assert tempoc("check self.rt") == 1 and tempoc.err.startswith("error[RT016]")


def test_an_error_in_the_compiler_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only libraries are blamed that are missing, or fail while they are imported."""

    def fails(name: str) -> ModuleType:
        if name.startswith("tempoc."):
            raise ImportError("no", name="tempoc.nothing")
        return import_module(name)

    import_module = importlib.import_module
    monkeypatch.setattr("tempoc.cli.main.importlib.import_module", fails)
    monkeypatch.delitem(sys.modules, "tempoc.cli.commands.check", raising=False)
    assert status(["check", "x.rt"]) == 70
