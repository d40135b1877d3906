from __future__ import annotations

import io
import json
import os
import zipfile

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


def bits(array, **changes):
    """An ``.npy`` file with changes of its text."""
    file = io.BytesIO()
    np.save(file, array)
    content = file.getvalue()
    for old, new in changes.values():
        assert old in content
        content = content.replace(old, new)
    return content


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ((b"(3,)", b"(2,)"), "goes on after its data"),
        ((b"(3,)", b"(4,)"), "is truncated"),
        ((b"(3,), }      ", b"(99999999999,)}"[:13]), "its header is damaged"),
        ((b"'<f4'", b"'|O' "), "holds Python objects"),
        ((b"'<f4'", b"'<U1'"), "holds elements of type '<U1'"),
        ((b"'<f4'", b"f4()()"[:5]), "its header is damaged"),
        ((b"False", b"0    "), "its header is damaged"),
        ((b"(3,)", b"((((" * 1), "its header is damaged"),
        ((b"\x01\x00v", b"\x07\x00v"), "a version of the format that does not exist"),
    ],
)
def test_headers_of_numpy(tmp_path, change, reason):
    content = bits(np.zeros(3, np.float32), change=change)
    with pytest.raises(RunError, match=f"RT541.*{reason}"):
        files.open_tensor("x", damaged(tmp_path, "x.npy", content))


@pytest.mark.parametrize("shape", [(0, 2**40), (2**40, 0, 3)])
def test_arrays_without_elements_may_be_long(tmp_path, shape):
    for content in (
        bits(np.zeros((0, 7)), shape=(b"(0, 7), }" + b" " * 30, f"{shape}}}".ljust(39).encode())),
    ):
        tensor = files.open_tensor("x", damaged(tmp_path, "x.npy", content))
        assert tensor.shape == tensor.read().shape == shape


def test_sizes_that_cannot_be_take_no_memory(tmp_path):
    shape = "(9000000000000000000, 0)}".ljust(39).encode()
    content = bits(np.zeros((0, 7)), shape=(b"(0, 7), }" + b" " * 30, shape))
    with pytest.raises(RunError, match=r"RT541.*the shape is too large"):
        files.open_tensor("x", damaged(tmp_path, "x.npy", content))
    huge = {"a": {"dtype": "F32", "shape": [10**400, 0], "data_offsets": [0, 0]}}
    path = damaged(tmp_path, "x.safetensors", header(json.dumps(huge).encode()))
    with pytest.raises(RunError, match=r"RT541.*a: the shape is impossible"):
        files.open_bundle(path)


def test_layouts_of_numpy(tmp_path):
    array = np.arange(12, dtype=">i4").reshape(3, 4)
    for layout in (array, np.asfortranarray(array), array.T):
        np.save(tmp_path / "x.npy", layout)
        tensor = files.open_tensor("x", tmp_path / "x.npy")
        assert tensor.read().dtype == np.int32 and np.array_equal(tensor.read(), layout)


def test_truth_values_are_zero_or_one(tmp_path):
    content = bits(np.array([True, False]))[:-1] + b"\x02"
    with pytest.raises(RunError, match=r"RT541.*truth values"):
        files.open_tensor("x", damaged(tmp_path, "x.npy", content)).read()


def test_archives(tmp_path):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("a.npy", bits(np.ones(1)))
        archive.writestr("a.npy", bits(np.zeros(1)))
    with pytest.raises(RunError, match=r"RT541.*it holds a twice"):
        files.open_bundle(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a.npy", bits(np.zeros(99999)))
    with pytest.raises(RunError, match=r"RT541.*compressed in another way"):
        files.open_bundle(path)
    np.savez(path, a=np.zeros(3))
    encrypted = path.read_bytes().replace(
        b"PK\x01\x02\x2d\x03\x2d\x00\x00", b"PK\x01\x02\x2d\x03\x2d\x00\x01"
    )
    assert encrypted != path.read_bytes()
    with pytest.raises(RunError, match=r"RT541.*damaged"):
        files.open_bundle(damaged(tmp_path, "y.npz", encrypted))


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors"])
def test_files_that_change_while_they_are_read(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    if suffix == ".npy":
        np.save(path, np.zeros(3))
    else:
        files.write_arrays(path, {"x": np.zeros(3)})
    tensor = files.open_tensor("x", path)
    content = path.read_bytes()
    path.write_bytes(content[:-8])
    with pytest.raises(RunError, match=r"RT541.*it was changed while it was read"):
        tensor.read()
    path.unlink()
    with pytest.raises(RunError, match="RT540"):
        tensor.read()


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors"])
def test_only_regular_files_are_read(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    os.mkfifo(path)
    with pytest.raises(RunError, match=r"RT541.*it is a pipe or a device"):
        files.open_tensor("x", path)
    path.unlink()
    path.symlink_to(path)
    with pytest.raises(RunError, match=r"RT541.*symbolic links"):
        files.open_tensor("x", path)
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(RunError, match=r"RT541.*it is a pipe or a device"):
        files.open_tensor("x", path)


def test_objects_are_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(RunError, match=r"RT541.*Python objects"):
        files.open_tensor("x", tmp_path / "x.npy")


@pytest.mark.parametrize("name", ["x.txt", "x", "x.pt"])
def test_unknown_suffix(tmp_path, name):
    with pytest.raises(RunError, match="RT542" if "." in name else "RT540"):
        files.open_tensor("x", tmp_path / name)
    (tmp_path / name).touch()
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


def shards(folder, index="model.safetensors.index.json", **places):
    folder.mkdir(exist_ok=True)
    for file, names in places.items():
        arrays = {name: np.full(2, ord(name[0]), np.float32) for name in names}
        files.write_arrays(folder / f"{file}.safetensors", arrays)
    named = {n: f"{file}.safetensors" for file, names in places.items() for n in names}
    if index:
        (folder / index).write_text(json.dumps({"metadata": {}, "weight_map": named}))
    return folder


def weights(path):
    return {name: source.read()[0] for name, source in files.open_weights(path).items()}


def test_weights_in_several_files(tmp_path):
    both = {"a": ord("a"), "b": ord("b"), "c": ord("c")}
    folder = shards(tmp_path / "indexed", one=["a", "c"], two=["b"])
    assert weights(folder) == both
    assert weights(folder / "model.safetensors.index.json") == both
    # The index decides: another file of the folder does not matter.
    files.write_arrays(folder / "old.safetensors", {"a": np.zeros(2)})
    assert weights(folder) == both
    assert weights(shards(tmp_path / "plain", index="", one=["a", "c"], two=["b"])) == both
    whole = shards(tmp_path / "whole", index="", model=["a"], consolidated=["a", "b"])
    assert weights(whole) == {"a": ord("a")}
    assert weights(whole / "consolidated.safetensors") == {"a": ord("a"), "b": ord("b")}


@pytest.mark.parametrize(
    ("index", "reason"),
    [
        (b"\xff", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b"[]", "it is no index: it has no object weight_map"),
        (b'{"weight_map": {"a": 3}}', "it puts a into 3, which is no file beside it"),
        (b'{"weight_map": {"a": "../x.safetensors"}}', "no file beside it"),
        (b'{"weight_map": {"a": ""}}', "no file beside it"),
        (b'{"weight_map": {"z": "one.safetensors"}}', "one.safetensors holds z, which is not"),
        (b'{"weight_map": {"z": "two.safetensors"}}', "there is no file"),
        (b'{"weight_map": {"z": "two.bin"}}', "does not end in"),
    ],
)
def test_damaged_indices(tmp_path, index, reason):
    folder = shards(tmp_path / "x", index="", one=["a"])
    (folder / "model.safetensors.index.json").write_bytes(index)
    with pytest.raises(RunError, match=reason):
        files.open_weights(folder)


def test_folders_that_are_no_weights(tmp_path):
    with pytest.raises(RunError, match=r"it holds no \.safetensors file"):
        files.open_weights(tmp_path)
    twice = shards(tmp_path / "twice", index="", one=["a"], two=["a"])
    with pytest.raises(RunError, match=r"RT546.*a is in .*one.safetensors and in .*two"):
        files.open_weights(twice)
    shards(tmp_path / "two", index="a.safetensors.index.json", one=["a"])
    two = shards(tmp_path / "two", index="b.safetensors.index.json", one=["a"])
    with pytest.raises(RunError, match="name one of them"):
        files.open_weights(two)
