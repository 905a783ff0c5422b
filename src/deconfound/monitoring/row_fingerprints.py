"""Fingerprints of the rows of a look, by which a later look notices rows that have changed or vanished.

Rows are compared as a collection, not in their order: outcomes arrive late, and files are sorted again.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deconfound.data import Study
from deconfound.data.row_order import content_hashes
from deconfound.data.tables import is_in
from deconfound.design import FloatArray

Fingerprints = NDArray[np.uint64]

BYTES = 5  # of a fingerprint: a changed row escapes with probability rows / 2^40
PROPENSITY_DECIMALS = 6  # what a file with fewer digits may change


def row_fingerprints(study: Study, models: Collection[str], propensity: FloatArray) -> Fingerprints:
    """Sorted fingerprints of the rows of ``models``: what values need of them, with their ``propensity`` (n,)."""
    table = study.experiment.arrow
    rounded = pa.chunked_array([pa.array(np.round(propensity, PROPENSITY_DECIMALS))])
    hashes = content_hashes([table["context_id"], table["model"], table["outcome"], rounded])
    return np.sort(hashes[is_in(table["model"], models)] >> np.uint64(64 - 8 * BYTES))


def lost_rows(before: Fingerprints, now: Fingerprints) -> int:
    """How many of the earlier rows are not there any more; rows may repeat."""
    rows, count = np.unique(before, return_counts=True)
    present, present_count = np.unique(now, return_counts=True)
    at = np.searchsorted(present, rows)
    padded, padded_count = np.append(present, 0), np.append(present_count, 0)
    found = np.where((at < len(present)) & (padded[at] == rows), padded_count[at], 0)
    return int(np.maximum(count - found, 0).sum())


def encode_fingerprints(fingerprints: Fingerprints) -> str:
    """Fingerprints as text."""
    parts = fingerprints.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :BYTES]
    return base64.b64encode(parts.tobytes()).decode("ascii")


def decode_fingerprints(text: str) -> Fingerprints:
    """The inverse of ``encode_fingerprints``; other text raises a ``ValueError``."""
    try:
        content = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError("the fingerprints of the rows are no base64") from error
    if len(content) % BYTES:
        raise ValueError("the fingerprints of the rows are incomplete")
    padded = np.zeros((len(content) // BYTES, 8), dtype=np.uint8)
    padded[:, :BYTES] = np.frombuffer(content, dtype=np.uint8).reshape(-1, BYTES)
    return padded.view("<u8").astype(np.uint64)[:, 0]
