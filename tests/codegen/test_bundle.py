"""The directory of a compiled program: complete, alone, replaced only when it is ours."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import PurePath

import numpy as np
import pytest

from tempoc.base.graphs import reachable
from tempoc.codegen.program import contents as directory_contents
from tempoc.codegen.program.bundle import RUNNERS, SHIPPED, contents, write_bundle
from tempoc.codegen.program.tuned_choice import write_choice
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.files import exchange, locks
from tempoc.files.snapshot import OpenFolder, digest
from tempoc.program.codec import load
from tempoc.program.nodes.variants import TunedChoice
from tempoc.runtime.load.directory import read_stored
from tempoc.runtime.load.load import load as load_compiled
from tempoc.runtime.load.sources import load_program
from tests.codegen.programs import RNN_REGISTER
from tests.house.source import files

MAIN = {"main": Source("dir/rnn.rt", "dim t < T\n"), "nn": Source("lib/nn.rt", "# nn\n")}


@pytest.fixture(scope="module")
def emitted():
    return RNN_REGISTER.emit()


def code(error):
    return error.value.diagnostics[0].code


def test_writes_program_runner_and_sources(emitted, tmp_path):
    write_bundle(tmp_path / "deep" / "out", emitted, MAIN)
    out = tmp_path / "deep" / "out"
    assert (out / "kernels.py").read_text() == emitted.kernels
    assert load((out / "program.json").read_text()).kernels == emitted.program.kernels
    assert (out / "model.rt").read_text() == "dim t < T\n"
    assert (out / "imports" / "nn.rt").read_text() == "# nn\n"
    assert [p.name for p in out.parent.iterdir()] == ["out"], "nothing temporary is left"


def test_runs_where_the_compiler_cannot_be_imported(emitted, tmp_path):
    write_bundle(tmp_path / "out", emitted)
    np.save(tmp_path / "x.npy", np.ones((3, 8), np.float32))
    np.savez(tmp_path / "W.npz", W=np.zeros((8, 8), np.float32))
    (tmp_path / "tempoc").mkdir()
    (tmp_path / "tempoc" / "__init__.py").write_text("raise ImportError('the compiler')")
    command = [sys.executable, "out", "--input", "x=x.npy", "--output-dir", "results"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [*command, "--params", "W.npz"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    h = np.load(tmp_path / "results" / "h.npy")
    np.testing.assert_allclose(h, np.tanh(np.ones(8)), rtol=1e-5)


def test_carries_the_modules_that_a_run_imports_and_no_others(emitted):
    imports = {file.module: [i.module for i in file.imports()] for file in files()}
    needed = reachable(RUNNERS, lambda module: [m for m in imports[module] if m in imports])
    paths = {f"{module.removeprefix('tempoc.').replace('.', '/')}.py" for module in needed}
    shipped = {name for name in contents(emitted, MAIN, {}) if PurePath(name).parts[0] in SHIPPED}
    assert {name for name in shipped if PurePath(name).name != "__init__.py"} == {
        path for path in paths if not path.endswith("__init__.py")
    }


def test_replaces_an_earlier_compilation(emitted, tmp_path):
    out = tmp_path / "out"
    write_bundle(out, emitted, MAIN)
    write_bundle(out, emitted)
    assert not (out / "model.rt").exists()


def test_decodes_what_it_replaces_once(emitted, tmp_path, monkeypatch):
    decoded = []
    decode = directory_contents.load
    monkeypatch.setattr(
        directory_contents, "load", lambda text: decoded.append(text) or decode(text)
    )
    for _ in range(2):
        write_bundle(tmp_path / "p", emitted, options={"test": "decoded once"})
    assert len(decoded) == 1


def test_fills_an_empty_directory(emitted, tmp_path):
    (tmp_path / "out").mkdir()
    write_bundle(tmp_path / "out", emitted)
    assert (tmp_path / "out" / "kernels.py").exists()


def test_keeps_what_is_not_from_a_compilation(emitted, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(DiagnosticError) as error:
        write_bundle(tmp_path, emitted)
    assert code(error) == "RT472"
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_keeps_results_written_into_an_earlier_compilation(emitted, tmp_path):
    write_bundle(tmp_path / "out", emitted)
    (tmp_path / "out" / "h.npy").write_bytes(b"")
    with pytest.raises(DiagnosticError) as error:
        write_bundle(tmp_path / "out", emitted)
    assert code(error) == "RT472"
    assert (tmp_path / "out" / "h.npy").exists()


def test_refuses_a_file(emitted, tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(DiagnosticError) as error:
        write_bundle(tmp_path / "out", emitted)
    assert code(error) == "RT471"


def test_reports_what_cannot_be_written(emitted, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DiagnosticError) as error:
        write_bundle(tmp_path / "file" / "out", emitted)
    assert code(error) == "RT470"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_keeps_the_old_program_if_the_new_one_cannot_be_put_in_place(
    emitted, tmp_path, monkeypatch
):
    out = tmp_path / "out"
    write_bundle(out, emitted, MAIN)

    def interrupted(first, second):
        raise KeyboardInterrupt

    monkeypatch.setattr(exchange, "exchange_at_once", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_bundle(out, emitted)
    assert (out / "model.rt").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_lists_the_digest_of_every_file(emitted, tmp_path):
    out = tmp_path / "out"
    write_bundle(out, emitted, MAIN)
    files = [p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()]
    listed = dict(load((out / "program.json").read_text()).files)
    assert sorted(files) == sorted([*listed, "program.json"])
    assert all(digest((out / name).read_bytes()) == listed[name] for name in listed)


@pytest.mark.parametrize(
    "name", ["runtime/notes.txt", "runtime/walk/mine.py", "imports/x", "y.npy"]
)
def test_keeps_files_of_the_user_wherever_they_are(emitted, tmp_path, name):
    out = tmp_path / "out"
    write_bundle(out, emitted)
    (out / name).parent.mkdir(exist_ok=True)
    (out / name).write_text("mine")
    with pytest.raises(DiagnosticError) as error:
        write_bundle(out, emitted)
    assert code(error) == "RT472"
    assert (out / name).read_text() == "mine"


@pytest.mark.parametrize("name", ["kernels.py", "model.rt", "program.json", "runtime/main.py"])
def test_keeps_files_that_were_changed(emitted, tmp_path, name):
    out = tmp_path / "out"
    write_bundle(out, emitted, MAIN)
    with (out / name).open("a") as file:
        file.write("# mine\n")
    with pytest.raises(DiagnosticError) as error:
        write_bundle(out, emitted, MAIN)
    assert code(error) == "RT473"
    assert (out / name).read_text().endswith("# mine\n")


def test_keeps_a_file_that_comes_while_it_writes(emitted, tmp_path, monkeypatch):
    out = tmp_path / "out"
    write_bundle(out, emitted, MAIN)
    write = exchange.write_files

    def slow(folder, files, **named):
        write(folder, files, **named)
        (out / "y.npy").write_text("a result")

    monkeypatch.setattr(exchange, "write_files", slow)
    with pytest.raises(DiagnosticError) as error:
        write_bundle(out, emitted)
    assert code(error) == "RT472"
    assert (out / "y.npy").read_text() == "a result" and (out / "model.rt").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_replaces_what_python_and_another_version_wrote(emitted, tmp_path):
    out = tmp_path / "out"
    write_bundle(out, emitted)
    (out / "runtime" / "__pycache__").mkdir()
    (out / "runtime" / "__pycache__" / "main.cpython-311.pyc").write_bytes(b"")
    write_bundle(out, emitted)
    assert not (out / "runtime" / "__pycache__").exists()
    (out / "program.json").write_text('{"version": 1, "kernels": []}')
    (out / "runtime" / "gone.py").write_text("")
    write_bundle(out, emitted)
    assert not (out / "runtime" / "gone.py").exists()


def test_says_that_another_process_is_writing(emitted, tmp_path, monkeypatch):
    monkeypatch.setattr(exchange, "exclusive", partial(locks.exclusive, wait=0.05))
    with locks.exclusive(tmp_path / "out"), pytest.raises(DiagnosticError) as error:
        write_bundle(tmp_path / "out", emitted)
    assert code(error) == "RT474"


def started(out):
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    command = [sys.executable, str(out), "--help"]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_the_runner_checks_itself(emitted, tmp_path):
    out = tmp_path / "out"
    write_bundle(out, emitted)
    assert started(out).returncode == 0
    # Bytecode of another text is not executed, a damaged one neither.
    cached = [*(out / "runtime" / "__pycache__").glob("main.*.pyc")]
    for path in cached:
        path.write_bytes(path.read_bytes()[:40])
    assert started(out).returncode == 0
    with (out / "runtime" / "main.py").open("a") as file:
        file.write("print('changed')\n")
    done = started(out)
    assert done.returncode == 1 and "error[RT503]" in done.stderr
    assert "changed" not in done.stdout and "Traceback" not in done.stderr
    (out / "runtime" / "main.py").unlink()
    done = started(out)
    assert done.returncode == 1 and "error[RT503]" in done.stderr


def test_reads_every_file_once(emitted, tmp_path, monkeypatch):
    """What is executed is what was compared: a change after the first look is not seen."""
    out = tmp_path / "out"
    write_bundle(out, emitted)
    read, names = OpenFolder._read, []

    def once(folder, name):
        names.append(name)
        content = read(folder, name)
        if name == "kernels.py":
            (out / name).write_text("raise SystemExit('another file')")
        return content

    monkeypatch.setattr(OpenFolder, "_read", once)
    loaded = load_compiled(out)
    assert loaded.functions and len(set(names)) == len(names)


def test_a_choice_about_another_program_is_not_recorded(emitted, tmp_path):
    out = tmp_path / "out"
    write_bundle(out, emitted)
    before = load_program(out)
    write_bundle(out, emitted, MAIN)
    choice = TunedChoice(
        name="a", about="", digest="", instead="", device="cpu", jax="", precision="",
        bounds=(), nanoseconds=1, before=2,
    )  # fmt: skip
    with pytest.raises(DiagnosticError) as error:
        write_choice(str(out), choice, emitted, {}, before)
    assert code(error) == "RT475" and not (out / "tuned").exists()
    write_choice(str(out), choice, emitted, {}, load_program(out))
    assert len(read_stored(out).choices) == 1
    write_bundle(out, emitted)
    assert not (out / "tuned").exists()
