"""Draw how many bytes are in stores over the time of some runs: `python examples/memory.py DIR`.

Two pairs of programs that differ in how much of the past somebody reads: REINFORCE with the returns
of whole episodes and with those of 5 steps; decoding of a small Llama (2 layers, made up weights)
that attends to all positions so far and to the last 256. Takes a minute or two, most of it for XLA.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
WHOLE = "g = rl.discounted_sum(r[t = t:T], 0.99)"
FEW = "g = rl.discounted_sum(r[t = t:min(t+5, T)], 0.99)"
SIZES = {"L": 2, "D": 64, "F": 128, "V": 97, "H": 64, "KV": 2, "heads": 4}
WINDOWS = {"causal": 0, "window": 256}


def n_step() -> str:
    """REINFORCE with returns of 5 steps instead of whole episodes."""
    text = (HERE / "rl" / "reinforce.rt").read_text(encoding="utf-8")
    if text.count(WHOLE) != 1:
        raise SystemExit(f"reinforce.rt has no line with {WHOLE}")
    return text.replace(WHOLE, FEW)


def weights() -> dict[str, np.ndarray]:
    """A Llama of these sizes that nobody trained."""
    random, s = np.random.default_rng(0), SIZES
    width = (s["D"],)
    shapes = {"model.embed_tokens": (s["V"], *width), "model.norm": width}
    for layer in (f"model.layers.{n}." for n in range(s["L"])):
        shapes |= {
            f"{layer}input_layernorm": width,
            f"{layer}self_attn.q_proj": (s["heads"] * s["H"], *width),
            f"{layer}self_attn.k_proj": (s["KV"] * s["H"], *width),
            f"{layer}self_attn.v_proj": (s["KV"] * s["H"], *width),
            f"{layer}self_attn.o_proj": (*width, s["heads"] * s["H"]),
            f"{layer}post_attention_layernorm": width,
            f"{layer}mlp.gate_proj": (s["F"], *width),
            f"{layer}mlp.up_proj": (s["F"], *width),
            f"{layer}mlp.down_proj": (*width, s["F"]),
        }
    found = {name: random.normal(size=shape) * 0.1 for name, shape in shapes.items()}
    return {f"{name}.weight": array.astype(np.float32) for name, array in found.items()}


def run(program: Path, drawing: Path, *options: str) -> None:
    """One run, drawn."""
    line = (sys.executable, "-m", "tempoc", "run", str(program), *options)
    subprocess.run([*line, "--memory-plot", str(drawing)], check=True, stdout=subprocess.DEVNULL)
    print(drawing)


def main(directory: Path, episode: int = 200, positions: int = 4096) -> None:
    """All four drawings, for episodes and texts of so many steps."""
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder)
        few = kept / "n_step.rt"
        few.write_text(n_step(), encoding="utf-8")
        envs = "--extern-path", str(HERE / "rl"), "--bounds", f"I=12,T={episode},B=16"
        run(HERE / "rl" / "reinforce.rt", directory / "monte_carlo.svg", *envs)
        run(few, directory / "n_step.svg", *envs)
        np.savez(kept / "weights.npz", **weights())
        prompt = np.random.default_rng(1).integers(0, SIZES["V"], (1, 16), dtype=np.int32)
        np.savez(kept / "prompt.npz", prompt=prompt, length=np.array([16], np.int32))
        data = "--params", str(kept / "weights.npz"), "--input", str(kept / "prompt.npz")
        for name, window in WINDOWS.items():
            sizes = (f"-D{k}={v}" for k, v in (SIZES | {"window": window}).items())
            steps = "--bounds", f"S=16,T={positions}", "--output", str(kept / "text.npz")
            run(HERE / "llama" / "model.rt", directory / f"{name}.svg", *sizes, *steps, *data)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
