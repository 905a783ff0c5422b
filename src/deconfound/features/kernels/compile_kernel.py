"""Compile a loop once per machine, and again in memory where nothing can be stored.

Numba keeps compiled code next to the source file, or in the user's cache folder if that is read-only, or in
NUMBA_CACHE_DIR. It notices a change of the file that a kernel is in, but not of a file that the kernel imports: delete
the ``__pycache__`` folder after editing ``code_points.py``.
"""

from __future__ import annotations

from collections.abc import Callable
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
        try:
            return numba.njit(signature, nogil=True, error_model="numpy", cache=True)(function)
        except Exception:  # no folder, no space, a damaged file: whatever it is, the memory of the process will do
            return numba.njit(signature, nogil=True, error_model="numpy")(function)

    return decorate


def inlined(function: Callable[..., object]) -> Kernel:
    """Compile a helper of kernels as a part of each of them."""
    return numba.njit(nogil=True, error_model="numpy")(function)
