from tempoc.base.doc import (
    SPACE,
    Doc,
    DocGroup,
    DocNest,
    IfBroken,
    bracket,
    concat,
    join,
    render,
)

CALL = concat("y = ", bracket("f(", ["alpha", bracket("g(", ["beta", "gamma"], ")")], ")"))


def test_what_fits_stays_on_one_line() -> None:
    assert render(CALL, 40) == "y = f(alpha, g(beta, gamma))"


def test_outer_brackets_break_first() -> None:
    assert render(CALL, 20) == "y = f(\n  alpha,\n  g(beta, gamma),\n)"
    assert render(CALL, 12) == "y = f(\n  alpha,\n  g(\n    beta,\n    gamma,\n  ),\n)"


def test_what_follows_a_group_counts() -> None:
    doc = concat(DocGroup(concat("a", SPACE, "b")), "ccc")
    assert render(doc, 6) == "a bccc"
    assert render(doc, 5) == "a\nbccc"


def test_broken_and_flat_alternatives() -> None:
    doc = DocGroup(concat("aa", SPACE, "bb", IfBroken("!", "?")))
    assert render(doc, 9) == "aa bb?"
    assert render(doc, 3) == "aa\nbb!"


def test_empty_brackets_and_joins() -> None:
    assert render(bracket("f(", [], ")")) == "f()"
    assert render(join(", ", ["a", "b"])) == "a, b"


def test_depth_is_no_danger() -> None:
    doc: Doc = "x"
    for _ in range(20_000):
        doc = DocGroup(DocNest(concat("(", doc, ")"), 0))
    assert len(render(doc)) == 40_001
