"""Options that several commands share, and what their values mean."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click
from click.core import ParameterSource

from tempoc.base.cost_model import MODEL
from tempoc.driver.options import RECOMPUTE, Options
from tempoc.program.nodes.precision import PRECISIONS

F = TypeVar("F", bound=Callable[..., Any])


def stack(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Several decorators as one, the first on top."""

    def apply(f: F) -> F:
        for decorate in reversed(decorators):
            f = decorate(f)
        return f

    return apply


def refuse(message: str) -> NoReturn:
    """The command line is wrong: exit status 2."""
    raise click.UsageError(message)


class FileName(click.Path):
    """The name of a file or directory, which shells complete; any text but an empty one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name as it is."""
        if value == "":
            self.fail("a name cannot be empty", param, ctx)
        return super().convert(value, param, ctx)


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


define_option = click.option(
    "-D",
    "defines",
    multiple=True,
    metavar="NAME=VALUE",
    help="Another value for a const or a fixed bound.",
)
error_format_option = click.option(
    "--error-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How errors are written on standard error.",
)
precision_option = click.option(
    "--precision",
    type=click.Choice(PRECISIONS),
    default=None,
    metavar="HOW",
    help="Products on GPUs and TPUs: highest (float32 means float32), high or default (faster).",
)
compile_options = stack(
    define_option,
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
        type=click.IntRange(min=1),
        metavar="N",
        help="Cut axes that come from temporal slices into tiles of N, be they large or not.",
    ),
    click.option(
        "--recompute",
        type=click.Choice(RECOMPUTE),
        default=None,
        metavar="WHAT",
        help="Make values again instead of keeping them for derivatives: cheap ones, or all.",
    ),
    click.option(
        "--regions/--no-regions",
        default=None,
        help="Run loops on the device where the host has nothing to do in them; so at -O2.",
    ),
    click.option(
        "--bucket",
        type=click.IntRange(min=0),
        metavar="N",
        default=MODEL.capacity,
        show_default=True,
        help="Room for N steps at first in what grows with a sequence; 0: for all from the start.",
    ),
    precision_option,
    click.option(
        "--verify-each",
        is_flag=True,
        help="Prove every stage again, independently; evaluate small bounds after each pass.",
    ),
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


def options_from(
    defines: tuple[str, ...],
    level: str = "2",
    passes: str | None = None,
    verify_each: bool = False,
    tile: int | None = None,
    regions: bool | None = None,
    bucket: int = MODEL.capacity,
    precision: str | None = None,
    recompute: str | None = None,
) -> Options:
    """The compilation options of a command line."""
    if recompute is not None and (level == "0" if passes is None else "fuse" not in passes):
        refuse("--recompute works in front of the pass fuse, which runs from -O1 on")
    if tile is not None and (level != "2" if passes is None else "tile" not in passes):
        refuse("--tile sets the tiles of the pass tile, which runs at -O2 or where --passes has it")
    return Options(
        level=int(level),
        passes=passes,
        tile=tile,
        regions=regions,
        bucket=bucket,
        recompute=recompute,
        precision=precision or PRECISIONS[0],
        defines=parse_defines(defines),
        verify_each=verify_each,
        verify_values=verify_each,
    )


def refuse_if_compiled(path: str, *more: str) -> None:
    """A compiled program keeps the options with which it was compiled; `more` are such, too."""
    context = click.get_current_context()
    flags = {"defines": "-D", "level": "-O"}
    options = ("passes", "tile", "recompute", "regions", "bucket", *more)
    flags |= {name: f"--{name}" for name in options}
    for name, flag in flags.items():
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            refuse(f"{flag} belongs to tempoc compile: {path} is already compiled")
