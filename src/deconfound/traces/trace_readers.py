"""All formats that can be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deconfound.traces.langfuse import Langfuse
from deconfound.traces.litellm import LiteLlm
from deconfound.traces.reader import Reader

READERS: tuple[Reader, ...] = (LiteLlm(), Langfuse())
"""In the order in which they are asked; formats whose records look alike must not both recognize one."""


def recognize(value: Mapping[str, Any]) -> Reader | None:
    """The reader of the format that a record has; None if no reader knows it."""
    return next((reader for reader in READERS if reader.recognizes(value)), None)
