"""`make bench`: ratios against the programs that one would write instead. Below 1x, ours wins.

    python -m tests.bench [--quick] [--output FILE] [JOB ...]

A job is a function that yields rows, in a file of its own; `README.md` says what each measures.
The table is printed as it grows, and written to `build/bench/results.json`, or FILE there. With
`--quick`, jobs that take many minutes leave out what takes longest.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from functools import partial

import jax

from tests.bench.attention.attention import attention
from tests.bench.attention.chunked import chunked
from tests.bench.attention.windows import windows
from tests.bench.compiled import BUILD, all_bits
from tests.bench.compiling import compiling
from tests.bench.examples import examples
from tests.bench.gallery.compare import compared
from tests.bench.llama.compilations import compilations
from tests.bench.llama.decode import QUICK, decode
from tests.bench.llama.decoding import decoding
from tests.bench.llama.prefill import prefill
from tests.bench.measure import Row
from tests.bench.recurrences.chains import chains
from tests.bench.recurrences.cumulative import cumulative
from tests.bench.recurrences.dispatch import dispatch
from tests.bench.recurrences.recurrences import recurrences
from tests.bench.recurrences.rnn import rnn
from tests.bench.rl.cartpole import cartpole
from tests.bench.rl.ppo import ppo
from tests.bench.rl.ppo_images import ppo_images
from tests.bench.rl.reinforce import reinforce
from tests.bench.training.frozen import frozen
from tests.bench.training.offload import offload
from tests.bench.training.recompute import recompute
from tests.bench.training.training import training

JOBS: Mapping[str, Callable[[], Iterator[Row]]] = {
    "compile": compiling,
    "examples": examples,
    "chains": chains,
    "cumulative": cumulative,
    "dispatch": dispatch,
    "rnn": rnn,
    "recurrences": recurrences,
    "frozen": frozen,
    "chunked": chunked,
    "attention": attention,
    "training": training,
    "recompute": recompute,
    "offload": offload,
    "windows": windows,
    "ppo": ppo,
    "ppo_images": ppo_images,
    "reinforce": reinforce,
    "cartpole": cartpole,
    "decode": decode,
    "compilations": compilations,
    "llama": decoding,
    "prefill": prefill,
    "gallery": compared,
}
QUICKLY: Mapping[str, Callable[[], Iterator[Row]]] = {"decode": partial(decode, QUICK)}


def main(words: list[str]) -> None:
    """Run some jobs, or all."""
    words, output = [*words], "results.json"
    if "--output" in words[:-1]:
        place = words.index("--output")
        output = words[place + 1]
        del words[place : place + 2]
    names = [word for word in words if word != "--quick"]
    jobs = {**JOBS, **QUICKLY} if "--quick" in words else JOBS
    unknown = [name for name in names if name not in JOBS]
    if unknown:
        raise SystemExit(f"no job {', '.join(unknown)}: there are {', '.join(JOBS)}")
    found: dict[str, list[Row]] = {}
    all_bits()
    for name in names or JOBS:
        print(f"\n{name:44} {'tempoc':>12}  {'other':>12}  {'ratio':>8}")
        for row in jobs[name]():
            found.setdefault(name, []).append(row)
            print(row.text(), flush=True)
            BUILD.mkdir(parents=True, exist_ok=True)
            (BUILD / output).write_text(json.dumps(results(found), indent=2) + "\n")


def results(found: Mapping[str, list[Row]]) -> dict[str, object]:
    """All rows, with the machine and the day."""
    return {
        "date": date.today().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "device": str(jax.devices()[0]),
        "jax": jax.__version__,
        "jobs": {
            job: [
                {
                    "name": r.name,
                    {"s": "seconds", "MB": "bytes"}.get(r.unit, "count"): r.ours,
                    "other": r.theirs,
                    "ratio": r.ratio,
                }
                for r in rows
            ]
            for job, rows in found.items()
        },
    }


if __name__ == "__main__":
    main(sys.argv[1:])
