"""Options that several commands share, and those of runs as click wants them."""

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import click

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
    """A text that a function turns into a value: `24GiB`, `5min`."""

    def __init__(self, option: RunOption) -> None:
        """The type of the values of an option of a run."""
        self.option, self.name = option, option.metavar.lower()

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        """The value."""
        parsed = self.option.parse(value) if self.option.parse else value
        if parsed is None:
            self.fail(f"'{value}' is no {self.option.what}", param, ctx)
        return parsed


def declared(*names: str) -> Callable[[F], F]:
    """Options of a run as click wants them, by the names of their fields."""
    return stack(*(_declared(f"--{name.replace('_', '-')}", *DECLARED[name]) for name in names))


def _declared(flag: str, option: RunOption, default: object) -> Callable[[F], F]:
    if not option.metavar:
        return click.option(flag, is_flag=True, help=option.help)
    kind: Any = (
        FileName()
        if option.metavar in ("DIR", "FILE")
        else Parsed(option)
        if option.parse
        else None
    )
    if option.choices:
        kind = click.Choice(option.choices)
    more: dict[str, Any] = {"multiple": True} if option.many else {"default": default}
    if option.span is not None:
        kind, more["show_default"] = click.IntRange(*option.span), True
    return click.option(flag, type=kind, metavar=option.metavar, help=option.help, **more)


RUN_DATA = (
    *("bounds", "input", "params", "cast_params", "seed"),
    *("output_dir", "output", "extern_path"),
)
"""The options of what is computed, from what, and where results go."""
define_option = click.option(
    "-D",
    "defines",
    multiple=True,
    metavar="NAME=VALUE",
    help="Another value for a const or a fixed bound.",
)
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
