"""From questions to scores: what stored replies say, and which calls are still needed.

For every judge and question, in this order: a reply in an enforced form, if the server can do that; a reply without it;
one repair of a reply that cannot be used. What is known is read from the cache each time, so a run that was killed
continues at the same step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from deconfound.endpoints.chat_model import ChatModel
from deconfound.endpoints.endpoint import Endpoint
from deconfound.endpoints.failure import Failure
from deconfound.endpoints.reply import Reply
from deconfound.endpoints.reply_cache import ReplyCache
from deconfound.endpoints.request import Request, RequestBuilder
from deconfound.judging.judge_prompt import PromptWriter, Question
from deconfound.judging.judge_settings import FORMAT, Judge
from deconfound.judging.rubric import Rubric
from deconfound.judging.score_parsing import UnusableReplyError, parse_scores
from deconfound.judging.score_schema import response_format

FORMAT_REFUSED = (400, 422, 501)  # statuses by which servers refuse a parameter that they do not know
NO_ANSWER = "(no answer)"
QUESTIONS_AT_ONCE = 2_000  # whose replies are in memory


class Verdict(NamedTuple):
    """The scores of one judge, in the order of the criteria; or why there are none.

    ``useless`` are the keys of stored replies without scores, for which nothing more is tried in the same run.
    """

    scores: tuple[float, ...] | None
    failure: str = ""
    repaired: bool = False
    useless: tuple[bytes, ...] = ()


class Pending(NamedTuple):
    """A call that is still needed; a repair has the reply that cannot be used, its key, and why."""

    question: int
    structured: bool
    key: bytes
    said: str | None = None
    problem: str = ""
    repairs: bytes = b""


class KeyPair(NamedTuple):
    """The keys of a request without and with an enforced form."""

    plain: bytes
    enforced: bytes


@dataclass(frozen=True, slots=True)
class JudgeState:
    """Where one judge stands on all questions: a verdict each, or None and a call that is needed."""

    verdicts: tuple[Verdict | None, ...]
    pending: tuple[Pending, ...]


@dataclass(frozen=True, slots=True)
class JudgeCalls:
    """The calls of one judge."""

    judge: Judge
    prompts: PromptWriter

    @property
    def rubric(self) -> Rubric:
        """What is asked."""
        return self.prompts.rubric

    def requests(self, questions: Sequence[Question], pending: Sequence[Pending]) -> Iterator[Request]:
        """The requests of pending calls, made when they are needed."""
        builders = self._builders()
        for one in pending:
            yield self._request(builders[one.structured], questions[one.question], one)

    def keys(self, questions: Iterable[Question]) -> list[KeyPair]:
        """The keys of both requests of each question; they take most of the time, so they are made once."""
        builders, pairs = self._builders(), []
        for question in questions:
            text = self.prompts.text(question)
            plain, enforced = (builders[kind].request(text, question.draw).key for kind in (False, True))
            pairs.append(KeyPair(plain, enforced))
        return pairs

    def state(
        self,
        questions: Sequence[Question],
        keys: Sequence[KeyPair],
        cache: ReplyCache | None,
        failed: Mapping[bytes, Failure],
    ) -> JudgeState:
        """What is known, and what is needed; ``failed`` are the calls of this run without a reply."""
        reader = _Reader(self, self._builders(), cache, failed)
        verdicts: list[Verdict | None] = []
        pending: list[Pending] = []
        plain = not self.judge.structured or reader.refuses_format(keys)
        for start in range(0, len(questions), QUESTIONS_AT_ONCE):
            part = slice(start, start + QUESTIONS_AT_ONCE)
            for at, found in enumerate(reader.read(questions[part], keys[part], plain=plain), start):
                verdicts.append(found if isinstance(found, Verdict) else None)
                if isinstance(found, Pending):
                    pending.append(found._replace(question=at))
        return JudgeState(tuple(verdicts), tuple(pending))

    def _builders(self) -> dict[bool, RequestBuilder]:
        return {structured: RequestBuilder(self._chat(structured=structured)) for structured in (False, True)}

    def _chat(self, *, structured: bool) -> ChatModel:
        chat = self.judge.chat
        return (
            replace(chat, parameters={**chat.parameters, FORMAT: response_format(self.rubric)}) if structured else chat
        )

    def _request(self, builder: RequestBuilder, question: Question, pending: Pending) -> Request:
        text = self.prompts.text(question)
        if pending.said is None:
            return builder.request(text, question.draw)
        return self.repair(builder, question, pending.said, pending.problem)

    def repair(self, builder: RequestBuilder, question: Question, said: str, problem: str) -> Request:
        """The call that shows a judge its reply and what is wrong with it."""
        messages = [
            {"role": "user", "content": self.prompts.text(question)},
            {"role": "assistant", "content": said if said.strip() else NO_ANSWER},
            {"role": "user", "content": self.prompts.repair(question.layout, problem)},
        ]
        return builder.request(messages, question.draw)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads what the cache and this run say about questions."""

    calls: JudgeCalls
    builders: Mapping[bool, RequestBuilder]
    cache: ReplyCache | None
    failed: Mapping[bytes, Failure]

    def refuses_format(self, keys: Sequence[KeyPair]) -> bool:
        """Whether the server refuses to enforce the form: it did in this run or in an earlier one, and never did it."""
        if self.cache is None or self.cache.known([pair.enforced for pair in keys]):
            return False
        refused = any(self._was_refused(pair.enforced) and pair.plain not in self.failed for pair in keys)
        return refused or bool(self.cache.known([pair.plain for pair in keys]))

    def read(
        self, questions: Sequence[Question], keys: Sequence[KeyPair], *, plain: bool
    ) -> Iterator[Verdict | Pending]:
        """A verdict, or the call that is needed next, for each question."""
        replies = {} if self.cache is None else self.cache.find([key for pair in keys for key in pair])
        pairs = zip(questions, keys, strict=True)
        first = [self._first(question, pair, replies, plain=plain) for question, pair in pairs]
        repairs = [one.key for one in first if isinstance(one, Pending) and one.said is not None]
        repaired = {} if self.cache is None else self.cache.find(repairs)
        for one in first:
            is_repair = isinstance(one, Pending) and one.said is not None
            yield self._after_repair(one, repaired) if is_repair else one  # type: ignore[arg-type]

    def _first(
        self, question: Question, keys: KeyPair, replies: Mapping[bytes, Reply], *, plain: bool
    ) -> Verdict | Pending:
        """What the first reply says."""
        for structured, key in ((True, keys.enforced), (False, keys.plain)):
            if key in replies:
                return self._verdict(question, key, replies[key], structured=structured)
        if not plain and not self._was_refused(keys.enforced):
            return self._needed(keys.enforced, structured=True)
        return self._needed(keys.plain, structured=False)

    def _was_refused(self, key: bytes) -> bool:
        return key in self.failed and self.failed[key].status in FORMAT_REFUSED

    def _needed(self, key: bytes, *, structured: bool) -> Verdict | Pending:
        if key in self.failed:
            return Verdict(None, self.failed[key].cause)
        return Pending(0, structured, key)

    def _verdict(self, question: Question, key: bytes, reply: Reply, *, structured: bool) -> Verdict | Pending:
        if reply.status == "refusal":
            return Verdict(None, "the judge refused to answer", useless=(key,))
        try:
            return Verdict(parse_scores(reply.text, self.calls.rubric))
        except UnusableReplyError as error:
            problem = _problem(reply, error)
        request = self.calls.repair(self.builders[structured], question, reply.text, problem)
        return Pending(0, structured, request.key, reply.text, problem, key)

    def _after_repair(self, pending: Pending, replies: Mapping[bytes, Reply]) -> Verdict | Pending:
        if pending.key in self.failed:
            failure = self.failed[pending.key].cause
            return Verdict(None, f"the reply cannot be used ({pending.problem}), and the repair failed: {failure}")
        if pending.key not in replies:
            return pending
        try:
            return Verdict(parse_scores(replies[pending.key].text, self.calls.rubric), repaired=True)
        except UnusableReplyError as error:
            failure = f"the reply cannot be used, also after a repair: {_problem(replies[pending.key], error)}"
            return Verdict(None, failure, useless=(pending.repairs, pending.key))


def _problem(reply: Reply, error: UnusableReplyError) -> str:
    """Why a reply has no scores; of one that was cut off, that comes first."""
    return "it was cut off at the limit of tokens (max_tokens)" if reply.status == "truncated" else str(error)


def work_by_endpoint(
    calls: Sequence[JudgeCalls], states: Sequence[JudgeState], questions: Sequence[Question]
) -> tuple[dict[Endpoint, Iterator[Request]], int]:
    """All pending calls by endpoint, each once, and their number."""
    waiting: dict[Endpoint, list[tuple[JudgeCalls, list[Pending]]]] = {}
    seen: set[bytes] = set()
    for one, state in zip(calls, states, strict=True):
        distinct = {pending.key: pending for pending in state.pending if pending.key not in seen}
        seen |= distinct.keys()
        waiting.setdefault(one.judge.chat.endpoint, []).append((one, list(distinct.values())))
    work: dict[Endpoint, Iterator[Request]] = {
        endpoint: (request for one, pending in parts for request in one.requests(questions, pending))
        for endpoint, parts in waiting.items()
        if any(pending for _, pending in parts)
    }
    return work, len(seen)
