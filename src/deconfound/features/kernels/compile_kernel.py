"""Compile a loop once per machine, and again in memory where nothing can be stored.

Numba keeps compiled code next to the source file, or in the user's cache folder if that is read-only, or in
NUMBA_CACHE_DIR. It notices a change of the file that a kernel is in, but not of a file that the kernel imports: delete
the ``__pycache__`` folder after editing ``code_points.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])

# Arrays that are only read: those of Arrow may not be written to.
BYTES = "Array(uint8, 1, 'C', readonly=True)"
INTS = "Array(int64, 1, 'C', readonly=True)"
CODES = "Array(uint32, 1, 'C', readonly=True)"


def compiled(signature: str) -> Callable[[F], F]:
    """Compile for these types when the module is imported, without the interpreter's lock while it runs."""

    def decorate(function: F) -> F:
        try:
            kernel: F = numba.njit(signature, nogil=True, cache=True)(function)
        except Exception:  # noqa: BLE001  (no folder, no space, a damaged file: whatever it is, memory will do)
            kernel = numba.njit(signature, nogil=True)(function)
        return kernel

    return decorate


def inlined(function: F) -> F:
    """A helper of kernels, compiled into each of them."""
    helper: F = numba.njit(nogil=True, inline="never")(function)
    return helper
