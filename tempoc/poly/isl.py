"""islpy, for all of `poly`, in half the time that its import takes.

While it is imported, islpy asks `importlib.metadata` for its own version. That imports thirty
modules (of mail, of archives) which nothing else here needs, and takes as long as the rest of
islpy. The folder with the metadata has the version in its name.

Where isl may take no further step, islpy raises `isl.Error`, but for texts, and numbers, which it
reads from them. `text_of` and `integer` do so as well.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

__all__ = ["OUT_OF_STEPS", "D", "integer", "isl", "text_of"]

OUT_OF_STEPS = "maximal number of operations"
"""What `isl.Error` says where isl may take no further step."""
_VERSION = "islpy.version"


def _name_version() -> None:
    """Put the module `islpy.version` in place, if the version is evident."""
    spec = find_spec("islpy")
    if spec is None or spec.origin is None or "islpy" in sys.modules:
        return
    folders = [*Path(spec.origin).parent.parent.glob("islpy-*.dist-info")]
    if len(folders) != 1:
        return
    version = folders[0].name.removeprefix("islpy-").removesuffix(".dist-info")
    numbers = version.split(".")
    if not all(number.isdecimal() for number in numbers):
        return
    module = ModuleType(_VERSION)
    names = {"VERSION_TEXT": version, "VERSION": tuple(map(int, numbers)), "VERSION_STATUS": ""}
    vars(module).update(names, __getattr__=_other)
    sys.modules[_VERSION] = module


def _other(name: str) -> object:
    """What a later version of islpy has besides, in its own module, which is imported after all."""
    if name.startswith("__"):
        raise AttributeError(name)
    sys.modules.pop(_VERSION, None)
    return getattr(import_module(_VERSION), name)


_name_version()

import islpy as isl  # noqa: E402
from islpy import dim_type as D  # noqa: E402


def text_of(value: isl.Val | isl.Set | isl.ScheduleConstraints | isl.AstExpr) -> str:
    """A value of isl as a text. Raises `isl.Error`."""
    text: str | None = value.to_str()
    if text is None:
        raise isl.Error(f"{OUT_OF_STEPS} exceeded")
    return text


def integer(value: isl.Val) -> int:
    """A number of isl that is an integer. Raises `isl.Error`, `ValueError` for a fraction."""
    return int(text_of(value))
