"""What a user said about names when a study was read, so that new tables of the same kind are read alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ReadingChoices:
    """Canonical columns by the user's names, models by the names that they were read under, ignored columns, contexts.

    For a new table these are defaults: one that names nothing in it is not used, and an option of the user goes first.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    rename_models: Mapping[str, str] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    normalize_contexts: bool = False


NO_CHOICES = ReadingChoices()
