"""How islpy is imported."""

import re
import runpy
import sys
from pathlib import Path

import pytest

from tempoc.poly import isl
from tests.house.source import files_of


@pytest.mark.parametrize("name", ["VERSION_TEXT", "VERSION_BY_ANOTHER_NAME"])
def test_islpy_may_have_another_module_for_its_version(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [m for m in sys.modules if m.partition(".")[0] == "islpy"]:
        monkeypatch.delitem(sys.modules, module)
    (tmp_path / "islpy").mkdir()
    (tmp_path / "islpy-7.5.dist-info").mkdir()
    imports = f"from islpy.version import VERSION, {name}\ndim_type = VERSION, {name}"
    (tmp_path / "islpy/__init__.py").write_text(imports)
    (tmp_path / "islpy/version.py").write_text(f"VERSION, {name} = (7, 5), '7.5'")
    monkeypatch.syspath_prepend(tmp_path)
    assert runpy.run_path(str(isl.__file__))["D"] == ((7, 5), "7.5")


def test_numbers_for_which_isl_has_no_step_left() -> None:
    """islpy's own `to_python` fails there with a type error, which nobody expects."""
    context = isl.isl.Context()
    number = isl.isl.Val.read_from_str(context, "12")
    assert isl.integer(number) == 12
    context.set_max_operations(1)
    with pytest.raises(isl.isl.Error, match=isl.OUT_OF_STEPS):
        isl.integer(number)


def test_no_other_module_reads_texts_and_numbers_of_isl() -> None:
    files = [f for f in files_of("poly") if not f.name.endswith("poly/isl.py")]
    assert files
    assert [f.name for f in files if re.search(r"\.to_(python|str)\(\)(?!\nexcept)", f.text)] == []
