"""What a run has done so far: replies, tokens, costs and failures by cause; and when to stop asking a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from deconfound.endpoints.chat_model import ChatModel
from deconfound.endpoints.failure import Failure
from deconfound.endpoints.reply import Reply

REFUSALS_TO_STOP = 3  # in a row, of a kind that answers every call alike
FAILURES_TO_STOP = 20  # in a row, of any kind


@dataclass(frozen=True, slots=True)
class FailureCount:
    """Failed calls of one model with one cause, and what the server said about the first of them."""

    model: str
    cause: str
    calls: int
    detail: str


@final
@dataclass(slots=True)
class ModelMeter:
    """The calls of one model; ``failed`` counts those that were ``skipped``, too."""

    chat: ChatModel
    replies: int = 0
    failed: int = 0
    skipped: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    estimated: int = 0
    stopped: Failure | None = None
    causes: dict[str, tuple[int, str]] = field(default_factory=dict)
    _refusals_in_row: int = 0
    _failures_in_row: int = 0

    def add(self, result: Reply | Failure) -> None:
        """Count one call, and stop the model after too many failures in a row."""
        if isinstance(result, Reply):
            self.replies += 1
            self.input_tokens += result.input_tokens
            self.output_tokens += result.output_tokens
            self.estimated += result.tokens_estimated
            self._refusals_in_row = self._failures_in_row = 0
            return
        self._count(result)
        self._failures_in_row += 1
        self._refusals_in_row = self._refusals_in_row + 1 if result.refuses_all else 0
        if self._refusals_in_row >= REFUSALS_TO_STOP or self._failures_in_row >= FAILURES_TO_STOP:
            self.stopped = self.stopped or result

    def skip(self) -> None:
        """Count one call that was not made because the model is stopped."""
        self.failed += 1
        self.skipped += 1

    def forgive(self, failure: Failure) -> None:
        """Count a failed call no longer: it had an answer in another way."""
        calls, detail = self.causes.pop(failure.cause, (0, ""))
        self.failed -= min(calls, 1)
        if calls > 1:
            self.causes[failure.cause] = (calls - 1, detail)

    def plus(self, other: ModelMeter) -> ModelMeter:
        """This run and a later one of the same model together; whether it is stopped is that of the later one."""
        causes = dict(self.causes)
        for cause, (calls, detail) in other.causes.items():
            before, first = causes.get(cause, (0, detail))
            causes[cause] = (before + calls, first)
        return ModelMeter(
            chat=self.chat,
            replies=self.replies + other.replies,
            failed=self.failed + other.failed,
            skipped=self.skipped + other.skipped,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            estimated=self.estimated + other.estimated,
            stopped=other.stopped,
            causes=causes,
        )

    def _count(self, failure: Failure) -> None:
        self.failed += 1
        calls, detail = self.causes.get(failure.cause, (0, failure.detail))
        self.causes[failure.cause] = (calls + 1, detail)

    @property
    def cost(self) -> float | None:
        """What the replies cost; None without prices."""
        return None if self.chat.price is None else self.chat.price.cost(self.input_tokens, self.output_tokens)


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What a run did, by the names of the models; ``expected`` is the number of all its requests.

    ``failed_keys`` are the requests without a reply; a call that was not made has the failure that stopped its model.
    """

    models: dict[str, ModelMeter] = field(default_factory=dict)
    expected: int = 0
    failed_keys: dict[bytes, Failure] = field(default_factory=dict)

    @property
    def replies(self) -> int:
        """Calls that were answered."""
        return sum(meter.replies for meter in self._meters())

    @property
    def failed(self) -> int:
        """Calls without a reply."""
        return sum(meter.failed for meter in self._meters())

    @property
    def cost(self) -> float | None:
        """What all replies cost; None where no model has prices."""
        costs = [meter.cost for meter in self._meters() if meter.cost is not None]
        return sum(costs) if costs else None

    def plus(self, other: RunOutcome) -> RunOutcome:
        """This run and a later one together."""
        models = dict(self.models)
        for name, meter in other.models.items():
            models[name] = models[name].plus(meter) if name in models else meter
        return RunOutcome(models, self.expected + other.expected, {**self.failed_keys, **other.failed_keys})

    def _meters(self) -> list[ModelMeter]:
        """As they are now: another thread may add one meanwhile."""
        return list(self.models.values())

    @property
    def failures(self) -> list[FailureCount]:
        """Failures by model and cause, the most frequent first."""
        found = [
            FailureCount(name, cause, calls, detail)
            for name, meter in self.models.items()
            for cause, (calls, detail) in meter.causes.items()
        ]
        return sorted(found, key=lambda one: (one.model, -one.calls, one.cause))

    @property
    def stopped(self) -> dict[str, Failure]:
        """Models that were given up, and the failure at which that happened."""
        return {name: meter.stopped for name, meter in self.models.items() if meter.stopped is not None}
