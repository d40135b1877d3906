"""Options about checkpoints: where to write them, how often, and which one to go on from."""

from typing import Any

import click

from tempoc.cli.options.options import FileName, stack
from tempoc.runtime.messages.units import parse_seconds


class Seconds(click.ParamType[float]):
    """A time: `60s`, `5min`, `1.5h`."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """In seconds."""
        seconds = value if isinstance(value, float) else parse_seconds(value)
        if seconds is None:
            self.fail(f"'{value}' is no time, such as 60s or 5min", param, ctx)
        return seconds


checkpoint_options = stack(
    click.option(
        "--checkpoint",
        type=FileName(),
        metavar="DIR",
        help="Write what the run needs to go on into DIR, now and then.",
    ),
    click.option(
        "--every",
        type=Seconds(),
        metavar="TIME",
        help="How often --checkpoint writes: 60s, 5min; 0s: at each step.  [default: 60s]",
    ),
    click.option(
        "--resume", type=FileName(), metavar="DIR", help="Go on from the checkpoint in DIR."
    ),
)
