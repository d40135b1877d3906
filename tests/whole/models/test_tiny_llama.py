"""The language model's program at a size at which the reference evaluator can follow it."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tempoc.cli.main import status
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.ops.tensor.source import Param
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.examples import ROOT, load
from tests.support.session.long import examples, sampled
from tests.support.tiny_llama import SIZES, in_file, weights

SOURCE = str(ROOT / "examples" / "llama" / "model.rt")


@pytest.mark.parametrize("window", sampled([3, 0], "without a window", of=2))
def test_evaluator_and_compiled_program_agree(window: int, tmp_path: Path) -> None:
    defines = {name: str(value) for name, value in (SIZES | {"window": window}).items()}
    stacked = weights(SIZES["L"])
    inputs = {
        "prompt": np.array([[3, 5, 7, 2], [4, 1, 0, 0]], np.int32),
        "length": np.array([4, 2], np.int32),
    }
    graph = Compilation.from_path(SOURCE, Options(level=0, defines=defines)).graph
    params = {
        name: stacked[node.op.template]
        for name, node in graph.nodes.items()
        if isinstance(node.op, Param)
    }
    save_file(in_file(stacked), tmp_path / "params.safetensors")
    np.savez(tmp_path / "inputs.npz", **inputs)
    out = tmp_path / "out"
    options = [word for name, value in defines.items() for word in ("-D", f"{name}={value}")]
    assert status(["compile", SOURCE, "-o", str(out), *options]) == 0
    for steps in (9, 1, 5)[: examples(1, long=3)]:
        bounds = {"B": 2, "P": 4, "S": 2, "T": steps}
        wanted = evaluate(graph, bounds, inputs, params, float64=True)["tok"]
        found = run(out, tmp_path, steps)
        np.testing.assert_array_equal(found, wanted)
        for row, prompt, length in zip(found, inputs["prompt"], inputs["length"], strict=True):
            assert row[:length].tolist() == prompt[: min(length, steps)].tolist()


CONFIG = {
    "model_type": "llama",
    "hidden_size": 10, "intermediate_size": 14, "vocab_size": 23, "head_dim": 4,
    "num_key_value_heads": 2, "num_attention_heads": 6, "num_hidden_layers": 2,
    "tie_word_embeddings": False, "rms_norm_eps": 0.1, "rope_theta": 20,
    "rope_scaling": {
        "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 3.0,
        "original_max_position_embeddings": 9, "rope_type": "llama3",
    },
}  # fmt: skip
"""As a checkpoint says it; each entry changes the tokens."""


def test_a_configuration_and_weights_in_several_files(tmp_path: Path) -> None:
    stacked = weights(SIZES["L"])
    inputs = {
        "prompt": np.array([[3, 5, 7, 2], [4, 1, 0, 0]], np.int32),
        "length": np.array([4, 2], np.int32),
    }
    np.savez(tmp_path / "inputs.npz", **inputs)
    shards = tmp_path / "shards"
    shards.mkdir()
    tensors = in_file(stacked)
    save_file(dict(list(tensors.items())[::2]), shards / "model-1-of-2.safetensors")
    save_file(dict(list(tensors.items())[1::2]), shards / "model-2-of-2.safetensors")
    config = shards / "config.json"
    config.write_text(json.dumps(CONFIG))
    answers = []
    for dtype in ("f32", "bf16")[: examples(1, long=2)]:
        options = Options(level=0, config=str(config), defines={"dtype": dtype})
        compilation = Compilation.from_path(SOURCE, options)
        assert compilation.configuration.notes() == ()
        nodes = [n for n in compilation.graph.nodes.values() if isinstance(n.op, Param)]
        assert {node.op.dtype.value for node in nodes} == {dtype}
        params = {node.name: stacked[node.op.template] for node in nodes}
        out = tmp_path / dtype
        given = ["--config", str(config), "-D", f"dtype={dtype}"]
        assert status(["compile", SOURCE, "-o", str(out), *given]) == 0
        if dtype == "f32":
            bounds = {"B": 2, "P": 4, "S": 2, "T": 9}
            wanted = evaluate(compilation.graph, bounds, inputs, params, float64=True)["tok"]
            answers.append(run(out, tmp_path, 9, params=shards))
            np.testing.assert_array_equal(answers[0], wanted)
        else:
            found = run(out, tmp_path, 9, "--cast-params", params=shards)
            np.testing.assert_array_equal(found[:, :2], wanted[:, :2])
    # What the configuration says matters.
    plain = Compilation.from_path(SOURCE, Options(level=0, defines=_defines()))
    params = {
        node.name: stacked[node.op.template]
        for node in plain.graph.nodes.values()
        if isinstance(node.op, Param)
    }
    other = evaluate(plain.graph, bounds, inputs, params, float64=True)["tok"]
    assert not np.array_equal(other, wanted)


@pytest.mark.parametrize(
    ("program", "entries"),
    [
        ("model", {"model_type": "qwen2"}),
        ("model", {"rope_scaling": {"rope_type": "yarn", "factor": 8.0}}),
        ("sample", {"rope_scaling": {"type": "linear", "factor": 8.0}}),
        ("quantized", {"rope_scaling": CONFIG["rope_scaling"]}),
    ],
)
def test_what_the_equations_do_not_compute_is_refused(
    program: str, entries: dict[str, object], tmp_path: Path
) -> None:
    config, source = tmp_path / "config.json", Path(SOURCE).with_name(f"{program}.rt")
    config.write_text(json.dumps(CONFIG | entries))
    with pytest.raises(DiagnosticError) as refused:
        Compilation.from_path(str(source), Options(level=0, config=str(config))).graph  # noqa: B018
    assert [d.code for d in refused.value.diagnostics] == ["RT036"]
    config.write_text(json.dumps(CONFIG | {"rope_scaling": {"rope_type": "default"}}))
    assert Compilation.from_path(str(source), Options(level=0, config=str(config))).graph


def test_weights_in_bf16_are_quantized_beside_the_link_that_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched, home = tmp_path / "fetched", tmp_path / "mine" / "llama"
    fetched.mkdir()
    home.parent.mkdir()
    home.symlink_to(fetched, target_is_directory=True)
    halves = {"w": np.ones((2, 3), ml_dtypes.bfloat16), "norm": np.ones(3, ml_dtypes.bfloat16)}
    save_file(halves, fetched / "model.safetensors")
    monkeypatch.setattr("sys.argv", ["quantize.py", "--home", str(home)])
    load(ROOT / "examples" / "llama" / "quantize.py").main()
    assert not (tmp_path / "fetched-8bit").exists()
    written = load_file(tmp_path / "mine" / "llama-8bit" / "model.safetensors")
    assert {name: value.dtype for name, value in written.items()} == {
        "w": np.int8, "w_scale": np.float32, "norm": np.float32,
    }  # fmt: skip
    np.testing.assert_array_equal(written["w"], 127)


@pytest.mark.long("a variant of the model")
def test_sampling_ends_when_all_texts_have(tmp_path: Path) -> None:
    source = str(ROOT / "examples" / "llama" / "sample.rt")
    defines = {name: str(value) for name, value in SIZES.items()} | {"heat": "6.0"}
    stacked = weights(SIZES["L"])
    inputs = {
        "prompt": np.array([[3, 5, 7, 2], [4, 1, 0, 0]], np.int32),
        "length": np.array([4, 2], np.int32),
    }
    graph = Compilation.from_path(source, Options(level=0, defines=defines)).graph
    nodes = [node for node in graph.nodes.values() if isinstance(node.op, Param)]
    params = {node.name: stacked[node.op.template] for node in nodes}
    save_file(in_file(stacked), tmp_path / "params.safetensors")
    np.savez(tmp_path / "inputs.npz", **inputs)
    out = tmp_path / "out"
    options = [word for name, value in defines.items() for word in ("-D", f"{name}={value}")]
    assert status(["compile", source, "-o", str(out), *options]) == 0
    steps = []
    for seed in (0, 1):
        bounds = {"B": 2, "P": 4, "S": 2, "T": 40}
        wanted = evaluate(graph, bounds, inputs, params, seed=seed)["tok"]
        found = run(out, tmp_path, 40, "--seed", str(seed))
        np.testing.assert_array_equal(found, wanted)
        steps.append(found.shape[1])
        ends = []
        for row, length in zip(found, inputs["length"], strict=True):
            new = row[length:].tolist()
            ends.append(length + new.index(2) if 2 in new else 40)
            assert all(token == 2 for token in row[ends[-1] :])
        assert found.shape[1] == min(max(ends) + 1, 40)
    assert len({*steps}) > 1


def _defines() -> dict[str, str]:
    return {name: str(value) for name, value in SIZES.items()}


def run(out: Path, folder: Path, steps: int, *more: str, params: Path | None = None) -> np.ndarray:
    command = ["run", str(out), "--bounds", f"T={steps},S=2", "--input", str(folder / "inputs.npz")]
    command += ["--params", str(params or folder / "params.safetensors"), *more]
    assert status([*command, "--output", str(folder / "results.npz")]) == 0
    with np.load(folder / "results.npz") as file:
        return np.array(file["tok"])
