"""The code of programs as runs execute it: which kernels it calls, and how."""

from __future__ import annotations

from collections.abc import Mapping

from tempoc.program.nodes.nodes import Block, Region
from tempoc.runtime.execution.specialize import prepare
from tempoc.runtime.load.load import LoadedProgram
from tempoc.runtime.walk.assemble import RunHooks
from tempoc.runtime.walk.code import HostCode


def host_code(
    loaded: LoadedProgram, bounds: Mapping[str, int], *, account: bool = False
) -> HostCode:
    """The code of a program for bounds, if all inputs are given."""
    given = frozenset(i.store for i in loaded.program.inputs)
    return prepare(loaded, bounds).code(given, RunHooks(account=account))


def regions_of(code: HostCode) -> list[Region]:
    """The device loops that the host divides into calls."""
    return [call for call in code.calls.values() if isinstance(call, Region)]


def blocks_of(code: HostCode) -> list[Block]:
    """The blocks that are one call."""
    return [call for call in code.calls.values() if isinstance(call, Block)]
