"""Repeat a call until it succeeds, is not worth it, or its attempts or its time are used up.

Calls of one endpoint share a gate: when the server asks one of them to wait, all of them do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from deconfound.endpoints.clock import Clock
from deconfound.endpoints.failure import Failure
from deconfound.endpoints.http_caller import Caller
from deconfound.endpoints.reply import Reply
from deconfound.endpoints.request import Request

FIRST_WAIT = 0.5
MAX_WAIT = 60.0
MAX_RETRIES_IF_DOUBTFUL = 1  # after an answer that cannot be read, which may have been paid for


@final
@dataclass(slots=True)
class Gate:
    """Until when an endpoint asked not to be called."""

    opens: float = 0.0

    def close(self, until: float) -> None:
        """Let nobody pass until then."""
        self.opens = max(self.opens, until)


def backoff(attempt: int, jitter: float) -> float:
    """Seconds before the next attempt: twice as long each time, of which a random half to the whole."""
    return float(min(MAX_WAIT, FIRST_WAIT * 2 ** (attempt - 1)) * (0.5 + 0.5 * jitter))


async def call_until_done(request: Request, caller: Caller, gate: Gate, clock: Clock) -> Reply | Failure:
    """The reply, or the last failure with the number of attempts in its detail."""
    endpoint = request.chat.endpoint
    deadline, attempt, doubtful = clock.now() + endpoint.patience, 0, 0
    while True:
        pause = gate.opens - clock.now()
        if pause > 0:
            await clock.sleep(pause)
            continue
        attempt += 1
        result = await caller.call(request)
        if isinstance(result, Reply):
            return result
        doubtful += result.retry == "once"
        if result.retry == "never" or doubtful > MAX_RETRIES_IF_DOUBTFUL or attempt >= endpoint.attempts:
            return _after(result, attempt)
        wait = backoff(attempt, clock.jitter())
        if result.wait is not None:
            wait = max(result.wait, wait if result.wait == 0 else 0.0)
        if clock.now() + wait > deadline:
            return _after(_out_of_time(result, wait), attempt)
        if result.wait:
            gate.close(clock.now() + wait)
        await clock.sleep(wait)


def _out_of_time(failure: Failure, wait: float) -> Failure:
    """A server that asks for more time than a call has would ask all others for it, too."""
    if failure.wait is None:
        return failure
    cause = f"{failure.cause}, and a wait of {wait:,.0f} s is asked for, more than patience allows"
    return replace(failure, cause=cause, refuses_all=True)


def _after(failure: Failure, attempts: int) -> Failure:
    if attempts == 1:
        return failure
    detail = f"{failure.detail} ({attempts} attempts)" if failure.detail else f"{attempts} attempts"
    return replace(failure, detail=detail)
