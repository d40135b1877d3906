"""How islpy is imported."""

import runpy
import sys
from pathlib import Path

import pytest

from tempoc.poly import isl


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
