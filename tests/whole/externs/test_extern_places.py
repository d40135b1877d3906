"""Where Python functions come from: folders, modules, methods; what is wrong with them is told."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.functions import agreed, laid_out, refused
from tests.support.golden import Golden

X = {"x": np.array([1.0, 2.0, 4.0], np.float32)}


def values(path: Path, paths: tuple[Path, ...] = ()) -> dict[str, list[float]]:
    """The outputs, as lists."""
    return {name: x.tolist() for name, x in agreed(path, X, paths=paths)[0].items()}


def test_one_name_for_many_functions_and_many_names_for_one(tmp_path: Path) -> None:
    path = laid_out(
        tmp_path,
        {
            "main.rt": """
import "lib/inner.rt" as lib
import "second.rt" as second
dim t < T
input x[t]: f32
extern host step(x: f32) -> (y: f32) from "ep_main:step"
extern jax pure(x: f32) -> (y: f32) from "ep_main:step"
extern jax all(x: f32[n]) -> (y: f32[n]) from "ep_main:step"
extern host again(x: f32) -> (y: f32) from "ep_main:step"
a = step(x)
b = lib.step(x)
c = second.step(x)
d = pure(x)
e = again(x)
f[t] = all(x[0:T])[t]
g = lib.twice(x)
h = lib.deep(x)
output a, b, c, d, e, f, g, h
""",
            "lib/inner.rt": """
import "../more/deep.rt" as more
extern host step(x: f32) -> (y: f32) from "ep_inner:step"
def twice(x) = step(step(x))
def deep(x) = more.step(x)
""",
            "more/deep.rt": 'extern jax step(x: f32) -> (y: f32) from "ep_deep:step"\n',
            "second.rt": 'extern host step(x: f32) -> (y: f32) from "ep_main:Env.step"\n',
            "ep_main.py": "def step(x):\n    return x + 1\n\n\n"
            "class Env:\n    @staticmethod\n    def step(x):\n        return x * 100\n",
            "lib/ep_inner.py": "def step(x):\n    return x * 10\n",
            "more/ep_deep.py": "def step(x):\n    return -x\n",
        },
    )
    more = [2.0, 3.0, 5.0]
    assert values(path) == {
        "a": more, "b": [10.0, 20.0, 40.0], "c": [100.0, 200.0, 400.0], "d": more, "e": more,
        "f": more, "g": [100.0, 200.0, 400.0], "h": [-1.0, -2.0, -4.0],
    }  # fmt: skip


ONE = """
dim t < T
input x[t]: f32
extern host f(x: f32) -> (y: f32) from "MODULE"
y = f(x)
output y
"""


def test_methods_and_packages(tmp_path: Path) -> None:
    text = ONE + 'extern jax g(x: f32) -> (y: f32) from "ep_pack.sub:Model.call"\n'
    text += "z = g(x)\noutput z\n"
    python = "class Model:\n    def call(x):\n        return 3 * x\n\n\nmodel = Model\n"
    files = {
        "main.rt": text.replace("MODULE", "ep_pack.sub:model.call"),
        "ep_pack/__init__.py": "",
        "ep_pack/sub.py": python,
    }
    path = laid_out(tmp_path, files)
    assert values(path) == {"y": [3.0, 6.0, 12.0], "z": [3.0, 6.0, 12.0]}


def test_named_folders_decide_between_two_modules(tmp_path: Path, golden: Golden) -> None:
    text = "def f(x):\n    return {} * x\n"
    files = {
        "main.rt": ONE.replace("MODULE", "ep_two:f") + 'import "lib/g.rt" as lib\nz = lib.g(x)\n',
        "lib/g.rt": 'extern host g(x: f32) -> (y: f32) from "ep_two:f"\n',
        "ep_two.py": text.format(1),
        "lib/ep_two.py": text.format(2),
    }
    path = laid_out(tmp_path, files)
    golden("externs/two_modules.txt", refused(path, X))
    assert values(path, (tmp_path / "lib",)) == {"y": [2.0, 4.0, 8.0]}


def test_another_module_in_use_is_not_taken(tmp_path: Path, golden: Golden) -> None:
    for name in ("one", "two"):
        files = {"main.rt": ONE.replace("MODULE", "ep_twin:f"), "ep_twin.py": "f = abs\n"}
        laid_out(tmp_path / name, files)
    assert values(tmp_path / "one" / "main.rt") == {"y": [1.0, 2.0, 4.0]}
    text = refused(tmp_path / "two" / "main.rt", X).replace(str(tmp_path), "DIR/..")
    golden("externs/other_module.txt", text)
    del sys.modules["ep_twin"]
    assert values(tmp_path / "two" / "main.rt") == {"y": [1.0, 2.0, 4.0]}


BROKEN = {
    "import_error": ("ep_import:f", "import ep_nowhere\n\n\ndef f(x):\n    return x\n"),
    "import_exit": ("ep_exit:f", "import sys\n\nsys.exit('no licence')\n"),
    "import_syntax": ("ep_syntax:f", "def f(x:\n    return x\n"),
    "no_method": ("ep_method:Env.stop", "class Env:\n    def step(self, x):\n        return x\n"),
    "no_function": ("ep_value:f", "f = 3\n"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_modules_are_told(what: str, tmp_path: Path, golden: Golden) -> None:
    place, python = BROKEN[what]
    files = {"main.rt": ONE.replace("MODULE", place), f"{place.partition(':')[0]}.py": python}
    golden(f"externs/{what}.txt", refused(laid_out(tmp_path, files), X))
