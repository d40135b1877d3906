"""Compare pairs of the gallery: `python -m tests.bench.gallery [--list] [NAME ...]`, or all."""

from __future__ import annotations

import sys

from tests.bench.gallery.compare import BOUND, compared, names


def main(words: list[str]) -> None:
    """Print a table, and which programs are slower than the bound at the end."""
    if "--list" in words:
        print("\n".join(names()))
        return
    unknown = [word for word in words if word not in names()]
    if unknown:
        raise SystemExit(f"no pair {', '.join(unknown)}: there are {', '.join(names())}")
    slow = []
    print(f"{'gallery':44} {'tempoc':>12}  {'other':>12}  {'ratio':>8}")
    for row in compared(words):
        print(row.text(), flush=True)
        if (row.ratio or 0) > BOUND and "first call" not in row.name:
            slow.append(f"{row.name} {row.ratio:.1f}")
    print(f"slower than {BOUND} times the twin: {', '.join(slow) or 'none'}")


if __name__ == "__main__":
    main(sys.argv[1:])
