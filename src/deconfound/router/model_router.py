"""Choose a model for a prompt by a policy file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from deconfound.chat.conversation import conversation_text, messages_from
from deconfound.errors import UsageError
from deconfound.router.policy import RoutingPolicy
from deconfound.router.policy_file import read_policy

Prompt: TypeAlias = str | Sequence[Mapping[str, Any]]
"""A text, or the messages of a chat, which are read as `deconfound` reads them in tables."""


@dataclass(frozen=True, slots=True, eq=False)
class Router:
    """A policy in use; the same prompt always gets the same model."""

    policy: RoutingPolicy

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a policy file of `deconfound route`."""
        return cls(read_policy(path))

    @property
    def models(self) -> tuple[str, ...]:
        """The models that may be chosen."""
        return self.policy.models

    def choose(self, context: Prompt, segment: str | None = None) -> str:
        """The model for a prompt; ``segment`` is the value of the policy's column, if it has one."""
        return self.policy.choose(_text(context), segment)

    def scores(self, context: Prompt, segment: str | None = None) -> dict[str, float]:
        """Estimated outcome of each model, from 0 to 1 and net of cost."""
        values = self.policy.score(_text(context), segment)
        return dict(zip(self.models, map(float, values), strict=True))


def _text(context: Prompt) -> str:
    if isinstance(context, str):
        return context
    if not isinstance(context, Sequence) or isinstance(context, bytes):
        raise UsageError(f"A context is a text or a list of messages, not {type(context).__name__}.")
    return conversation_text(messages_from(context))
