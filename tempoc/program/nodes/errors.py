"""Errors about programs: data that is not a program, or a malformed program."""

from __future__ import annotations


class ProgramError(Exception):
    """The data is not a program of this version; the message is a sentence without its stop."""


def not_json(reason: str) -> ProgramError:
    """The text is no JSON at all."""
    return ProgramError(f"this is not JSON ({reason})")


def wrong_version(version: object, expected: int) -> ProgramError:
    """Written by another version of the compiler."""
    return ProgramError(
        f"this program has format version {version}, the runner reads version {expected}; "
        "compile it again"
    )


def broken_seal() -> ProgramError:
    """The text is not the one that was written."""
    return ProgramError("it was changed after it was compiled")


def not_a_program() -> ProgramError:
    """JSON, but of something else."""
    return ProgramError("this is JSON, but not a compiled program")


def bad_value(path: str, expected: str, value: object) -> ProgramError:
    """A field holds something of another kind."""
    shown = repr(value)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return ProgramError(f"{path} should be {expected}, not {shown}")


def too_deep(path: str) -> ProgramError:
    """Data in data in data."""
    return ProgramError(f"{path} is nested too deeply")


def bad_fields(path: str, missing: list[str], unknown: list[str]) -> ProgramError:
    """Fields are missing or too many."""
    parts = [f"lacks {', '.join(missing)}"] if missing else []
    parts += [f"has unknown {', '.join(unknown)}"] if unknown else []
    return ProgramError(f"{path} {' and '.join(parts)}")


def inconsistent(where: str, fault: str) -> ProgramError:
    """Well-formed data that contradicts itself."""
    return ProgramError(f"{where}: {fault}")
