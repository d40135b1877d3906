"""How precisely a device multiplies matrices and convolves: what a program says about it.

With ``highest`` float32 means float32 on every device. GPUs and TPUs are faster with less: with
``high`` they may round operands to about 10 bits (TF32) or make up for it in several passes, with
``default`` they do what is fastest for them. A CPU computes the same with all three.
"""

from __future__ import annotations

from tempoc.program.nodes.nodes import Program

PRECISION = "precision"
"""The entry of a program's provenance that says with which one it is to run."""
PRECISIONS = ("highest", "high", "default")


def precision_of(program: Program) -> str:
    """What it was compiled for; ``highest`` unless somebody wanted less."""
    recorded = dict(program.provenance).get(PRECISION, PRECISIONS[0])
    return recorded if recorded in PRECISIONS else PRECISIONS[0]
