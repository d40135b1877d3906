"""Parser and printer of pipeline texts, ``canonicalize,fuse{limit=4}``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from functools import cache
from typing import Any, TypeVar, get_type_hints

from tempoc.base.parsing.grammar import Grammar, Mismatch, ParseTree, Token, branches, load
from tempoc.diagnostics.source import Source, Span
from tempoc.pipeline import errors
from tempoc.pipeline.order import OrderError, check_order
from tempoc.pipeline.step import PassStep

S = TypeVar("S", bound=PassStep[Any, Any])
SpecValue = bool | int | str


def parse_pipeline(
    text: str, registry: Mapping[str, Callable[..., S]], *, holding: tuple[str, ...] = ()
) -> tuple[S, ...]:
    """The passes of a pipeline text; ``registry`` maps pass names to classes.

    Raises ``DiagnosticError``: RT320 (syntax), RT321 (unknown name), RT322 (option value), RT323
    (order).
    """
    source = Source("--passes", text)
    try:
        tree = _grammar().tree(text, "pipeline")
    except Mismatch as error:
        span = source.span(error.offset, error.offset + len(error.text))
        raise errors.unreadable(span, error.text) from None
    steps = tuple(_step(branch, registry, source) for branch in branches(tree, "step"))
    try:
        check_order(steps, holding)
    except OrderError as error:
        raise errors.wrong_order(source.whole(), error.message) from None
    return steps


def show_pipeline(steps: Sequence[PassStep[Any, Any]]) -> str:
    """The text of a pipeline; options at their defaults are left out."""
    return ",".join(_show_step(step) for step in steps)


@cache
def _grammar() -> Grammar:
    return load(("pipeline",), start=("pipeline",))


def _span(token: Token, source: Source) -> Span:
    start = token.start_pos
    return source.span(start, start + len(token))


def _step(tree: ParseTree, registry: Mapping[str, Callable[..., S]], source: Source) -> S:
    word = tree.children[0]
    assert isinstance(word, Token)
    cls = registry.get(str(word))
    if cls is None:
        raise errors.unknown(_span(word, source), "pass", str(word), tuple(registry))
    hints = get_type_hints(cls)
    known = {f.name: hints[f.name] for f in _options(cls)}
    given: dict[str, SpecValue] = {}
    for options in branches(tree, "options"):
        for option in branches(options, "option"):
            key = option.children[0]
            assert isinstance(key, Token)
            name = str(key).replace("-", "_")
            if name not in known:
                what = f"option of `{word}` called"
                raise errors.unknown(_span(key, source), what, str(key), tuple(known))
            (value,) = branches(option, "value")
            given[name] = _value(value.children[0], name, known[name], source)
    return cls(**given)


def _value(token: Token | ParseTree, option: str, hint: object, source: Source) -> SpecValue:
    assert isinstance(token, Token)
    text = str(token)
    if hint is bool and text in ("true", "false"):
        return text == "true"
    if hint is int and text.lstrip("-").isdigit():
        return int(text)
    if hint is str:
        return str(json.loads(text)) if token.type == "STRING" else text
    kinds = {bool: "`true` or `false`", int: "a whole number"}
    raise errors.wrong_value(_span(token, source), option, kinds.get(hint, "a word"))  # type: ignore[call-overload]


def _options(cls: object) -> tuple[Field[Any], ...]:
    every = fields(cls)  # type: ignore[arg-type]
    return tuple(f for f in every if f.metadata.get("spelled", True))


def _show_step(step: PassStep[Any, Any]) -> str:
    given = []
    for field in _options(step):
        value = getattr(step, field.name)
        if field.default is MISSING or value != field.default:
            shown = json.dumps(value, ensure_ascii=False)
            given.append(f"{field.name}={shown}")
    return step.name + (f"{{{', '.join(given)}}}" if given else "")
