"""Which records of LiteLLM are the same call: a callback's payload and the row of the spend logs differ in form."""

from __future__ import annotations

from dataclasses import dataclass, field

STEP = 1e-3  # seconds: the database has milliseconds, callbacks have more


@dataclass(slots=True)
class CallsSeen:
    """The calls of all records so far, by response, model and time.

    The response alone is not enough: an answer from the cache has that of the first one. Records with different ids
    of the call are different calls. A record without content does not hide a later one that has it.
    """

    _seen: dict[int, tuple[str, bool]] = field(default_factory=dict)  # LiteLLM's id of the call, whether with content

    def add(self, response_id: str, model: str, moment: float | str, call_id: str, *, has_content: bool) -> bool:
        """Whether the call has been added before, at the same time."""
        if not response_id:
            return False
        at = moment if isinstance(moment, str) else round(moment / STEP)
        nearby = (at,) if isinstance(at, str) else (at, at - 1, at + 1)
        found = (self._seen.get(hash((response_id, model, near))) for near in nearby)
        for before in found:
            is_same = before is not None and (not before[0] or not call_id or before[0] == call_id)
            if before is not None and is_same and (before[1] or not has_content):
                return True
        self._seen[hash((response_id, model, at))] = call_id, has_content
        return False
