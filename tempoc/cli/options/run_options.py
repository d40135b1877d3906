"""Options of the commands that compute: `run` and `eval`."""

from collections.abc import Mapping
from typing import Any

import click

from tempoc.cli.options.options import FileName, refuse, stack
from tempoc.runtime.execute import RunOptions, check_inputs, parse_bounds

run_options = stack(
    click.option("--bounds", multiple=True, metavar="T=64,B=2", help="Values of run-time bounds."),
    click.option(
        "--input",
        multiple=True,
        metavar="[NAME=]FILE",
        help="Data: x=x.npy, or a .npz or .safetensors file with tensors by name.",
    ),
    click.option(
        "--params",
        multiple=True,
        type=FileName(),
        metavar="FILE",
        help="Weights by name: a .safetensors or .npz file.",
    ),
    click.option("--cast-params", is_flag=True, help="Cast weights, whatever is lost."),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**63 - 1),
        metavar="N",
        default=0,
        show_default=True,
        help="Seed of random draws.",
    ),
    click.option(
        "--output-dir", type=FileName(), metavar="DIR", help="Write each output as DIR/NAME.npy."
    ),
    click.option(
        "--output",
        type=FileName(),
        metavar="FILE",
        help="Write all outputs to a .npz or .safetensors file.",
    ),
    click.option(
        "--extern-path",
        multiple=True,
        type=FileName(),
        metavar="DIR",
        help="Where Python functions are.",
    ),
)


def run_options_from(program: str, given: Mapping[str, Any]) -> RunOptions:
    """What the options of a command line ask for; `given` has them by name."""
    check_inputs(given["input"], refuse)
    bounds = parse_bounds(given["bounds"], refuse)
    return RunOptions(**{**given, "directory": program, "bounds": bounds})
