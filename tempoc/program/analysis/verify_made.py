"""The verifier of programs that the compiler makes: of names and arities, and of values as well.

That no cell is read on the device while it is with the host, and no value that was dropped, is
about results alone; runs do not ask, so that less code travels with programs.
"""

from __future__ import annotations

from tempoc.program.analysis.lost_values import verify_no_lost_reads
from tempoc.program.analysis.places import verify_places
from tempoc.program.analysis.verify import verify
from tempoc.program.nodes import nodes as prog


def verify_made(program: prog.Program) -> None:
    """Check a program. Raises ``ProgramError`` for the first violated invariant."""
    verify(program)
    verify_places(program)
    verify_no_lost_reads(program)
