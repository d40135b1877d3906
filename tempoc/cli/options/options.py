"""Options that several commands share, and those of runs as click wants them."""

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import click

from tempoc.runtime.messages.units import LAST, parse_integer
from tempoc.runtime.options import DECLARED, RunOption

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


class Parsed(click.ParamType[object]):
    """A text that a function turns into a value: `24GiB`, `5min`, `3`."""

    def __init__(self, parse: Callable[[str], object | None], what: str) -> None:
        """The type of what ``parse`` returns: ``None`` for a text that is not ``what``."""
        self.parse, self.what, self.name = parse, what, what.split(" ")[0]

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        """The value."""
        parsed = self.parse(value) if isinstance(value, str) else value
        if parsed is None:
            self.fail(f"'{value}' is no {self.what}", param, ctx)
        return parsed


def integer(first: int) -> Parsed:
    """The type of integers from the first one on."""
    return Parsed(lambda text: parse_integer(text, first), f"integer from {first} to {LAST}")


def declared(*names: str) -> Callable[[F], F]:
    """Options of a run as click wants them, by the names of their fields."""
    return stack(*(_declared(f"--{name.replace('_', '-')}", *DECLARED[name]) for name in names))


def _declared(flag: str, option: RunOption, default: object) -> Callable[[F], F]:
    if not option.metavar:
        return click.option(flag, is_flag=True, help=option.help)
    kind: Any = (
        FileName()
        if option.metavar in ("DIR", "FILE", "PATH")
        else Parsed(option.parse, option.what)
        if option.parse
        else None
    )
    if option.choices:
        kind = click.Choice(option.choices)
    more: dict[str, Any] = {"default": default, "show_default": default is not None}
    if option.many:
        more = {"multiple": True}
    return click.option(flag, type=kind, metavar=option.metavar, help=option.help, **more)


RUN_DATA = (
    *("bounds", "input", "params", "cast_params", "seed"),
    *("output_dir", "output", "extern_path"),
)
"""The options of what is computed, from what, and where results go."""
constant_options = stack(
    click.option(
        "-D",
        "defines",
        multiple=True,
        metavar="NAME=VALUE",
        help="Another value for a const or a fixed bound.",
    ),
    click.option(
        "--config",
        type=FileName(),
        metavar="FILE",
        help='A JSON file with values of constants that name an entry: const D = 64 from "width".',
    ),
)
"""The options that give constants other values."""
limit_option = click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="NAME=VALUE",
    help="Raise a limit of the compiler: see `tempoc help limits`.",
)
error_format_option = click.option(
    "--error-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How errors are written on standard error.",
)
