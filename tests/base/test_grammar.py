import pytest

from tempoc.base import resources
from tempoc.base.parsing import grammar
from tempoc.base.parsing.grammar import Grammar, Mismatch, Token
from tempoc.base.resources import grammar_folder, grammar_text

FILES = ("terminals", "expr")


@pytest.fixture(scope="module")
def expressions() -> Grammar:
    return grammar.load(FILES, start=("expr",))


def test_grammar_files_are_found() -> None:
    assert (grammar_folder() / "rt.lark").is_file()
    assert "NAME" in grammar_text("terminals")


def test_trees_keep_tokens_and_places(expressions: Grammar) -> None:
    tree = expressions.tree("a + b * c", "expr")
    assert tree.data == "binary"
    assert [c for c in tree.children if isinstance(c, Token)] == ["+"]
    assert (tree.start_pos, tree.end_pos) == (0, 9)


@pytest.mark.parametrize(
    ("text", "offset", "unexpected"), [("a + * b", 4, "*"), ("a +", 3, ""), ("a ? b", 2, "?")]
)
def test_a_mismatch_says_where(
    expressions: Grammar, text: str, offset: int, unexpected: str
) -> None:
    with pytest.raises(Mismatch) as caught:
        expressions.tree(text, "expr")
    assert (caught.value.offset, caught.value.text) == (offset, unexpected)


class _Words:
    """Actions that write an expression backwards."""

    def __getattr__(self, rule: str) -> object:
        if rule.startswith("__"):
            raise AttributeError(rule)
        return lambda children: " ".join(str(c) for c in reversed(children))


def test_a_machine_runs_actions_and_goes_back(expressions: Grammar) -> None:
    machine = expressions.machine("expr", _Words())
    first, plus, second, wrong = list(expressions.tokens("a + b b"))
    machine.feed(first)
    machine.feed(plus)
    mark = machine.mark()
    machine.feed(second)
    with pytest.raises(Mismatch):
        machine.feed(wrong)
    machine.restore(mark)
    assert "NUMBER" in machine.accepted(mark, [])
    assert "PLUS" in machine.accepted(mark, [second])
    machine.feed(wrong)
    assert machine.finish(7) == "b + a"


def test_spellings(expressions: Grammar) -> None:
    assert expressions.spelling("PLUS") == "+"
    assert expressions.spelling("NAME") is None


def test_a_damaged_cache_is_built_anew(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    resources.cache_folder.cache_clear()
    try:
        grammar.load(FILES, start=("expr",))
        folder = resources.cache_folder("grammar")
        assert folder is not None
        (table,) = folder.iterdir()
        whole = table.read_bytes()
        table.write_bytes(whole[: len(whole) // 2])
        assert grammar.load(FILES, start=("expr",)).tree("a", "expr").data == "name"
        table.write_bytes(b"nothing of the kind")
        assert grammar.load(FILES, start=("expr",)).tree("a", "expr").data == "name"
    finally:
        resources.cache_folder.cache_clear()
