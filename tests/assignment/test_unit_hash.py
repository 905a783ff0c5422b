"""The documented hash: the same number as HMAC-SHA256 gives anywhere, for the canonical form of an id."""

from __future__ import annotations

import hashlib
import hmac
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deconfound.assignment.unit_hash import KeyedHash, unit_bytes
from deconfound.errors import UsageError

PINNED = {
    ("model", "prices", "user-17"): 0.2868281804975177,
    ("share", "prices", "user-17"): 0.5405386722462424,
    ("model", "prices", "7"): 0.8896482726670674,
    ("model", "prix d'été", "ünïcode 🐝"): 0.7670631497023849,
}
"""Written once. A change of any of them would draw other models in running experiments: it needs a new version."""


def documented(purpose: str, experiment: str, unit: str) -> float:
    """The rule as docs/assign.md states it, in other words than the code."""
    digest = hmac.new(f"deconfound:1:{purpose}:{experiment}".encode(), unit.encode(), hashlib.sha256).hexdigest()
    return int(bin(int(digest, 16))[2:].zfill(256)[:53], 2) / 2**53


@pytest.mark.parametrize(("case", "number"), PINNED.items(), ids=repr)
def test_the_numbers_never_change(case, number):
    purpose, experiment, unit = case
    assert KeyedHash.of_experiment(purpose, experiment).uniform(unit_bytes(unit)) == number


@given(st.sampled_from(["model", "share"]), st.text(max_size=80), st.text())
def test_every_number_is_the_documented_one(purpose, experiment, unit):
    """Keys longer than a block of SHA-256 are hashed first; names of 80 characters reach both cases."""
    expected = documented(purpose, experiment, unit)
    assert KeyedHash.of_experiment(purpose, experiment).uniform(unit.encode()) == expected
    assert 0.0 <= expected < 1.0


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_the_command_line_of_openssl_gives_the_same_digest():
    command = ["openssl", "dgst", "-sha256", "-hmac", "deconfound:1:model:prices"]
    printed = subprocess.run(command, input=b"user-17", capture_output=True, check=True).stdout.decode()
    digest = printed.strip().rpartition(" ")[2]
    assert (int(digest[:16], 16) >> 11) / 2**53 == PINNED["model", "prices", "user-17"]


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        ("u-1", b"u-1"),
        (7, b"7"),
        (-3, b"-3"),
        (10**30, b"1" + b"0" * 30),
        (np.int64(7), b"7"),
        (" 7", b" 7"),
        ("07", b"07"),
        ("é", b"\xc3\xa9"),
        ("e\u0301", b"e\xcc\x81"),
        ("x" * 100_000, b"x" * 100_000),
        ("\x00", b"\x00"),
    ],
)
def test_an_id_is_its_text_and_a_whole_number_its_digits(given, canonical):
    assert unit_bytes(given) == canonical


@pytest.mark.parametrize("given", ["", " ", "\t\n", "\u3000", None, 1.0, True, b"u", ["u"], "\ud800"])
def test_what_is_no_id_is_refused(given):
    with pytest.raises(UsageError, match=r"unit id"):
        unit_bytes(given)


def test_threads_share_one_hash():
    keyed = KeyedHash.of_experiment("model", "prices")
    units = [f"u{i}".encode() for i in range(2_000)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(keyed.uniform, units)) == [documented("model", "prices", u.decode()) for u in units]
