"""Where the files live that come with tempoc: grammar, standard library, manual.

In a checkout they stand beside the package, where people look for them; a wheel carries them inside
the package (`_grammar`, `_stdlib`). The manual is part of the package in both. What is made of them
is kept in the user's cache folder. This module, `frontend/syntax/load_modules.py` and
`kept_trees.py` read files; the rest of the front end works on strings.
"""

import os
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


@cache
def grammar_folder() -> Path:
    """The folder of the `.lark` files."""
    return _folder("grammar")


@cache
def stdlib_folder() -> Path:
    """The folder of the standard `.rt` modules."""
    return _folder("stdlib")


@cache
def grammar_text(name: str) -> str:
    """The text of `grammar/NAME.lark`. Raises `FileNotFoundError`."""
    return (grammar_folder() / f"{name}.lark").read_text(encoding="utf-8")


@cache
def stdlib_names() -> tuple[str, ...]:
    """The names of the standard modules, sorted."""
    folder = stdlib_folder()
    return tuple(sorted(path.stem for path in folder.glob("*.rt"))) if folder.is_dir() else ()


@cache
def manual_page(name: str) -> str:
    """The text of `tempoc/manual/NAME.md`; `FileNotFoundError` if there is none."""
    return (_PACKAGE / "manual" / f"{name}.md").read_text(encoding="utf-8")


@cache
def cache_folder(name: str) -> Path | None:
    """The folder `tempoc/NAME` of the user's cache folder, or None if it cannot be written to."""
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(root) / "tempoc" / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def _folder(name: str) -> Path:
    installed = _PACKAGE / f"_{name}"
    return installed if installed.is_dir() else _PACKAGE.parent / name
