"""Constants from a configuration: `const D = 64 from "hidden_size"` with `--config config.json`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, TypeVar

from tempoc.diagnostics.diagnostic import Collector, Diagnostic, DiagnosticError
from tempoc.diagnostics.source import Span
from tempoc.driver import errors
from tempoc.driver.options import Options
from tempoc.files.reading import read_file
from tempoc.frontend.errors import names as name_errors
from tempoc.frontend.syntax import ast

_Declaration = ast.ConstDecl | ast.DimDecl
R = TypeVar("R")
_MOST_BYTES = 16 << 20
_ABSENT = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """Options with the constants of a configuration, and the names that it says nothing of.

    ``given`` has the declaration of each constant that it says something of, and what it says.
    """

    options: Options
    absent: Mapping[str, str]
    given: Mapping[Span, str] = field(default_factory=dict)

    def notes(self) -> tuple[str, ...]:
        """A line for each constant that keeps the value of the program."""
        path = self.options.config
        return tuple(
            f"{path} has no {e}: {n} is that of the program" for n, e in self.absent.items()
        )

    def naming(self, make: Callable[[], R]) -> R:
        """What ``make`` gives. An error in the declaration of a constant says what the file says.

        Raises `DiagnosticError`.
        """
        try:
            return make()
        except DiagnosticError as error:
            error.diagnostics = tuple(map(self._named, error.diagnostics))
            raise

    def _named(self, diagnostic: Diagnostic) -> Diagnostic:
        if diagnostic.primary is None:
            return diagnostic
        at = diagnostic.primary.span
        values = (text for span, text in self.given.items() if span.to(at) == span)
        return replace(diagnostic, notes=(*diagnostic.notes, *values))


def configured(options: Options, main: ast.Module) -> Configured:
    """The options with a define for each entry that a constant or bound of the program names.

    A `-D` of the same name goes first. An entry that is missing, or `null`, leaves the value of the
    program. Raises `DiagnosticError` if the file cannot be read, or an entry is no constant.
    """
    if options.config is None:
        return Configured(options=options, absent={})
    config, entries = _read(options.config), _entries(main)
    if not entries:
        raise DiagnosticError(errors.nothing_configured(options.config))
    problems = Collector()
    defines, absent, given = dict(options.defines), {}, {}
    for name, entry, item in entries:
        if name.name in options.defines:
            continue
        value = _entry(config, entry.value)
        if value is _ABSENT or value is None:
            absent[name.name] = entry.value
        elif _is_constant(value):
            defines[name.name] = text = json.dumps(value)
            given[item.span] = note = f"`{entry.value}` of {options.config} is {text}"
            # Where a string is defined, `-D` takes any text for one.
            is_text = isinstance(item, ast.ConstDecl) and isinstance(item.value, ast.String)
            if is_text and not isinstance(value, str):
                wrong = name_errors.define_kind(name.name, text, "a string", name.span)
                problems.add(replace(wrong, notes=(note,)))
        else:
            problems.add(errors.configured_value(entry.span, entry.value, options.config))
    problems.raise_errors()
    return Configured(options=replace(options, defines=defines), absent=absent, given=given)


def _entries(main: ast.Module) -> list[tuple[ast.Ident, ast.String, _Declaration]]:
    """The constants and bounds that name an entry, the entries, and the declarations."""
    named: list[tuple[ast.Ident, ast.String, _Declaration]] = []
    for item in main.items:
        match item:
            case ast.ConstDecl(name=name, entry=ast.String() as entry):
                named.append((name, entry, item))
            case ast.DimDecl(bound=name, entry=ast.String() as entry):
                named.append((name, entry, item))
    return named


def _read(path: str) -> dict[str, Any]:
    def distinct(entries: list[tuple[str, Any]]) -> dict[str, Any]:
        known = dict(entries)
        if len(known) < len(entries):
            name = json.dumps(next(n for n in known if [k for k, _ in entries].count(n) > 1))
            raise DiagnosticError(errors.no_configuration(path, f"it names {name} twice"))
        return known

    try:
        text = read_file(path, _MOST_BYTES).decode()
        config = json.loads(text, object_pairs_hook=distinct)
    except OSError as error:
        raise DiagnosticError(errors.no_configuration(path, error.strerror or str(error))) from None
    except (ValueError, RecursionError):
        raise DiagnosticError(errors.no_configuration(path, "it is not JSON")) from None
    if not isinstance(config, dict):
        raise DiagnosticError(errors.no_configuration(path, "it is not a JSON object"))
    return config


def _entry(config: dict[str, Any], name: str) -> object:
    """`"rope_scaling.factor"` is the entry `factor` of the object `rope_scaling`."""
    value: object = config
    for part in name.split("."):
        if not isinstance(value, dict) or part not in value:
            return _ABSENT
        value = value[part]
    return value


def _is_constant(value: object) -> bool:
    if isinstance(value, list):
        return all(_is_constant(v) for v in value)
    return isinstance(value, (bool, int, str)) or (isinstance(value, float) and isfinite(value))
