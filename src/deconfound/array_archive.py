"""Named arrays as the bytes of an .npz file, read back without trust: only what is expected, and nothing that grows."""

from __future__ import annotations

import io
import math
import struct
import zipfile
from collections.abc import Collection, Mapping
from typing import Any, Literal

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

SUFFIX = ".npy"
KINDS = "biufU"  # booleans, whole numbers, numbers and text; reading objects could run code


def arrays_to_bytes(arrays: Mapping[str, Any]) -> bytes:
    """Arrays as the content of an .npz file; equal arrays give equal bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def arrays_from_bytes(content: bytes, known: Collection[str]) -> dict[str, Any]:
    """The inverse of ``arrays_to_bytes``; a ``ValueError`` unless all arrays are known, uncompressed and complete."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            _check_entries(entries, len(content), known)
            return {entry.filename.removesuffix(SUFFIX): _read_array(archive.read(entry)) for entry in entries}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, struct.error) as error:
        raise ValueError(f"its arrays are damaged ({error})") from error


def _check_entries(entries: list[zipfile.ZipInfo], size: int, known: Collection[str]) -> None:
    names = [entry.filename for entry in entries]
    if len(set(names)) < len(names) or not set(names) <= {f"{name}{SUFFIX}" for name in known}:
        raise ValueError("it has arrays that no saved file has")
    stored = all(entry.compress_type == zipfile.ZIP_STORED for entry in entries)
    # Entries that share bytes would be larger together than the file.
    if not stored or sum(entry.file_size for entry in entries) > size:
        raise ValueError("its arrays are compressed or overlap")


def _read_array(content: bytes) -> NDArray[Any]:
    stream = io.BytesIO(content)
    if npy.read_magic(stream) != (1, 0):
        raise ValueError("an array is of another format")
    shape, fortran_order, dtype = npy.read_array_header_1_0(stream)
    if dtype.kind not in KINDS or dtype.hasobject or dtype.itemsize == 0:
        raise ValueError(f"an array is of the type {dtype}")
    if math.prod(shape) * dtype.itemsize != len(content) - stream.tell():
        raise ValueError("an array has another size than it states")
    order: Literal["C", "F"] = "F" if fortran_order else "C"
    return np.ndarray(shape, dtype, buffer=content, offset=stream.tell(), order=order).copy(order="C")
