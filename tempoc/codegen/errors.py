"""What can go wrong while a program is emitted: one function for each code, RT470 to RT499."""

from __future__ import annotations

from tempoc.diagnostics.diagnostic import Diagnostic, error


def cannot_write(directory: str, reason: str) -> Diagnostic:
    """The output directory, or a file in it, cannot be written."""
    return error("RT470", f"cannot write {directory}: {reason}")


def not_a_directory(directory: str) -> Diagnostic:
    """A file stands where the output directory should be."""
    return error(
        "RT471",
        f"{directory} is a file, but the compiled program is a directory",
        help="choose another name with -o, or remove the file",
    )


def not_ours(directory: str, entry: str) -> Diagnostic:
    """The directory holds something that no compilation wrote, so it is not replaced."""
    return error(
        "RT472",
        f"{directory} is not replaced, because {entry} in it is not from a compilation",
        help="choose another directory with -o, or move the file away",
    )
