"""The code blocks of a page of the documentation, in their order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"(?:Create `(?P<file>[^`\n]+)`:\n\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.S | re.M)


@dataclass(frozen=True, slots=True)
class Block:
    """A block, and the file that a sentence before it, such as "Create `models.toml`:", says to save it in."""

    language: str
    text: str
    file: str | None


def page_blocks(page: Path) -> list[Block]:
    """Every fenced block that begins at the start of a line."""
    found = BLOCK.finditer(page.read_text(encoding="utf-8"))
    return [Block(one["language"], one["text"], one["file"]) for one in found]
