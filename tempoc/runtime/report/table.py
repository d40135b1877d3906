"""Results and statistics as tables of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tempoc.diagnostics.render import printed
from tempoc.runtime.data.dtypes import NUMPY, HostArray, language_name

_SHOWN = 4


def outputs_table(outputs: Mapping[str, HostArray]) -> str:
    """Name, type and first values of each output."""
    return table(
        ("output", "type", "values"),
        [(name, type_text(array), preview(array)) for name, array in outputs.items()],
    )


def lengths_text(lengths: Mapping[str, int]) -> str:
    """A line ``T = 112`` for each length that was found out; of many only the first."""
    lines = [f"{name} = {length}\n" for name, length in lengths.items()]
    more = len(lines) - 2 * _SHOWN
    return "".join(lines if more <= 0 else [*lines[: 2 * _SHOWN], f"and {more} more\n"])


def type_text(array: HostArray) -> str:
    """``f32[3, 4]``."""
    name = language_name(array.dtype) or str(array.dtype)
    return name + (f"[{', '.join(map(str, array.shape))}]" if array.shape else "")


def preview(array: HostArray) -> str:
    """The first and the last values in the order of memory."""
    flat = array.reshape(-1)
    if flat.dtype == NUMPY["bf16"]:
        flat = flat.astype(np.float32)
    if flat.size <= 2 * _SHOWN:
        return " ".join(map(_number, flat.tolist()))
    head = " ".join(map(_number, flat[:_SHOWN].tolist()))
    return f"{head} ... {_number(flat[-1].item())}"


def _number(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value).lower()


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns padded to their widest entry; ends with a line break."""
    lines = [[*map(printed, line)] for line in (head, *rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "".join(
        "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() + "\n"
        for line in lines
    )
