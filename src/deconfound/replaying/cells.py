"""The cells of a replay: every context by every model, once per draw; and the request of each that needs a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from deconfound.endpoints.chat_body import NotReplayableError, fitting_messages, require_no_media
from deconfound.endpoints.endpoint import Endpoint
from deconfound.endpoints.request import Asked, Request, RequestBuilder
from deconfound.errors import Problem
from deconfound.formatting import join_names, pluralize
from deconfound.loading import ContextRow
from deconfound.replaying.replay_models import AskedModel

NOT_SENT = (
    "Leave these rows out with --where, or write the messages in the shape of the endpoint. If it is about tools only, "
    "a prompt takes them as text."
)
NO_PLACE = "Leave these rows out with --where, or remove prompt from the settings: messages are then sent as they are."


class Cell(NamedTuple):
    """One output that needs a call: positions of context and model, the draw, and the key of its reply."""

    context: int
    model: int
    draw: int
    key: bytes


@dataclass(frozen=True, slots=True)
class AskedCells:
    """The cells of all models that need calls, made from contexts when they are needed."""

    contexts: Sequence[ContextRow]
    models: Sequence[AskedModel]
    draws: int

    def cells(self) -> Iterator[Cell]:
        """Every cell with its key, context by context."""
        builders = self._builders()
        for at, context in enumerate(self.contexts):
            for position, (model, builder) in enumerate(zip(self.models, builders, strict=True)):
                asked = asked_of(model, context)
                body = builder.body(asked, 0)
                for draw in range(self.draws):
                    if draw and model.chat.seed is not None:
                        body = builder.body(asked, draw)
                    yield Cell(at, position, draw, builder.key(body, draw))

    def requests(self, cells: Iterable[Cell]) -> Iterator[Request]:
        """The requests of some cells."""
        builders = self._builders()
        for cell in cells:
            asked = asked_of(self.models[cell.model], self.contexts[cell.context])
            yield builders[cell.model].request(asked, cell.draw)

    def work(self, cells: Sequence[Cell]) -> dict[Endpoint, Iterator[Request]]:
        """The same by endpoint; of cells with one key only the first is asked for."""
        distinct = {cell.key: cell for cell in cells}
        by_endpoint: dict[Endpoint, list[Cell]] = {}
        for cell in distinct.values():
            by_endpoint.setdefault(self.models[cell.model].chat.endpoint, []).append(cell)
        return {endpoint: self.requests(some) for endpoint, some in by_endpoint.items()}

    def problems(self) -> list[Problem]:
        """Contexts whose messages cannot be sent to a model without losing a part of them."""
        exact = [model for model in self.models if model.prompt is None]
        problems = []
        for api in dict.fromkeys(model.chat.endpoint.api for model in exact):
            names = join_names(model.name for model in exact if model.chat.endpoint.api == api)
            problems += _not_sendable(self.contexts, names, partial(fitting_messages, api=api), NOT_SENT)
        filled = join_names(model.name for model in self.models if model.prompt is not None)
        return problems + (_not_sendable(self.contexts, filled, require_no_media, NO_PLACE) if filled else [])

    def _builders(self) -> list[RequestBuilder]:
        return [RequestBuilder(model.chat) for model in self.models]


def asked_of(model: AskedModel, context: ContextRow) -> Asked:
    """What a model is asked: its prompt with the text of the context, or the messages or the text as they are."""
    if model.prompt is not None:
        return model.prompt.fill(context.text)
    if context.messages is not None:
        return fitting_messages(context.messages, model.chat.endpoint.api)
    return context.text


def _not_sendable(
    contexts: Sequence[ContextRow], models: str, check: Callable[[object], object], fix: str
) -> list[Problem]:
    """One problem per kind of fault, at its first row."""
    places: dict[str, list[str]] = {}
    for context in contexts:
        if context.messages is not None:
            try:
                check(context.messages)
            except NotReplayableError as error:
                places.setdefault(str(error), []).append(context.place)
    return [
        Problem(found[0], f"{models} cannot be asked {what} ({pluralize(len(found), 'context')})", fix)
        for what, found in places.items()
    ]
