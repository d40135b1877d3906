"""Which program a run takes, where several compute the same.

The first of those that the compiler wrote that keeps to the budget; or another one if that was
measured to be faster with these bounds on such a device (``program/nodes/variants.py``). What each
of them takes is known before the run (``forecast/dry_run.py``). A run that goes on from a
checkpoint takes the one of that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tempoc.program.nodes.nodes import Program
from tempoc.program.nodes.precision import precision_of
from tempoc.program.nodes.variants import TunedChoice
from tempoc.runtime.checkpoint.state import variant_of
from tempoc.runtime.data.bindings import Bindings, Given
from tempoc.runtime.data.bounds import resolve
from tempoc.runtime.device import backend
from tempoc.runtime.device.stores import given_stores
from tempoc.runtime.execution.specialize import input_signature, specialize
from tempoc.runtime.forecast.budget import PlannedRun, budget_of, budget_problem, peak_bytes
from tempoc.runtime.load.directory import load_program
from tempoc.runtime.load.load import LoadedProgram, load
from tempoc.runtime.messages.problem import RunError
from tempoc.runtime.messages.variants import other_interface


def choose_program(
    loaded: LoadedProgram,
    given: Given,
    budget: int | None = None,
    precision: str | None = None,
    resume: Path | None = None,
) -> LoadedProgram:
    """The program that is to be run; the others of ``loaded`` are looked at if there are some.

    Raises ``RunError`` for what is wrong with what is given, or if none keeps to the budget.
    """
    if not loaded.program.variants and not loaded.choices:
        return loaded
    if resume is not None:
        name = variant_of(resume)
        return load_variant(loaded, name) if name in variant_names(loaded) else loaded
    key = "picked", input_signature(given), budget, precision
    if key not in loaded.known:
        bindings, _ = specialize(loaded, given)
        loaded.known[key] = _chosen_folder(loaded, bindings, budget, precision)
    folder = loaded.known[key]
    assert isinstance(folder, str)
    return load_variant(loaded, folder)


def variant_names(loaded: LoadedProgram) -> list[str]:
    """The folders of all programs that compute the same; this one's is empty."""
    folders = dict.fromkeys(("", *(v.name for v in loaded.program.variants)))
    return [*folders, *(c.name for c in loaded.choices)]


def load_variant(loaded: LoadedProgram, name: str) -> LoadedProgram:
    """One of them, ready to run. Raises ``RunError``."""
    if not name or loaded.place is None:
        return loaded
    key = "variant", name
    member = loaded.known.get(key)
    if not isinstance(member, LoadedProgram):
        loaded_variant = load(loaded.place / name, loaded.extern_path)
        _check(loaded.program, loaded_variant.program, name)
        member = replace(loaded_variant, variant=name, about=variant_description(loaded, name))
        loaded.known[key] = member
    return member


def variant_description(loaded: LoadedProgram, name: str) -> str:
    """What is different about one of them, in words."""
    descriptions = {v.name: v.about for v in loaded.program.variants}
    return (descriptions | {c.name: c.about for c in loaded.choices}).get(name, "")


def condition(
    program: Program, bounds: Mapping[str, int], instead: str, precision: str | None = None
) -> TunedChoice:
    """A choice as it would apply to a run here: only its conditions count.

    ``instead`` is the folder of the program that is run if there is no choice.
    """
    free = tuple((b.name, bounds[b.name]) for b in program.bounds if b.value is None)
    return TunedChoice(
        name="",
        about="",
        digest="",
        instead=instead,
        device=backend.device_text(),
        jax=backend.VERSION,
        precision=precision or precision_of(program),
        bounds=free,
        nanoseconds=0,
        before=0,
    )


def _chosen_folder(
    loaded: LoadedProgram, bindings: Bindings, budget: int | None, precision: str | None
) -> str:
    """The folder of the program for a run."""
    limit = budget_of(loaded.program, budget)
    name = "" if limit is None else _first_within_budget(loaded, bindings, limit)
    if loaded.choices:
        conditions = condition(loaded.program, bindings.bounds, name, precision)
        for choice in (c for c in loaded.choices if c.applies(conditions)):
            if limit is None or peak_bytes(*_planned_run(loaded, bindings, choice.name)) <= limit:
                return choice.name
    return name


def _first_within_budget(loaded: LoadedProgram, bindings: Bindings, limit: int) -> str:
    """The folder of the first variant that keeps to a budget."""
    runs: list[PlannedRun] = []
    for name in (v.name for v in loaded.program.variants):
        runs.append(_planned_run(loaded, bindings, name))
        if peak_bytes(*runs[-1]) <= limit:
            return name
    if runs:
        raise RunError(budget_problem(runs, limit))
    return ""


def _planned_run(loaded: LoadedProgram, bindings: Bindings, name: str) -> PlannedRun:
    """One of the programs with all bounds, also those that only it has, and what is given."""
    program = loaded.program
    if name and loaded.place is not None:
        key = "program", name
        variant_program = loaded.known.get(key)
        if not isinstance(variant_program, Program):
            variant_program = load_program(loaded.place / name)
            _check(program, variant_program, name)
            loaded.known[key] = variant_program
        program = variant_program
    free = {b.name: bindings.bounds[b.name] for b in program.bounds if b.value is None}
    bounds = resolve(program, free, (), {})
    if bounds.problems:
        raise RunError(*bounds.problems)
    return PlannedRun(program, bounds.values, given_stores(program, bindings))


def _check(program: Program, other: Program, name: str) -> None:
    """What can be given to one can be given to the other. Raises ``RunError``."""
    for (what, own), others in zip(
        _interface(program).items(), _interface(other).values(), strict=True
    ):
        if own != others:
            raise RunError(other_interface(name, what))


def _interface(program: Program) -> dict[str, object]:
    """What is given to a program, and what it gives."""
    return {
        "bounds": [b.name for b in program.bounds if b.value is None],
        "inputs": [(i.name, i.dims, i.dtype, i.shape) for i in program.inputs],
        "params": [(p.name, p.dims, p.dtype, p.shape) for p in program.params],
        "outputs": [(o.name, o.dtype) for o in program.outputs],
    }
