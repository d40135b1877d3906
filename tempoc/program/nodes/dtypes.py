"""The dtypes of the language, each with the name of its elements in NumPy and JAX."""

from __future__ import annotations

ELEMENTS = {
    "bool": "bool", "i8": "int8", "u8": "uint8", "i32": "int32", "i64": "int64", "u32": "uint32",
    "bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "float64", "key": "uint32",
}  # fmt: skip
"""A random key is two words along the last axis."""
