"""Text from outside as a part of generated Python: names are never code.

Names, equations, documentation and file names get into ``kernels.py`` through these functions
alone (``tests/house/test_generated_text.py``). What they return is one token, or one string, that
means the text itself, whatever it is; and it shows no character that an editor does not.
"""

from __future__ import annotations

import keyword
import re
import unicodedata

_QUOTES = '"""'
_NO_WORD = re.compile("[^0-9A-Za-z_]+")


def docstring(text: str) -> list[str]:
    """The lines of a docstring, without indentation, of a text of one or more lines.

    Its value is the text; one of several lines ends with a line break.
    """
    first, *others = map(_line, text.split("\n"))
    if others:
        return [_QUOTES + first, *others, _QUOTES]
    return [_QUOTES + (_escaped(text) if text.endswith('"') else first) + _QUOTES]


def _line(text: str) -> str:
    """A line within a docstring: quotes alone or in pairs do not end it."""
    return _escaped(text) if _QUOTES in text else printable(text.replace("\\", "\\\\"))


def _escaped(text: str) -> str:
    return printable(text.replace("\\", "\\\\").replace('"', r"\""))


def literal(text: str) -> str:
    """A string in double quotes whose value is the text."""
    return f'"{_escaped(text)}"'


def identifier(name: str) -> str:
    """A name as an identifier: ``h.matmul`` is ``h_matmul``.

    Python reads identifiers in their normal form NFKC, so that is what this gives.
    """
    if name.isascii():
        text = _NO_WORD.sub("_", name)
    else:
        normal = unicodedata.normalize("NFKC", name)
        text = "".join(c if f"_{c}".isidentifier() else " " for c in normal)
        text = re.sub(" +", "_", text)
    return text if text.isidentifier() else f"_{text}"


def is_identifier(name: str) -> bool:
    """Whether Python reads a text as an identifier, that very one."""
    normal = unicodedata.normalize("NFKC", name) == name
    return normal and name.isidentifier() and not keyword.iskeyword(name)


def import_line(module: str, name: str, alias: str) -> str:
    """``from module import name as alias``; ``ValueError`` if one of them is no name."""
    if not all(map(is_identifier, (*module.split("."), name, alias))):
        raise ValueError(f"{module}:{name} cannot be imported as {alias}")
    line = f"from {module} import {name}"
    return line if alias == name else f"{line} as {alias}"


def printable(text: str) -> str:
    r"""The text with the escapes of Python for characters that are not printed: ``\x1b``."""
    if text.isprintable():
        return text
    escapes = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return "".join(escapes)
