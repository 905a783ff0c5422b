"""What calls will cost before they are made: tokens by the length of the texts, and by stored replies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from deconfound.endpoints.chat_model import ChatModel
from deconfound.endpoints.reply_cache import ReplyCache
from deconfound.endpoints.request import Request
from deconfound.endpoints.token_costs import estimate_request_tokens


@dataclass(frozen=True, slots=True)
class ModelEstimate:
    """What one model still has to be asked. Tokens are estimates; output tokens are None without any basis.

    ``basis`` says where the output tokens come from: the mean of stored replies, or the limit max_tokens.
    """

    model: str
    outputs: int
    stored: int
    calls: int
    input_tokens: int
    output_tokens: int | None
    basis: str
    cost: float | None


def estimate_calls(
    chat: ChatModel, requests: Iterable[Request], outputs: int, stored: int, mean: float | None
) -> ModelEstimate:
    """The estimate for requests without a reply; ``mean`` is the mean number of tokens of stored replies."""
    sizes = [estimate_request_tokens(request.body) for request in requests]
    each, basis = (mean, "stored replies") if mean is not None else (chat.max_tokens, "max_tokens")
    made = None if each is None else round(each * len(sizes))
    return ModelEstimate(
        model=chat.name,
        outputs=outputs,
        stored=stored,
        calls=len(sizes),
        input_tokens=sum(sizes),
        output_tokens=made,
        basis=basis if made is not None else "",
        cost=None if chat.price is None or (made is None and sizes) else chat.price.cost(sum(sizes), made or 0),
    )


def mean_output_tokens(keys: Sequence[bytes], cache: ReplyCache | None) -> float | None:
    """The mean size of the stored replies to some requests; None without any."""
    tokens = [] if cache is None else [reply.output_tokens for reply in cache.find(keys).values()]
    return sum(tokens) / len(tokens) if tokens else None
