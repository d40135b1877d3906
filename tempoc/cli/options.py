"""Options that several commands share, and what their values mean."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from tempoc.driver.options import Options

F = TypeVar("F", bound=Callable[..., Any])


def _stack(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    def apply(f: F) -> F:
        for decorate in reversed(decorators):
            f = decorate(f)
        return f

    return apply


def refuse(message: str) -> NoReturn:
    """The command line is wrong: exit status 2."""
    raise click.UsageError(message)


def parse_defines(items: tuple[str, ...]) -> dict[str, str]:
    """`-D NAME=VALUE`; a value may hold commas (lists)."""
    found: dict[str, str] = {}
    for item in items:
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not name or not value:
            raise click.UsageError(f"-D wants NAME=VALUE, not '{item}'")
        found[name] = value
    return found


define_option = click.option(
    "-D", "defines", multiple=True, metavar="NAME=VALUE", help="Another value of a const or bound."
)  # fmt: skip
error_format_option = click.option(
    "--error-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How diagnostics are printed on standard error.",
)
compile_options = _stack(
    define_option,
    click.option(
        "-O",
        "level",
        type=click.Choice(["0", "1", "2"]),
        default="2",
        show_default=True,
        help="Optimization: -O0 literal, -O1 clean up and fuse, -O2 all.",
    ),
    click.option("--passes", metavar="SPEC", help="This pipeline instead: canonicalize,fuse"),
    click.option("--verify-each", is_flag=True, help="Prove every stage again, independently."),
    click.option("--timing", is_flag=True, help="How long each stage took."),
    click.option("--remarks", is_flag=True, help="What passes did, or did not and why."),
    error_format_option,
)  # fmt: skip
dump_options = _stack(
    click.option("--dump-after", metavar="PASS", help="Print the graph after this pass."),
    click.option(
        "--dump-dir",
        type=click.Path(file_okay=False, path_type=Path),
        help="Write every stage into this directory, numbered.",
    ),
)
run_options = _stack(
    click.option("--bounds", multiple=True, metavar="T=64,B=2", help="Values of run-time bounds."),
    click.option(
        "--input",
        "inputs",
        multiple=True,
        metavar="[NAME=]FILE",
        help="Data: x=x.npy, or a .npz or .safetensors file with tensors by name.",
    ),
    click.option("--params", metavar="FILE", help="Weights: a .safetensors (or .npz) file."),
    click.option("--cast-params", is_flag=True, help="Cast weights, whatever is lost."),
    click.option("--seed", type=int, default=0, show_default=True, help="Seed of random draws."),
    click.option("--output-dir", metavar="DIR", help="Write each output as DIR/NAME.npy."),
    click.option("--output", metavar="FILE", help="Write all outputs to a .npz or .safetensors."),
    click.option("--extern-path", multiple=True, metavar="DIR", help="Where Python functions are."),
)  # fmt: skip


def options_from(
    defines: tuple[str, ...], level: str = "2", passes: str | None = None, verify_each: bool = False
) -> Options:
    """The compilation options of a command line."""
    return Options(
        level=int(level), passes=passes, defines=parse_defines(defines), verify_each=verify_each
    )
