"""Whether a judge's server enforces the form of answers: asked by one call, and a refusal is no failure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from deconfound.endpoints.failure import Failure
from deconfound.endpoints.reply_cache import ReplyCache
from deconfound.endpoints.run_meter import RunOutcome
from deconfound.judging.verdicts import FORMAT_REFUSED, JudgeCalls, JudgeState, KeyPair

MAX_FIRST_CALLS = 4  # two questions, with and without the form: the first one may be refused for another reason


def first_calls(
    calls: Sequence[JudgeCalls],
    states: Sequence[JudgeState],
    keys: Sequence[Sequence[KeyPair]],
    cache: ReplyCache,
    failed: Mapping[bytes, Failure],
) -> list[JudgeState]:
    """The states with one pending call for each judge of which nothing is known yet, and none for all others."""
    return [
        replace(state, pending=state.pending[:1] if _is_unknown(one, state, pairs, cache, failed) else ())
        for one, state, pairs in zip(calls, states, keys, strict=True)
    ]


def _is_unknown(
    one: JudgeCalls,
    state: JudgeState,
    pairs: Sequence[KeyPair],
    cache: ReplyCache,
    failed: Mapping[bytes, Failure],
) -> bool:
    if not one.judge.structured or len(state.pending) < 2:
        return False
    own = [key for pair in pairs for key in pair]
    return all(failed[key].status in FORMAT_REFUSED for key in own if key in failed) and not cache.known(own)


def accept_refusals(
    calls: Sequence[JudgeCalls], keys: Sequence[Sequence[KeyPair]], cache: ReplyCache, outcome: RunOutcome
) -> tuple[str, ...]:
    """Judges whose servers refused the form and answered without it; these refusals no longer count as failed calls."""
    names = []
    for one, pairs in zip(calls, keys, strict=True):
        refused = {
            pair.plain: failure
            for pair in pairs
            if (failure := outcome.failed_keys.get(pair.enforced)) is not None and failure.status in FORMAT_REFUSED
        }
        answered = cache.known(list(refused)) if refused else set()
        for key in answered:
            outcome.models[one.judge.chat.name].forgive(refused[key])
        names += [one.judge.name] if answered else []
    return tuple(names)
