"""LALR parsers for the grammars in `grammar/`.

A `Grammar` splits a text into tokens (`tokens`), builds parse trees (`tree`, for the small
languages), or creates a `ParseMachine`, which takes tokens one by one, so that the caller can
recover from a syntax error. The tables are made by Lark (`parse_tables.py`).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tempoc.base.parsing.parse_tables import TableRule, Tables, tables

END_OF_INPUT = "$END"
_Reduce = Callable[[list[Any]], object]


class Token(str):
    """A word of a text, with its type and its offsets; equal to its text if that is no token.

    Tokens of different types differ.
    """

    __slots__ = ("end_pos", "start_pos", "type")
    type: str
    start_pos: int
    end_pos: int

    def __new__(cls, type: str, text: str, start_pos: int) -> "Token":
        """The token of a text that starts at an offset."""
        token = str.__new__(cls, text)
        token.type = type
        token.start_pos = start_pos
        token.end_pos = start_pos + len(text)
        return token

    def __eq__(self, other: object) -> bool:
        """As a text; of another token, the type is compared as well."""
        if isinstance(other, Token) and self.type != other.type:
            return False
        return str.__eq__(self, other)

    __hash__ = str.__hash__

    def __repr__(self) -> str:
        """The type and the text."""
        return f"Token({self.type!r}, {str(self)!r})"


class ParseTree:
    """What a rule (or alias) of this name has matched; the offsets are equal if it is empty."""

    __slots__ = ("children", "data", "end_pos", "start_pos")
    start_pos: int
    end_pos: int

    def __init__(self, data: str, children: "list[Token | ParseTree]") -> None:
        """From the first to the last child."""
        self.data = data
        self.children = children
        filled = [child for child in children if child.start_pos < child.end_pos]
        self.start_pos = filled[0].start_pos if filled else 0
        self.end_pos = filled[-1].end_pos if filled else 0


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

    __slots__ = ("_end", "_reductions", "_rows", "_states", "_values")

    def __init__(self, parse: Tables, start: str, actions: object) -> None:
        """Before the first token of the rule `start`."""
        first, self._end = parse.starts[start]
        self._rows = parse.states
        self._reductions = [(r.name, r.size, _reduction(r, actions)) for r in parse.rules]
        self._states = [first]
        self._values: list[Any] = []

    def feed(self, token: Token) -> None:
        """Take one token. Raises `Mismatch` on a syntax error; then call `restore`."""
        rows, states = self._rows, self._states
        while True:
            step = rows[states[-1]].get(token.type)
            if step is None:
                raise self._mismatch(token)
            if step >= 0:
                states.append(step)
                self._values.append(token)
                return
            self._reduce(~step)

    def finish(self, offset: int) -> Any:
        """The result for the start rule; raises `Mismatch` if the input may not end here."""
        while self._states[-1] != self._end:
            step = self._rows[self._states[-1]].get(END_OF_INPUT)
            if step is None:
                raise self._mismatch(Token(END_OF_INPUT, "", offset))
            self._reduce(~step)
        return self._values[-1]

    def mark(self) -> Mark:
        """A snapshot of the current state."""
        sizes = [len(v) if isinstance(v, list) else 0 for v in self._values]
        return Mark(tuple(self._states), tuple(self._values), tuple(sizes))

    def restore(self, mark: Mark) -> None:
        """Return to a snapshot."""
        self._states[:] = mark.states
        self._values[:] = mark.values
        # Lists of repetitions are extended in place.
        for value, size in zip(mark.values, mark.sizes, strict=True):
            if isinstance(value, list):
                del value[size:]

    def accepted(self, mark: Mark, tokens: Sequence[Token]) -> tuple[str, ...]:
        """The token types that can follow `tokens` after `mark`, sorted; runs no actions."""
        states = [*mark.states]
        for token in tokens:
            self._shift(states, token.type)
        kinds = self._kinds(states[-1])
        return tuple(kind for kind in kinds if self._shift([*states], kind))

    def _kinds(self, state: int) -> list[str]:
        """The token types that have a step in a state, sorted; rules are in small letters."""
        return sorted(kind for kind in self._rows[state] if kind.isupper())

    def _shift(self, states: list[int], kind: str) -> bool:
        """Whether a token can follow; the states change as if it did."""
        while (step := self._rows[states[-1]].get(kind)) is not None:
            if step >= 0:
                states.append(step)
                return True
            name, size, _ = self._reductions[~step]
            del states[len(states) - size :]
            states.append(self._rows[states[-1]][name])
            if kind == END_OF_INPUT and states[-1] == self._end:
                return True
        return False

    def _reduce(self, rule: int) -> None:
        name, size, reduction = self._reductions[rule]
        states, values = self._states, self._values
        first = len(values) - size
        value = reduction(values[first:])
        if size:
            del states[-size:]
            del values[first:]
        states.append(self._rows[states[-1]][name])
        values.append(value)

    def _mismatch(self, token: Token) -> Mismatch:
        state = self._states[-1]
        return Mismatch(
            offset=token.start_pos,
            text=str(token),
            kind=token.type,
            expected=tuple(self._kinds(state)),
            state=state,
        )


class Grammar:
    """An LALR parser; see `load`."""

    def __init__(self, parse: Tables) -> None:
        """A parser with these tables."""
        self._tables = parse
        self._match = re.compile(parse.pattern).match
        self._fixed = {text: kind for kind, text in parse.spellings.items()}

    def tokens(self, text: str) -> Iterator[Token]:
        """The tokens of a text, ignored ones left out; `Mismatch` where no token starts."""
        match_at, fixed, keywords = self._match, self._fixed, self._tables.keywords
        ignored, at = self._tables.ignored, 0
        while at < len(text):
            match = match_at(text, at)
            if match is None:
                expected = self._tables.expected
                raise Mismatch(offset=at, text=text[at], kind="", expected=expected, state=-1)
            word, start, at = match[0], at, match.end()
            kind = match.lastgroup or fixed[word]
            if kind in keywords:
                kind = keywords[kind].get(word, kind)
            if kind not in ignored:
                yield Token(kind, word, start)

    def tree(self, text: str, start: str) -> ParseTree:
        """The parse tree of a text. Raises `Mismatch` on a syntax error."""
        machine = self.machine(start, None)
        for token in self.tokens(text):
            machine.feed(token)
        result: ParseTree = machine.finish(len(text))
        return result

    def machine(self, start: str, actions: object) -> ParseMachine:
        """An incremental parser that starts at the rule `start`.

        `actions` has a method for each rule (or alias); it is called when the rule is reduced, with
        the list of the results of its children. A rule without one makes a `ParseTree`.
        """
        return ParseMachine(self._tables, start, actions)

    def spelling(self, kind: str) -> str | None:
        """The text of a token type with a fixed spelling: `+` for `PLUS`."""
        return self._tables.spellings.get(kind)


def branches(tree: ParseTree, kind: str) -> list[ParseTree]:
    """The children of a parse tree that a rule of this name made."""
    return [c for c in tree.children if isinstance(c, ParseTree) and c.data == kind]


def load(files: tuple[str, ...], *, start: tuple[str, ...], keep: tuple[str, ...] = ()) -> Grammar:
    """The parser of the concatenated files `grammar/NAME.lark`; its trees contain all tokens.

    `keep` names terminals that no rule uses but that `tokens` should yield.
    """
    return Grammar(tables(files, start, keep))


def _reduction(rule: TableRule, actions: object) -> _Reduce:
    """What makes the value of a rule of the values of its children."""
    if rule.name.startswith("_"):  # a repetition
        reduction: _Reduce = _listed
    else:
        reduction = getattr(actions, rule.action, None) or partial(ParseTree, rule.action)
    if rule.only:
        reduction = partial(_only, reduction)
    return partial(_spliced, rule.repeated, reduction) if rule.repeated else reduction


def _listed(children: list[Any]) -> list[Any]:
    return children


def _only(reduction: _Reduce, children: list[Any]) -> object:
    return children[0] if len(children) == 1 else reduction(children)


def _spliced(repeated: tuple[int, ...], reduction: _Reduce, children: list[Any]) -> object:
    flat: list[Any] = []
    for index, child in enumerate(children):
        if index not in repeated:
            flat.append(child)
        elif flat:
            flat += child
        else:  # extended in place: copies would make long repetitions quadratic
            flat = child
    return reduction(flat)
