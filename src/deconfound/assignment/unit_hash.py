"""A number in [0, 1) for every unit of an experiment: the same on every machine, in every version and language.

    key     = "deconfound:1:" + purpose + ":" + name of the experiment, as UTF-8
    digest  = HMAC-SHA256(key, unit id as UTF-8)
    uniform = the first 53 bits of the digest, divided by 2^53

``printf %s "$UNIT" | openssl dgst -sha256 -hmac "deconfound:1:model:$EXPERIMENT"`` prints the digest. The 1 is the
version of this rule, ``ALGORITHM`` its name in manifests.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from numbers import Integral
from typing import TYPE_CHECKING, Final, Literal, Self

from deconfound.errors import UsageError
from deconfound.formatting import quote

if TYPE_CHECKING:
    from hashlib import _Hash

ALGORITHM: Final = "hmac-sha256/1"
Purpose = Literal["model", "share"]
"""Which number of a unit: the one that draws its model, or the one that decides whether it takes part at all."""

UnitId = str | int
BLOCK_BYTES = 64  # of SHA-256; HMAC pads keys to it
BITS = 53  # of a double's significand: every quotient is exact


@dataclass(frozen=True, slots=True, eq=False)
class KeyedHash:
    """HMAC-SHA256 under the key of one experiment and purpose; other keys give independent numbers.

    Both halves are hashed up to the unit once, and copied for every unit: faster than Python's ``hmac``, and safe in
    threads, since the originals never change.
    """

    inner: _Hash
    outer: _Hash

    @classmethod
    def of_experiment(cls, purpose: Purpose, experiment: str) -> Self:
        """The hash of one experiment and purpose."""
        key = f"deconfound:1:{purpose}:{experiment}".encode()
        block = (sha256(key).digest() if len(key) > BLOCK_BYTES else key).ljust(BLOCK_BYTES, b"\0")
        return cls(*(sha256(bytes(byte ^ pad for byte in block)) for pad in (0x36, 0x5C)))

    def uniform(self, unit: bytes) -> float:
        """The unit's number in [0, 1)."""
        inner, outer = self.inner.copy(), self.outer.copy()
        inner.update(unit)
        outer.update(inner.digest())
        return (int.from_bytes(outer.digest()[:8], "big") >> (64 - BITS)) / (1 << BITS)


def unit_bytes(unit: UnitId) -> bytes:
    """The canonical form of an id: its UTF-8, exactly as it is; a whole number is its decimal digits.

    So 7 and "7" are one unit, "07" and " 7" are others. Files are read by the same rule.
    """
    if not isinstance(unit, str):
        if isinstance(unit, bool) or not isinstance(unit, Integral):
            raise UsageError(f"A unit id is a text or a whole number, not {type(unit).__name__}.")
        return b"%d" % unit
    if not unit or unit.isspace():
        raise UsageError("A unit id is blank. All units without an id would get the same model; give each its own.")
    try:
        return unit.encode()
    except UnicodeEncodeError:
        raise UsageError(f"The unit id {quote(unit)} has half of a surrogate pair, which is not a character.") from None
