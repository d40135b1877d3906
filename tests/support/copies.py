"""What XLA copies in each step of a region although it could stay where it is (JAX.md 3.4)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np

from tempoc.codegen.assemble import Emitted
from tempoc.program.arith import evaluate
from tempoc.program.nodes import Cells, Region
from tempoc.program.parts import regions
from tempoc.program.verify import bound_order
from tempoc.runtime.dtypes import NUMPY
from tempoc.runtime.load import namespace
from tempoc.runtime.rooms import groups
from tempoc.runtime.stores import Layout, layout

_BYTES = {"pred": 1, "s8": 1, "u8": 1, "bf16": 2, "f16": 2, "s64": 8, "u64": 8, "f64": 8}


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """A region: bytes of its largest carried array, of what is updated in place, and copies."""

    kernel: str
    largest: int
    carried: int
    in_place: int
    copies: tuple[str, ...]


def audits(emitted: Emitted, given: Mapping[str, int]) -> Iterator[Audit]:
    """All regions of a program, compiled for these bounds."""
    program = emitted.program
    declared = {b.name: b.value for b in program.bounds}
    bounds = dict(given)
    for name in bound_order(program):
        value = declared[name]
        bounds[name] = given[name] if value is None else evaluate(value, bounds)
    layouts = {s.name: layout(s, bounds, groups(program)) for s in program.stores}
    functions = namespace(emitted.kernels, "kernels.py")
    for region in regions(program.tree):
        function = functions[region.kernel]
        kernel = next(k for k in program.kernels if k.name == region.kernel)
        static = {name: bounds[name] for name in kernel.bounds}
        donated = tuple(k + 1 for k in kernel.donated)
        compiled = (
            jax.jit(partial(function, **static), donate_argnums=donated)
            .lower(*_arguments(region, layouts, bounds))
            .compile()
        )
        sizes = [layouts[c.store].nbytes() * len({*c.keys}) for c in region.carried]
        largest = max(layouts[c.store].nbytes() for c in region.carried)
        yield Audit(
            kernel=region.kernel,
            largest=largest,
            carried=sum(sizes),
            in_place=compiled.memory_analysis().alias_size_in_bytes,
            copies=tuple(_copies(compiled.as_text(), largest)),
        )


def _arguments(
    region: Region, layouts: Mapping[str, Layout], bounds: Mapping[str, int]
) -> Iterator[Any]:
    count = 2 + len(region.point) + len(region.lengths)
    yield jax.ShapeDtypeStruct((count,), np.int32)
    for cells in (*region.carried, *region.read):
        yield _arrays(cells, layouts[cells.store], bounds)


def _arrays(cells: Cells, store: Layout, bounds: Mapping[str, int]) -> Any:
    array = jax.ShapeDtypeStruct(store.shape, NUMPY[store.dtype])
    if not cells.places:
        return array
    found = {}
    for key in cells.keys:
        slots = [evaluate(key[k], bounds) % (store.moduli[k] or 1 << 30) for k in cells.places]
        found[slots[0] if len(slots) == 1 else (*slots,)] = array
    return found


def _copies(text: str, least: int) -> Iterator[str]:
    """Copies of at least so many bytes in bodies of loops."""
    bodies = {*re.findall(r"body=%?([\w.\-]+)", text)}
    computation = ""
    for line in text.splitlines():
        if head := re.match(r"(?:ENTRY )?%?([\w.\-]+) \(.*\{\s*$", line):
            computation = head[1]
        found = re.search(r"= (\w+)\[([\d,]*)\]\S* copy(?:-start)?\(", line)
        if found and computation in bodies:
            elements = math.prod(int(n) for n in found[2].split(",") if n)
            if elements * _BYTES.get(found[1], 4) >= least:
                yield f"{found[1]}[{found[2]}]"
