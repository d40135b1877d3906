"""The options of a compilation, and of what is printed about it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from tempoc.base.cost_model import MODEL
from tempoc.base.limits import LIMITS, TABLE, Limits, flag_name
from tempoc.cli.options.kernels import kernel_options, with_kernels
from tempoc.cli.options.options import (
    FileName,
    constant_options,
    declared,
    error_format_option,
    integer,
    limit_option,
    refuse,
    stack,
)
from tempoc.driver.options import RECOMPUTE, Options
from tempoc.program.nodes.precision import PRECISIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What is printed or written about a compilation; names as on the command line."""

    timing: bool
    remarks: bool
    stats: bool
    error_format: str
    dump_after: str | None
    dump_dir: Path | None


def parse_defines(items: tuple[str, ...]) -> dict[str, str]:
    """`-D NAME=VALUE`; a value may hold commas (lists)."""
    defines: dict[str, str] = {}
    for item in items:
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not name or not value:
            refuse(f"-D wants NAME=VALUE, not '{item}'")
        if defines.get(name, value) != value:
            refuse(f"-D gives {name} twice: {defines[name]} and {value}")
        defines[name] = value
    return defines


def with_constants(
    defines: tuple[str, ...], config: str | None, limits: tuple[str, ...]
) -> Options:
    """The options of a command that gives constants and limits other values, and no more."""
    return Options(defines=parse_defines(defines), config=config, limits=parse_limits(limits))


def parse_limits(items: tuple[str, ...]) -> Limits:
    """`--limit NAME=VALUE`: the limits of the compilation."""
    known = {flag_name(name): name for name in TABLE}
    values: dict[str, int] = {}
    for item in items:
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not re.fullmatch("[1-9][0-9]{0,11}", value):
            refuse(f"--limit wants NAME=VALUE with a number from 1 on, not '{item}'")
        if name not in known:
            refuse(f"there is no limit '{name}', only {', '.join(known)}")
        highest = TABLE[known[name]].highest
        if int(value) > highest:
            refuse(f"--limit {name} is at most {highest}")
        if values.get(known[name], int(value)) != int(value):
            refuse(f"--limit gives {name} twice: {values[known[name]]} and {value}")
        values[known[name]] = int(value)
    return LIMITS.raised(values)


_COMPILE_OPTIONS = stack(
    constant_options,
    click.option(
        "-O",
        "level",
        type=click.Choice(["0", "1", "2"]),
        default="2",
        show_default=True,
        help="Optimization: -O0 literal, -O1 clean up and fuse, -O2 all.",
    ),
    click.option(
        "--passes", metavar="SPEC", help="Passes instead of a level, e.g. canonicalize,fuse."
    ),
    click.option(
        "--tile",
        type=integer(1),
        metavar="N",
        help="Cut axes that come from temporal slices into tiles of N, be they large or not.",
    ),
    click.option(
        "--recompute",
        type=click.Choice(RECOMPUTE),
        default=None,
        metavar="WHAT",
        help="Rematerialize values for derivatives instead of storing them: cheap ones, or all.",
    ),
    click.option(
        "--regions/--no-regions",
        default=None,
        help="Run loops on the device where the host has no work in them; the default at -O2.",
    ),
    click.option(
        "--bucket",
        type=integer(0),
        metavar="N",
        default=MODEL.capacity,
        show_default=True,
        help="Room for N steps at first in what grows with a sequence; 0: for all from the start.",
    ),
    declared("precision"),
    kernel_options,
    click.option(
        "--verify-each",
        is_flag=True,
        help="Prove every stage again, independently; evaluate small bounds after each pass.",
    ),
    limit_option,
    click.option("--timing", is_flag=True, help="How long each stage took."),
    click.option(
        "--remarks", is_flag=True, help="What passes did to each equation, or did not and why."
    ),
    click.option("--stats", is_flag=True, help="How much of everything each pass left."),
    error_format_option,
)  # fmt: skip
dump_options = stack(
    click.option(
        "--dump-after", metavar="PASS", help="Print the graph after each run of this pass."
    ),
    click.option(
        "--dump-dir",
        type=FileName(file_okay=False, path_type=Path),
        help="Write every stage into this directory, numbered.",
    ),
)


def compile_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command that takes the `options` of a compilation, and what to say `about` it."""

    @wraps(command)
    def with_options(
        *,
        config: str | None,
        defines: tuple[str, ...],
        device: str | None,
        dispatch: str | None,
        level: str,
        limits: tuple[str, ...],
        no_dispatch: bool,
        passes: str | None,
        precision: str | None,
        recompute: str | None,
        tile: int | None,
        verify_each: bool,
        **values: Any,
    ) -> Any:
        if recompute is not None and (level == "0" if passes is None else "fuse" not in passes):
            refuse("--recompute works in front of the pass fuse, which runs from -O1 on")
        if tile is not None and (level != "2" if passes is None else "tile" not in passes):
            refuse(
                "--tile sets the tiles of the pass tile, which runs at -O2 or where --passes has it"
            )
        options = Options(
            level=int(level),
            passes=passes,
            tile=tile,
            regions=values.pop("regions"),
            bucket=values.pop("bucket"),
            recompute=recompute,
            precision=precision or PRECISIONS[0],
            defines=parse_defines(defines),
            config=config,
            limits=parse_limits(limits),
            verify_each=verify_each,
            verify_values=verify_each,
        )
        options = with_kernels(options, dispatch, no_dispatch, device)
        about = About(**{f.name: values.pop(f.name) for f in fields(About)})
        return command(options=options, about=about, **values)

    return _COMPILE_OPTIONS(with_options)


def refuse_if_compiled(path: str, *more: str) -> None:
    """A compiled program keeps the options with which it was compiled; `more` are such, too."""
    context = click.get_current_context()
    flags = {"defines": "-D", "level": "-O", "limits": "--limit"}
    options = ("config", "passes", "tile", "recompute", "regions", "bucket", *more)
    flags |= {name: f"--{name}" for name in options}
    flags |= {"dispatch": "--dispatch", "no_dispatch": "--no-dispatch", "device": "--device"}
    for name, flag in flags.items():
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            refuse(f"{flag} belongs to tempoc compile: {path} is already compiled")
