"""Of which short rings kernels use nothing but rows; which arrays they only write."""

from __future__ import annotations

from collections.abc import Iterable

from tempoc.codegen.kernels.kernel import KernelFunction
from tempoc.codegen.stores.context import Stages
from tempoc.codegen.stores.ring_rows import RingUse, is_only_written, ring_use, short_ring
from tempoc.codegen.text.naming import names_in


def ring_uses(functions: Iterable[KernelFunction], stages: Stages) -> dict[str, dict[str, RingUse]]:
    """For each kernel the short rings of which it uses nothing but rows; callers come last."""
    uses: dict[str, dict[str, RingUse]] = {}
    given: dict[str, list[str]] = {}
    short = {name for name, store in stages.buffers.items() if short_ring(store) is not None}
    for f in functions:
        tensors = [a.cell[0] for a in f.arguments]
        rings = {a.name: a.cell[0] for a in f.arguments if tensors.count(a.cell[0]) == 1}
        rings = {name: tensor for name, tensor in rings.items() if tensor in short}
        used = names_in([f.text]) if rings else ()
        called = [name for name in given if name in used]
        given[f.name], uses[f.name] = tensors, {}
        for parameter, tensor in rings.items():
            own = ring_use(f.text, parameter, called)
            parts = [own, *(uses[name].get(tensor) for name in called if tensor in given[name])]
            known = [part for part in parts if part is not None]
            if len(known) == len(parts):
                read = frozenset(age for part in known for age in part.read)
                written = frozenset(age for part in known for age in part.written)
                uses[f.name][tensor] = RingUse(read, written)
    return uses


def only_written(f: KernelFunction) -> frozenset[str]:
    """The stores of which a kernel reads nothing; not those that it passes on."""
    tensors = [a.cell[0] for a in f.arguments]
    arrays = {a.name: a.cell[0] for a in f.arguments if tensors.count(a.cell[0]) == 1}
    return frozenset(arrays[name] for name in arrays if is_only_written(f.text, name))
