"""Kernels are told the bounds that only count: a run with another number of steps, as of a
schedule of learning rates, then finds all of them compiled.
"""

from __future__ import annotations

from dataclasses import replace

from tempoc.codegen.kernels.kernel import KernelFunction, signature
from tempoc.codegen.regions.counts import counting_bounds
from tempoc.codegen.regions.joined_boxes import JoinedProgram
from tempoc.codegen.text.number_bounds import number_bounds, with_numbers
from tempoc.codegen.text.static_values import static_values
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.spelling import variable


def passed_numbers(joined: JoinedProgram) -> JoinedProgram:
    """The program with kernels that take such bounds as numbers, behind their coordinates.

    Of a bound on which a shape depends, anywhere in the program, the kernels take the value.
    """
    context, kernels = joined.context, joined.context.kernels
    texts = {f.name: f for f in joined.functions if f.bounds and f.name in kernels}
    numbers = {name: own for name, f in texts.items() if (own := _numbers(f, joined))}
    passing = {name: _passing(kernels[name], texts[name], own) for name, own in numbers.items()}
    counting = counting_bounds(replace(context, kernels={**kernels, **passing}))
    some = {name: tuple(b for b in own if b in counting) for name, own in numbers.items()}
    functions = {n: _function(texts[n], kernels[n], own) for n, own in some.items() if own}
    if not functions:
        return joined
    changed = {name: _passing(kernels[name], f, some[name]) for name, f in functions.items()}
    return replace(
        joined,
        functions=tuple(functions.get(f.name, f) for f in joined.functions),
        context=replace(context, kernels={**kernels, **changed}),
    )


def _numbers(f: KernelFunction, joined: JoinedProgram) -> tuple[str, ...]:
    """The bounds that a kernel may be told; none if others call it."""
    numbers = number_bounds(f.text, tuple(map(variable, f.bounds)))
    own = tuple(b for b in f.bounds if variable(b) in numbers)
    called = own and any(f"{f.name}(" in g.text for g in joined.functions if g.name != f.name)
    return () if called else own


def _passing(kernel: prog.Kernel, f: KernelFunction, passed: tuple[str, ...]) -> prog.Kernel:
    """A kernel that is told some of its bounds."""
    bounds = tuple(b for b in kernel.bounds if b not in passed)
    static = static_values(f.text, {variable(b): b for b in bounds})
    return replace(kernel, bounds=bounds, static=static, lengths=(*kernel.lengths, *passed))


def _function(f: KernelFunction, kernel: prog.Kernel, passed: tuple[str, ...]) -> KernelFunction:
    bounds = tuple(b for b in f.bounds if b not in passed)
    head = signature(f.name, ["at", *(a.name for a in f.arguments)], bounds)
    first = len(kernel.dims) + len(kernel.lengths)
    text = with_numbers(f.text, [variable(b) for b in passed], first, head)
    return replace(f, text=text, bounds=bounds, lengths=(*f.lengths, *passed))
