from tempoc.diagnostics.source import Source, line_starts

TEXT = "ab\ncd\r\n\nef"


def test_positions_count_from_one() -> None:
    source = Source("m.rt", TEXT)
    assert [source.position(at) for at in (0, 2, 3, 7, 8, 10)] == [
        (1, 1), (1, 3), (2, 1), (3, 1), (4, 1), (4, 3),
    ]  # fmt: skip


def test_lines_have_no_line_breaks() -> None:
    source = Source("m.rt", TEXT)
    assert [source.line_text(line) for line in range(6)] == ["", "ab", "cd", "", "ef", ""]
    assert len(line_starts(source.text)) == 4


def test_spans_join_print_and_hash_by_place() -> None:
    source = Source("m.rt", TEXT)
    first, last = source.span(3, 4), source.span(8, 10)
    assert first.to(last) == last.to(first) == source.span(3, 10)
    assert str(last) == "m.rt:4:1"
    assert last.text == "ef"
    assert len({first, source.span(3, 4), last}) == 2
