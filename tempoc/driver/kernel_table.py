"""Tables of kernels: TOML files that say which Python functions compute which formulas.

    [causal]
    import = ["nn"]
    dims = ["t < T"]
    arguments = ["q[t]: F[H, D]", "k: F[S, H, D]", "v: F[S, H, D]", "scale: number"]
    formula = "einsum('hs,shd->hd', nn.softmax(einsum('hd,shd->hs', q, k) * scale), v)"
    function = "kernels:attend"
    given = {scale = "scale", causal = false}
    device = "gpu"
    when = "T >= 512"
    dtypes = ["bf16", "f16"]

Of each entry and dtype a program is made, and of that a graph, as of any program: ``F`` is a dtype,
names of extents are bounds, arguments are inputs. It goes through the passes that run before
``dispatch`` in programs, so that what is written in another way but means the same matches.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tempoc.base.resources import stdlib_folder
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.driver import errors
from tempoc.driver.elaborate import elaborate
from tempoc.driver.options import DEVICES
from tempoc.files.reading import read_file
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.ops.definition.types import DType
from tempoc.ops.tensor.source import Input
from tempoc.passes.context import PassContext
from tempoc.passes.contraction.distribute import Distribute
from tempoc.passes.contraction.reassociate import Reassociate
from tempoc.passes.dispatch.pattern import FormulaPattern, GivenNumber, KernelEntry
from tempoc.passes.domain.reduce_domain import ReduceDomain
from tempoc.passes.simplify.algebra import Algebra
from tempoc.passes.simplify.canonicalize import Canonicalize
from tempoc.pipeline.manager import run_pipeline
from tempoc.poly.relations.space import Space
from tempoc.symbolic import expr as ix
from tempoc.symbolic.parse import parse_expr

_MOST_BYTES = 1 << 20
_BEFORE = (Canonicalize(), Algebra(), Distribute(), Reassociate(), Canonicalize(), ReduceDomain())
_TEXTS = ("formula", "function", "device", "when")
_TABLES = ("given", "sizes")
_LISTS = ("import", "dims", "arguments", "dtypes")
EXTENT = "of_"
"""What the names of dimensions begin with that are there for their bound alone, an extent."""
OWN = "tempoc"
"""The module of the compiler's own functions."""
_ARGUMENT = re.compile(r"\s*(\w+)\s*(?:\[([\w\s,]*)\])?\s*:\s*(.+?)\s*(?:=\s*(\S+)\s*)?")
_FLOATS = (DType.BF16, DType.F16, DType.F32, DType.F64)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Argument:
    """``name[dims]: type``, or a number with the value of one that is left out."""

    name: str
    dims: str
    type: str
    default: str | None

    @property
    def is_number(self) -> bool:
        """Whether it stands for a constant."""
        return self.type == "number"

    def extents(self) -> list[str]:
        """The names of its extents, or itself if it is one."""
        if self.type == "extent":
            return [self.name]
        return re.findall(r"[A-Za-z_]\w*", self.type.partition("[")[2])


def read_table(path: str) -> str:
    """The text of a table. Raises ``DiagnosticError`` (RT111) if it cannot be read."""
    try:
        return read_file(path, _MOST_BYTES).decode()
    except OSError as error:
        raise DiagnosticError(errors.no_kernels(path, error.strerror or str(error))) from None
    except ValueError:
        raise DiagnosticError(errors.no_kernels(path, "it is not UTF-8")) from None


@functools.cache
def own_entries() -> tuple[KernelEntry, ...]:
    """The table that comes with the compiler."""
    path = stdlib_folder() / "kernels.toml"
    return entries(path.read_text(encoding="utf-8"), "stdlib/kernels.toml", str(path.parent))


@functools.cache
def entries(text: str, path: str, folder: str) -> tuple[KernelEntry, ...]:
    """The entries of a table; files that formulas import are looked for in ``folder``.

    Raises ``DiagnosticError``: RT111 if it is no TOML, RT112 for what an entry lacks.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DiagnosticError(errors.no_kernels(path, str(error))) from None
    return tuple(_entry(name, fields, path, folder) for name, fields in table.items())


def _entry(name: str, fields: Any, path: str, folder: str) -> KernelEntry:
    def refuse(why: str) -> DiagnosticError:
        return DiagnosticError(errors.kernel_entry(name, path, why))

    if not isinstance(fields, dict):
        raise refuse(f"a table `[{name}]` belongs here")
    for key, value in fields.items():
        if key in _LISTS:
            fits = isinstance(value, list) and all(isinstance(v, str) for v in value)
        else:
            fits = isinstance(value, str) if key in _TEXTS else isinstance(value, dict)
        if key not in (*_TEXTS, *_LISTS, *_TABLES):
            raise refuse(f"there is no `{key}`, only {', '.join((*_LISTS, *_TEXTS, *_TABLES))}")
        if not fits:
            kind = "a list of texts" if key in _LISTS else "a text" if key in _TEXTS else "a table"
            raise refuse(f"`{key}` is {kind}")
    for key in ("formula", "arguments", "function"):
        if key not in fields:
            raise refuse(f"it has no `{key}`")
    module, colon, function = fields["function"].partition(":")
    if not (colon and module and function):
        raise refuse('`function` wants "module:function"')
    if fields.get("device", "") not in ("", *DEVICES):
        raise refuse('`device` is "cpu" or "gpu"')
    arguments = [_argument(a, refuse) for a in fields["arguments"]]
    known = {d.value: d for d in _FLOATS}
    dtypes = fields.get("dtypes", [DType.F32.value])
    for dtype in dtypes:
        if dtype not in known:
            raise refuse(f"`dtypes` are some of {', '.join(known)}, not {dtype}")

    def expression(key: str, text: str) -> ix.Expr:
        try:
            return parse_expr(text)
        except ValueError as error:
            raise refuse(f"`{key}`: {error}") from None

    given: dict[str, GivenNumber | ix.Expr] = {}
    for key, value in fields.get("given", {}).items():
        given[key] = expression(key, value) if isinstance(value, str) else value

    @functools.cache
    def pattern(dtype: DType) -> FormulaPattern:
        return _pattern(name, fields, arguments, dtype, path, folder)

    return KernelEntry(
        name=name,
        pattern=pattern,
        module="" if module == OWN else module,
        function=function,
        given=given,
        device=fields.get("device", ""),
        when=expression("when", fields["when"]) if "when" in fields else ix.TRUE,
        dtypes=tuple(known[d] for d in dtypes),
        sizes=fields.get("sizes", {}),
    )


def _argument(text: str, refuse: Any) -> _Argument:
    match = _ARGUMENT.fullmatch(text)
    if match is None:
        raise refuse(f"`{text}` is no argument: write `x[t]: F[D]`, `scale: number`, `W: extent`")
    name, dims, type_, default = match.groups()
    return _Argument(name=name, dims=dims or "", type=type_, default=default)


def _pattern(
    name: str,
    fields: Mapping[str, Any],
    arguments: Sequence[_Argument],
    dtype: DType,
    path: str,
    folder: str,
) -> FormulaPattern:
    """The formula as a graph. Raises ``DiagnosticError`` if it is no program."""
    text = _program(fields, arguments, dtype)
    source = Source(f"{path} [{name}]", text)
    graph = elaborate(load_source(source, Path(folder)), {})
    outcome = run_pipeline(graph, _BEFORE, PassContext(space=Space(graph.universe)))
    if isinstance(outcome.graph.nodes[outcome.graph.outputs[0].source].op, Input):
        raise DiagnosticError(errors.kernel_entry(name, path, "its formula computes nothing"))
    numbers = {
        a.name: None if a.default is None else float(a.default) for a in arguments if a.is_number
    }
    tensors = tuple(a.name for a in arguments if a.type != "extent")
    return FormulaPattern(graph=outcome.graph, arguments=tensors, numbers=numbers)


def _program(fields: Mapping[str, Any], arguments: Sequence[_Argument], dtype: DType) -> str:
    dims = fields.get("dims", [])
    bounds = {d.partition("<")[2].strip() for d in dims}
    extents = dict.fromkeys(e for a in arguments for e in a.extents() if e not in bounds)
    wide = DType.F32 if dtype in (DType.BF16, DType.F16) else dtype
    lines = [f"import {item}" for item in fields.get("import", [])]
    lines += [f"dim {dim}" for dim in dims]
    lines += [f"dim {EXTENT}{e} < {e}" for e in extents]
    lines += [f"const F = {dtype.value}"]
    for a in arguments:
        if a.type != "extent":
            entries = f"[{a.dims}]" if a.dims else ""
            lines.append(f"input {a.name}{entries}: {wide.value if a.is_number else a.type}")
    return "\n".join([*lines, f"result = {fields['formula']}", "output result", ""])
