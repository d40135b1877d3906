"""Explains syntax errors: by a matching sample, otherwise by the surrounding tokens."""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from tempoc.base.parsing.grammar import Grammar, Mismatch, Token
from tempoc.diagnostics.diagnostic import Collector, Diagnostic
from tempoc.diagnostics.source import Source, Span
from tempoc.frontend.syntax import errors as syntax_errors, layout, statement_errors
from tempoc.frontend.syntax.build_items import ItemActions
from tempoc.frontend.syntax.error_samples import SAMPLES, Sample

_LISTABLE = 5
_KINDS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a string",
    "END": "the end of the statement",
    "LBLOCK": "`{`",
    "RBLOCK": "`}`",
}


def explain(
    source: Source,
    language: Grammar,
    mismatch: Mismatch,
    before: Sequence[Token],
    rest: Sequence[Token],
    accepted: Sequence[str],
) -> Diagnostic:
    """The diagnostic for the first token of `rest`, which is unexpected after `before`.

    `before` are the preceding tokens of the statement, `accepted` the acceptable token types.
    """
    token = rest[0]
    previous = before[-1] if before else None
    span = _place(source, token, previous)
    if "until" in before and token.type != "END":
        return statement_errors.until_a_name(span)
    by_place = _keyword_as_target(source, before, rest)
    by_place = by_place or _misplaced(token, span, rest, accepted, inside=bool(before))
    if by_place is not None:
        return by_place
    if previous is not None and previous.type == "NAME":
        foreign = statement_errors.foreign(_place(source, previous, None), previous)
        if foreign is not None:
            return foreign
    if len(before) == 1 and before[0].type == "NAME" and token == "(":
        end = next(k for k, t in enumerate(rest) if t.type == "END")
        if "=" not in rest[:end]:
            return statement_errors.call_alone(span, str(before[0]))
    by_words = _by_words(token, span, before)
    if by_words is not None:
        return by_words
    sample = _samples(language).get((mismatch.state, token.type)) or _samples(language).get(
        (mismatch.state, "")
    )
    if sample is not None:
        return _from_sample(sample, span, before, token)
    shown = _shown(token)
    if previous is not None and "NUMBER" in accepted:
        if token == "if":
            return syntax_errors.condition_first(span)
        if token == previous == "<":
            return syntax_errors.left_shift(span)
        if token == previous == ">":
            return syntax_errors.right_shift(span)
        return syntax_errors.missing_operand(span, previous, shown)
    if previous is None:
        return statement_errors.bad_start(span, token)
    if token == "=" and layout.ends_value(previous):
        return syntax_errors.second_equals(span)
    if layout.ends_value(previous) and _starts(token):
        inside = _open_bracket(before)
        closing = layout.CLOSING[inside] if inside else ""
        return syntax_errors.missing_separator(span, previous, shown, inside=closing)
    kinds = [kind for kind in accepted if kind not in ("BROKEN", "$END")]
    expected = None
    if len(kinds) <= _LISTABLE:
        expected = _alternatives([_spelled(language, kind) for kind in kinds])
    return syntax_errors.unexpected(span, shown, expected)


def _misplaced(
    token: Token, span: Span, rest: Sequence[Token], accepted: Sequence[str], *, inside: bool
) -> Diagnostic | None:
    """Errors of misplaced tokens: documentation, declarations, keywords as names."""
    if token.type == "LONG_STRING":
        return syntax_errors.misplaced_doc(span)
    if not token.isidentifier() or token.type in ("NAME", "END"):
        return None
    if not inside and "NAME" in accepted:
        following = rest[1] if len(rest) > 1 else token
        if following in ("=", ":", ",", ".") or (
            following == "[" and token not in layout.TOP_LEVEL
        ):
            return syntax_errors.keyword_as_name(span, token)
        if token in layout.TOP_LEVEL:
            return syntax_errors.misplaced_statement(span, token, "outside of bodies")
        if token in ("for", "return"):
            return syntax_errors.misplaced_statement(span, token, "in the body of a def")
        return None
    if token == "from" and "import" in rest[1:3]:
        return statement_errors.bad_start(span, token)
    if token == "dim" and inside and rest[1] == "=":
        return statement_errors.axis_by_another_name(span)
    if "NAME" not in accepted:
        return None
    if "NUMBER" in accepted and (_starts(rest[1]) or token in ("if", "else", "and", "or", "as")):
        return None
    return syntax_errors.keyword_as_name(span, token)


def _keyword_as_target(
    source: Source, before: Sequence[Token], rest: Sequence[Token]
) -> Diagnostic | None:
    """An equation of a word that begins a statement, or continues the one of the line before."""
    for k, (token, after) in enumerate(pairwise((*before, *rest[:2]))):
        line = source.text[: token.start_pos].rpartition("\n")[2].strip()
        continues = token in layout.CONTINUED_BY and token.isidentifier()
        if (k == 0 == len(before) - 1 and after == "=" and token in layout.TOP_LEVEL) or (
            continues and (after == "=" or (not line and after in ("[", ":", ",")))
        ):
            return syntax_errors.keyword_as_name(_place(source, token, None), token)
    return None


def _by_words(token: Token, span: Span, before: Sequence[Token]) -> Diagnostic | None:
    """Errors after a value, where the LALR state is the same in all statements."""
    if len(before) < 2 or not layout.ends_value(before[-1]):
        return None
    first, value = str(before[0]), str(before[1])
    if token == "," and first in ("output", "print") and [*before[1:-1]] == ["("]:
        return statement_errors.in_parentheses(span, first, str(before[-1]))
    if _open_bracket(before):
        return None
    if token == "," and first in ("save", "assume"):
        return statement_errors.one_value(span, first, value if before[1].type == "NAME" else "x")
    if first == "output" and token in ("=", ":") and before[1].type == "NAME":
        names = (
            t for k, t in enumerate(before) if t.type == "NAME" and not _open_bracket(before[:k])
        )
        return statement_errors.defined_in_output(span, str([*names][-1]))
    if first in ("output", "print") and _starts(token):
        return statement_errors.no_comma(span, first, value, str(token))
    if first == "save" and token.type == "STRING":
        return statement_errors.no_to(span, value, str(token))
    if token == "else" and "when" in before:
        return statement_errors.guard_with_else(span)
    return None


def _from_sample(sample: Sample, span: Span, before: Sequence[Token], token: Token) -> Diagnostic:
    name = next((str(t) for t in reversed(before) if t.type == "NAME"), "x")
    help = sample.help and sample.help.replace("[name]", name).replace("[token]", token)
    return syntax_errors.misused(span, sample.message.replace("[name]", name), help)


@cache
def _samples(language: Grammar) -> dict[tuple[int, str], Sample]:
    """The samples by LALR state and unexpected token type ("" for any token)."""
    samples: dict[tuple[int, str], Sample] = {}
    for sample in SAMPLES:
        for text in sample.texts:
            stop = _sample_mismatch(language, Source("", text))
            samples.setdefault((stop.state, stop.kind), sample)
            if not sample.exact:
                samples.setdefault((stop.state, ""), sample)
    return samples


def _sample_mismatch(language: Grammar, source: Source) -> Mismatch:
    """The syntax error of a sample."""
    machine = language.machine("module", ItemActions(source, Collector()))
    try:
        for token in layout.layout_tokens(source, language.tokens(source.text), Collector()):
            machine.feed(token)
    except Mismatch as mismatch:
        return mismatch
    raise AssertionError(f"the sample {source.text!r} is no mistake")


def _place(source: Source, token: Token, previous: Token | None) -> Span:
    """The span of a token; for the end of a statement that right after its last token."""
    start = token.start_pos
    if token.type == "END" and previous is not None:
        start = previous.start_pos + len(previous)
        return Span(source, start, start + 1)
    return Span(source, start, start + max(len(token), 1))


def _starts(token: Token) -> bool:
    return token.type in ("NAME", "NUMBER", "STRING", "TRUE", "FALSE") or token in ("(", "{", "not")


def _open_bracket(before: Sequence[Token]) -> str:
    """The innermost bracket that is open, or an empty string."""
    stack: list[str] = []
    for token in before:
        if token in layout.CLOSING:
            stack.append(str(token))
        elif token in (")", "]", "}") and stack:
            stack.pop()
    return stack[-1] if stack else ""


def _shown(token: Token) -> str:
    if token.type == "END":
        return "the end of the statement"
    return f"`{token}`"


def _spelled(language: Grammar, kind: str) -> str:
    spelling = language.spelling(kind)
    return _KINDS.get(kind, kind) if spelling is None else f"`{spelling}`"


def _alternatives(words: Sequence[str]) -> str:
    """`a, b or c`."""
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " or " + words[-1]
