from __future__ import annotations

import itertools

import pytest

from tempoc.program.nodes.arithmetic import (
    FALSE,
    TRUE,
    Operation,
    compile_arith,
    evaluate,
    from_json,
    is_well_formed,
    names,
    text,
    to_json,
)  # fmt: skip


def op(name, *args):
    return Operation(name, args)


CASES = [
    (3, "3"),
    (-3, "-3"),
    ("t", "t"),
    (op("+", "t", 1), "t + 1"),
    (op("+", "t", -1), "t - 1"),
    (op("+", "T", op("*", -1, "t")), "T - t"),
    (op("+", "T", op("*", -2, "t"), op("*", 3, "t")), "T - 2 * t + 3 * t"),
    (op("-", "T", op("-", "t", 1)), "T - (t - 1)"),
    (op("*", op("+", "t", 1), "T"), "(t + 1) * T"),
    (op("*", -1, "t"), "(-1) * t"),
    (op("//", op("+", "T", 3), 4), "(T + 3) // 4"),
    (op("*", 4, op("//", "T", 4)), "4 * (T // 4)"),
    (op("//", op("*", 4, "T"), 3), "4 * T // 3"),
    (op("%", op("%", "T", 4), op("%", "t", 3)), None),
    (op("min", "t", op("+", "T", 5)), "min(t, T + 5)"),
    (op("and", op("<=", 1, "t"), op("==", op("%", "t", 2), 0)), "1 <= t and t % 2 == 0"),
    (op("or", op("and", op("<", "t", "T"), op(">", "t", 0)), op("not", op("!=", "t", 2))), None),
    (op("not", op("not", op("<", "t", "T"))), None),
    (op("==", op("<", "t", "T"), 1), "(t < T) == 1"),
    (op("and", op("or", op("<", "t", 1), op(">", "t", 2)), op(">=", "T", 1)), None),
    (TRUE, "True"),
    (FALSE, "False"),
]


@pytest.mark.parametrize(("e", "expected"), CASES)
def test_text_reads_well_and_means_the_same(e, expected):
    if expected is not None:
        assert text(e) == expected
    compiled = compile_arith(e, ("t", "T"))
    for t, bound in itertools.product(range(-3, 6), range(1, 5)):
        env = {"t": t, "T": bound}
        try:
            value = evaluate(e, env)
        except ZeroDivisionError:
            continue
        assert compiled(t, bound) == value


@pytest.mark.parametrize(("e", "_"), CASES)
def test_json_comes_back(e, _):
    assert from_json(to_json(e)) == e


@pytest.mark.parametrize(
    "data",
    [True, 1.5, None, [], ["^", 1, 2], ["-", 1], ["min"], "a b", "", ["not"], {"a": 1}, [1, 2]],
)
def test_damaged_json_is_refused(data):
    with pytest.raises(ValueError):
        from_json(data)


def test_only_checked_names_become_code():
    assert not is_well_formed("__import__('os')")
    with pytest.raises(ValueError):
        compile_arith("u", ("t",))
    with pytest.raises(ValueError):
        compile_arith(op("+", "x y", 1), ("x y",))


def test_names_in_order():
    assert names(op("+", "t", op("*", "T", "t"))) == ("t", "T")
