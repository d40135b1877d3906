"""The records of a run as text: a table of times, a list of remarks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tempoc.pipeline.manager import PassRecord
from tempoc.pipeline.step import Remark


def show_timings(records: Sequence[PassRecord[Any]]) -> str:
    """A line for each step: milliseconds, name, and whether it changed anything."""
    width = max((len(r.step) for r in records), default=0)
    lines = [
        f"{r.seconds * 1e3:8.1f} ms  {r.step:<{width}}  {'' if r.changed else 'no change'}".rstrip()
        for r in records
    ]
    return "".join(f"{line}\n" for line in lines)


def show_remarks(remarks: Sequence[Remark]) -> str:
    """A line for each remark, with its place in the source if it has one."""
    lines = [
        (f"{remark.span}: " if remark.span is not None else "") + f"{remark.step}: {remark.message}"
        for remark in remarks
    ]
    return "".join(f"{line}\n" for line in lines)
