"""Compile a loop once per machine, and again in memory where nothing can be stored.

Numba stores compiled code next to the source file, or in the user's cache folder if that is read-only, or in
NUMBA_CACHE_DIR. By itself it renews the code when the time of the kernel's own file changes. Kernels include code of
other files, so here the content of all of them decides.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import numba

Array: TypeAlias = Any  # in a kernel; the signature says which
Number: TypeAlias = Any  # of a fixed size; the signature says which
Kernel: TypeAlias = Any  # the compiled function

# Arrays that are only read: those of Arrow may not be written to.
BYTES = "Array(uint8, 1, 'C', readonly=True)"
INTS = "Array(int64, 1, 'C', readonly=True)"
CODES = "Array(uint32, 1, 'C', readonly=True)"


def compiled(signature: str) -> Callable[[Callable[..., object]], Kernel]:
    """Compile for these types when the module is imported, without the interpreter's lock while it runs."""

    def decorate(function: Callable[..., object]) -> Kernel:
        if numba.config.DISABLE_JIT:  # for debuggers: the loops run as Python, very slowly
            return function
        try:
            kernel = _load(function, signature)
        except Exception:  # a damaged file, no folder, no space: whatever it is, compiling is possible
            kernel = _compile_again(function, signature)
        kernel.disable_compile()
        return kernel

    return decorate


def _load(function: Callable[..., object], signature: str, forget: bool = False) -> Kernel:
    """The stored code of a function, compiled and stored if there is none."""
    kernel = numba.njit(nogil=True, error_model="numpy", cache=True)(function)
    # Numba has no public setting for this; if it moves, kernels are compiled in memory, and a test fails.
    kernel._cache._cache_file._source_stamp = f"{sources_digest()} {_digest(Path(function.__code__.co_filename))}"
    if forget:
        kernel._cache.flush()
    kernel.compile(signature)
    return kernel


def _compile_again(function: Callable[..., object], signature: str) -> Kernel:
    try:
        return _load(function, signature, forget=True)
    except Exception:  # nothing can be stored
        kernel = numba.njit(nogil=True, error_model="numpy")(function)
        kernel.compile(signature)
        return kernel


@lru_cache(maxsize=1)
def sources_digest() -> str:
    """Changes with any file that a kernel may include."""
    here = Path(__file__).parent
    files = [here.parent / "character_table.py", *sorted(here.glob("*.py"))]
    return sha256("".join(map(_digest, files)).encode()).hexdigest()


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def inlined(function: Callable[..., object]) -> Kernel:
    """Compile a helper of kernels as a part of each of them."""
    return numba.njit(nogil=True, error_model="numpy")(function)
