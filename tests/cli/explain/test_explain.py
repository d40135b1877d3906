"""`explain` and the options that show the compiler at work; `fmt`; `opt`."""

from __future__ import annotations

import io
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tempoc.ops.tensor.arithmetic import Add, Subtract
from tempoc.passes.simplify.algebra import Algebra
from tempoc.sdg.graph.graph import Graph
from tests.cli.session import FIB, Session
from tests.support.golden import Golden


def test_explain(tempoc: Session, golden: Golden) -> None:
    assert tempoc("compile sums.rt -o out -D D=2") == 0
    for line in (
        "explain sums.rt",
        "explain out",
        "explain out --dump-sdg",
        "explain sums.rt -D N=9 --dump-optimized --dump-program",
        "explain fib.rt --dump-after fuse --passes canonicalize,fuse --remarks",
        "explain sums.rt --remarks --verify-each",
    ):
        assert tempoc(line) == 0
    golden("cli/explain.txt", tempoc.text)


def test_stages_are_data_and_the_rest_is_not(tempoc: Session) -> None:
    assert tempoc("explain fib.rt --dump-schedule") == 0
    schedule = tempoc.out
    assert tempoc("explain fib.rt --dump-schedule --timing --remarks --verify-each") == 0
    assert tempoc.out == schedule
    assert "ms  elaborate" in tempoc.err and "ms  verify schedule" in tempoc.err
    assert tempoc("compile fib.rt -o out --timing --remarks") == 0
    assert not tempoc.out and "ms  write" in tempoc.err
    assert tempoc("explain out --dump-schedule --verify-each --timing") == 0
    assert tempoc.out == schedule and "ms  verify schedule" in tempoc.err


def test_dump_dir_has_every_stage_in_order(tempoc: Session) -> None:
    assert tempoc("explain fib.rt --dump-dir stages/deep") == 0
    assert not tempoc.out
    assert sorted(os.listdir("stages/deep")) == [
        "01_sdg.sdg",
        "02_optimized.sdg",
        "03_schedule.txt",
        "04_memory.txt",
        "05_program.txt",
        "06_kernels.py",
    ]
    assert tempoc("opt stages/deep/01_sdg.sdg --passes canonicalize,fuse") == 0
    assert "group" in tempoc.out
    assert tempoc("explain fib.rt --dump-dir fib.rt/x") == 1
    assert tempoc("compile fib.rt -o out --dump-dir fib.rt/x") == 1
    assert not Path("out").exists()


def test_standard_input(tempoc: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    for line in ("check -", "run - --bounds N=3", "compile - -o out", "explain -", "fmt -"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(FIB.encode())))
        assert tempoc(line) == 0
    assert tempoc.out == FIB
    assert tempoc("run out --bounds N=3 --verify") == 0


def test_fmt(tempoc: Session) -> None:
    text = "dim t<T\nx[t]=t # one\noutput x\n"
    Path("ugly.rt").write_text(text)
    assert tempoc("fmt --check fib.rt ugly.rt") == 1
    assert tempoc.err == "ugly.rt: would be formatted\n" and not tempoc.out
    assert tempoc("fmt --diff ugly.rt") == 0
    assert "+dim t < T" in tempoc.out and Path("ugly.rt").read_text() == text
    assert tempoc("fmt nosuch.rt ugly.rt") == 1
    assert "ugly.rt: formatted" in tempoc.err and "RT014" in tempoc.err
    assert tempoc("fmt --check ugly.rt") == 0
    assert sorted(p for p in os.listdir() if "ugly" in p) == ["ugly.rt"]


def test_verify_each_evaluates_what_passes_make(
    tempoc: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pass that breaks values, though the graph stays well formed, is named."""

    def broken(self: Algebra, graph: Graph, context: object) -> Graph:
        nodes = {
            n.name: replace(n, op=Subtract()) if isinstance(n.op, Add) else n
            for n in graph.nodes.values()
        }
        return replace(graph, nodes=nodes)

    assert tempoc("explain fib.rt --dump-schedule --verify-each") == 0
    monkeypatch.setattr(Algebra, "run", broken)
    assert tempoc("explain fib.rt --dump-schedule") == 0
    assert tempoc("explain fib.rt --dump-schedule --verify-each") == 70
    assert "has other values at" in tempoc.err and "(after algebra)" in tempoc.err
