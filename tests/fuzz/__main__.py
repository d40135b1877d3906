"""`python -m tests.fuzz`: random programs through the compiler, against the evaluator."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.fuzz.campaign import MAKERS, Tally, campaign, case_of, plan_of, written
from tests.fuzz.check import TIERS


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("-n", "--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--start", type=int, default=0, help="the number of the first")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--tier", choices=TIERS, help="how far all programs go")
    parser.add_argument("--minutes", type=float, default=1.0, help="to reduce a failure")
    parser.add_argument("--only", metavar="SEED:NUMBER", help="show and try a single program")
    parser.add_argument("--directory", type=Path, default=Path("build/fuzz"))
    parser.add_argument(
        "--mutants",
        dest="maker",
        action="store_const",
        const="mutants",
        default="generated",
        help="programs of the repository with one or two things changed",
    )
    parser.add_argument("--features", action="store_true", help="count what programs have")
    return parser.parse_args()


def show(place: str, args: argparse.Namespace) -> int:
    """A single program: its text, how it is tried, what becomes of it."""
    seed, number = (int(part) for part in place.split(":"))
    made = MAKERS[args.maker](seed, number)
    print(made.text)
    print(f"# {plan_of(seed, number, made)}")
    tier = None if args.tier is None else TIERS.index(args.tier)
    case = case_of(seed, number, maker=args.maker, tier=tier, minutes=args.minutes)
    print(f"# {case.verdict.kind} {case.verdict.detail}, {case.seconds:.1f} s")
    if case.verdict.failed:
        print(written(case, seed, args.directory, args.maker).read_text())
    return int(case.verdict.failed)


def main() -> int:
    args = arguments()
    if args.only:
        return show(args.only, args)
    tally, start = Tally(), time.perf_counter()
    numbers = range(args.start, args.start + args.count)
    tier = None if args.tier is None else TIERS.index(args.tier)
    how = {"maker": args.maker, "jobs": args.jobs, "tier": tier, "minutes": args.minutes}
    for done, case in enumerate(campaign(args.seed, numbers, **how), 1):
        tally.add(case)
        if case.verdict.failed:
            path = written(case, args.seed, args.directory, args.maker)
            print(f"{path}: {case.verdict.kind}: {case.verdict.detail[:120]}", flush=True)
        if done % 100 == 0:
            rate = done / (time.perf_counter() - start)
            print(f"# {done} programs, {len(tally.failed)} failed, {rate:.1f} a second", flush=True)
    print(f"# seed {args.seed}, programs {args.start} to {args.start + args.count - 1}")
    print(tally.table())
    if args.features:
        print("\n".join(f"{count:6}  {name}" for name, count in tally.features.most_common()))
    return int(bool(tally.failed))


if __name__ == "__main__":
    sys.exit(main())
