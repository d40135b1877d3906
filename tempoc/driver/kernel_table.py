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
from tempoc.passes.dispatch.pattern import (
    OWN_FUNCTIONS,
    FormulaPattern,
    GivenNumber,
    KernelEntry,
)
from tempoc.passes.domain.reduce_domain import ReduceDomain
from tempoc.passes.simplify.algebra import Algebra
from tempoc.passes.simplify.canonicalize import Canonicalize
from tempoc.pipeline.manager import run_pipeline
from tempoc.poly.relations.space import Space
from tempoc.symbolic import expr as ix
from tempoc.symbolic.parse import parse_expr
from tempoc.symbolic.walk import symbols

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
    default: float | None

    @property
    def is_number(self) -> bool:
        """Whether it stands for a constant."""
        return self.type == "number"

    def extents(self) -> list[str]:
        """The names of its extents, or itself if it is one."""
        if self.type == "extent":
            return [self.name]
        return _names(self.type.partition("[")[2])


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
    return tuple(_EntryReader(n, fields, path, folder).read() for n, fields in table.items())


@dataclass(frozen=True, slots=True)
class _EntryReader:
    """Reads one entry; what is wrong with it is RT112."""

    name: str
    fields: Any
    path: str
    folder: str

    def refused(self, why: str) -> DiagnosticError:
        """The error for an entry."""
        return DiagnosticError(errors.kernel_entry(self.name, self.path, why))

    def read(self) -> KernelEntry:
        """The entry. Raises ``DiagnosticError``."""
        self.check_kinds()
        name, fields, path, folder = self.name, self.fields, self.path, self.folder
        module, function = self.function()
        arguments = [self.argument(text) for text in fields["arguments"]]
        given = {key: self.given(key, value) for key, value in fields.get("given", {}).items()}
        when = self.expression("when", fields["when"]) if "when" in fields else ix.TRUE
        self.check_names(arguments, given, when)

        @functools.cache
        def pattern(dtype: DType) -> FormulaPattern:
            return _pattern(name, fields, arguments, dtype, path, folder)

        return KernelEntry(
            name=name,
            pattern=pattern,
            module=module,
            function=function,
            given=given,
            device=fields.get("device", ""),
            when=when,
            dtypes=self.dtypes(),
            sizes=fields.get("sizes", {}),
        )

    def check_kinds(self) -> None:
        """The keys are known, and their values of the right kinds."""
        if not isinstance(self.fields, dict):
            raise self.refused(f"a table `[{self.name}]` belongs here")
        for key, value in self.fields.items():
            if key not in (*_LISTS, *_TEXTS, *_TABLES):
                known = ", ".join((*_LISTS, *_TEXTS, *_TABLES))
                raise self.refused(f"there is no `{key}`, only {known}")
            if key in _LISTS:
                fits = isinstance(value, list) and all(isinstance(v, str) for v in value)
            else:
                fits = isinstance(value, str if key in _TEXTS else dict)
            if not fits:
                kinds = {_LISTS: "a list of texts", _TEXTS: "a text", _TABLES: "a table"}
                kind = next(kind for keys, kind in kinds.items() if key in keys)
                raise self.refused(f"`{key}` is {kind}")
        for key in ("formula", "arguments", "function"):
            if key not in self.fields:
                raise self.refused(f"it has no `{key}`")
        if self.fields.get("device", "") not in ("", *DEVICES):
            raise self.refused('`device` is "cpu" or "gpu"')
        for name, size in self.fields.get("sizes", {}).items():
            if type(size) is not int or size < 1:
                raise self.refused(f"the size {name} is a whole number from 1 on")

    def check_names(
        self,
        arguments: Sequence[_Argument],
        given: Mapping[str, GivenNumber | ix.Expr],
        when: ix.Expr,
    ) -> None:
        """The formula reads all arguments, and what names an extent names one that there is."""
        read = _names(self.fields["formula"])
        for a in arguments:
            if a.type != "extent" and a.name not in read:
                raise self.refused(f"its formula does not read `{a.name}`")
        bounds = (name for d in self.fields.get("dims", []) for name in _names(d.partition("<")[2]))
        extents = dict.fromkeys((*(e for a in arguments for e in a.extents()), *bounds))
        numbers = {a.name for a in arguments if a.is_number}
        uses = [("when", name) for name in symbols(when)]
        uses += [("sizes", name) for name in self.fields.get("sizes", {})]
        for value in given.values():
            names = symbols(value) if isinstance(value, ix.Expr) else ()
            uses += [("given", name) for name in names if name not in numbers]
        for key, name in uses:
            if name not in extents:
                known = ", ".join(extents) or "none"
                raise self.refused(f"`{key}` names {name}; the extents here are {known}")

    def function(self) -> tuple[str, str]:
        """The module and the name of the function; the module is empty for the compiler's own."""
        module, _, function = self.fields["function"].partition(":")
        if not (module and function):
            raise self.refused('`function` wants "module:function"')
        if module != OWN:
            return module, function
        if function not in OWN_FUNCTIONS:
            raise self.refused(f"tempoc has no {function}, only {', '.join(OWN_FUNCTIONS)}")
        for name in self.fields.get("given", {}):
            if name not in OWN_FUNCTIONS[function]:
                raise self.refused(f"{function} takes {', '.join(OWN_FUNCTIONS[function])}")
        return "", function

    def dtypes(self) -> tuple[DType, ...]:
        """What `F` stands for."""
        known = {d.value: d for d in _FLOATS}
        names = self.fields.get("dtypes", [DType.F32.value])
        if not names:
            raise self.refused("`dtypes` is empty")
        for name in names:
            if name not in known:
                raise self.refused(f"`dtypes` are some of {', '.join(known)}, not {name}")
        return tuple(known[name] for name in names)

    def argument(self, text: str) -> _Argument:
        """`x[t]: F[D]`, `scale: number = 1` or `W: extent`."""
        match = _ARGUMENT.fullmatch(text)
        if match is None:
            form = "write `x[t]: F[D]`, `scale: number`, `W: extent`"
            raise self.refused(f"`{text}` is no argument: {form}")
        name, dims, type_, default = match.groups()
        if default is not None and _number(default) is None:
            raise self.refused(f"`{default}` is no number")
        return _Argument(name=name, dims=dims or "", type=type_, default=_number(default))

    def given(self, key: str, value: object) -> GivenNumber | ix.Expr:
        """A number, or what a text names."""
        if isinstance(value, str):
            return self.expression(key, value)
        if isinstance(value, bool | int | float):
            return value
        raise self.refused(f"`{key}` is a number, or the text of an extent")

    def expression(self, key: str, text: str) -> ix.Expr:
        """An index expression."""
        try:
            return parse_expr(text)
        except ValueError as error:
            raise self.refused(f"`{key}`: {error}") from None


def _names(text: str) -> list[str]:
    return re.findall(r"[A-Za-z_]\w*", text)


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


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
    numbers = {a.name: a.default for a in arguments if a.is_number}
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
