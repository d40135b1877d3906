"""LALR parsers for the grammars in `grammar/`; the only module that uses Lark.

A `Grammar` splits a text into tokens (`tokens`), builds parse trees (`tree`, for the small
languages), or creates a `ParseMachine`, which takes tokens one by one, so that the caller can
recover from a syntax error. Building the parse tables takes a tenth of a second, so they are cached
in the user's cache folder, keyed by a hash of everything they depend on.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from hashlib import sha256
from typing import cast

import lark
from lark import Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser

from tempoc.base.resources import cache_folder, grammar_text

__all__ = ["Grammar", "Mismatch", "ParseMachine", "Token", "Tree", "load"]

END_OF_INPUT = "$END"


class Mismatch(Exception):
    """A syntax error.

    `offset` is its position; `text` the text there (empty at the end of the input); `kind` its
    token type ("" for a character that starts no token); `expected` the token types that the
    grammar accepts there, sorted; `state` the number of the LALR state.
    """

    def __init__(
        self, *, offset: int, text: str, kind: str, expected: tuple[str, ...], state: int
    ) -> None:
        """Record the unexpected token, its position and the expected token types."""
        super().__init__(f"unexpected {text!r} at {offset}, expected {', '.join(expected)}")
        self.offset = offset
        self.text = text
        self.kind = kind
        self.expected = expected
        self.state = state


@dataclass(frozen=True, slots=True)
class Mark:
    """A snapshot of a parse stack; `sizes` are the numbers of children of `values`."""

    states: tuple[int, ...]
    values: tuple[object, ...]
    sizes: tuple[int, ...]


class ParseMachine:
    """A parse in progress; actions run as soon as their rule is complete."""

    __slots__ = ("_parser",)

    def __init__(self, parser: InteractiveParser) -> None:
        """Continue from the state of `parser`."""
        self._parser = parser

    def feed(self, token: Token) -> None:
        """Take one token. Raises `Mismatch` on a syntax error; then call `restore`."""
        try:
            self._parser.feed_token(token)
        except UnexpectedToken as error:
            raise _mismatch(error, self._state(), len(token)) from None

    def finish(self, offset: int) -> object:
        """The result for the start rule; raises `Mismatch` if the input may not end here."""
        end = Token(END_OF_INPUT, "", offset, 0, 0)
        try:
            return self._parser.feed_token(end)
        except UnexpectedToken as error:
            raise _mismatch(error, self._state(), offset) from None

    def mark(self) -> Mark:
        """A snapshot of the current state."""
        state = self._parser.parser_state
        sizes = [len(v.children) if isinstance(v, Tree) else 0 for v in state.value_stack]
        return Mark(tuple(state.state_stack), tuple(state.value_stack), tuple(sizes))

    def restore(self, mark: Mark) -> None:
        """Return to a snapshot."""
        state = self._parser.parser_state
        state.state_stack[:] = mark.states
        state.value_stack[:] = mark.values
        # Lark appends to the lists of repetitions in place.
        for value, size in zip(mark.values, mark.sizes, strict=True):
            if isinstance(value, Tree):
                del value.children[size:]

    def accepted(self, mark: Mark, tokens: Sequence[Token]) -> tuple[str, ...]:
        """The token types that can follow `tokens` after `mark`, sorted; runs no actions."""
        probe = self._parser.copy(deepcopy_values=False)  # type: ignore[no-untyped-call]
        state = probe.parser_state
        state.parse_conf = copy(state.parse_conf)
        state.parse_conf.callbacks = {}
        state.state_stack[:] = mark.states
        state.value_stack[:] = mark.values
        for token in tokens:
            probe.feed_token(token)
        return tuple(sorted(probe.accepts()))

    def _state(self) -> int:
        return int(self._parser.parser_state.position)


class Grammar:
    """An LALR parser; see `load`."""

    def __init__(self, parser: lark.Lark) -> None:
        """Wrap a finished parser."""
        self._lark = parser
        self._spellings = {
            t.name: t.pattern.value for t in parser.terminals if t.pattern.type == "str"
        }

    def tokens(self, text: str) -> Iterator[Token]:
        """The tokens of a text, ignored ones left out; `Mismatch` where no token starts."""
        try:
            yield from self._lark.lex(text)
        except UnexpectedCharacters as error:
            raise _stray(error, text) from None

    def tree(self, text: str, start: str) -> Tree[Token]:
        """The parse tree of a text. Raises `Mismatch` on a syntax error."""
        try:
            return self._lark.parse(text, start)
        except UnexpectedCharacters as error:
            raise _stray(error, text) from None
        except UnexpectedToken as error:
            raise _mismatch(error, -1, len(text)) from None
        except UnexpectedInput as error:
            raise Mismatch(
                offset=len(text), text="", kind=END_OF_INPUT, expected=(), state=-1
            ) from error

    def machine(self, start: str, actions: object) -> ParseMachine:
        """An incremental parser that starts at the rule `start`.

        `actions` has a method for each rule (or alias); it is called when the rule is reduced, with
        the list of the results of its children.
        """
        parser = self._lark.parse_interactive("", start)
        conf = copy(parser.parser_state.parse_conf)
        builder = self._lark._parse_tree_builder
        conf.callbacks = builder.create_callback(actions)  # type: ignore[no-untyped-call]
        parser.parser_state.parse_conf = conf
        return ParseMachine(parser)

    def spelling(self, kind: str) -> str | None:
        """The text of a token type with a fixed spelling: `+` for `PLUS`."""
        return self._spellings.get(kind)


class _Keep:
    """A post-lexer that makes Lark emit tokens that no rule mentions; it changes nothing else."""

    def __init__(self, names: Sequence[str]) -> None:
        self.always_accept = tuple(names)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        return stream


def branches(tree: Tree[Token], kind: str) -> list[Tree[Token]]:
    """The children of a parse tree that a rule of this name made."""
    return [c for c in tree.children if isinstance(c, Tree) and c.data == kind]


def load(
    files: tuple[str, ...],
    *,
    start: tuple[str, ...],
    keep: tuple[str, ...] = (),
    positions: bool = True,
) -> Grammar:
    """The parser of the concatenated files `grammar/NAME.lark`; its trees contain all tokens.

    `keep` names terminals that no rule uses but that `tokens` should yield. With `positions` trees
    have `tree.meta.start_pos` and `end_pos`.
    """
    text = "\n".join(grammar_text(name) for name in files)
    options: dict[str, object] = {
        "parser": "lalr",
        "lexer": "basic",
        "start": list(start),
        "keep_all_tokens": True,
        "maybe_placeholders": False,
        "propagate_positions": positions,
        "postlex": _Keep(keep) if keep else None,
    }
    key = sha256(repr((text, start, keep, positions, lark.__version__)).encode()).hexdigest()[:24]
    return Grammar(_build(text, options, f"{files[-1]}-{key}"))


def _build(text: str, options: dict[str, object], name: str) -> lark.Lark:
    folder = cache_folder("grammar")
    # Lark validates the cached tables, and rebuilds and overwrites damaged or outdated ones.
    options["cache"] = str(folder / name) if folder is not None else False
    return lark.Lark(text, **options)


def _mismatch(error: UnexpectedToken, state: int, end: int) -> Mismatch:
    token = error.token
    at_end = token.type == END_OF_INPUT or token.start_pos is None
    offset = end if at_end else cast(int, token.start_pos)
    return Mismatch(
        offset=offset,
        text=str(token),
        kind=token.type,
        expected=tuple(sorted(error.expected)),
        state=state,
    )


def _stray(error: UnexpectedCharacters, text: str) -> Mismatch:
    offset = error.pos_in_stream or 0
    return Mismatch(
        offset=offset,
        text=text[offset : offset + 1],
        kind="",
        expected=tuple(sorted(error.allowed or ())),
        state=-1,
    )
