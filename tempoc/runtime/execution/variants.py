"""Chooses the program of a run among equivalent ones.

A run takes the first variant of the compiler that fits into the budget, or one that tuning found to
be faster for these bounds on this device (``program/nodes/variants.py``). The dry run predicts
their peaks (``forecast/dry_run.py``). A resumed run takes the program that wrote the checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tempoc.diagnostics.diagnostic import RunError
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.precision import precision_of
from tempoc.program.nodes.variants import TunedChoice
from tempoc.runtime.checkpoint.state import variant_of
from tempoc.runtime.data.bindings import Bindings, Given
from tempoc.runtime.data.bounds import bound_values
from tempoc.runtime.device import available, backend
from tempoc.runtime.device.stores import given_stores
from tempoc.runtime.execution.specialize import input_signature, specialize
from tempoc.runtime.forecast.budget import PlannedRun, budget_problem, effective_budget, peak_bytes
from tempoc.runtime.load.load import LoadedProgram, load_stored
from tempoc.runtime.messages.variants import other_interface


def choose_program(
    loaded: LoadedProgram,
    given: Given,
    budget: int | None = None,
    precision: str | None = None,
    resume: Path | None = None,
) -> LoadedProgram:
    """The program to run: ``loaded``, or one of its variants and choices.

    Raises ``RunError`` for wrong arguments, or if no variant fits into the budget.
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
    """The folders of all equivalent programs; that of ``loaded`` itself is empty."""
    folders = dict.fromkeys(("", *(v.name for v in loaded.program.variants)))
    return [*folders, *(c.name for c in loaded.choices)]


def load_variant(loaded: LoadedProgram, name: str) -> LoadedProgram:
    """Load an equivalent program from its folder, cached. Raises ``RunError``."""
    if not name or loaded.stored is None:
        return loaded
    key = "variant", name
    member = loaded.known.get(key)
    if not isinstance(member, LoadedProgram):
        other = load_stored(loaded.stored.below(name), loaded.extern_path, loaded.thread > 0)
        _check(loaded.program, other.program, name)
        member = replace(other, variant=name, about=variant_description(loaded, name))
        loaded.known[key] = member
    return member


def variant_description(loaded: LoadedProgram, name: str) -> str:
    """How a program differs, in words."""
    descriptions = {v.name: v.about for v in loaded.program.variants}
    return (descriptions | {c.name: c.about for c in loaded.choices}).get(name, "")


def condition(
    program: prog.Program, bounds: Mapping[str, int], instead: str, precision: str | None = None
) -> TunedChoice:
    """The conditions of a run on this device, in the form of a choice.

    ``instead`` is the folder of the program that runs without a choice.
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
    """The folder of the program to run."""
    limit = effective_budget(loaded.program, budget)
    if limit is None and loaded.program.variants:
        limit = available.device_memory()
    name = "" if limit is None else _first_within_budget(loaded, bindings, limit)
    if loaded.choices:
        conditions = condition(loaded.program, bindings.bounds, name, precision)
        for choice in (c for c in loaded.choices if c.applies(conditions)):
            if limit is None or peak_bytes(*_planned_run(loaded, bindings, choice.name)) <= limit:
                return choice.name
    return name


def _first_within_budget(loaded: LoadedProgram, bindings: Bindings, limit: int) -> str:
    """The folder of the first variant that fits into a budget."""
    runs: list[PlannedRun] = []
    for name in (v.name for v in loaded.program.variants):
        runs.append(_planned_run(loaded, bindings, name))
        if peak_bytes(*runs[-1]) <= limit:
            return name
    if runs:
        raise RunError(budget_problem(runs, limit))
    return ""


def _planned_run(loaded: LoadedProgram, bindings: Bindings, name: str) -> PlannedRun:
    """One of the programs with all its bounds, and the stores that are given."""
    program = loaded.program
    if name and loaded.stored is not None:
        key = "program", name
        variant_program = loaded.known.get(key)
        if not isinstance(variant_program, prog.Program):
            variant_program = loaded.stored.below(name).program
            _check(program, variant_program, name)
            loaded.known[key] = variant_program
        program = variant_program
    free = {b.name: bindings.bounds[b.name] for b in program.bounds if b.value is None}
    return PlannedRun(program, bound_values(program, free), given_stores(program, bindings))


def _check(program: prog.Program, other: prog.Program, name: str) -> None:
    """Both programs must have the same interface. Raises ``RunError``."""
    for (what, own), others in zip(
        _interface(program).items(), _interface(other).values(), strict=True
    ):
        if own != others:
            raise RunError(other_interface(name, what))


def _interface(program: prog.Program) -> dict[str, object]:
    """The interface of a program: free bounds, inputs, params, outputs."""
    return {
        "bounds": [b.name for b in program.bounds if b.value is None],
        "inputs": [(i.name, i.dims, i.dtype, i.shape) for i in program.inputs],
        "params": [(p.name, p.dims, p.dtype, p.shape) for p in program.params],
        "outputs": [(o.name, o.dtype) for o in program.outputs],
    }
