"""Serve the compiled language model over HTTP, to many clients at once.

    tempoc compile examples/llama/serve.rt -o build/llama/serve
    python examples/llama/serve.py [--slots 4] [--port 8000]

    curl http://127.0.0.1:8000/v1/completions -H "Content-Type: application/json" \\
      -d '{"prompt": "The capital of France is", "max_tokens": 24, "temperature": 0}'

Clients of OpenAI's interface find it at the base URL `http://127.0.0.1:8000/v1`, with any key.
`--home` names another checkpoint, as in `chat.py`. Ctrl-C ends the server.

The program is one run that never ends: its loop takes tokens from the desk (`desk.py`) and hands
words out, and threads of the endpoint (`endpoint.py`) talk with clients.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import chat
import tokenizer
from desk import DESK, Desk, run_program
from endpoint import Model, Server


def as_dialogue(messages: list[tuple[str, str]]) -> str:
    """Messages, pairs of role and text, in the form that the model was trained on."""
    turns = (f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in messages)
    return "".join(turns) + "<|im_start|>assistant\n"


def listen(server: Server, desk: Desk, model: Callable[[int, int], Model]) -> None:
    """Answer clients, from the program's first step on."""
    if limits := desk.limits():
        server.model = model(*limits)
        host, port = server.server_address[:2]
        print(f"{server.model.name} is at http://{host!s}:{port}/v1", flush=True)
        server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--home", type=Path, default=chat.HOME, metavar="DIR", help="fetched files")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the program [HOME/serve]")
    parser.add_argument("--slots", type=int, default=4, metavar="N", help="texts at a time")
    parser.add_argument("--host", default="127.0.0.1", help="where to listen")
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="0: any that is free")
    parser.add_argument("--name", metavar="NAME", help="of the model [the name of HOME]")
    parser.add_argument("--cast-params", action="store_true", help=chat.CAST)
    options = parser.parse_args()
    out, vocabulary = options.out or options.home / "serve", options.home / "tokenizer.json"
    for needed, maker in ((vocabulary, "fetch.py makes it"), (out, "compile serve.rt into it")):
        if not needed.exists():
            sys.exit(f"{needed} is missing: {maker}")
    if options.slots < 1:
        parser.error("--slots needs at least 1")
    try:
        server = Server((options.host, options.port), DESK)
    except (OSError, OverflowError) as error:
        sys.exit(f"cannot listen at {options.host}:{options.port}: {error}")
    model = partial(
        Model,
        options.name or options.home.resolve().name,
        tokenizer.Words(options.home),
        frozenset(chat.end_markers(options.home)),
        as_dialogue,
    )
    thread = threading.Thread(target=listen, args=(server, DESK, model))
    thread.start()
    try:
        status = run_program(out, options.home, options.slots, options.cast_params)
    finally:
        DESK.close()
        server.end()
        thread.join()
    sys.exit(status)


if __name__ == "__main__":
    main()
