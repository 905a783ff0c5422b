"""Keys of endpoints, taken out of whatever is shown or stored."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote

MIN_CHARACTERS = 8
"""Shorter keys, such as "none" for a server of one's own, are no secrets, and removing them would garble outputs."""
MARK = "[key]"


@dataclass(frozen=True, slots=True)
class Redaction:
    """Replaces keys in texts, in the forms in which a server may repeat them."""

    forms: tuple[str, ...] = ()

    @classmethod
    def of_keys(cls, keys: Iterable[str | None]) -> Self:
        """For these keys; the longest first, as one may contain another."""
        secrets = {key for key in keys if key is not None and len(key) >= MIN_CHARACTERS}
        forms = {form for key in secrets for form in (key, json.dumps(key)[1:-1], quote(key, safe=""))}
        return cls(tuple(sorted(forms, key=lambda form: (-len(form), form))))

    def clean(self, text: str) -> str:
        """The text with a mark in place of each key."""
        for form in self.forms:
            if form in text:
                text = text.replace(form, MARK)
        return text
