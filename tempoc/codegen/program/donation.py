"""Buffer donation: which arguments a kernel may overwrite."""

from __future__ import annotations

from tempoc.codegen.kernels.kernel import KernelFunction
from tempoc.codegen.stores.context import KernelCell, Stages
from tempoc.codegen.stores.slots import distinct_slots
from tempoc.sdg.statements.statements import Statement
from tempoc.symbolic import expr as ix


def donated(statement: Statement, f: KernelFunction, stages: Stages) -> tuple[int, ...]:
    """Positions of arguments that are updated in place, or dead after the call.

    A donated array must not be passed twice in one call, so an argument that may alias another one
    of the same tensor is not donated.
    """
    dying = stages.plan.donations.get(statement.name, ())
    written = {r.cell for r in f.results}
    positions = []
    for position, argument in enumerate(f.arguments):
        tensor, _ = argument.cell
        if tensor not in stages.plan.stores:
            continue  # operands and results of calls of host functions
        if stages.statements.tensors[tensor].is_given:
            continue
        store = stages.plan.stores[tensor]
        reusable = argument.cell in written if store.axes else tensor in dying
        others = [a.cell for a in f.arguments if a.cell[0] == tensor and a != argument]
        alone = all(are_disjoint(statement, argument.cell, other, stages) for other in others)
        if reusable and alone and argument.when == ix.TRUE:
            positions.append(position)
    return tuple(positions)


def are_disjoint(statement: Statement, a: KernelCell, b: KernelCell, stages: Stages) -> bool:
    """Whether two cells of one tensor provably are different arrays at every point."""
    return stages.proves(statement, distinct_slots(stages.plan.stores[a[0]], a[1], b[1]))
