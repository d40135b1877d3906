"""The precision of matrix products and convolutions, as recorded in a program.

``highest``: products of float32 are exact to float32 on every device. GPUs and TPUs are faster with
less: ``high`` lets them round operands to about 10 bits (TF32) or use several passes, ``default``
is the fastest mode of the device. A CPU computes the same with all three.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # options name precisions without the nodes of programs
    from tempoc.program.nodes import nodes as prog

PRECISION = "precision"
"""The entry of a program's provenance that holds its precision."""
PRECISIONS = ("highest", "high", "default")


def precision_of(program: prog.Program) -> str:
    """The precision that a program was compiled for; ``highest`` by default."""
    recorded = dict(program.provenance).get(PRECISION, PRECISIONS[0])
    return recorded if recorded in PRECISIONS else PRECISIONS[0]
