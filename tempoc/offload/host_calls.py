"""Counts what the host calls: a loop on the device is one call, however many steps it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tempoc.program.analysis.count_calls import count_calls
from tempoc.program.nodes import nodes as prog


def count_host_calls(s: prog.ProgramStatement, env: Mapping[str, int]) -> int:
    """How many calls the host makes, of kernels and of loops on the device."""
    return count_calls(_called(s), env)


def _called(s: prog.ProgramStatement) -> prog.ProgramStatement:
    """The statement with a call in the place of each loop on the device."""
    match s:
        case prog.Sequence(items=items):
            return replace(s, items=tuple(map(_called, items)))
        case prog.Loop(body=body) | prog.Guard(body=body) | prog.Block(body=body):
            return replace(s, body=_called(body))
        case prog.Region(kernel=kernel):
            return prog.Call(kernel=kernel, point=(), args=(), results=())
        case _:
            return s
