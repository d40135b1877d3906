"""LALR parse tables of the grammars in `grammar/`; the only module that uses Lark.

Importing Lark and building the tables takes a third of a second, so they are kept in the user's
cache folder as plain data, which is read in two milliseconds. A file is named after all that its
tables are made of: the grammar, this module, Lark, and the version of Python, whose format it has.
"""

import importlib
import importlib.util
import marshal
import os
import re
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from tempoc.base.resources import cache_folder, grammar_text


class Tables(NamedTuple):
    """What a parser needs to know of a grammar.

    `pattern` matches one token, in the group of its type, or in none if its spelling is fixed, as
    `spellings` has it for each such type. A word that matches a type in `keywords` may be a token
    of another one. `expected` are the types that can stand anywhere. A state has for each type of
    token the next state, or the complement of the number of the rule that is complete; and for each
    rule the state after it. `starts` has the first and the last state for each start rule.
    """

    pattern: str
    ignored: tuple[str, ...]
    spellings: dict[str, str]
    keywords: dict[str, dict[str, str]]
    expected: tuple[str, ...]
    states: tuple[dict[str, int], ...]
    starts: dict[str, tuple[int, int]]
    rules: tuple["TableRule", ...]


class TableRule(NamedTuple):
    """A rule: its name, the name of its action, the number of children.

    The children at `repeated` are lists of children; an `only` child stands for itself.
    """

    name: str
    action: str
    size: int
    repeated: tuple[int, ...]
    only: bool


def tables(files: tuple[str, ...], start: tuple[str, ...], keep: tuple[str, ...]) -> Tables:
    """The tables for the concatenated files `grammar/NAME.lark`; see `grammar.load`."""
    text = "\n".join(grammar_text(name) for name in files)
    folder = cache_folder("grammar")
    if folder is None:
        return _built(text, start, keep)
    made_of = repr((text, start, keep, sys.version, Path(__file__).read_bytes(), _lark_version()))
    path = folder / f"{files[-1]}-{sha256(made_of.encode()).hexdigest()[:24]}"
    with suppress(Exception):  # no such file, or it is damaged: that costs time, nothing else
        named, _, content = path.read_bytes().partition(b"\n")
        if named == _digest(content):
            return _named(marshal.loads(content))
    made = _built(text, start, keep)
    content = marshal.dumps((*made[:-1], [tuple(rule) for rule in made.rules]))
    with suppress(OSError):  # a full disk
        # Not synced: what a crash damages is recognized and made anew.
        temporary = path.with_name(f"{path.name}.{os.getpid()}")
        temporary.write_bytes(_digest(content) + b"\n" + content)
        temporary.replace(path)
    return made


def _named(fields: Any) -> Tables:
    made = Tables(*fields)
    return made._replace(rules=tuple(TableRule(*rule) for rule in made.rules))


def _digest(content: bytes) -> bytes:
    return sha256(content).hexdigest().encode()


def _lark_version() -> bytes:
    """The file of Lark that names its version, which is not imported."""
    spec = importlib.util.find_spec("lark")
    return b"" if spec is None or spec.origin is None else Path(spec.origin).read_bytes()


class _Keep:
    """A post-lexer that makes Lark emit tokens that no rule mentions; it changes nothing else."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.always_accept = names

    def process(self, stream: Any) -> Any:
        return stream


def _built(text: str, start: tuple[str, ...], keep: tuple[str, ...]) -> Tables:
    shift = importlib.import_module("lark.parsers.lalr_analysis").Shift
    parser = importlib.import_module("lark").Lark(
        text,
        parser="lalr",
        lexer="basic",
        start=list(start),
        keep_all_tokens=True,
        maybe_placeholders=False,
        postlex=_Keep(keep) if keep else None,
    )
    table = parser.parser.parser._parse_table
    numbers = {rule: number for number, rule in enumerate(parser.rules)}
    plain, keywords = _lexer(parser.terminals)
    ignored = tuple(parser.ignore_tokens)
    return Tables(
        pattern="|".join(plain.values()),
        ignored=ignored,
        spellings={t.name: t.pattern.value for t in parser.terminals if t.pattern.type == "str"},
        keywords=keywords,
        expected=tuple(sorted(plain.keys() - {*ignored})),
        states=tuple(
            {kind: to if step is shift else ~numbers[to] for kind, (step, to) in row.items()}
            for _, row in sorted(table.states.items())
        ),
        starts={name: (table.start_states[name], table.end_states[name]) for name in start},
        rules=tuple(_rule(rule) for rule in parser.rules),
    )


def _rule(rule: Any) -> TableRule:
    symbols = rule.expansion
    return TableRule(
        str(rule.origin.name),
        str(rule.alias or rule.origin.name),
        len(symbols),
        tuple(k for k, s in enumerate(symbols) if not s.is_term and s.name.startswith("_")),
        bool(rule.options.expand1 and not rule.alias),
    )


def _lexer(terminals: Any) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """The patterns and keywords, as in Lark's basic lexer, whose order this is."""
    ordered = sorted(
        terminals,
        key=lambda t: (-t.priority, -t.pattern.max_width, -len(t.pattern.value), t.name),
    )
    fixed = [t for t in ordered if t.pattern.type == "str"]
    assert not any(t.pattern.flags for t in fixed)
    keywords: dict[str, dict[str, str]] = {}
    for terminal in ordered:
        if terminal not in fixed:
            pattern = re.compile(terminal.pattern.to_regexp())
            alike = [t for t in fixed if t.priority == terminal.priority]
            words = {t.pattern.value: t.name for t in alike if _matches(pattern, t.pattern.value)}
            keywords |= {terminal.name: words} if words else {}
    covered = {name for words in keywords.values() for name in words.values()}
    plain = {
        t.name: re.escape(t.pattern.value)
        if t in fixed
        else f"(?P<{t.name}>{t.pattern.to_regexp()})"
        for t in ordered
        if t.name not in covered
    }
    return plain, keywords


def _matches(pattern: re.Pattern[str], text: str) -> bool:
    match = pattern.match(text)
    return match is not None and match[0] == text
