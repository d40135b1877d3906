"""One Python function for each statement: its signature, its docstring, its body.

``def name(at, a, b, *, T)``: ``at`` is the int32 vector of the statement's coordinates, then come
the arrays, then the bounds that the text names, which are Python ints when the kernel is traced.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

from tempoc.base.names import Names
from tempoc.base.python_text import docstring
from tempoc.codegen.kernels.existing_cells import only_existing
from tempoc.codegen.kernels.point_body import Body
from tempoc.codegen.kernels.shared_windows import windows
from tempoc.codegen.kernels.vector_body import VectorBody
from tempoc.codegen.stores.array_sizes import (
    dynamic_sizes,
    size_lines,
    with_dynamic_sizes,
)
from tempoc.codegen.stores.context import KernelArgument, KernelResult, Stages
from tempoc.codegen.stores.window_axis import WindowAxis
from tempoc.codegen.text.inline_values import inlined
from tempoc.codegen.text.naming import RESERVED, is_source_name, local_names
from tempoc.codegen.text.source_lines import equation_lines
from tempoc.codegen.text.syntax_tree import parsed
from tempoc.codegen.text.wrap_lines import INDENT, WIDTH, packed, wrapped
from tempoc.diagnostics.source import Span
from tempoc.ops.emission.emitter import KernelEmitter
from tempoc.program.nodes.spelling import variable
from tempoc.sdg.statements.statements import Statement, Vector
from tempoc.symbolic import expr as ix


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFunction:
    """A kernel as text, and its calling convention.

    ``arguments`` and ``results`` name cells in coordinates of the statement; ``bounds`` are the
    keyword arguments, ``lengths`` follow the coordinates in ``at``. For each bound in ``endings``
    the kernel returns, after its results, whether it ends at this point. ``checks`` are the
    messages of the run-time checks; if there are any, the function also returns an i32: 0, or the
    number from 1 of the check that failed; with ``vector`` a pair of that and the index of the
    first failing point. ``windows`` are the slices that neighbouring points share.
    """

    name: str
    text: str
    arguments: tuple[KernelArgument, ...]
    results: tuple[KernelResult, ...]
    bounds: tuple[str, ...] = ()
    equations: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    vector: tuple[Vector, ...] = ()
    lengths: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()
    windows: tuple[WindowAxis, ...] = ()


BodyWriter = type[Body]


def function(
    statement: Statement, stages: Stages, name: str, writer: BodyWriter | None = None
) -> KernelFunction:
    """Emit the kernel of a statement under the given function name."""
    universe, point = stages.graph.universe, statement.single or statement
    dims, lengths = statement.domain.dims, universe.lengths
    bounds = tuple(b.name for b in stages.space.universe.bounds if b.name not in lengths)
    own = tuple(map(variable, (*(d.name for d in universe.dims), *bounds, *lengths)))
    taken = (*stages.imports.values(), *own)
    sizes = dynamic_sizes(stages.plan.needs.get(statement.name, ()), universe, taken)
    taken, stored = (*taken, *(r.name for r in sizes)), stages.plan.stores
    buffers = with_dynamic_sizes(stages.buffers, sizes)
    stages = replace(stages, dynamic_sizes=sizes, buffers=buffers)
    stages = replace(stages, windows=windows(statement, stages, taken))
    taken = (*taken, *(n for w in stages.windows for n in (w.size, w.start)))
    tensors = [*(r.tensor for r in statement.reads), *(w.tensor for w in statement.writes)]
    local = local_names(statement.members, tensors)
    stages = replace(stages, local=local)
    names = Names([*RESERVED, *taken], spaced=True)
    out = KernelEmitter(
        dims=(*point.domain.dims, *lengths, *stages.starts),
        bound=lambda e: stages.pad(point, e),
        names=names,
        imports=stages.imports,
        mapped=tuple(v.dim for v in statement.vector),
        points=ix.product(ix.sub(v.upper, v.lower) for v in statement.vector),
        spelled=variable,
        fits=stages.fits,
    )
    write = writer or (VectorBody if statement.vector else Body)
    body = write(statement, stages, out, names)
    new = body.run()
    arguments, results = only_existing(body.arguments.values(), new, statement, stages)
    texts = [*(r.text for r in results), *body.shown, *body.endings.values()]
    texts += [body.failure()] if out.checks else []
    named = {local[m] for m in statement.members if is_source_name(m)}
    written = [*out.lines, returned(texts, stages.rows_alone)]
    lines, used = inlined(written, named, WIDTH - len(INDENT))
    passed = tuple(n for n in lengths if variable(n) in used)
    given = {a.name: stored[a.cell[0]] for a in arguments if a.cell[0] in stored}
    lines = [*unpacked((*dims, *passed), used), *size_lines(sizes, given, used), *lines]
    keywords = tuple(b for b in bounds if variable(b) in used)
    equations = equation_lines(_spans(statement, stages), stages.graph.name)
    text = [*signature(name, ["at", *(a.name for a in arguments)], keywords)]
    words = docstring("\n".join(equations) or f"{name}.")
    text += [INDENT + line if line else "" for line in words]
    text += [part for line in lines for part in wrapped(INDENT + line)]
    return KernelFunction(
        name=name,
        text="\n".join(text) + "\n",
        arguments=arguments,
        results=results,
        bounds=keywords,
        equations=equations,
        checks=tuple(out.checks),
        vector=statement.vector,
        lengths=passed,
        endings=tuple(body.endings),
        windows=stages.windows,
    )


def passed_on(f: KernelFunction) -> tuple[int, ...] | None:
    """The argument that each result of a kernel is, if it does nothing but pass these on."""
    if f.checks or f.endings or any(r.where != ix.TRUE for r in f.results):
        return None
    names, results = [a.name for a in f.arguments], [r.text for r in f.results]
    if not {*results} <= {*names}:
        return None
    body = cast(ast.FunctionDef, parsed(f.text).body[0]).body
    # A line more may give the name of an argument to another value: arrays are updated in place.
    return tuple(map(names.index, results)) if len(body) == 2 else None


def _spans(statement: Statement, stages: Stages) -> Iterator[Span]:
    """The places of the equations of a statement."""
    return (s for m in statement.members for s in stages.graph.nodes[m].spans)


def unpacked(dims: tuple[str, ...], used: frozenset[str]) -> list[str]:
    """``b, t = at[0], at[1]`` for the coordinates that the body names."""
    named = [(variable(d), f"at[{k}]") for k, d in enumerate(dims) if variable(d) in used]
    if not named:
        return []
    return [f"{', '.join(d for d, _ in named)} = {', '.join(text for _, text in named)}"]


def returned(texts: list[str], bare: bool = False) -> str:
    """The line that returns the results of a kernel; ``bare``: one alone is no tuple."""
    if len(texts) == 1 and not bare:
        return f"return ({texts[0]},)"
    return f"return {', '.join(texts) or '()'}"


def signature(name: str, parameters: list[str], keywords: tuple[str, ...]) -> list[str]:
    """The ``def`` line, on several lines where it is long."""
    parts = [*parameters, *(["*", *map(variable, keywords)] if keywords else [])]
    line = f"def {name}({', '.join(parts)}):"
    if len(line) <= WIDTH:
        return [line]
    return [f"def {name}(", *packed(parts, INDENT), "):"]
