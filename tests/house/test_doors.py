"""Every library comes in through one door."""

from __future__ import annotations

import sys

import pytest

from tests.house.source import files_of, rooms

# A library, and the files that may import it: a file, or a package with all that is in it.
DOORS = {
    "lark": ("tempoc/base/parsing/parse_tables.py",),
    "sympy": ("tempoc/symbolic/simplify.py",),
    "islpy": ("tempoc/poly/isl.py",),
    "jax": (
        *(f"tempoc/runtime/device/{name}.py" for name in ("backend", "inspection", "resident")),
        "tempoc/runtime/rewriting/",
    ),
    "numpy": ("tempoc/base/arrays.py", "tempoc/runtime/"),
    "ml_dtypes": ("tempoc/base/arrays.py", "tempoc/runtime/"),
    "click": ("tempoc/cli/",),
    "rich": ("tempoc/cli/",),
    "tempoc": ("tempoc/",),
}  # fmt: skip


@pytest.mark.parametrize("room", ["", *rooms()])
def test_libraries_use_their_doors(room: str) -> None:
    wrong = []
    for file in files_of(room):
        for item in file.imports():
            library = item.module.split(".")[0]
            if library in sys.stdlib_module_names:
                continue
            if not file.name.startswith(DOORS.get(library, ("nowhere",))):
                wrong.append(f"{file.name}:{item.line}: {item.module}")
    assert not wrong


def test_program_is_standard_library_only() -> None:
    outside = [
        f"{file.name}:{item.line} {item.module}"
        for file in files_of("program")
        for item in file.imports()
        if item.module.split(".")[0] not in {*sys.stdlib_module_names, "tempoc"}
    ]
    assert not outside
