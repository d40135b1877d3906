"""`python -m tests.files.damage --count N --seed S`: N damaged files of each format, and sources.

A damaged file of data is refused with one diagnostic, or has the numbers that another reader of the
format finds in it. A damaged source is refused with diagnostics, or it compiles, before and after
it is formatted.
"""

from __future__ import annotations

import argparse
import ast
import io
import random
import struct
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import safetensors
import safetensors.numpy
from numpy.lib import format as npy

from tempoc.cli.main import status
from tempoc.diagnostics.diagnostic import RunError
from tempoc.runtime.data import files

Arrays = Mapping[str, np.ndarray[Any, Any]]
RANDOM = np.random.default_rng(0)
ARRAYS: Arrays = {
    "a": RANDOM.standard_normal((3, 4)).astype(np.float32),
    "b": np.asfortranarray(RANDOM.standard_normal((2, 3, 2))),
    "big": RANDOM.integers(-9, 9, (4,)).astype(">i4"),
    "flags": np.array([True, False, True]),
    "half": np.array([1.5, -2], ml_dtypes.bfloat16),
    "none": np.zeros((0, 7), np.int64),
    "one": np.array(3.5, np.float64),
}
TOKENS = (
    *(b"'<f4'", b"'>f4'", b"'|O'", b"'<f8'", b"'|b1'", b"'<U3'", b"'f4,f4'", b"[('a', '<f4')]"),
    *(b"True", b"False", b"()", b"(3,)", b"(2**40,)", b"(-1,)", b"(0, 99999999999)", b"((((("),
    *(b"9" * 20, b"9" * 5000, b"\\x", b"\x00", b"\xff\xfe", b"{", b"}", b"[" * 3000, b"'shape'"),
    *(b'"F32"', b'"I64"', b'"BOOL"', b'"data_offsets"', b"[0,0]", b"1e9", b"null", b"true", b"-1"),
    *(b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06", b"a.npy", b"../../a.npy", b"__metadata__"),
)


def mutant(content: bytes, rng: random.Random) -> bytes:
    """The bytes with one to three things wrong."""
    result = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        near = rng.random() < 0.7
        at = rng.randrange(min(len(result), 160) if near else len(result)) if result else 0
        if rng.random() < 0.2:
            at = max(len(result) - 1 - at, 0)
        match rng.randrange(7):
            case 0:
                result[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                result[at : at + 1] = bytes([result[at] ^ 1 << rng.randrange(8)]) if result else b""
            case 2:
                del result[at:]
            case 3:
                del result[at : at + rng.randrange(1, 9)]
            case 4:
                token = rng.choice(TOKENS)
                result[at : at + rng.choice((0, len(token)))] = token
            case 5:
                number = rng.choice((0, 1, 0xFF, 0xFFFF, 2**31, 2**32 - 1, 2**63, 2**64 - 1))
                width = rng.choice("BHIQ")
                number &= (1 << 8 * struct.calcsize(width)) - 1
                packed = struct.pack("<" + width, number)
                result[at : at + len(packed)] = packed
            case 6:
                size, to = rng.randrange(1, 60), rng.randrange(len(result) + 1)
                result[to:to] = result[at : at + size]
    return bytes(result)


def as_npy(array: np.ndarray[Any, Any]) -> bytes:
    """An ``.npy`` file."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def as_npz(arrays: Arrays, *, compressed: bool) -> bytes:
    """An ``.npz`` file."""
    file = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def numpy_npy(content: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """What numpy reads of an ``.npy`` file."""
    array = npy.read_array(io.BytesIO(content), allow_pickle=False)
    return {"x": array.view(ml_dtypes.bfloat16) if array.dtype == np.dtype("V2") else array}


def numpy_npz(content: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """What numpy reads of an ``.npz`` file; members that it cannot read are left out."""
    result = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            try:
                result[name.removesuffix(".npy")] = numpy_npy(archive.read(name))["x"]
            except Exception:
                continue
    return result


NPZ = {name: array for name, array in ARRAYS.items() if name != "half"}
SAFE = {name: np.ascontiguousarray(a.astype(a.dtype.newbyteorder("="))) for name, a in NPZ.items()}
Reader = Callable[[bytes], Mapping[str, np.ndarray[Any, Any]]]
FORMATS: Mapping[str, tuple[str, bytes, Reader]] = {
    **{f"npy {n}": (".npy", as_npy(a), numpy_npy) for n, a in ARRAYS.items()},
    "npz": (".npz", as_npz(NPZ, compressed=False), numpy_npz),
    "npz compressed": (".npz", as_npz(NPZ, compressed=True), numpy_npz),
    "safetensors": (
        ".safetensors",
        safetensors.numpy.save(SAFE, {"by": "them"}),
        safetensors.numpy.load,
    ),
}


def read_all(path: Path) -> tuple[dict[str, np.ndarray[Any, Any]], list[str]]:
    """All tensors of a file that can be read, and the codes of what is said about the others."""
    arrays, codes = {}, []
    try:
        is_npy = path.suffix == ".npy"
        tensors = {"x": files.open_tensor("x", path)} if is_npy else files.open_bundle(path)
    except RunError as error:
        return {}, [d.code for d in error.diagnostics]
    for name, tensor in tensors.items():
        try:
            arrays[name] = tensor.read()
            assert (arrays[name].dtype, arrays[name].shape) == (
                tensor.dtype.newbyteorder("="),
                tensor.shape,
            )
        except RunError as error:
            codes += [d.code for d in error.diagnostics]
    return arrays, codes


def check_data(kind: str, folder: Path, content: bytes) -> bool:
    """Read damaged data; whether any was read. Raises ``AssertionError`` if that was wrong."""
    suffix, whole, reader = FORMATS[kind]
    path = folder / f"x{suffix}"
    path.write_bytes(content)
    arrays, codes = read_all(path)
    assert arrays or codes or suffix != ".npy"
    assert set(codes) <= {"RT541"}, codes
    if arrays:
        wanted = dict(reader(whole))
        try:
            others = dict(reader(content))
        except Exception:
            others = {}
        for name, array in arrays.items():
            options = [a for a in (others.get(name), wanted.get(name)) if a is not None]
            assert any(same(array, other) for other in options), (name, array, options)
    return bool(arrays)


def same(array: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays have the same type, shape and bits."""
    kind = other.dtype.newbyteorder("=")
    alike = array.dtype == kind and array.shape == other.shape
    return alike and array.tobytes() == other.astype(kind).tobytes()


# ------------------------------------------------------------------ sources

SOURCE = b'''"""Sums."""
import nn
const D = 4
dim t < T
input x[t]: f32[D]
param W: f32[D, D]
def twice(a) = a + a

s[0] = W @ x[0]
s[t] = s[t-1] + twice(W @ nn.softmax(x[t])) * 1.5e-3
mean = sum(s[0:T], axis = 0) / T
output s[T-1] as last
output mean
'''
WORDS = (
    *(b"9" * 20, b"9" * 5000, b"1e999", b"1e-999", b"0x10", b"1_000", "٣".encode(), b"1.5", b"-1"),
    *(b"(" * 300, b"[" * 300, b"- " * 300, b"\0", b"\xef\xbb\xbf", b"\r\n", b"\r", b"\t", b"\xff"),
    *(b'import "/dev/zero" as z\n', b'import "." as z\n', b'import "x.rt" as z\n', b"x" * 9000),
    *(b"const D = 99999999999\n", b"\n" * 50, b'"""', b'"', b"#", b"\xe2\x80\xae", b"\xed\xa0\x80"),
    *(b"input", b"output", b"when", b"until", b"def", b"[0]", b"[t+1]", b"{", b"grad(s, W)", b"**"),
)


def source_mutant(content: bytes, rng: random.Random) -> bytes:
    """A source with one to three things wrong."""
    result = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(result) + 1)
        match rng.randrange(4):
            case 0:
                result[at : at + rng.choice((0, 1, 4))] = rng.choice(WORDS)
            case 1:
                del result[at : at + rng.randrange(1, 9)]
            case 2:
                result[at : at + 1] = bytes([rng.randrange(256)])
            case 3:
                to = rng.randrange(len(result) + 1)
                result[to:to] = result[at : at + rng.randrange(1, 40)]
    return bytes(result)


def check_source(folder: Path, content: bytes) -> bool:
    """Check a damaged program; whether it is fine. Raises ``AssertionError`` for a bug.

    One that is fine has kernels, and the same ones after formatting.
    """
    path = folder / "x.rt"
    path.write_bytes(content)
    code, _, err = called("check", str(path))
    assert code in (0, 1), err
    assert code == 0 or err.startswith("error[RT"), err
    if code:
        return False
    kernels = []
    for _ in range(2):
        code, text, err = called("explain", "--dump-kernels", str(path))
        assert code == 0, err
        kernels.append([f for f in ast.walk(ast.parse(text)) if isinstance(f, ast.FunctionDef)])
        assert called("fmt", str(path))[0] == 0
    before, after = ([code_of(f) for f in functions] for functions in kernels)
    assert before == after
    formatted = path.read_bytes()
    assert called("fmt", str(path))[0] == 0 and path.read_bytes() == formatted
    return True


def code_of(function: ast.FunctionDef) -> str:
    """What a kernel does, without the source that it quotes."""
    return "".join(ast.dump(s) for s in function.body[ast.get_docstring(function) is not None :])


def called(*line: str) -> tuple[int, str, str]:
    """The exit status of a command, and what it writes."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = status(line)
    return code, out.getvalue(), err.getvalue()


def campaign(kind: str, count: int, seed: int, folder: Path) -> int:
    """Check so many mutants of a kind; how many could be read. Shows the one that fails."""
    rng = random.Random(f"{kind} {seed}")
    make, check = partial(source_mutant, SOURCE, rng), check_source
    if kind != "source":
        make, check = partial(mutant, FORMATS[kind][1], rng), partial(check_data, kind)
    fine = 0
    for number in range(count):
        content = make()
        try:
            fine += check(folder, content)
        except BaseException:
            print(f"{kind}, seed {seed}, mutant {number}: {content!r}")
            raise
    return fine


KINDS = (*FORMATS, "source")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.files.damage", description=__doc__)
    parser.add_argument("-n", "--count", type=int, default=1000, help="how many of each format")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tempoc-") as folder:
        for kind in KINDS:
            fine = campaign(kind, args.count, args.seed, Path(folder))
            print(f"{kind}: {args.count} damaged files, {fine} of them could be read", flush=True)


if __name__ == "__main__":
    main()
