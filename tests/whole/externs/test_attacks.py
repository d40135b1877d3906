"""Python functions that do what they should not: one row an attack, and what is to be said of it.

Each is made on the evaluator, a run, and a program that is called again and again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from tempoc.diagnostics.diagnostic import RunError
from tempoc.diagnostics.render import render_all
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.reference import evaluate_given
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.ready import ready
from tempoc.runtime.run import run
from tests.support.session.long import sampled

PROGRAM = """
dim t < T
extern KIND f(x: f32[2]) -> (y: f32[2], n: i32, b: bool) from "attack:f"
input x[t]: f32[2]
y, n, b = f(x)
output y, n, b
"""
KINDS = ("jax", "host")
X = np.arange(4, dtype=np.float32).reshape(2, 2)
HEAD = "import os, sys, threading\nimport jax\nimport jax.numpy as jnp\nimport numpy as np\n"


@dataclass(frozen=True, slots=True)
class Attack:
    """What a function gives, or the text of its module, and what is to be said of that.

    ``says`` is empty if nothing is wrong; then `y` is ``y`` at both points, by default `x`.
    ``kinds`` of functions, if the same is no attack for the other.
    """

    python: str
    says: str = ""
    y: Any = None
    kinds: tuple[str, ...] = KINDS


def gives(y: str = "x", n: str = "1", b: str = "True") -> str:
    """A function with these results."""
    return f"def f(x):\n    return {y}, {n}, {b}\n"


def raises(error: str, before: str = "") -> str:
    """A function that raises."""
    return f"{before}\ndef f(x):\n    raise {error}\n"


CAST = "RT574]: result {} of f "
RAISED = "RT573]: f (attack:f) raised "
FAILS = "RT571]: the Python module attack, which f is from, fails: "
OK = gives()

RESULTS = {
    "float64": Attack(gives("np.zeros(2)"), CAST.format("y") + "has dtype f64"),
    "float64 beyond float32": Attack(gives("np.array([1e300, 2.0])"), "has dtype f64"),
    "float64 in a list": Attack(gives("[np.float64(1), np.float32(2)]"), "has dtype f64"),
    "float16": Attack(gives("np.zeros(2, np.float16)"), "has dtype f16"),
    "complex": Attack(gives("np.zeros(2, complex)"), "has dtype complex128"),
    "int64": Attack(gives(n="np.int64(1)"), CAST.format("n") + "has dtype i64"),
    "int64 beyond int32": Attack(gives(n="np.int64(2**40)"), "has dtype i64"),
    "uint8": Attack(gives(n="np.uint8(1)"), "has dtype u8 (uint8)"),
    "int beyond int32": Attack(gives(n="2**40"), "is 1099511627776, which i32 cannot hold"),
    "int of many digits": Attack(gives(n="10**9999"), "cannot hold"),
    "float beyond float32": Attack(gives("[1e300, 2.0]"), "is [1e+300, 2.0], which f32 cannot"),
    "int beyond float32": Attack(gives("[10**400, 2]"), "which f32 cannot hold"),
    "infinity": Attack(gives("[float('inf'), -2]"), y=[np.inf, -2]),
    "numbers": Attack(gives("(1, 2.5)"), y=[1, 2.5]),
    "float for int": Attack(gives(n="1.0"), "is 1.0, a Python float, expected i32"),
    "bool for int": Attack(gives(n="True"), "is True, a Python bool, expected i32"),
    "int for bool": Attack(gives(b="1"), CAST.format("b") + "is 1, a Python int"),
    "bool for float": Attack(gives("[True, 1.0]"), "is True, a Python bool, expected f32"),
    "weak types": Attack(gives("jnp.zeros(2) + 1.5", "jnp.asarray(3)"), y=[1.5, 1.5]),
    "none": Attack(gives("None"), "is NoneType, not an array of numbers"),
    "text": Attack(gives("'ab'"), "is str, not an array"),
    "objects": Attack(gives("np.array([1.0, 2.0], object)"), "is of dtype object, not an array"),
    "dates": Attack(gives("np.zeros(2, 'M8[s]')"), "not an array"),
    "records": Attack(gives("np.zeros(2, [('a', 'f4')])"), "not an array"),
    "generator": Attack(gives("(v for v in (1.0, 2.0))"), "is generator, not an array"),
    "set": Attack(gives("{1.0, 2.0}"), "is set, not an array"),
    "random keys": Attack(gives("jax.random.key(0)"), "not an array"),
    "lists of arrays": Attack(gives("[x[1], x[0]]"), y=X[:, ::-1]),
    "lists in lists": Attack(gives("[[1.0, 2.0]]"), "has lists in lists, expected 1 axis"),
    "ragged": Attack(gives("[[1.0], 2.0]"), "has lists in lists"),
    "a list in itself": Attack("L = [1.0]\nL.append(L)\n" + gives("L"), "has lists in lists"),
    "another shape": Attack(
        gives("np.zeros((1, 2), np.float32)"), "has shape [1, 2], expected [2]"
    ),
    "a matrix": Attack(gives("np.matrix([[1, 2]], np.float32)"), "has shape [1, 2]"),
    "masked": Attack(gives("np.ma.masked_equal(np.float32([0, 1]), 1)"), "is a masked array"),
    "not contiguous": Attack(gives("np.arange(8, dtype='f')[::-4]"), y=[7, 3]),
    "read-only": Attack(gives("np.broadcast_to(np.float32(2), 2)"), y=[2, 2]),
    "other byte order": Attack(gives("np.array([1, 2], '>f4')"), y=[1, 2]),
    "array that raises": Attack(
        "class A:\n    def __array__(self, *a, **k): raise RuntimeError('no')\n" + gives("A()"),
        RAISED + "RuntimeError: no",
    ),
    "list that exits": Attack(
        "class A(list):\n    def __iter__(self): sys.exit()\n" + gives("A()"), RAISED + "SystemExit"
    ),
    "two of three": Attack("def f(x):\n    return x, 1\n", "f gives 2 results, expected 3"),
    "nothing": Attack("def f(x):\n    pass\n", "f gives NoneType, expected a tuple of 3"),
    "yields": Attack("def f(x):\n    yield x\n", "f gives generator, expected a tuple"),
    "a dict": Attack("def f(x):\n    return dict(y=x, n=1, b=True)\n", "f gives dict, expected"),
    "a coroutine": Attack("class A:\n    pass\ndef f(x):\n    return A()\n", "f gives A, expected"),
    "one array for all": Attack("def f(x):\n    return jnp.zeros((3, 2))\n", "f gives one array"),
    "a buffer again and again": Attack(
        "mine = np.zeros(2, np.float32)\n"
        "def f(x):\n    mine[:] = np.asarray(x)\n    return mine, 1, True\n",
        kinds=("host",),
    ),
    "its argument changed later": Attack(
        "kept = []\n"
        "def f(x):\n    for old in kept:\n        old[:] = -1\n"
        "    kept.append(x)\n    return x, 1, True\n",
        kinds=("host",),
    ),
    "jit within": Attack(
        "@jax.jit\ndef f(x):\n    return jax.jit(jnp.negative)(x), 1, True\n", y=-X
    ),
}
EXCEPTIONS = {
    "SystemExit": Attack(raises("SystemExit(0)"), RAISED + "SystemExit: 0 at t = 0"),
    "GeneratorExit": Attack(raises("GeneratorExit"), RAISED + "GeneratorExit at t = 0"),
    "BaseException": Attack(raises("B('b')", "class B(BaseException): pass"), RAISED + "B: b at"),
    "a group": Attack(raises("ExceptionGroup('g', [ValueError(1)])"), RAISED + "ExceptionGroup: g"),
    "a group with an interrupt": Attack(
        raises("BaseExceptionGroup('g', [KeyboardInterrupt()])"), RAISED + "BaseExceptionGroup: g"
    ),
    "no text": Attack(
        raises("B()", "class B(Exception):\n    def __str__(self): raise SystemExit(3)\n"),
        RAISED + "B, whose text cannot be had: SystemExit at t = 0",
    ),
    "a number as its text": Attack(
        raises("B()", "class B(Exception):\n    def __str__(self): return 5\n"),
        RAISED + "B, whose text cannot be had: TypeError",
    ),
    "a long text": Attack(raises("ValueError('x' * 10**6)"), RAISED + "ValueError: xxxx"),
    "several lines": Attack(raises(r"ValueError('a\nerror[RT1]: b')"), "ValueError: a at t = 0"),
    "endless recursion": Attack("def f(x):\n    return f(x)\n", RAISED + "RecursionError"),
    "recursion of two": Attack(
        "def g(x):\n    return f(x)\ndef f(x):\n    return g(x)\n", "lines are left out"
    ),
    "no memory": Attack(raises("MemoryError"), RAISED + "MemoryError at t = 0"),
    "no more": Attack(raises("StopIteration"), RAISED + "StopIteration"),
    "a broken pipe": Attack(raises("BrokenPipeError(32, 'p')"), RAISED + "BrokenPipeError"),
    "the device's error": Attack(
        raises("jax.errors.JaxRuntimeError('mine')"), RAISED + "JaxRuntimeError: mine"
    ),
    "too few parameters": Attack("def f():\n    pass\n", RAISED + "TypeError: f() takes 0"),
    "too many parameters": Attack("def f(x, y):\n    pass\n", "missing 1 required positional"),
}
MODULES = {
    "exits": Attack("sys.exit()\n", FAILS + "SystemExit"),
    "raises": Attack("class B(BaseException): pass\nraise B('b')\n", FAILS + "B: b"),
    "lacks a module": Attack("import not_there_at_all\n", FAILS + "ModuleNotFoundError: No module"),
    "lacks itself": Attack("raise ModuleNotFoundError('x', name='attack')", "RT570]: there is no"),
    "syntax": Attack("def (\n", FAILS + "SyntaxError"),
    "null bytes": Attack("a = '\0'\n", FAILS + "SyntaxError"),
    "removes itself": Attack("del sys.modules[__name__]\n" + OK, FAILS + "KeyError: 'attack'"),
    "replaces itself": Attack(
        "class M:\n    def __getattr__(self, n): raise RuntimeError(n)\n"
        "sys.modules[__name__] = M()\n",
        FAILS + "RuntimeError: f",
    ),
    "is nothing": Attack(
        "sys.modules[__name__] = None\n", "RT572]: the Python module attack has no"
    ),
    "raises for names": Attack(
        "def __getattr__(n): raise RuntimeError(n)\n", FAILS + "RuntimeError: f"
    ),
    "no such function": Attack("def ff(x): pass\n", "did you mean ff?"),
    "no function": Attack("f = 3\n", "RT577]: f of the Python module attack"),
    "a callable object": Attack(
        "class C:\n    def __call__(self, x): return x, 1, True\n"
        "    def __getattr__(self, n): raise RuntimeError(n)\nf = C()\n"
    ),
}
SURROUNDINGS = {
    "working directory": Attack(
        "os.chdir('/')\ndef f(x):\n    os.chdir('/')\n    return x, 1, True\n"
    ),
    "no standard output": Attack("sys.stdout = None\n" + OK),
    "warnings are errors": Attack("import warnings\nwarnings.simplefilter('error')\n" + OK),
    "NumPy raises": Attack("np.seterr(all='raise')\n" + gives("[1e300, 1.0]"), "cannot hold"),
    "64 bits": Attack("jax.config.update('jax_enable_x64', True)\n" + OK),
    "64 bits while it runs": Attack(
        "def f(x):\n    jax.config.update('jax_enable_x64', True)\n"
        "    return x * np.float64(2), 1, True\n",
        "has dtype f64",
        kinds=("host",),
    ),
    "strict promotion": Attack("jax.config.update('jax_numpy_dtype_promotion', 'strict')\n" + OK),
    "a thread that raises": Attack(
        "threading.excepthook = lambda a: None\n"
        "def f(x):\n    t = threading.Thread(target=lambda: 1 / 0)\n"
        "    t.start()\n    t.join()\n    return x, 1, True\n"
    ),
}
ATTACKS = {
    f"{group}: {name}": attack
    for group, attacks in (
        ("gives", RESULTS), ("raises", EXCEPTIONS), ("module", MODULES), ("changes", SURROUNDINGS)
    )
    for name, attack in attacks.items()
}  # fmt: skip
ROWS = [(kind, name) for name, attack in ATTACKS.items() for kind in attack.kinds]
TURNS = {
    (attack.kinds[k % len(attack.kinds)], name) for k, (name, attack) in enumerate(ATTACKS.items())
}
"""The rows that `make test` tries: each attack by one kind of function."""


@dataclass(frozen=True, slots=True)
class Target:
    """A program with the function ``attack:f``, compiled."""

    compilation: Compilation
    directory: Path

    def ways(self, folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
        """The ways to run it with the module in a folder."""
        given = Given(bounds={}, inputs=as_sources({"x": X}), params={})
        graph = self.compilation.graph
        yield "eval", lambda: evaluate_given(graph, given, [str(folder)])
        yield "run", lambda: run(self.directory, {}, {"x": X}, extern_path=[folder]).outputs
        yield "ready", lambda: ready(self.directory, extern_path=[folder])({"x": X})


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Target]:
    """The program for both kinds of functions."""
    made = {}
    for kind in KINDS:
        folder = tmp_path_factory.mktemp(kind)
        path = folder / "m.rt"
        path.write_text(PROGRAM.replace("KIND", kind))
        compilation = Compilation.from_path(str(path), Options())
        compilation.write(str(folder / "out"))
        made[kind] = Target(compilation, folder / "out")
    return made


@pytest.fixture
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """What attacks change, put back afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    errors = np.geterr()
    yield
    sys.modules.pop("attack", None)
    np.seterr(**errors)
    jax.config.update("jax_enable_x64", False)
    jax.config.update("jax_numpy_dtype_promotion", "standard")


@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("surroundings")
@pytest.mark.parametrize(
    ("kind", "name"),
    sampled(ROWS, "both kinds of functions", keep=TURNS.__contains__),
)
def test_attacks(kind: str, name: str, tmp_path: Path, targets: dict[str, Target]) -> None:
    attack = ATTACKS[name]
    (tmp_path / "attack.py").write_text(HEAD + attack.python)
    x = X.copy()
    for way, call in targets[kind].ways(tmp_path):
        sys.modules.pop("attack", None)
        if not attack.says:
            wanted = np.broadcast_to(X if attack.y is None else attack.y, X.shape)
            np.testing.assert_array_equal(call()["y"], wanted, err_msg=way)
        else:
            with pytest.raises(RunError) as error:
                call()
            text = render_all(error.value.diagnostics)
            assert attack.says in text, f"{way}: {text}"
            assert len(text) < 20_000 and "tempoc/runtime/host" not in text
            if "RT573" in text or "RT574" in text:
                assert "in m.rt:5: y, n, b = f(x)" in text and "at t = 0" in text, way
        assert os.getcwd() == str(tmp_path)
        np.testing.assert_array_equal(X, x)
