"""64-bit hashes of texts, for ids that are counted or compared and never shown."""

from __future__ import annotations

import numpy as np

from deconfound.features.kernels.compile_kernel import BYTES, INTS, Array, Number, compiled, inlined

_GOLDEN_RATIO = np.uint64(0x9E3779B97F4A7C15)
_MIX_ONE, _MIX_TWO = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@inlined
def _mix(key: Number) -> Number:
    """The finalizer of SplitMix64."""
    key = (key ^ key >> np.uint64(30)) * _MIX_ONE
    key = (key ^ key >> np.uint64(27)) * _MIX_TWO
    return key ^ key >> np.uint64(31)


@compiled(f"void({BYTES}, {INTS}, {INTS}, uint64, uint64[::1])")
def hash_texts(data: Array, starts: Array, stops: Array, key: Number, hashes: Array) -> None:
    """Mix eight bytes at a time into the hash of each text; the length counts too."""
    for text in range(len(starts)):
        at, stop = starts[text], stops[text]
        total = _mix(key ^ np.uint64(stop - at) * _GOLDEN_RATIO)
        while at < stop:
            word = np.uint64(0)
            for byte in range(min(stop - at, 8)):
                word |= np.uint64(data[at + byte]) << np.uint64(8 * byte)
            total = _mix((total + _GOLDEN_RATIO) ^ word)
            at += 8
        hashes[text] = total
