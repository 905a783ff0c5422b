"""A prompt with a place for the context. Nothing but that place is special, and contexts are never searched for it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from deconfound.endpoints.toml_tables import TableReader, hint

PLACE = "{context}"
NAMED_PLACE = re.compile(r"\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}")


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """The text around the context; ``parts`` are what stands between its places."""

    parts: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> PromptTemplate:
        """Split a text at every {context}."""
        return cls(tuple(text.split(PLACE)))

    def fill(self, context: str) -> str:
        """The prompt for a context."""
        return context.join(self.parts)


def read_prompt(reader: TableReader) -> PromptTemplate | None:
    """The prompt of a model's settings; one without a place for the context is a problem."""
    text = reader.text("prompt")
    if text is None:
        return None
    if PLACE not in text:
        names = NAMED_PLACE.findall(text)
        near = next((found for name in names if (found := hint(name, ["context"]))), "")
        what = f"prompt has no {PLACE}, so every context would get the same prompt"
        reader.problem(what, f'{near}Write {PLACE} where the context belongs, as in "Summarize:\\n\\n{PLACE}".')
        return None
    return PromptTemplate.parse(text)


def check_system(reader: TableReader, system: str | None) -> None:
    """Refuse a place for the context where it would not be filled."""
    if system is not None and PLACE in system:
        reader.problem(f"system contains {PLACE}, which is filled in prompt only", "Move that part into prompt.")
