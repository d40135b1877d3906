"""`python -m tests.files.campaign --count N --seed S`: whole commands, ended at random operations.

`tempoc compile`, `tempoc run` and all scenarios; then two processes that compile to one directory
while others read and run it. After these, in a process of their own (``--only changed``), as many
changed programs and forged checkpoints.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tempoc.cli.main import status
from tests.files import artifacts, forged
from tests.files.race import race, start_writer
from tests.files.scenarios import SCENARIOS, Scenario, attack, check_program, compile_to

TEXT = """dim t < T
input x[t]: f32
m[0] = x[0]
m[t] = 0.9 * m[t-1] + 0.1 * x[t]
save m[t] to "kept/m-{{t}}.safetensors" when t % 2 == 0
print m[t] when t == 3
output m
# {}
"""
SECONDS = 15
"""For so many seconds the compiled directory is started while others replace it."""


def compile_real(folder: Path, version: int) -> int:
    """`tempoc compile`, with the whole runner."""
    (folder / "m.rt").write_text(TEXT.format(version))
    return status(["compile", str(folder / "m.rt"), "-o", str(folder / "out")])


def run_real(folder: Path, value: int) -> int:
    """`tempoc run` with outputs, saves and checkpoints."""
    if not (folder / "program").is_dir():
        (folder / "m.rt").write_text(TEXT.format(0))
        status(["compile", str(folder / "m.rt"), "-o", str(folder / "program")])
    np.save(folder / "x.npy", np.full(6, value, np.float32))
    arguments = [f"--input=x={folder / 'x.npy'}", f"--output={folder / 'y.npz'}", "--every=0s"]
    places = [f"--output-dir={folder / 'out'}", f"--checkpoint={folder / f'kept-{value}'}"]
    for path in (folder / f"kept-{value}").glob("state*"):
        path.unlink()
    return status(["run", str(folder / "program"), *arguments, *places])


REAL = {
    "tempoc compile": Scenario(
        before=lambda folder: compile_real(folder, 0),
        command=lambda folder: compile_real(folder, 1),
        units=("out",),
        check=check_program,
        forks=True,
    ),
    "tempoc run": Scenario(
        before=lambda folder: in_another(folder, 1),
        command=lambda folder: run_real(folder, 2),
        units=("y.npz", "out/m.npy", "out/kept/m-2.safetensors"),
        forks=True,
    ),
}
OPERATIONS = {"tempoc compile": 900, "tempoc run": 200}


def in_another(folder: Path, value: int) -> None:
    """Run in another process, so that this one can fork."""
    text = "import sys; from tests.files.campaign import *; "
    text += f"sys.exit(run_real(Path(sys.argv[1]), {value}))"
    subprocess.run([sys.executable, "-c", text, str(folder)], check=True, capture_output=True)


def started(folder: Path, seed: int) -> int:
    """Start `python out/` again and again while two processes compile; how often it ran."""
    folder.mkdir(parents=True)
    compile_to(folder, "# 0\n", whole=True)
    end = time.monotonic() + SECONDS
    writers = [start_writer(folder, number, end, whole=True) for number in (1, 2)]
    count, rng = 0, random.Random(seed)
    while time.monotonic() < end:
        command = [sys.executable, str(folder / "out"), "--help"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        count += 1
        time.sleep(rng.random() / 10)
    for writer in writers:
        assert os.waitpid(writer, 0)[1] == 0, "a writer failed"
    return count


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.files.campaign", description=__doc__)
    parser.add_argument("-n", "--count", type=int, default=1000, help="how many commands")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=("killed", "changed"), help="this part")
    args = parser.parse_args()
    os.environ["JAX_PLATFORMS"] = "cpu"
    if args.only != "changed":
        kill(args)
    if args.only is None:
        # The first part forks, so it must not use JAX, whose threads would be lost.
        command = [sys.executable, "-m", "tests.files.campaign", "--only=changed"]
        subprocess.run([*command, f"--count={args.count}", f"--seed={args.seed}"], check=True)
    if args.only == "changed":
        sys.exit(change(args))


def change(args: argparse.Namespace) -> int:
    """Changed programs and forged checkpoints; the exit status."""
    with tempfile.TemporaryDirectory(prefix="tempoc-") as place:
        problems = artifacts.campaign([*artifacts.SUBJECTS], args.count, args.seed, Path(place))
        problems += forged.campaign(args.count, args.seed, Path(place))
    for problem in problems:
        print(problem, flush=True)
    print(f"{args.count} programs, {args.count} checkpoints: {len(problems)} faults", flush=True)
    return bool(problems)


def kill(args: argparse.Namespace) -> None:
    """Commands that end at random operations."""
    rng = random.Random(args.seed)
    scenarios = {**REAL, **SCENARIOS}
    with tempfile.TemporaryDirectory(prefix="tempoc-") as place:
        each = -(-args.count // (2 * len(scenarios)))
        for name, scenario in scenarios.items():
            most = OPERATIONS.get(name, 60)
            for dies in (False, True):
                points = sorted(rng.sample(range(1, most), min(each, most - 1)))
                folder = Path(place, f"{name} {dies}")
                count = attack(scenario, folder, dies=dies, points=points)
                how = "killed" if dies else "on a full disk"
                print(f"{name}: {count} times {how}", flush=True)
        for at_once in (True, False):
            reads = race(Path(place, f"race {at_once}"), args.count / 100, at_once=at_once)
            print(f"two writers: {reads} reads", flush=True)
        print(f"two writers: {started(Path(place, 'started'), args.seed)} starts", flush=True)


if __name__ == "__main__":
    main()
