"""The directory of a compiled program: complete, alone, replaced only when it is ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path, PurePath

import numpy as np
import pytest

from tempoc.base.graphs import reachable
from tempoc.codegen.program.bundle import RUNNERS, SHIPPED, contents, write_bundle
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.program.codec import load
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
    rename = Path.rename

    def interrupted(self, target):
        if self.name.endswith(".new"):
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_bundle(out, emitted)
    assert (out / "model.rt").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
