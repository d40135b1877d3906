"""The programs of a directory that compute the same, as tables: what `explain --variants` shows."""

from __future__ import annotations

from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.variants import TunedChoice
from tempoc.runtime.forecast.budget import effective_budget
from tempoc.runtime.load.directory import read_stored
from tempoc.runtime.messages.units import size_text
from tempoc.runtime.report.table import table


def variants_text(directory: str) -> str:
    """All variants with their conditions, then what was measured; empty if there is neither."""
    stored = read_stored(directory)
    program, choices = stored.program, stored.choices
    parts = [_variants(program)] if program.variants else []
    parts += [_choices(choices)] if choices else []
    return "\n".join(parts)


def _variants(program: prog.Program) -> str:
    budget = effective_budget(program)
    limit = "the device of the compilation" if budget is None else size_text(budget)
    rows = [(v.name or "as compiled", _bounds(v.upto), v.about) for v in program.variants]
    title = f"the first that keeps to the budget of a run; to {limit} that is\n"
    return title + table(("variant", "up to", "what is different"), rows)


def _choices(choices: tuple[TunedChoice, ...]) -> str:
    rows = [
        (c.name, _bounds(c.bounds), c.device, c.jax, _milliseconds(c.nanoseconds),
         _milliseconds(c.before), c.about)
        for c in choices
    ]  # fmt: skip
    head = ("measured", "for", "on", "jax", "time", "before", "what is different")
    return table(head, rows)


def _bounds(bounds: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in bounds) or "-"


def _milliseconds(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e6:.2f} ms"
