"""The options of a run, declared once: ``tempoc run`` and ``python DIR`` are made from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NoReturn

from tempoc.program.nodes.precision import PRECISIONS
from tempoc.runtime.messages.units import LAST, parse_integer, parse_seconds, parse_size

Refuse = Callable[[str], NoReturn]
"""Called with what is wrong with a command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOption:
    """An option of the command line; without a ``metavar`` it is a flag.

    ``parse`` turns its text into a value, or ``None`` if that is not ``what`` it should be;
    ``many``: it may be given several times. Those of ``DIR``, ``FILE`` and ``PATH`` are names.
    """

    help: str
    metavar: str = ""
    many: bool = False
    choices: tuple[str, ...] = ()
    parse: Callable[[str], object | None] | None = None
    what: str = ""


def _option(help: str, metavar: str = "", default: object = None, **more: Any) -> Any:
    default = () if more.get("many") else default if metavar else False
    option = RunOption(help=help, metavar=metavar, **more)
    return field(default=default, metadata={"option": option})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The command line of a run; names as there. ``record``: keep all calls of host functions."""

    directory: str = ""
    record: bool = False
    bounds: Mapping[str, str] = _option("Values of run-time bounds.", "T=64,B=2", many=True)
    input: tuple[str, ...] = _option(
        "Data: x=x.npy, or a .npz or .safetensors file with tensors by name.",
        "[NAME=]FILE",
        many=True,
    )
    params: tuple[str, ...] = _option(
        "Weights by name: a .safetensors or .npz file, a folder of the former, or their index.",
        "PATH",
        many=True,
    )
    cast_params: bool = _option("Cast weights, whatever is lost.")
    seed: int = _option(
        "Seed of random draws.", "N", 0, parse=parse_integer, what=f"integer from 0 to {LAST}"
    )
    output_dir: str | None = _option("Write each output as DIR/NAME.npy.", "DIR")
    output: str | None = _option("Write all outputs to a .npz or .safetensors file.", "FILE")
    extern_path: tuple[str, ...] = _option("Where Python functions are.", "DIR", many=True)
    stats: bool = _option("Say on standard error what the run took.")
    memory: bool = _option("Say what stores took at most, and what was predicted.")
    memory_budget: int | None = _option(
        "The most that all stores of a run may take together: 24GiB, 500MB.",
        "SIZE",
        parse=parse_size,
        what="size in bytes, such as 24GiB or 500MB",
    )
    memory_plot: str | None = _option("Draw the bytes in stores over time (SVG).", "FILE")
    checkpoint: str | None = _option(
        "Write what the run needs to go on into DIR, now and then.", "DIR"
    )
    every: float | None = _option(
        "How often --checkpoint writes: 60s, 5min; 0s: at each step.  [default: 60s]",
        "TIME",
        parse=parse_seconds,
        what="time, such as 60s or 5min",
    )
    resume: str | None = _option("Go on from the checkpoint in DIR.", "DIR")
    resume_anyway: bool = _option(
        "Go on even on another device, with another JAX or other XLA flags."
    )
    precision: str | None = _option(
        "Products on GPUs and TPUs: highest (float32 means float32), high or default (faster).",
        "HOW",
        choices=PRECISIONS,
    )
    profile: str | None = _option("Write a Chrome trace of all kernel calls.", "FILE")

    @property
    def counts(self) -> bool:
        """Whether the bytes in stores are counted."""
        paths = self.profile, self.memory_plot
        return self.stats or self.memory or any(path is not None for path in paths)


DECLARED: Mapping[str, tuple[RunOption, Any]] = {
    f.name: (f.metadata["option"], f.default) for f in fields(RunOptions) if f.metadata
}
"""The options by the names of their fields, with their defaults."""


def run_options(directory: str, given: Mapping[str, Any], refuse: Refuse) -> RunOptions:
    """The options of a command line that gives these values by name, lists as they are."""
    values: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in given.items()}
    check_inputs(values["input"], refuse)
    bounds = parse_bounds(values.pop("bounds"), refuse)
    options = RunOptions(directory=directory, bounds=bounds, **values)
    if options.every is not None and options.checkpoint is None:
        refuse("--every says how often --checkpoint DIR writes: name the directory")
    if options.resume_anyway and options.resume is None:
        refuse("--resume-anyway belongs to --resume DIR: name the directory")
    return options


def parse_bounds(items: Sequence[str], refuse: Refuse) -> dict[str, str]:
    """``T=64,B=2`` pairs."""
    bounds: dict[str, str] = {}
    for pair in (pair for item in items for pair in item.split(",")):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not name or not value:
            refuse(f"--bounds wants NAME=VALUE, not '{pair.strip()}'")
        if bounds.get(name, value) != value:
            refuse(f"--bounds gives {name} twice: {bounds[name]} and {value}")
        bounds[name] = value
    return bounds


def check_inputs(items: Sequence[str], refuse: Refuse) -> None:
    """``NAME=FILE`` or ``FILE``."""
    for item in items:
        name, equals, path = item.partition("=")
        if not name or (equals and not path):
            refuse(f"--input wants NAME=FILE or FILE, not '{item}'")
