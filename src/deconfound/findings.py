"""What a check concludes: a verdict, the number behind it, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["pass", "warn", "fail", "cannot tell"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something the reader of a result must know: a check's verdict, its sentence and its remedy.

    ``number`` is the one behind the verdict, a p-value or a share as the message says; ``assumption`` names the
    theorem's assumption that was checked, such as "A1".
    """

    check: str
    verdict: Verdict
    message: str
    remedy: str = ""
    number: float | None = None
    assumption: str = ""
