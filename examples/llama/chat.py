"""Let the compiled language model go on with one or more texts.

    tempoc compile examples/llama/model.rt -o build/llama/out
    python examples/llama/chat.py [--tokens 48] [--chat] "The capital of France is" ...

or, with words drawn at random, until the model says that it is done:

    tempoc compile examples/llama/sample.rt -o build/llama/sample
    python examples/llama/chat.py --out build/llama/sample --seed 1 --tokens 200 --chat "Hello"

or, to read along while the model writes:

    tempoc compile examples/llama/serve.rt -o build/llama/serve
    python examples/llama/chat.py --out build/llama/serve [--heat 0.8] "The capital of France is"

`--home` names another checkpoint of this kind of model: a folder with `config.json`, with which
the program has been compiled (`--config`), `tokenizer.json`, and the weights in one or many files.

Tokenizes the prompts, runs the compiled folder (it needs only jax and numpy), and prints the texts.
`model.rt` and `sample.rt` know all tokens at the end of the run, `serve.rt` gives each when it is
there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent))
import tokenizer
from desk import DESK, Arrivals, Request, run_program
from endpoint import Choice

HOME = Path(__file__).resolve().parents[2] / "build" / "llama"
END = 2  # <|im_end|>
CAST = "round the weights to the dtype of the program"


def batch(prompts: list[list[int]]) -> dict[str, NDArray[np.int32]]:
    """The program's inputs: prompts of different lengths side by side, and their lengths."""
    lengths = np.array([len(prompt) for prompt in prompts], np.int32)
    ids = np.full((len(prompts), lengths.max()), END, np.int32)
    for row, prompt in zip(ids, prompts, strict=True):
        row[: len(prompt)] = prompt
    return {"prompt": ids, "length": lengths}


def decode(
    out: Path,
    weights: Path,
    prompts: list[list[int]],
    tokens: int,
    seed: int = 0,
    cast: bool = False,
) -> list[list[int]]:
    """At most `tokens` new ids for each prompt, from the compiled program in `out`.

    `cast` rounds weights to the dtype of the program.
    """
    inputs = batch(prompts)
    shortest, longest = (int(f(inputs["length"])) for f in (min, max))
    bounds = f"T={longest + tokens},S={shortest}"
    with tempfile.TemporaryDirectory() as scratch:
        given, result = Path(scratch, "inputs.npz"), Path(scratch, "results.npz")
        np.savez(given, **inputs)
        command = [sys.executable, str(out), "--bounds", bounds, "--input", str(given)]
        command += ["--params", str(weights), "--output", str(result)]
        command += ["--seed", str(seed), *["--cast-params"] * cast]
        subprocess.run(command, check=True)
        rows = np.load(result)["tok"]
    return [
        row[len(prompt) : len(prompt) + tokens].tolist()
        for row, prompt in zip(rows, prompts, strict=True)
    ]


def is_serving(out: Path) -> bool:
    """Whether the folder is compiled from `serve.rt`."""
    try:
        program = json.loads((out / "program.json").read_text())
    except (OSError, ValueError):
        return False  # running it says what is wrong
    return isinstance(program, dict) and program.get("name") == "serve"


def write_along(
    out: Path,
    home: Path,
    shown: list[str],
    requests: list[Request],
    words: tokenizer.Words,
    cast: bool = False,
) -> int:
    """Print what follows each prompt as it comes, one text after the other; the exit status.

    The program in `out` is `serve.rt`, and all texts have a slot.
    """
    problems: list[str] = []

    def write() -> None:
        room, _ = DESK.limits() or (0, 0)
        if room:
            longest = max(len(request.prompt) + request.limit for request in requests)
            if longest > room:
                problems.append(f"{longest} tokens are more than {room}: compile with -D C=N")
            else:
                write_all()
        DESK.close()

    def write_all() -> None:
        for request in requests:
            DESK.submit(request)
        for text, request in zip(shown, requests, strict=True):
            print(text, end="", flush=True)
            choice = Choice(request, words, [])
            while not choice.reason:
                arrival = request.arrivals.get()
                ended = arrival.reason
                new = choice.end(ended) if ended else choice.add(arrival.token)
                print(new, end="", flush=True)
            print(flush=True)

    writer = threading.Thread(target=write)
    writer.start()
    status = run_program(out, home, len(requests), cast)
    writer.join()
    if problems:
        sys.exit(problems[0])
    return status


def as_question(text: str) -> str:
    """The text as a user's turn in the form that the model was trained on."""
    return f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"


def end_markers(home: Path) -> list[int]:
    """The ids that end a text, as the configuration beside the weights says."""
    file = home / "config.json"
    ids = json.loads(file.read_text()).get("eos_token_id") if file.is_file() else None
    return ids if isinstance(ids, list) else [END if ids is None else ids]


def until_end(ids: list[int], markers: list[int]) -> list[int]:
    """The ids before the first end marker."""
    return ids[: next((k for k, i in enumerate(ids) if i in markers), len(ids))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prompts", nargs="+", metavar="PROMPT")
    parser.add_argument("--tokens", type=int, default=48, metavar="N", help="new tokens for each")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of random draws")
    parser.add_argument(
        "--heat", type=float, default=0.0, metavar="X", help="of draws by serve.rt; 0: none"
    )
    parser.add_argument("--chat", action="store_true", help="ask, instead of going on with a text")
    parser.add_argument("--home", type=Path, default=HOME, metavar="DIR", help="fetched files")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the compiled program [HOME/out]")
    parser.add_argument("--cast-params", action="store_true", help=CAST)
    options = parser.parse_args()
    out, vocabulary = options.out or options.home / "out", options.home / "tokenizer.json"
    for needed, maker in ((vocabulary, "fetch.py makes it"), (out, "compile model.rt into it")):
        if not needed.exists():
            sys.exit(f"{needed} is missing: {maker}")
    words = tokenizer.load(options.home)
    texts = [as_question(text) if options.chat else text for text in options.prompts]
    prompts = [tokenizer.encode(words, text) for text in texts]
    markers = end_markers(options.home)
    if not all(prompts) or options.tokens < 1:
        parser.error("a text needs a prompt, and --tokens at least 1")
    if is_serving(out):
        ends = frozenset(markers)
        requests = [
            Request(prompt, options.tokens, Arrivals(), options.heat, 1.0, options.seed + k, ends)
            for k, prompt in enumerate(prompts)
        ]
        shown = [text + "\n" * options.chat for text in options.prompts]
        heard = tokenizer.Words(options.home)
        sys.exit(write_along(out, options.home, shown, requests, heard, options.cast_params))
    if options.heat:
        parser.error("--heat is for serve.rt; sample.rt is compiled with -D heat=X")
    try:
        seed, cast = options.seed, options.cast_params
        answers = decode(out, options.home, prompts, options.tokens, seed, cast)
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)  # the program has said why
    for text, answer in zip(options.prompts, answers, strict=True):
        print(
            text
            + ("\n" if options.chat else "")
            + tokenizer.decode(words, until_end(answer, markers))
        )


if __name__ == "__main__":
    main()
