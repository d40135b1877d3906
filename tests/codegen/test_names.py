"""Programs with hostile names, documentation, strings and paths give the code of their twins."""

from __future__ import annotations

import ast
import builtins
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tempoc.codegen.text.naming import RESERVED
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.program.nodes.spelling import PREAMBLE, variable
from tempoc.runtime.run import run
from tests.support.session.long import sampled

PROGRAM = '''"""DOC"""
import "LIBRARY" as lib
dim dim_ < bound_  # COMMENT
input x[dim_]: f32[3]
param w: f32[3, 3] from "TEMPLATE"
h[0] = x[0]
h[dim_] = tanh(w @ h[dim_-1] + lib.twice(x)) when dim_ >= 1
g[dim_] = einsum("ij,j->i", w, h) * dim_ + random.uniform([3])
s = cumsum(g[0:bound_], axis = 0)
save s to "SAVED"
output s, h[bound_-1] as last
'''
ATTACK = '"""+__import__("pathlib").Path("HACKED").touch()+"""'
FILES = (
    *(f"m{ATTACK}.rt", "a\nb.rt", "a\rb.rt", "a\x85b\u2028c.rt", "a\u202eb.rt", "a\x1b[2Jb.rt"),
    *("a\\.rt", "a{0}%s{name}.rt", "a[red]b.rt", os.fsdecode(b"a\xffb.rt"), 'q".rt', "q'''.rt"),
    *("\\N{DASH}.rt", ".rt"),
)
NAMES = (
    *(
        "at",
        "at_",
        "jnp",
        "jax",
        "matvec",
        "random_uniform",
        "updated",
        "__builtins__",
        "__debug__",
    ),
    *(
        "__debug__",
        "enumerate",
        "range",
        "None",
        "lambda",
        "__file__",
        "carry",
        "match",
        "in_batches",
        "point",
    ),
)


def sources(folder: Path, file: str = "m.rt", **texts: str) -> Path:
    """The program and its library in a folder, with other texts; the path of the program."""
    words = {
        "DOC": "doc", "LIBRARY": "lib.rt", "COMMENT": "-", "TEMPLATE": "w", "SAVED": "s.safetensors"
    } | texts  # fmt: skip
    text = re.sub("|".join(words), lambda m: words[m[0]], PROGRAM)
    (folder / words["LIBRARY"]).write_text("def twice(x) = 2. * x\n")
    (folder / file).write_text(text)
    return folder / file


def kernels(path: Path, level: int = 2) -> str:
    return Compilation.from_path(str(path), Options(level=level)).emitted.kernels


def tree(text: str) -> str:
    """A module without its strings; its own names are numbered as they come."""
    module, numbers = ast.parse(text), dict[str, str]()

    def number(name: str) -> str:
        known = name in PREAMBLE or name in dir(builtins)
        return name if known else numbers.setdefault(name, f"n{len(numbers)}")

    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
        for field in ("id", "arg", "name"):
            if isinstance(name := getattr(node, field, None), str):
                setattr(node, field, number(name))
    return ast.dump(module)


@pytest.mark.parametrize("file", FILES, ids=ascii)
def test_the_name_of_a_file_is_text(tmp_path: Path, file: str) -> None:
    text = kernels(sources(tmp_path, file))
    assert tree(text) == tree(kernels(sources(tmp_path)))
    assert text.replace("\n", "").isprintable()


def test_documents_strings_and_comments_are_text(tmp_path: Path) -> None:
    hostile = "'''+__import__('os')+'''%s\x1b[2J\u202e"
    twin = kernels(sources(tmp_path))
    for word in ("DOC", "COMMENT", "TEMPLATE"):
        text = kernels(sources(tmp_path, **{word: hostile}))
        assert tree(text) == tree(twin), word
        assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize("name", sampled(NAMES, "more names", of=3))
def test_a_dimension_a_bound_and_a_tensor_may_have_any_name(tmp_path: Path, name: str) -> None:
    file = sources(tmp_path)
    text = file.read_text()
    for old in ("dim_", "bound_"):
        trees = []
        for new in (name, "q" * len(variable(name))):  # lines are as long as those of the twin
            file.write_text(re.sub(rf"\b{old}\b", new, text))
            trees.append(tree(kernels(file)))
        assert trees[0] == trees[1], old
    file.write_text(re.sub(r"\bh\b", name, text))
    functions = [f for f in ast.parse(kernels(file)).body if isinstance(f, ast.FunctionDef)]
    own = [f for f in functions if f.name not in PREAMBLE]
    bound = {name for f in own for name in (f.name, *bound_in(f))}
    assert not bound & {*RESERVED} - {"at"}


def bound_in(function: ast.FunctionDef) -> Iterator[str]:
    """The names that a function binds."""
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.FunctionDef):
            yield node.name


def test_nothing_of_a_hostile_program_is_executed(tmp_path: Path) -> None:
    file = sources(tmp_path, f"m{ATTACK}.rt", LIBRARY="lib'''+__import__('os')+'''.rt", DOC="'" * 3)
    Compilation.from_path(str(file), Options()).write(str(tmp_path / "out"), durable=False)
    rng = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", rng.normal(size=(4, 3)).astype(np.float32))
    np.savez(tmp_path / "w.npz", w=np.eye(3, dtype=np.float32))
    command = [
        sys.executable,
        "out",
        "--input",
        "x=x.npy",
        "--params",
        "w.npz",
        "--memory-plot",
        "p.svg",
    ]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ | {"JAX_PLATFORMS": "cpu"},
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "HACKED").exists()
    assert "&quot;" in (tmp_path / "p.svg").read_text() or '"""' in (tmp_path / "p.svg").read_text()


@pytest.mark.parametrize("name", ["at", "matvec", "range", "__debug__", "carry"])
def test_hostile_names_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)  # the program saves a file
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(4, 3)).astype(np.float32), np.eye(3, dtype=np.float32)
    results = []
    for bound in ("bound_", name):
        file = sources(tmp_path)
        file.write_text(re.sub(r"\bbound_\b", bound, file.read_text()))
        Compilation.from_path(str(file), Options()).write(str(tmp_path / bound), durable=False)
        results.append(run(tmp_path / bound, {bound: 4}, {"x": x}, {"w": w}).outputs["s"])
    np.testing.assert_array_equal(*results)


def test_a_name_that_is_not_utf8_compiles_into_files_that_are(tmp_path: Path) -> None:
    file = sources(tmp_path, os.fsdecode(b"a\xffb.rt"), LIBRARY=os.fsdecode(b"l.rt"))
    Compilation.from_path(str(file), Options()).write(str(tmp_path / "out"), durable=False)
    data = json.loads((tmp_path / "out" / "program.json").read_text(encoding="utf-8"))
    assert ascii(data["name"].encode(errors="replace")) == ascii(b"a\xef\xbf\xbdb")
    (tmp_path / "out" / "kernels.py").read_text(encoding="utf-8")
    assert Compilation.from_directory(str(tmp_path / "out")).graph.outputs


@pytest.mark.parametrize(
    "place", ["m:class", "m:\ufb01", "m:f\u00b2", "import:f", "m:f;g", "m:f\n", "m.:f", "m:f as g"]
)
def test_what_python_cannot_import_is_refused(tmp_path: Path, place: str) -> None:
    text = f'extern jax f(x: f32) -> (y: f32) from "{place}"\ninput x: f32\ny = f(x)\noutput y\n'
    (tmp_path / "m.rt").write_text(text.replace('\n"', '\\n"'))
    with pytest.raises(DiagnosticError) as error:
        kernels(tmp_path / "m.rt")
    assert error.value.diagnostics[0].code == "RT150"
