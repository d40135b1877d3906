"""What a run is given can be wrong in many ways; each is said once, and nothing is left behind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from tempoc.cli.main import status

PROGRAM = """dim t < T
dim l < L
dim k < K = 2
dim n < N = T - 1
assume L <= T
input x[t]: f32[2]
param w[l]: f32[2] from "layers.{l}.w"
y = x * w[0]
output y
"""
GOOD = "--bounds L=2 --input x.npz --params w.safetensors"

WRONG: dict[str, tuple[str, int, list[str]]] = {
    "nothing": ("", 1, ["RT510 T", "RT510 L", "RT520 x", "RT530 w"]),
    "bounds": (
        "--bounds T=0,L=x,K=3,Q=1 --input x.npz --params w.safetensors", 1,
        ["RT513 T", "RT513 L", "RT512 K", "RT511 Q"],
    ),
    "clash": ("--bounds T=4,L=2 --input x.npz --params w.safetensors", 1, ["RT514 4", "RT514 3"]),
    "assumption": ("--bounds L=4 --input x.npz --params more.safetensors", 1, ["RT516 L <= T"]),
    "derived": ("--bounds L=1 --input one.npz --params w.safetensors", 1, ["RT515 N = T - 1"]),
    "dtype": ("--bounds L=2 --input x64.npz --params w.safetensors", 1, ["RT522 x"]),
    "rank": ("--bounds T=3,L=2 --input x=flat.npy --params w.safetensors", 1, ["RT523 x"]),
    "shape": ("--bounds L=2 --input x=wide.npy --params w.safetensors", 1, ["RT524 axis 1"]),
    "both": (
        "--bounds L=3 --input x=wide.npy --params w.safetensors", 1, ["RT524 x", "RT530 layers.2.w"]
    ),
    "unknown input": (GOOD + " --input q=flat.npy", 1, ["RT521 q"]),
    "twice": (GOOD + " --input x=flat.npy", 1, ["RT545 x"]),
    "no file": ("--input x=no.npy --params no.npz", 1, ["RT540 no.npy", "RT540 no.npz"]),
    "foreign": ("--input x=foreign.npy", 1, ["RT541 foreign.npy"]),
    "cut npy": ("--input x=cut.npy", 1, ["RT541 cut.npy"]),
    "cut npz": ("--input cut.npz", 1, ["RT541 cut.npz"]),
    "cut safetensors": ("--params cut.safetensors", 1, ["RT541 cut.safetensors"]),
    "empty": ("--params empty.safetensors", 1, ["RT541 empty.safetensors"]),
    "suffix": ("--input x=x.txt", 1, ["RT542 x.txt"]),
    "objects": ("--input x=objects.npy", 1, ["RT541 objects.npy"]),
    "output suffix": (GOOD + " --output r.txt", 1, ["RT542 r.txt"]),
    "output folder": (GOOD + " --output no/r.npz", 1, ["RT543 no"]),
    "output file": (GOOD + " --output-dir foreign.npy", 1, ["RT543 foreign.npy"]),
    "no value": ("--bounds T", 2, []),
    "twice bound": ("--bounds T=1,T=2", 2, []),
    "no define": (GOOD + " -D K", 2, []),
    "unknown define": (GOOD + " -D Q=3", 1, ["RT030 Q"]),
    "run-time define": (GOOD + " -D T=3", 1, ["RT031 T"]),
    "derived define": (GOOD + " -D N=3", 1, ["RT033 N"]),
    "bad define": (GOOD + " -D K=0", 1, ["RT025 `K` is 0"]),
    "text define": (GOOD + " -D K=a", 1, ["RT032 K"]),
    "unknown option": (GOOD + " --foo", 2, []),
    "seed": (GOOD + " --seed x", 2, []),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program and files, good and bad, in the working directory."""
    monkeypatch.chdir(tmp_path)
    x = np.ones((3, 2), np.float32)
    w = {f"layers.{k}.w": np.ones(2, np.float32) for k in range(4)}
    Path("model.rt").write_text(PROGRAM)
    np.savez("x.npz", x=x)
    np.savez("x64.npz", x=x.astype(np.float64))
    np.savez("one.npz", x=x[:1])
    np.save("flat.npy", x[:, 0])
    np.save("wide.npy", np.ones((3, 3), np.float32))
    np.save("objects.npy", np.array([{}], dtype=object))
    save_file({k: w[k] for k in list(w)[:2]}, "w.safetensors")
    save_file(w, "more.safetensors")
    Path("foreign.npy").write_text("this is no array at all")
    Path("x.txt").write_text("1 2 3")
    Path("empty.safetensors").write_bytes(b"")
    np.save("cut.npy", x)
    for name, whole in (
        ("cut.npy", "cut.npy"),
        ("cut.npz", "x.npz"),
        ("cut.safetensors", "w.safetensors"),
    ):
        Path(name).write_bytes(Path(whole).read_bytes()[:-7])
    return tmp_path


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options, code, wanted = WRONG[name]
    before = sorted(folder.iterdir())
    assert status(["eval", "model.rt", *options.split()]) == code
    printed = capsys.readouterr()
    assert not printed.out
    assert "Traceback" not in printed.err
    blocks = printed.err.split("error[")[1:]
    if code == 1:
        codes = {w.split(" ")[0] for w in wanted}
        assert {b[:5] for b in blocks} == codes, printed.err
    for words in wanted:
        number, _, text = words.partition(" ")
        assert any(b.startswith(number) and text in b.split("\n")[0] for b in blocks), printed.err
    assert sorted(folder.iterdir()) == before


def test_what_a_derived_bound_follows_from(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(["check", "model.rt", "-D", "N=3"]) == 1
    assert "what is given when the program is run: --bounds T=..." in capsys.readouterr().err


def test_a_good_run_writes_what_it_is_asked_for(folder: Path) -> None:
    for command in (["eval", "model.rt"], ["run", "model.rt"]):
        options = [*GOOD.split(), "--output-dir", "res/deep", "--output", "all.safetensors"]
        assert status([*command, *options]) == 0
        assert [p.name for p in (folder / "res" / "deep").iterdir()] == ["y.npy"]
        assert np.load(folder / "res" / "deep" / "y.npy").shape == (3, 2)
