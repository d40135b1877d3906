"""Errors in a memory plan: bugs of the planner, found by the verifier."""

from __future__ import annotations

from collections.abc import Mapping

from tempoc.diagnostics.diagnostic import DiagnosticError, error


def lost_value(
    reader: str, tensor: str, point: tuple[int, ...], contents: str, bounds: Mapping[str, int]
) -> DiagnosticError:
    """RT450: a value is read from a slot that holds something else."""
    at = f"[{', '.join(map(str, point))}]" if point else ""
    sizes = ", ".join(f"{name} = {value}" for name, value in bounds.items())
    return DiagnosticError(
        error(
            "RT450",
            f"the memory plan loses {tensor}{at} before {reader} reads it",
            help="this is a bug in the compiler, please report it with the program",
            notes=(f"its slot {contents}", f"for {sizes}" if sizes else "for all bounds"),
        )
    )
