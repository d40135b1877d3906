from __future__ import annotations

import json

import numpy as np
import pytest

from tempoc.cli.main import status
from tempoc.runtime.data.files import open_bundle
from tempoc.runtime.main import main
from tests.runtime.programs import RNN, RNN_KERNELS, write


@pytest.fixture
def rnn(tmp_path):
    out = write(tmp_path / "out", RNN, RNN_KERNELS)
    np.save(tmp_path / "x.npy", np.ones((4, 3), np.float32))
    np.savez(tmp_path / "w.npz", **{"net.W": np.eye(3, dtype=np.float32), "other": np.ones(2)})
    return out


def arguments(out, *more):
    data = out.parent
    return [str(out), "--input", f"x={data / 'x.npy'}", "--params", str(data / "w.npz"), *more]


def test_table_without_an_output_option(rnn, capsys):
    assert main(arguments(rnn)) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[1].startswith("h       f32[4, 3]  0.76159 0.76159")
    assert captured.err == ""


def test_output_files(rnn, tmp_path, capsys):
    assert main(arguments(rnn, "--output-dir", str(tmp_path / "a" / "b"))) == 0
    assert main(arguments(rnn, "--output", str(tmp_path / "r.safetensors"))) == 0
    assert main(arguments(rnn, "--output", str(tmp_path / "r.npz"))) == 0
    assert capsys.readouterr().out == ""
    h = np.load(tmp_path / "a" / "b" / "h.npy")
    assert h.shape == (4, 3)
    np.testing.assert_array_equal(np.load(tmp_path / "r.npz")["h"], h)
    np.testing.assert_array_equal(open_bundle(tmp_path / "r.safetensors")["h"].read(), h)


def test_stats_and_profile(rnn, tmp_path, capsys):
    assert main(arguments(rnn, "--stats", "--profile", str(tmp_path / "p.json"))) == 0
    err = capsys.readouterr().err
    # x 48, W 36, h.now 12, h 48 bytes.
    assert "144 bytes" in err and "step" in err
    events = json.loads((tmp_path / "p.json").read_text())["traceEvents"]
    assert [e["args"]["at"] for e in events if e["name"] == "step"] == [[0], [1], [2], [3]]


@pytest.mark.parametrize(
    ("more", "status", "words"),
    [
        (["--nonsense"], 2, ["--nonsense"]),
        (["--bounds", "T"], 2, ["NAME=VALUE"]),
        (["--bounds", "T=3,T=4"], 2, ["twice"]),
        (["--bounds", "T=5"], 1, ["RT514", "5 by --bounds T=5 but 4 by axis 0 of x"]),
        (["--bounds", "S=5"], 1, ["RT511", "S"]),
        (["--output", "x.txt"], 1, ["RT542", ".npz or .safetensors"]),
        (["--output", "/nonexistent/r.npz"], 1, ["RT543", "/nonexistent"]),
        (["--output-dir", "/dev/null/x"], 1, ["RT543", "/dev/null/x"]),
        (
            ["--input", "y=/nonexistent.npy", "--params", "/none.npz"],
            1,
            ["y", "/none.npz", "RT540"],
        ),
    ],
)
def test_mistakes(rnn, capsys, more, status, words):
    assert main(arguments(rnn, *more)) == status
    err = capsys.readouterr().err
    assert all(word in err for word in words), err
    assert "Traceback" not in err


def test_interrupt(rnn, capsys, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("tempoc.runtime.execute.run_given", stop)
    assert main(arguments(rnn)) == 130
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.parametrize("called", [main, lambda argv: status(["run", *argv])])
@pytest.mark.parametrize(
    ("raised", "ended", "words"),
    [
        (MemoryError(), 1, "error[RT902]"),
        (OSError(28, "No space left on device"), 1, "error[RT901]: the output cannot be used"),
        (BrokenPipeError(), 0, ""),
        (KeyboardInterrupt(), 130, "interrupted"),
        (
            ZeroDivisionError("by nothing"),
            70,
            "tempoc itself failed: ZeroDivisionError: by nothing",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_both_command_lines_end_alike(rnn, capfd, monkeypatch, called, raised, ended, words):
    def fail(*_):
        raise raised

    monkeypatch.setattr("tempoc.runtime.execute.load_stored", fail)
    monkeypatch.setattr("tempoc.runtime.main.abandon_output", lambda: None)
    monkeypatch.setattr("tempoc.cli.main.abandon_output", lambda: None)
    assert called(arguments(rnn)) == ended
    err = capfd.readouterr().err
    assert words in err and "Traceback" not in err
    assert err.count("error[") == (ended in (1, 70))
