"""What is too old or missing is named; what is needed is the same in every place that says so."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tempoc.cli.reports import requirements
from tempoc.diagnostics.requirements import RUNNER, dotted, unmet
from tests.cli.session import Session

ROOT = Path(__file__).resolve().parents[3]
STANDALONE = ROOT / "tempoc/files/standalone.py"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OLDEST = "0.0.1"


def parts(requirement: str) -> tuple[str, str]:
    """A package and its lower bound."""
    match = re.fullmatch(r"([\w-]+)>=([\d.]+)(,<[\d.]+)?", requirement)
    assert match, requirement
    return match[1], match[2]


def everything() -> dict[str, str]:
    """All packages of the project, those of extras included, with their lower bounds."""
    extras = [r for group in PROJECT["optional-dependencies"].values() for r in group]
    return dict(map(parts, [*PROJECT["dependencies"], *extras]))


def pinned(name: str) -> dict[str, str]:
    lines = (ROOT / "tests/constraints" / name).read_text(encoding="utf-8").splitlines()
    rows = [line.partition("==")[::2] for line in lines if line and not line.startswith("#")]
    return dict(rows)


def release(version: str) -> list[int]:
    """Its numbers without zeros at the end: 2.0 is 2.0.0."""
    numbers = [int(number) for number in version.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return numbers


def test_the_compiler_needs_what_the_project_declares() -> None:
    needed = {name: dotted(oldest) for name, oldest in requirements.COMPILER.items()}
    assert needed == dict(map(parts, PROJECT["dependencies"]))
    assert PROJECT["requires-python"] == f">={dotted(requirements.PYTHON)}"


def test_a_compiled_program_states_what_it_needs() -> None:
    tree = ast.parse(STANDALONE.read_text(encoding="utf-8"))
    values = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == "PYTHON"
    }
    assert values["PYTHON"] == requirements.PYTHON
    stated = ast.get_docstring(tree) or ""
    for name, oldest in {"Python": requirements.PYTHON, **RUNNER}.items():
        assert f"{name} {dotted(oldest)} or later" in stated


@pytest.mark.parametrize("name", sorted(everything()))
def test_the_oldest_that_are_tested_are_the_lower_bounds(name: str) -> None:
    untested = {"mypy", "ruff", "torch", "transformers"}
    assert (name in pinned("oldest.txt")) == (name not in untested)
    if name not in untested:
        assert release(pinned("oldest.txt")[name]) == release(everything()[name])


def test_what_is_newest_satisfies_the_bounds() -> None:
    newest, bounds = pinned("current.txt"), everything()
    assert not [n for n in bounds.keys() & newest if release(newest[n]) < release(bounds[n])]
    assert {parts(r)[0] for r in PROJECT["dependencies"]} <= set(newest)


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        ("0.8.1", None),
        ("0.10.0", None),
        ("1", None),
        ("0.8.1rc2", None),
        ("0.8.0.dev20", "jax 0.8.0.dev20 is too old, 0.8.1 or later is needed"),
        (None, "jax is not installed, 0.8.1 or later is needed"),
    ],
)
def test_versions_compare_as_numbers(version: str | None, sentence: str | None) -> None:
    assert unmet("jax", version, (0, 8, 1)) == sentence


@pytest.fixture
def compiled(tempoc: Session) -> Path:
    assert tempoc("compile sums.rt -o out") == 0
    return Path("out").resolve()


def run(command: list[str], packages: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run Python where modules of these texts come first, with metadata of an old version."""
    folder = Path("old").resolve()
    for name, text in packages.items():
        for path in (folder / name, folder / f"{name}-{OLDEST}.dist-info"):
            path.mkdir(parents=True, exist_ok=True)
        (folder / name / "__init__.py").write_text(text)
        (folder / name / "numpy.py").write_text("")
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {OLDEST}\n"
        (folder / f"{name}-{OLDEST}.dist-info" / "METADATA").write_text(metadata)
    path = os.pathsep.join([str(folder), str(ROOT)])
    return subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


WORKS = f"__version__ = '{OLDEST}'\n"
FAILS = "raise AttributeError('module has no attribute x')\n"


@pytest.mark.parametrize("text", [WORKS, FAILS])
def test_a_program_names_what_is_too_old(compiled: Path, text: str) -> None:
    done = run([str(compiled), "--input", "x=x.npy", "--params", "w.npz"], {"jax": text})
    assert done.returncode == 1
    assert done.stderr == (
        f"error[RT505]: {compiled} cannot run: jax 0.0.1 is too old, 0.8.1 or later is needed\n"
        "help: python -m pip install 'jax>=0.8.1'\n"
    )


def test_a_program_that_cannot_even_look_for_packages_ends_plainly(compiled: Path) -> None:
    """As where there is too little memory: whatever is imported may fail."""
    failing = {"jax": "raise ImportError('jax.so: failed to map segment')\n", "csv": "1 / 0\n"}
    done = run([str(compiled), "--input", "x=x.npy", "--params", "w.npz"], failing)
    assert done.returncode == 1
    assert done.stderr == (
        f"error[RT505]: {compiled} cannot run: jax.so: failed to map segment\n"
        "help: give it more memory, if there is a limit (ulimit -v)\n"
    )


@pytest.mark.parametrize("text", [WORKS, FAILS])
def test_a_run_names_what_is_too_old(compiled: Path, text: str) -> None:
    done = run(
        ["-m", "tempoc", "run", str(compiled), "--input", "x=x.npy", "--params", "w.npz"],
        {"jax": text},
    )
    assert (done.returncode, done.stderr) == (
        1,
        "error[RT904]: tempoc cannot run: jax 0.0.1 is too old, 0.8.1 or later is needed\n"
        "help: python -m pip install 'jax>=0.8.1'\n",
    )


@pytest.mark.parametrize("package", ["click", "lark", "islpy"])
def test_the_compiler_names_what_is_too_old(tempoc: Session, package: str) -> None:
    done = run(["-m", "tempoc", "compile", "sums.rt", "-o", "out"], {package: WORKS})
    assert done.returncode == 1
    assert done.stderr.startswith(f"error[RT904]: tempoc cannot run: {package} 0.0.1 is too old")
    assert done.stderr.count("\n") == 2
    assert not Path("out").exists()


def test_an_error_that_no_version_explains_is_a_bug(
    tempoc: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempoc.driver.compilation.Compilation.from_path", None)
    assert tempoc("compile sums.rt -o out") == 70


@pytest.mark.parametrize("start", [STANDALONE, ROOT / "tempoc/cli/start.py"])
def test_an_old_python_is_named(start: Path) -> None:
    """`sys.version_info` of Python 3.10, where what follows would be a syntax error at worst."""
    code = (
        "import runpy, sys\n"
        "sys.version_info, sys.version = (3, 10, 2), '3.10.2 (main)'\n"
        f"names = runpy.run_path({str(start)!r})\n"
        "sys.exit(names['start' if 'start' in names else 'main']())\n"
    )
    done = run(["-c", code], {})
    assert done.returncode == 1
    assert "Python 3.10.2 is too old\nhelp: use 3.11 or later\n" in done.stderr
