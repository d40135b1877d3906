"""Gemma's program at a size at which the evaluator and plain NumPy can follow it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from tempoc.cli.main import status
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.ops.tensor.source import Param
from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.symbolic.text import show
from tests.support.examples import ROOT
from tests.support.oracles import gemma3
from tests.support.session.long import sampled

SOURCE = str(ROOT / "examples" / "gemma" / "model.rt")
CONFIG = {
    "hidden_size": 10, "intermediate_size": 14, "vocab_size": 23, "head_dim": 4,
    "num_key_value_heads": 2, "num_attention_heads": 6, "num_hidden_layers": 6,
    "_sliding_window_pattern": 3, "sliding_window": 3, "query_pre_attn_scalar": 7,
    "rms_norm_eps": 0.01, "rope_theta": 500.0, "rope_local_base_freq": 20.0,
}  # fmt: skip
"""Two groups of two window layers and a full one; each entry changes the tokens."""

PROMPTS = [[3, 5, 7, 2, 9, 11], [4, 1, 21]]


def shapes() -> dict[str, tuple[int, ...]]:
    """Shapes of the parameters by Hugging Face's names."""
    d, f, h = (CONFIG[k] for k in ("hidden_size", "intermediate_size", "head_dim"))
    q, kv = (h * CONFIG[f"num_{k}_heads"] for k in ("attention", "key_value"))
    block = {
        "input_layernorm": (d,), "post_attention_layernorm": (d,),
        "pre_feedforward_layernorm": (d,), "post_feedforward_layernorm": (d,),
        "self_attn.q_proj": (q, d), "self_attn.k_proj": (kv, d), "self_attn.v_proj": (kv, d),
        "self_attn.o_proj": (d, q), "self_attn.q_norm": (h,), "self_attn.k_norm": (h,),
        "mlp.gate_proj": (f, d), "mlp.up_proj": (f, d), "mlp.down_proj": (d, f),
    }  # fmt: skip
    layers = {
        f"model.layers.{layer}.{name}.weight": shape
        for layer in range(CONFIG["num_hidden_layers"])
        for name, shape in block.items()
    }
    embed = {"model.embed_tokens.weight": (CONFIG["vocab_size"], d), "model.norm.weight": (d,)}
    return embed | layers


@pytest.fixture(scope="module")
def weights() -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    return {name: random.standard_normal(shape, np.float32) for name, shape in shapes().items()}


@pytest.fixture(scope="module")
def home(weights: dict[str, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights, configuration, prompts side by side, and the compiled program in `out`."""
    folder = tmp_path_factory.mktemp("gemma")
    (folder / "config.json").write_text(json.dumps(CONFIG))
    save_file(weights, folder / "model.safetensors")
    np.savez(folder / "inputs.npz", **inputs())
    config = ["--config", str(folder / "config.json")]
    assert status(["compile", SOURCE, *config, "-o", str(folder / "out")]) == 0
    return folder


def inputs() -> dict[str, Any]:
    longest = max(map(len, PROMPTS))
    rows = [prompt + [0] * (longest - len(prompt)) for prompt in PROMPTS]
    return {
        "prompt": np.array(rows, np.int32),
        "length": np.array([len(prompt) for prompt in PROMPTS], np.int32),
    }


def compilation(home: Path, level: int) -> Compilation:
    return Compilation.from_path(SOURCE, Options(level=level, config=str(home / "config.json")))


def run(home: Path, steps: int) -> np.ndarray:
    command = ["run", str(home / "out"), "--bounds", f"T={steps},S=3"]
    command += ["--input", str(home / "inputs.npz"), "--params", str(home / "model.safetensors")]
    assert status([*command, "--output", str(home / "results.npz")]) == 0
    with np.load(home / "results.npz") as file:
        return np.array(file["tok"])


@pytest.mark.parametrize("steps", sampled([13, 1, 2, 3], "shorter texts", of=4))
def test_plain_numpy_gives_the_same_tokens(
    steps: int, home: Path, weights: dict[str, np.ndarray]
) -> None:
    wide = {name: value.astype(np.float64) for name, value in weights.items()}
    wanted = [gemma3.greedy(prompt, steps, wide, CONFIG) for prompt in PROMPTS]
    assert run(home, steps).tolist() == wanted


def test_the_evaluator_gives_the_same_tokens(home: Path, weights: dict[str, np.ndarray]) -> None:
    graph = compilation(home, 0).graph
    params = {
        node.name: np.stack([weights[n] for n in names(node.op.template)])
        if "{l}" in node.op.template
        else weights[node.op.template]
        for node in graph.nodes.values()
        if isinstance(node.op, Param)
    }
    bounds = {"B": 2, "P": 6, "S": 3, "T": 9}
    wanted = evaluate(graph, bounds, inputs(), params, float64=True)["tok"]
    np.testing.assert_array_equal(run(home, 9), wanted)


def names(template: str) -> list[str]:
    return [template.replace("{l}", str(k)) for k in range(CONFIG["num_hidden_layers"])]


@pytest.mark.parametrize("entry", [k for k in CONFIG if k.startswith(("rope", "query", "sliding"))])
def test_each_entry_matters(entry: str, weights: dict[str, np.ndarray]) -> None:
    other = CONFIG | {entry: 2 * CONFIG[entry]}
    a, b = (gemma3.logits(PROMPTS[0], weights, config)[-1] for config in (CONFIG, other))
    assert np.abs(a - b).max() > 1e-3


def test_windows_are_rings_and_the_rest_grows(home: Path) -> None:
    """Keys and values of 2 heads of 4 floats: 4 window layers of 3 slots, 2 full ones of T.

    Prompts are read in one pass before, and leave their last positions in the rings.
    """
    stores = compilation(home, 2).plan.stores.values()
    caches = {
        store.name: (
            [(axis.dim, show(axis.size), axis.ring, bool(axis.least)) for axis in store.axes],
            [key.dim for key in store.keys],
        )
        for store in stores
        if any(axis.dim == "t" for axis in store.axes)
        and store.name != "tok"
        and not store.name.endswith(".early")
    }
    near, far = ("t", "3", True, False), ("t", "T", False, True)
    batch = ("b", "B", False, False)
    assert sorted(caches.values(), key=str) == sorted(
        [([batch, near], ["g", "j"])] * 2 + [([batch, far], ["g"])] * 2, key=str
    )


@pytest.mark.long("a whole model: footprint has smaller ones")
def test_the_memory_formula_says_so(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """64 bytes for keys and values of a position: J rings of 3 in a group, and a cache of T."""
    config = ["--config", str(home / "config.json")]
    assert status(["explain", SOURCE, *config, "--dump-memory"]) == 0
    total = next(s for s in capsys.readouterr().out.splitlines() if s.startswith("total"))
    assert "192 bytes*B*G*J " in total and "64 bytes*B*G*T " in total
    assert "G*J*min(S, T) " not in total  # of prompts no more than a layer's
    assert status(["explain", SOURCE, *config, "--memory"]) == 0
    peak = capsys.readouterr().out.splitlines()[0]
    assert "132 bytes*B*T_slots " in peak  # tokens as well


@pytest.mark.parametrize(
    "entries", [{"model_type": "gemma2"}, {"rope_scaling": {"rope_type": "linear", "factor": 8.0}}]
)
def test_what_the_equations_do_not_compute_is_refused(
    entries: dict[str, object], tmp_path: Path
) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(CONFIG | {"model_type": "gemma3_text"} | entries))
    with pytest.raises(DiagnosticError) as refused:
        Compilation.from_path(SOURCE, Options(level=0, config=str(config))).graph  # noqa: B018
    assert [d.code for d in refused.value.diagnostics] == ["RT036"]
