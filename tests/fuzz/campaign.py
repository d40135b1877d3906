"""Many programs, one after the other: what became of each, failures reduced and written."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from random import Random

from tempoc.driver.options import Options
from tests.fuzz import generate, mutants
from tests.fuzz.check import TIERS, Plan, Verdict, examine
from tests.fuzz.generate import Program
from tests.fuzz.reduce import reduced

COMPILED = 0.12
"""How many programs are also compiled by XLA and run."""
PIPELINES = (
    "canonicalize,vectorize", "scans", "vectorize,tile", "canonicalize,algebra,fuse",
    "lift,canonicalize,scans,vectorize,fuse", "vectorize,lift,tile,accumulate,pin,fuse",
    "reduce_domain,split,vectorize", "split,vectorize,fuse", "predicate,vectorize",
    "reduce_domain,predicate,canonicalize,vectorize,fuse",
)  # fmt: skip
PART = 20
"""Programs that a process tries before it reports."""


@dataclass(slots=True, kw_only=True)
class Case:
    """One program and what became of it."""

    number: int
    program: Program
    verdict: Verdict
    seconds: float
    text: str = ""
    """The reduced program, if it failed."""


@dataclass(slots=True)
class Tally:
    """What became of all programs."""

    kinds: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    failed: list[Case] = field(default_factory=list)

    def add(self, case: Case) -> None:
        verdict = case.verdict
        tier = f" ({TIERS[verdict.tier]})" if verdict.kind == "agreed" else ""
        label = f"FAILED {verdict.kind}" if verdict.failed else verdict.kind + tier
        self.kinds[label] += 1
        self.seconds[label] += case.seconds  # type: ignore[assignment]
        self.features.update(case.program.features)
        if verdict.failed:
            self.failed.append(case)

    def table(self) -> str:
        """Kinds with how many there are, how long one took, and the first numbers that failed."""
        lines = []
        for kind, count in sorted(self.kinds.items(), key=lambda item: (-item[1], item[0])):
            numbers = [c.number for c in self.failed if f"FAILED {c.verdict.kind}" == kind]
            each = self.seconds[kind] / count
            places = ", ".join(map(str, sorted(numbers)[:6]))
            lines.append(f"{count:6}  {each:6.2f} s  {kind}{': ' * bool(places)}{places}")
        return "\n".join(lines)


MAKERS = {"generated": generate.program, "mutants": mutants.program}
"""Where programs come from."""


def plan_of(seed: int, number: int, made: Program) -> Plan:
    """How the program of a number is tried."""
    random = Random(f"plan {seed}:{number}")
    options = Options(verify_each=random.random() < 0.6)
    change = random.random()
    if change < 0.15:
        options = replace(options, level=1)
    elif change < 0.35:
        options = replace(options, tile=random.choice((1, 2, 3)))
    elif change < 0.42:
        options = replace(options, recompute=random.choice(("cheap", "all")))
    elif change < 0.5:
        options = replace(options, passes=random.choice(PIPELINES))
    elif change < 0.55:
        options = replace(options, limit=random.choice((8, 64)))
    if made.special:
        # Sums in another order, and factors out of them, are not exact for infinities.
        options = replace(options, level=1, passes=None, recompute=None)
    if random.random() < 0.15:
        options = replace(options, bucket=random.choice((0, 1, 2)))
    if random.random() < 0.15:
        options = replace(options, regions=random.random() < 0.5)
    if random.random() < 0.06:
        options = replace(options, apart=True)
    if random.random() < 0.06:
        options = replace(options, walk=True)
    tier = int(random.random() < COMPILED)
    if tier and random.random() < 0.2:
        options = replace(options, level=0)
    held = tier > 0 and random.random() < 0.15
    bounds = made.bounds[tier : tier + 2]
    edges = random.random() < 0.3
    how = {"special": made.special, "tier": tier, "held": held, "edges": edges}
    return Plan(options=options, bounds=bounds, **how)


def case_of(
    seed: int,
    number: int,
    *,
    maker: str = "generated",
    tier: int | None = None,
    minutes: float = 1.0,
) -> Case:
    """Try the program of a number; if it fails, reduce it for so long at most."""
    start = time.perf_counter()
    made = MAKERS[maker](seed, number)
    plan = plan_of(seed, number, made)
    if tier is not None:
        plan = replace(plan, tier=tier)
    verdict = examine(made.text, plan)
    seconds = time.perf_counter() - start
    text = made.text
    if verdict.failed and minutes:
        text, verdict = reduced(made.text, verdict, 60 * minutes)
    return Case(number=number, program=made, verdict=verdict, seconds=seconds, text=text)


def cases(seed: int, numbers: range, *, maker: str, tier: int | None, minutes: float) -> list[Case]:
    """What a process reports of some numbers."""
    how = {"maker": maker, "tier": tier, "minutes": minutes}
    return [sent(case_of(seed, number, **how)) for number in numbers]


def sent(case: Case) -> Case:
    """The case with mappings that another process can be given."""
    plan = case.verdict.plan
    values = {f.name: getattr(plan.options, f.name) for f in fields(plan.options)}
    mappings = {name: dict(v) for name, v in values.items() if isinstance(v, Mapping)}
    plan = replace(plan, options=replace(plan.options, **mappings))
    return replace(case, verdict=replace(case.verdict, plan=plan))


def campaign(
    seed: int,
    numbers: range,
    *,
    maker: str = "generated",
    jobs: int = 1,
    tier: int | None = None,
    minutes: float = 1.0,
) -> Iterator[Case]:
    """All programs of some numbers, in processes that last for some hundreds each."""
    chunks = [numbers[k : k + PART] for k in range(0, len(numbers), PART)]
    some = partial(cases, seed, maker=maker, tier=tier, minutes=minutes)
    # Not a ProcessPoolExecutor: with tasks that are limited it waits for ever in Python 3.11.
    with get_context("spawn").Pool(jobs, maxtasksperchild=15) as pool:
        for done in pool.imap_unordered(some, chunks):
            yield from done


def written(case: Case, seed: int, directory: Path, maker: str = "generated") -> Path:
    """The failure as a file: what differs, and how to see it again."""
    directory.mkdir(parents=True, exist_ok=True)
    verdict = case.verdict
    path = directory / f"{seed}-{case.number:05}.rt"
    options = verdict.plan.options.to_provenance()
    lines = [
        f"python -m tests.fuzz{' --mutants' * (maker == 'mutants')} --only {seed}:{case.number}",
        f"{verdict.kind}: {verdict.detail}".replace("\n", " "),
        f"bounds {[dict(b) for b in verdict.plan.bounds]}, options {options}"
        + ", special data" * verdict.plan.special,
    ]
    path.write_text("".join(f"# {line}\n" for line in lines) + case.text)
    return path
