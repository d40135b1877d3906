"""`run` and `eval`: tables, files, what is wrong with data, and checks that fail."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from tempoc.cli.reports import verify
from tests.cli.session import Session
from tests.support.golden import Golden

DATA = "--input x=x.npy --params w.npz"


def test_tables(tempoc: Session, golden: Golden) -> None:
    assert tempoc("compile sums.rt -o out") == 0
    for line in (
        f"run out {DATA}",
        f"run out {DATA} --bounds T=3 --verify",
        f"run sums.rt {DATA} -D N=20",
        f"eval sums.rt {DATA} --float64",
        "run fib.rt --bounds N=2",
    ):
        assert tempoc(line) == 0
    golden("cli/run.txt", tempoc.text)


def test_wrong_data(tempoc: Session, golden: Golden) -> None:
    x = np.load("x.npy")
    np.save("double.npy", x.astype(np.float64))
    np.save("flat.npy", x[0])
    np.save("wide.npy", np.ones((3, 5), np.float32))
    np.save("none.npy", x[:0])
    np.save("objects.npy", np.array([{}, 1], dtype=object), allow_pickle=True)
    Path("short.npy").write_bytes(Path("x.npy").read_bytes()[:-8])
    Path("short.npz").write_bytes(Path("w.npz").read_bytes()[:-40])
    Path("text.npy").write_text("hello")
    Path("junk.safetensors").write_bytes(b"\xff" * 64)
    Path("folder.npz").mkdir()
    np.savez("lower.npz", w=np.eye(4, dtype=np.float32), U=x)
    np.savez("double.npz", W=np.eye(4))
    np.savez("half.npz", W=np.eye(4, dtype=np.float16))
    assert tempoc("compile sums.rt -o out") == 0
    lines = [f"run out --params w.npz --input x={name}.npy" for name in (
        "nosuch", "double", "flat", "wide", "none", "objects", "short", "text",
    )]  # fmt: skip
    lines += [f"run out --input x=x.npy --params {name}" for name in (
        "nosuch.npz", "short.npz", "junk.safetensors", "folder.npz", "lower.npz", "double.npz",
        "x.npy", "w.npz --params half.npz",
    )]  # fmt: skip
    lines += [f"run out {DATA} --bounds {bounds}" for bounds in (
        "T=4", "T=0", "T=-1", "T=1.5", "T=99999999999", "t=3", "N=3", "T=3,Q=1",
    )]  # fmt: skip
    lines += [
        "run out",
        f"run out {DATA} --input x.npy",
        f"run out {DATA} --input x=x.npy",
        f"run out {DATA} --input y=x.npy",
        "run out --bounds T=5,Q=1 --input x=double.npy --input z=x.npy --params lower.npz",
        "eval sums.rt",
    ]
    for line in lines:
        assert tempoc(line) == 1, line
        assert not tempoc.out
    golden("cli/data.txt", tempoc.text)
    assert tempoc("run out --input x=x.npy --params half.npz") == 0, "widens"
    assert tempoc("run out --input x=x.npy --params double.npz --cast-params") == 0


@pytest.mark.parametrize("command", ["run", "eval"])
def test_results_that_cannot_be_written_are_known_before(tempoc: Session, command: str) -> None:
    Path("folder.npz").mkdir()
    before = sorted(os.listdir())
    for option, code in {
        "--output r.txt": "RT542",
        "--output nosuch/r.npz": "RT543",
        "--output folder.npz": "RT543",
        "--output-dir fib.rt": "RT543",
        "--output-dir fib.rt/x": "RT543",
    }.items():
        assert tempoc(f"{command} fib.rt --bounds N=4 {option}") == 1
        assert tempoc.err.startswith(f"error[{code}]") and not tempoc.out
    assert sorted(os.listdir()) == before


def test_results_profile_and_stats(tempoc: Session) -> None:
    options = "--output r.npz --output-dir a/b --stats --profile p.json --verify"
    assert tempoc(f"run fib.rt --bounds N=6 {options}") == 0
    assert not tempoc.out and "peak of all stores" in tempoc.err and "agree" in tempoc.err
    assert np.load("r.npz")["f"].tolist() == np.load("a/b/f.npy").tolist() == [0, 1, 1, 2, 3, 5]
    assert json.loads(Path("p.json").read_text())["traceEvents"]
    assert tempoc("run fib.rt --bounds N=6 --profile a") == 1
    assert "a cannot be written: it is a directory" in tempoc.err and not tempoc.out


def test_a_difference_is_status_3(tempoc: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {"f": np.array([0, 1, 1, 2, 4], np.int32)}
    monkeypatch.setattr(verify, "evaluate_given", lambda *_, **__: wrong)
    assert tempoc("run fib.rt --bounds N=5 --verify") == 3
    assert tempoc.out.startswith("output  type    values")
    assert tempoc.err.startswith("error[RT910]: the run differs from the reference evaluator\n")
    assert "note: f: 1 of 5 elements differ, worst f[4] = 3, the reference 4\n" in tempoc.err
    assert tempoc("run fib.rt --bounds N=5 --verify --error-format json") == 3
    assert json.loads(tempoc.err)[0]["code"] == "RT910"


def test_names_with_spaces_and_links(tempoc: Session) -> None:
    Path("a b").mkdir()
    Path("fib.rt").rename("a b/my model.rt")
    Path("link").symlink_to("a b/o u t")
    assert tempoc(["compile", "a b/my model.rt", "-o", "a b/o u t"]) == 0
    assert tempoc("run link --bounds N=4") == 0
    assert tempoc(["compile", "a b/my model.rt", "-o", "link"]) == 0
    assert Path("link").is_symlink() and sorted(os.listdir("a b")) == ["my model.rt", "o u t"]


@pytest.mark.parametrize("command", ["run", "eval"])
def test_params_that_no_file_holds_are_named(tempoc: Session, command: str) -> None:
    Path("net.rt").write_text(
        "dim l < L = 2\nparam net = [{w: ones([2]), b: zeros([2])}]\n"
        'param V[l]: f32[2] from "v.{l}" = ones([2])\ny = net[0].w + net[0].b + V\noutput y\n'
    )
    np.savez("some.npz", **{"net.0.w": np.ones(2, np.float32), "other": np.ones(2)})
    assert tempoc(f"{command} net.rt --params some.npz") == 0
    assert tempoc.err == "note: net.0.b, v.{l} are not in some.npz: their defaults will be used\n"
    np.savez("w.npz", **{"w.0.w": np.ones(2), "w.0.b": np.ones(2)})
    assert tempoc(f"{command} net.rt --params w.npz") == 0
    assert "are not in w.npz, which holds w.0.w, w.0.b: their defaults" in tempoc.err
    assert tempoc(f"{command} net.rt") == 0 and not tempoc.err


@pytest.mark.parametrize("command", ["run", "eval"])
def test_layers_that_no_param_reads_are_named(tempoc: Session, command: str) -> None:
    Path("net.rt").write_text(
        "dim l < L = 2\ndim h < H = 2\ndim t < T\n"
        'param V[l]: f32[2] from "v.{l}"\nparam W[t]: f32[2] from "w.{t}"\n'
        'param U[l, h]: f32[2] from "u.{l}.{h}"\noutput V, W, U\n'
    )
    layers = {f"{name}.{k}": np.ones(2, np.float32) for name in "vw" for k in range(3)}
    layers |= {f"u.{k}.{h}": np.ones(2, np.float32) for k in range(3) for h in range(2)}
    np.savez("w.npz", **layers)
    assert tempoc(f"{command} net.rt --params w.npz --bounds T=2") == 0
    assert tempoc.err == "note: w.npz goes on with v.2, u.2.0, which the program does not read\n"
    assert tempoc(f"{command} net.rt --params w.npz --bounds T=2 -D L=3") == 0 and not tempoc.err
