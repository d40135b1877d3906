"""`make bench`: ratios against the JAX programs that one would write instead. Below 1x, ours wins.

    python -m tests.bench [compiling] [rnn] [llama]
"""

from __future__ import annotations

import sys

from tests.bench.programs import compiling, llama, rnn

TABLES = {"compiling": compiling, "rnn": rnn, "llama": llama}


def main(names: list[str]) -> None:
    print(f"{'':44} {'tempoc':>12}  {'jax':>12}  {'ratio':>8}")
    for name in names or TABLES:
        for row in TABLES[name]():
            print(row.text(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
