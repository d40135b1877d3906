from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

from tempoc.diagnostics.diagnostic import RunError
from tempoc.runtime.data import files
from tempoc.runtime.data.dtypes import NUMPY

ARRAYS = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3),
    "file": np.array(3, np.int64),
    "none": np.zeros((0, 4), np.float16),
    "yes.0": np.array([True, False]),
}


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_bundles_come_back(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    files.write_arrays(path, ARRAYS)
    found = files.open_bundle(path)
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(found[name].read(), array)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_other_programs_read_and_write_the_same_files(tmp_path):
    files.write_arrays(tmp_path / "x.safetensors", ARRAYS)
    found = safetensors.numpy.load_file(tmp_path / "x.safetensors")
    assert all(np.array_equal(found[name], array) for name, array in ARRAYS.items())
    safetensors.numpy.save_file(ARRAYS, tmp_path / "y.safetensors", {"by": "them"})
    found = files.open_bundle(tmp_path / "y.safetensors")
    assert all(np.array_equal(found[name].read(), array) for name, array in ARRAYS.items())
    files.write_arrays(tmp_path / "x.npz", ARRAYS)
    with np.load(tmp_path / "x.npz") as npz:
        assert all(np.array_equal(npz[name], array) for name, array in ARRAYS.items())


def test_bfloat16(tmp_path):
    array = np.array([1.5, -2], ml_dtypes.bfloat16)
    files.write_arrays(tmp_path / "x.safetensors", {"b": array})
    assert files.open_bundle(tmp_path / "x.safetensors")["b"].read().dtype == NUMPY["bf16"]
    # numpy's own format has no such type: it becomes float32, and nameless pairs of bytes are read.
    files.OutputFolder(tmp_path).write("x.npy", array)
    assert np.load(tmp_path / "x.npy").dtype == np.float32
    np.save(tmp_path / "y.npy", array)
    assert files.open_tensor("y", tmp_path / "y.npy").read().tolist() == [1.5, -2]


def test_dtypes_that_the_language_lacks(tmp_path):
    """Such tensors may stand in a file that is wanted for its others."""
    kinds = {"F8_E4M3": b"\x38\xc0", "F8_E5M2": b"\x3c\xc0", "F8_E8M0": b"\x7f\x80"}
    entries = {
        kind: {"dtype": kind, "shape": [2], "data_offsets": [2 * k, 2 * k + 2]}
        for k, kind in enumerate(kinds)
    } | {"C64": {"dtype": "C64", "shape": [1], "data_offsets": [6, 14]}}
    (tmp_path / "x.safetensors").write_bytes(
        header(json.dumps(entries).encode(), b"".join(kinds.values()) + np.complex64(1j).tobytes())
    )
    found = files.open_bundle(tmp_path / "x.safetensors")
    assert [found[kind].read().tolist() for kind in kinds] == [[1, -2], [1, -2], [1, 2]]
    assert found["C64"].read().tolist() == [1j]


def test_one_tensor_of_a_file(tmp_path):
    np.save(tmp_path / "a.npy", np.asfortranarray(np.eye(3)))
    np.testing.assert_array_equal(files.open_tensor("x", tmp_path / "a.npy").read(), np.eye(3))
    np.savez(tmp_path / "two.npz", x=1, y=2)
    assert files.open_tensor("y", tmp_path / "two.npz").read() == 2
    with pytest.raises(RunError, match="RT544"):
        files.open_tensor("z", tmp_path / "two.npz")


def damaged(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def header(text, body=b""):
    return len(text).to_bytes(8, "little") + text + body


GOOD = header(b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', b"12345678")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.npy", b""),
        ("x.npy", b"hello, this is text"),
        ("x.npy", b"\x93NUMPY\x01\x00"),
        ("x.npz", b"PK\x03\x04 not really"),
        ("x.npz", b""),
        ("x.safetensors", b""),
        ("x.safetensors", b"\x93NUMPY\x01\x00 and so on"),
        ("x.safetensors", GOOD[:-1]),
        ("x.safetensors", GOOD[:20]),
        ("x.safetensors", header(b"{]")),
        ("x.safetensors", header(b'{"a": 3}')),
        ("x.safetensors", GOOD.replace(b"F32", b"F99")),
        ("x.safetensors", GOOD.replace(b"[2]", b"[3]")),
        ("x.safetensors", GOOD.replace(b"[0,8]", b"[4,9]")),
        ("x.safetensors", GOOD.replace(b"[2]", b"[0-2]"[:3])),
    ],
)
def test_damage_is_reported(tmp_path, name, content):
    with pytest.raises(RunError, match="RT541"):
        files.open_tensor("a", damaged(tmp_path, name, content)).read()


def two(first, second):
    entry = '"{}":{{"dtype":"F32","shape":[{}],"data_offsets":[{},{}]}}'
    parts = [
        entry.format(name, (end - start) // 4, start, end)
        for name, (start, end) in (("a", first), ("b", second))
    ]
    return f"{{{','.join(parts)}}}".encode()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (GOOD + b"more", "its bytes from 8 to 12 belong to no tensor"),
        (header(b"{}", b"1234"), "its bytes from 0 to 4 belong to no tensor"),
        (header(two((0, 4), (8, 12)), b"123456789012"), "from 4 to 8 belong to no tensor"),
        (header(two((8, 12), (4, 8)), b"123456789012"), "from 0 to 4 belong to no tensor"),
        (header(two((4, 12), (0, 8)), b"123456789012"), "b and a share bytes, from 4 on"),
        (header(two((0, 8), (0, 8)), b"12345678"), "a and b share bytes, from 0 on"),
        (
            header(two((0, 4), (4, 8)).replace(b'"b"', b'"a"'), b"12345678"),
            "its header names a twice",
        ),
    ],
)
def test_every_byte_belongs_to_one_tensor(tmp_path, content, reason):
    """The format has no holes and no aliases; neither do those who wrote it read such a file."""
    path = damaged(tmp_path, "x.safetensors", content)
    with pytest.raises(RunError, match=f"RT541.*{reason}"):
        files.open_bundle(path)
    with pytest.raises(safetensors.SafetensorError):
        safetensors.numpy.load_file(path)
    whole = header(two((4, 8), (4, 4)).replace(b"[4,8]", b"[0,4]"), b"1234")
    assert list(files.open_bundle(damaged(tmp_path, "x.safetensors", whole))) == ["a", "b"]


def test_truncated_numpy_files(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(100))
    whole = (tmp_path / "x.npy").read_bytes()
    with pytest.raises(RunError, match="RT541"):
        files.open_tensor("x", damaged(tmp_path, "y.npy", whole[:-8]))
    np.savez(tmp_path / "x.npz", a=np.zeros(100))
    whole = (tmp_path / "x.npz").read_bytes()
    with pytest.raises(RunError, match="RT541"):
        files.open_bundle(damaged(tmp_path, "y.npz", whole[:-30]))
    torn = damaged(tmp_path, "z.npz", whole[:300] + b"\xff" + whole[301:])
    with pytest.raises(RunError, match="RT541"):
        files.open_bundle(torn)["a"].read()


def test_objects_are_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(RunError, match=r"RT541.*Python objects"):
        files.open_tensor("x", tmp_path / "x.npy")


@pytest.mark.parametrize("name", ["x.txt", "x", "x.pt"])
def test_unknown_suffix(tmp_path, name):
    with pytest.raises(RunError, match="RT542"):
        files.open_tensor("x", tmp_path / name)
    with pytest.raises(RunError, match="RT542"):
        files.write_arrays(tmp_path / name, ARRAYS)


def test_missing_file_and_directories(tmp_path):
    with pytest.raises(RunError, match="RT540"):
        files.open_bundle(tmp_path / "x.npz")
    with pytest.raises(RunError, match="RT541"):
        (tmp_path / "d.npz").mkdir()
        files.open_bundle(tmp_path / "d.npz")
    with pytest.raises(RunError, match="RT543"):
        files.write_arrays(tmp_path / "no" / "x.npz", ARRAYS)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.safetensors"
    files.write_arrays(path, {"a": np.ones(2)})
    with pytest.raises(RunError, match="RT543"):
        files.write_arrays(path, {"a": np.ones(2, np.complex128)})
    assert files.open_bundle(path)["a"].read().tolist() == [1, 1]
    assert list(tmp_path.iterdir()) == [path]
