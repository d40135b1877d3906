"""Tables of kernels of users: what they say, what programs make of them, what is refused."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tempoc.cli.main import status
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.runtime.run import run

PROGRAM = """import nn
dim t < T
input x[t]: f32[8]
input y[t]: f32[8]
def gated(a, b, c) = tanh(a * c + b) * sigmoid(a * b)
z = gated(x, y, 0.5)
near = nn.attention(z, z[t = max(0, t-2):t+1], x[t = max(0, t-2):t+1])
output z, near
"""
TABLE = """[gated]
arguments = ["a: F[n]", "b: F[n]", "c: number"]
formula = "sigmoid(b * a) * tanh(a * c + b)"
function = "fast_kernels:gated"
given = {c = "c"}

[near]
import = ["nn"]
dims = ["t < T"]
arguments = ["q[t]: F[D]", "k[t]: F[D]", "v[t]: F[D]", "W: extent"]
formula = "nn.attention(q, k[t = max(0, t-W+1):t+1], v[t = max(0, t-W+1):t+1])"
function = "fast_kernels:near"
given = {width = "W"}
when = "T >= 3 and D <= 64"
"""
KERNELS = """import jax, jax.numpy as jnp

def gated(a, b, c):
    return jnp.tanh(a * c + b) * jax.nn.sigmoid(a * b)

def near(q, k, v, width):
    t = jnp.arange(len(q))
    mask = (t[None] <= t[:, None]) & (t[None] > t[:, None] - width)
    s = jnp.where(mask, q @ k.T / q.shape[-1] ** 0.5, -jnp.inf)
    return jax.nn.softmax(s) @ v
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A program, a table and the module with its functions, in a working directory."""
    (tmp_path / "u.rt").write_text(PROGRAM)
    (tmp_path / "t.toml").write_text(TABLE)
    (tmp_path / "fast_kernels.py").write_text(KERNELS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("fast_kernels", None)


def test_functions_of_the_user_are_called(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = '[other]\narguments = ["a: F[n]"]\nformula = "sin(a)"\nfunction = "fast_kernels:near"\n'
    (folder / "t.toml").write_text(TABLE + other)
    command = ["compile", "u.rt", "-o", "out", "--dispatch", "t.toml", "--remarks", "--verify-each"]
    assert status(command) == 0
    remarks = [line for line in capsys.readouterr().err.splitlines() if "dispatch:" in line]
    assert remarks == [
        "  dispatch: `z` is computed by fast_kernels:gated, as entry gated says",
        "  dispatch: `near` is computed by fast_kernels:near where T >= 3, as entry near says",
        "  dispatch: no equation matches the formula of entry other, in f32",
    ]
    text = (folder / "out/kernels.py").read_text()
    assert "from fast_kernels import near" in text
    assert "gated(x, y, c=0.5)" in text and "near(z, z, x, width=3)" in text
    (folder / "t.toml").unlink()
    again = Compilation.from_directory("out")
    assert {e.name for e in again.called_kernels} == {"gated", "near"}
    random = np.random.default_rng(0)
    for steps in (2, 5):
        data = {n: random.normal(size=(steps, 8)).astype(np.float32) for n in "xy"}
        values = run("out", {}, data).outputs
        z = np.tanh(data["x"] * 0.5 + data["y"]) / (1 + np.exp(-data["x"] * data["y"]))
        np.testing.assert_allclose(values["z"], z, rtol=1e-5, atol=1e-6)
        for t in range(steps):
            first = max(0, t - 2)
            w = np.exp(z[first : t + 1] @ z[t] / np.sqrt(8))
            expected = w / w.sum() @ data["x"][first : t + 1]
            np.testing.assert_allclose(values["near"][t], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (TABLE[: TABLE.index("\n[near]")], ""),
        (
            TABLE.replace("tanh(a", "cos(a").replace("attention(q", "attention(2.0 * q"),
            "--remarks`",
        ),
        (TABLE.replace("function", 'device = "gpu"\nfunction'), "no entry for this device"),
    ],
)
def test_a_table_that_nothing_matches_is_no_secret(
    table: str, why: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "t.toml").write_text(table)
    options = ["--dispatch", "t.toml", "--device", "cpu"]
    assert status(["compile", "u.rt", "-o", "out", *options]) == 0
    said = capsys.readouterr().err
    np.savez("xy.npz", x=np.ones((2, 8), "f4"), y=np.ones((2, 8), "f4"))
    assert status(["run", "u.rt", "--input", "xy.npz", *options]) == 0
    assert capsys.readouterr().err == said
    assert said.startswith("note: no function of t.toml is called: ") if why else not said
    assert why in said


REFUSED = {
    "RT111": ("[gated]", "[gated", "is no table of kernels"),
    "RT112": ('function = "fast_kernels:near"', 'function = "near"', '"module:function"'),
    "RT021": ("tanh(a", "tanhh(a", "unknown function `tanhh`"),
    "RT113": ('{width = "W"}', '{wide = "W"}', "unexpected keyword argument"),
    "RT114": ('"a: F[n]", "b: F[n]"', '"b: F[n]", "a: F[n]"', "does not compute the formula"),
    "RT570": ("fast_kernels:near", "no_such_kernels:near", "in PYTHONPATH"),
}


@pytest.mark.parametrize("code", REFUSED)
def test_what_is_wrong_with_a_table_is_said(
    code: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, message = REFUSED[code]
    (folder / "t.toml").write_text(TABLE.replace(old, new, 1))
    assert status(["compile", "u.rt", "-o", "out", "--dispatch", "t.toml"]) == 1
    answer = capsys.readouterr().err
    assert f"error[{code}]" in answer and message in answer and "--extern-path" not in answer
    assert not (folder / "out").exists()


ENTRY = {
    'x = "a"': "a table `[x]` belongs here",
    "[a]": "it has no `formula`",
    '[a]\nformula = ["x"]': "`formula` is a text",
    "[a]\nimport = [3]": "`import` is a list of texts",
    "[a]\ngiven = 3": "`given` is a table",
    '[a]\nkernel = "x"': "there is no `kernel`, only import, dims, arguments, dtypes",
    '[a]\nformula = "x"\nfunction = "m:f"\narguments = ["x"]': "`x` is no argument",
    '[a]\nformula = "x"\nfunction = "m:f"\narguments = []\ndevice = "tpu"': '"cpu" or "gpu"',
    '[a]\nformula = "x"\nfunction = "m:f"\narguments = []\ndtypes = ["i32"]': "not i32",
    '[a]\nformula = "x"\nfunction = "m:f"\narguments = []\nwhen = "T >"': "`when`: ",
    '[a]\nformula = "x"\nfunction = "tempoc:f"\narguments = []': "tempoc has no f",
    '[a]\nformula = "x"\nfunction = "m:f"\narguments = []\nsizes = {T = 0}': "the size T",
    '[a]\nformula = "x"\nfunction = "m:f"\narguments = ["c: number = a"]': "`a` is no number",
    '[a]\nformula = "x"\nfunction = "m:f"\narguments = ["x: F[n]", "y: F[n]"]': "not read `y`",
    '[a]\nformula = "x"\nfunction = "m:f"\narguments = ["x: F[n]"]\ndtypes = []': "is empty",
    '[a]\nformula = "x"\nfunction = "m:f"\narguments = ["x: F[n]"]\nwhen = "m > 1"': "are n",
}


@pytest.mark.parametrize("text", ENTRY)
def test_what_an_entry_lacks_is_said(
    text: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "t.toml").write_text(text)
    assert status(["compile", "u.rt", "-o", "out", "--dispatch", "t.toml"]) == 1
    answer = capsys.readouterr().err
    assert "error[RT112]" in answer and ENTRY[text] in answer


def test_options_travel_with_a_program() -> None:
    options = Options(library=False, device="gpu", kernels=("[a]", "t.toml", "/folder"))
    assert Options.from_provenance(options.to_provenance()) == options
