from tempoc.base.names import Names, fresh_name


def test_names_are_numbered_in_order() -> None:
    names = Names(["x3"])
    assert [names.fresh(w) for w in ("x", "x", "x", "y", "x2")] == ["x", "x2", "x4", "y", "x22"]


def test_taken_names_are_known() -> None:
    names = Names()
    names.take("a")
    assert "a" in names and names.fresh("a") == "a2" and "a2" in names


def test_numbers_stand_apart() -> None:
    names = Names(["x2"], spaced=True)
    assert [names.fresh(w) for w in ("x2", "x", "x2", "")] == ["x2_2", "x", "x2_3", ""]


def test_fresh_name_avoids_all_that_is_taken() -> None:
    assert fresh_name("x", ["y"]) == "x"
    assert fresh_name("x", ["x", "x2"], {"x3": 0}) == "x4"
    assert fresh_name("x", ["x"], separator=".") == "x.2"
