"""Constants from a configuration: `const D = 64 from "hidden_size"` with `--config config.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from tempoc.diagnostics.diagnostic import Collector, DiagnosticError
from tempoc.driver import errors
from tempoc.driver.options import Options
from tempoc.files.reading import read_file
from tempoc.frontend.syntax import ast

_MOST_BYTES = 16 << 20
_ABSENT = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """Options with the constants of a configuration, and the names that it says nothing of."""

    options: Options
    absent: Mapping[str, str]

    def notes(self) -> tuple[str, ...]:
        """A line for each constant that keeps the value of the program."""
        path = self.options.config
        return tuple(
            f"{path} has no {e}: {n} is that of the program" for n, e in self.absent.items()
        )


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
    defines, absent = dict(options.defines), {}
    for name, entry in entries:
        if name in options.defines:
            continue
        value = _entry(config, entry.value)
        if value is _ABSENT or value is None:
            absent[name] = entry.value
        elif _is_constant(value):
            defines[name] = json.dumps(value)
        else:
            problems.add(errors.configured_value(entry.span, entry.value, options.config))
    problems.raise_errors()
    return Configured(options=replace(options, defines=defines), absent=absent)


def _entries(main: ast.Module) -> list[tuple[str, ast.String]]:
    pairs: list[tuple[str, ast.String]] = []
    for item in main.items:
        match item:
            case ast.ConstDecl(name=name, entry=ast.String() as entry):
                pairs.append((name.name, entry))
            case ast.DimDecl(bound=bound, entry=ast.String() as entry):
                pairs.append((bound.name, entry))
    return pairs


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
