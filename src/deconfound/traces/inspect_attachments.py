"""Long parts of texts that Inspect stores once and refers to: each use counts toward the limit of its file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deconfound.loading.input_limit import require_size
from deconfound.traces.field_values import mapping_from, text_from

ATTACHMENT = re.compile(r"attachment://([0-9a-f]{32})")


@dataclass(slots=True)
class Attachments:
    """Puts attachments into texts, and counts the characters that were put into those of each file."""

    characters: dict[Path, int] = field(default_factory=dict)

    def fill(self, text: str, sample: Mapping[str, Any], path: Path) -> str:
        """A text with the attachments of its sample; more than the limit of one file raises before they are put in."""
        if not ATTACHMENT.search(text):
            return text
        stored = mapping_from(sample.get("attachments"))
        added = sum(len(text_from(stored.get(found[1]))) for found in ATTACHMENT.finditer(text))
        self.characters[path] = self.characters.get(path, 0) + added
        require_size(path.name, self.characters[path])
        return ATTACHMENT.sub(lambda found: text_from(stored.get(found[1])) or found[0], text)
