"""The wording of what can go wrong about memory and checkpoints, one function for each code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tempoc.diagnostics.diagnostic import Diagnostic, error
from tempoc.diagnostics.error_row import ErrorRow
from tempoc.runtime.messages.units import size_text


def over_budget(
    peak: int, budget: int, largest: Mapping[str, int], *, searched: bool = False
) -> Diagnostic:
    """The stores of a run would not fit. ``largest``: bounds that do, the others as they are.

    ``searched``: no other way to compile the program takes less.
    """
    least = "however it is compiled, the run takes at least" if searched else "the run takes"
    notes = [f"the smallest budget that would do is {peak} bytes"]
    notes += [f"the largest {n} that fits, all else as it is: {v}" for n, v in largest.items()]
    return error(
        "RT580",
        f"{least} {size_text(peak)}, more than the budget of {size_text(budget)}",
        help="tempoc explain --memory shows what takes how much",
        notes=tuple(notes),
    )


def nothing_fits(bound: str, least: int, peak: int, budget: int) -> Diagnostic:
    """Not even the smallest value of a bound fits."""
    return error(
        "RT581",
        f"no {bound} fits: with {bound} = {least} the run takes {size_text(peak)}, "
        f"the budget is {size_text(budget)}",
        notes=(f"the smallest budget that would do is {peak} bytes",),
    )


too_large = ErrorRow(
    "RT561",
    "the run takes {peak}, more than the {memory} of the device",
    "tempoc compile --bounds (with the bounds of this run) looks for a way that fits",
    "a larger --memory-budget lets it run anyway",
)

no_value = ErrorRow(
    "RT582",
    "no {bound} is allowed with the other bounds as they are",
    "look at the assumptions of the program, and at the bounds that follow from others",
)


def host_functions(names: Sequence[str]) -> Diagnostic:
    """A run that calls Python functions of the user's cannot be held."""
    return error(
        "RT583",
        f"no checkpoint of this run is possible: it calls {', '.join(names)}",
        help="run without --checkpoint and --resume, or make them extern jax if they are pure",
        notes=("a host function may have a state of its own, of which nobody knows here",),
    )


checkpoint_exists = ErrorRow(
    "RT584",
    "{directory} holds a checkpoint of an earlier run already",
    "go on with that run (--resume {directory}), name another directory, or remove it",
)


def no_checkpoint(directory: str, exists: bool) -> Diagnostic:
    """There is nothing to go on from."""
    return error(
        "RT585",
        f"there is no checkpoint in {directory}"
        if exists
        else f"the directory {directory} does not exist",
        help="name the directory of --checkpoint; a run that ends early has written none",
    )


broken_checkpoint = ErrorRow("RT586", "the checkpoint {path} cannot be used: {reason}")


def other_run(directory: str, differing: Sequence[str]) -> Diagnostic:
    """A checkpoint of a run that is not this one."""
    return error(
        "RT587",
        f"the checkpoint in {directory} is of another run",
        help="go on with the same program, bounds, seed and data",
        notes=tuple(f"different: {difference}" for difference in differing),
    )


def other_machine(directory: str, differing: Sequence[str]) -> Diagnostic:
    """A checkpoint that was written where the same run gives other numbers."""
    return error(
        "RT588",
        f"the checkpoint in {directory} was written where numbers may come out differently",
        help="--resume-anyway goes on with it; the result is then not that of one whole run",
        notes=tuple(f"different: {difference}" for difference in differing),
    )


busy_checkpoint = ErrorRow(
    "RT589",
    "another run writes its checkpoints to {directory}",
    "wait for its end, or name another directory",
)
