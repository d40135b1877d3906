"""islpy, for all of `poly`, in half the time that its import takes.

While it is imported, islpy asks `importlib.metadata` for its own version. That imports thirty
modules (of mail, of archives) which nothing else here needs, and takes as long as the rest of
islpy. The folder with the metadata has the version in its name.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

__all__ = ["D", "isl"]

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
