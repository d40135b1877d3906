"""What can go wrong while a program is emitted: one function for each code, RT470 to RT499."""

from __future__ import annotations

from tempoc.diagnostics.error_row import ErrorRow

cannot_write = ErrorRow("RT470", "cannot write {directory}: {reason}")
not_a_directory = ErrorRow(
    "RT471",
    "{directory} is a file, but the compiled program is a directory",
    "choose another name with -o, or remove the file",
)
not_ours = ErrorRow(
    "RT472",
    "{directory} is not replaced, because {entry} in it is not from a compilation",
    "choose another directory with -o, or move the file away",
)
edited = ErrorRow(
    "RT473",
    "{directory} is not replaced, because {entry} in it was changed since it was compiled",
    "choose another directory with -o; or undo the change, or remove {directory}",
)
being_written = ErrorRow(
    "RT474",
    "{directory} is not written, because another process is writing it",
    "wait until it is done, then try again",
)
recompiled = ErrorRow(
    "RT475",
    "{directory} was compiled again while its program was measured: the choice is not recorded",
    "measure the new program",
)
