"""The layout pass between lexer and parser: line breaks and braces.

In: the tokens of a file, including line breaks and comments. Out: the tokens of the grammar, with
`END` after every statement and `LBLOCK`, `RBLOCK` for the braces of bodies. A line break ends a
statement unless it is inside brackets, after an operator, or before a line that continues with
`->`, `when`, `from` or `over`.

Brackets are matched here, so that the error of a missing one is confined to its statement, which is
replaced by one `BROKEN` token.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tempoc.base.parsing.grammar import Token
from tempoc.diagnostics.diagnostic import Collector, Diagnostic
from tempoc.diagnostics.source import Source, Span
from tempoc.frontend.syntax import errors as syntax_errors

CLOSING = {"(": ")", "[": "]", "{": "}"}

CONTINUED_AFTER = frozenset(
    (
        "+", "-", "*", "/", "//", "%", "@", "**", "==", "!=", "<=", ">=", "<", ">",
        "and", "or", "not", "if", "else", ",", "=", "->",
    )
)  # fmt: skip
"""A line break after one of these does not end a statement."""

CONTINUED_BY = frozenset(("->", "when", "from", "over"))
"""A line break before one of these does not end a statement."""

TOP_LEVEL = frozenset(
    (
        "dim", "const", "assume", "import", "input", "param", "extern", "output", "save", "print",
        "def",
    )
)  # fmt: skip
"""Keywords that only start a statement outside of bodies (`dim` also a parameter)."""

_VALUE_KINDS = frozenset(("NAME", "NUMBER", "STRING", "TRUE", "FALSE"))
_VALUE_ENDS = frozenset((")", "]", "}"))


def ends_value(token: Token | None) -> bool:
    """Whether an expression can end with this token."""
    return token is not None and (token.type in _VALUE_KINDS or token in _VALUE_ENDS)


def starts_value(token: Token) -> bool:
    """Whether this token, after an expression, can only start a new one."""
    return token.type in _VALUE_KINDS


@dataclass(slots=True)
class _OpenStatement:
    """A statement in progress: its first token, its index in the output, its open brackets.

    `header`: a brace would open a body; `assigned`: its `=` has been seen.
    """

    first: Token
    index: int
    header: bool
    assigned: bool = False
    broken: bool = False
    open: list[Token] = field(default_factory=list)


class _LayoutPass:
    """The state of the pass; `levels` has the open statement of each open body."""

    def __init__(self, source: Source, errors: Collector) -> None:
        self.source = source
        self.errors = errors
        self.out: list[Token] = []
        self.levels: list[_OpenStatement | None] = [None]
        self.blocks: list[Token] = []
        self.previous: Token | None = None

    # Emitting

    def emit(self, token: Token) -> None:
        """Add a token, opening a statement with it if none is open."""
        if self.levels[-1] is None:
            header = token in ("def", "for")
            self.levels[-1] = _OpenStatement(token, len(self.out), header)
        self.out.append(token)
        self.previous = token

    def special(self, kind: str, at: Token | None, text: str = "") -> Token:
        """A synthetic token at the position of another, or at the end of the file."""
        start = len(self.source.text) if at is None else at.start_pos
        return Token(kind, text, start)

    def end_statement(self, at: Token | None) -> None:
        """Close the statement that is open on this level, if there is one."""
        statement = self.levels[-1]
        if statement is None:
            return
        if statement.broken:
            del self.out[statement.index :]
            self.out.append(self.special("BROKEN", statement.first))
        self.out.append(self.special("END", at))
        self.levels[-1] = None

    def refuse(self, diagnostic: Diagnostic) -> None:
        """Report an error, and mark the open statement as broken."""
        self.errors.add(diagnostic)
        statement = self.levels[-1]
        if statement is not None:
            statement.broken = True

    def span(self, token: Token) -> Span:
        """The place of a token."""
        return Span(self.source, token.start_pos, token.start_pos + len(token))

    # Brackets and bodies

    def open_bracket(self, token: Token) -> None:
        """An opening bracket; a brace may open a body."""
        statement = self.levels[-1]
        if token == "{" and statement is not None and statement.header:
            if statement.open and ends_value(self.previous):
                self.unclosed(token)
            if not statement.open and self.previous != "->":  # else a record of results
                statement.header = False
                self.out.append(self.special("LBLOCK", token, "{"))
                self.previous = None
                self.blocks.append(token)
                self.levels.append(None)
                return
        self.emit(token)
        statement = self.levels[-1]
        assert statement is not None
        statement.open.append(token)

    def close_bracket(self, token: Token) -> None:
        """A closing bracket; a brace may close a body."""
        statement = self.levels[-1]
        if statement is None or not statement.open:
            if token == "}" and self.blocks:
                self.close_block(token)
                return
            self.emit(token)
            self.refuse(syntax_errors.stray_bracket(self.span(token), token))
            return
        if token == "}" and self.blocks and all(b != "{" for b in statement.open):
            self.unclosed(token)
            self.close_block(token)
            return
        opener = statement.open[-1]
        self.emit(token)
        if CLOSING[opener] == token:
            statement.open.pop()
            return
        self.refuse(
            syntax_errors.wrong_bracket(self.span(token), token, self.span(opener), CLOSING[opener])
        )
        while statement.open and CLOSING[statement.open.pop()] != token:
            pass

    def close_block(self, token: Token | None) -> None:
        """The closing brace of a body; its statement goes on."""
        self.end_statement(token)
        self.out.append(self.special("RBLOCK", token, "}"))
        self.levels.pop()
        self.blocks.pop()
        self.previous = token

    def unclosed(self, at: Token | None) -> None:
        """Report the open brackets of this statement as unclosed."""
        statement = self.levels[-1]
        if statement is None or not statement.open:
            return
        opener = statement.open[-1]
        until = None if at is None or at.type == "NEWLINE" else self.span(at)
        self.refuse(syntax_errors.unclosed_bracket(self.span(opener), CLOSING[opener], until))
        statement.open.clear()

    def unclosed_block(self, at: Token | None) -> None:
        """Report the innermost body as unclosed."""
        brace = self.blocks[-1]
        until = None if at is None else self.span(at)
        self.end_statement(at)
        self.close_block(at)
        self.refuse(syntax_errors.unclosed_bracket(self.span(brace), "}", until))

    # Lines

    def line_break(self, token: Token, line: list[Token]) -> None:
        """Decide whether a line break (or several) before the next line ends a statement."""
        following = line[0] if line else None
        statement = self.levels[-1]
        if statement is None:
            return
        if statement.open:
            if following is not None and self.abandons(statement, following):
                self.unclosed(following)
                self.end_statement(token)
            return
        dangling = self.previous in CONTINUED_AFTER and following not in TOP_LEVEL
        if dangling and statement.assigned and _is_equation(line):
            dangling = False
        if dangling or following in CONTINUED_BY:
            return
        self.end_statement(token)

    def abandons(self, statement: _OpenStatement, following: Token) -> bool:
        """Whether a line inside brackets starts a new statement, so the brackets are unclosed.

        True for a line that starts with a declaration, and for one that puts a value after a value
        and is not indented more than the statement.
        """
        if following in TOP_LEVEL or following == "return":
            return following != "dim" or statement.first != "def"
        outdented = self.column(following) <= self.column(statement.first)
        return outdented and ends_value(self.previous) and starts_value(following)

    def column(self, token: Token) -> int:
        """The column of a token."""
        return self.source.position(token.start_pos)[1]

    def escapes(self, token: Token) -> bool:
        """Whether a token in a body starts a statement outside of it: the body is unclosed."""
        if not self.blocks or self.levels[-1] is not None or token not in TOP_LEVEL:
            return False
        outer = self.levels[-2]
        return outer is not None and self.column(token) <= self.column(outer.first)


def layout_tokens(source: Source, tokens: Iterable[Token], errors: Collector) -> list[Token]:
    """The tokens for the parser; reports errors of brackets, strings and characters."""
    state = _LayoutPass(source, errors)
    significant = [token for token in tokens if token.type != "COMMENT"]
    for index, token in enumerate(significant):
        if token.type == "NEWLINE":
            if index and significant[index - 1].type == "NEWLINE":
                continue
            state.line_break(token, _next_line(significant, index))
            continue
        while state.escapes(token):
            state.unclosed_block(token)
            state.end_statement(token)
        _take(state, token)
    state.unclosed(None)
    state.end_statement(None)
    while state.blocks:
        state.unclosed_block(None)
        state.end_statement(None)
    return state.out


def _take(state: _LayoutPass, token: Token) -> None:
    if token in CLOSING:
        state.open_bracket(token)
    elif token in (")", "]", "}"):
        state.close_bracket(token)
    elif token.type == "SEMICOLON":
        state.unclosed(token)
        state.end_statement(token)
    else:
        statement = state.levels[-1]
        if statement is not None and token == "=" and not statement.open:
            statement.header, statement.assigned = False, True
        repeated = state.previous is not None and state.previous.type == token.type
        state.emit(token)
        diagnostic = None if repeated and token.type == "STRAY" else _token_error(state, token)
        if diagnostic is not None:
            state.refuse(diagnostic)


def _token_error(state: _LayoutPass, token: Token) -> Diagnostic | None:
    """The error of a malformed token; None if it has none."""
    span = state.span(token)
    match token.type:
        case "OPEN_STRING":
            return syntax_errors.unclosed_string(span)
        case "OPEN_LONG_STRING":
            first = Span(span.source, span.start, span.start + len(token.split("\n", 1)[0]))
            return syntax_errors.unclosed_doc(first)
        case "QUOTED":
            return syntax_errors.single_quotes(span)
        case "STRAY":
            return syntax_errors.stray_character(span, token)
    return None


def _next_line(tokens: list[Token], index: int) -> list[Token]:
    """The tokens of the next line that is not empty."""
    line: list[Token] = []
    for token in tokens[index:]:
        if token.type != "NEWLINE":
            line.append(token)
        elif line:
            break
    return line


def _is_equation(line: list[Token]) -> bool:
    """Whether the first statement of a line has a name at its start and a `=` outside brackets."""
    depth = 0
    for token in line:
        if token.type == "SEMICOLON":
            return False
        depth += (token in CLOSING) - (token in (")", "]", "}"))
        if token == "=" and depth == 0:
            return line[0].type == "NAME"
    return False
