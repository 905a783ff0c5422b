"""A model of an endpoint with its parameters and prices: the settings that every command which asks models shares."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from deconfound.endpoints.endpoint import Endpoint
from deconfound.endpoints.token_costs import Price
from deconfound.endpoints.toml_tables import NO_KEYS, TableReader, hint, secret_name
from deconfound.escaping import escape_name
from deconfound.formatting import quote

MAX_TOKENS = 10_000_000
MAX_PRICE = 1e6
MAX_SEED = 2**31 - 1_000_000  # the draws are added to it
RESERVED = {
    "model": "It is a setting of its own.",
    "messages": "They are made from the contexts.",
    "system": "It is a setting of its own.",
    "seed": "It is a setting of its own.",
    "stream": "Outputs are read whole; leave it out.",
    "n": "Ask for several outputs with --draws.",
}
"""Parameters that would change what a call is, and why they cannot be set."""


@dataclass(frozen=True, slots=True)
class ChatModel:
    """A model as one study calls it; ``model`` is what its endpoint calls it. ``seed`` is that of the first draw."""

    name: str
    endpoint: Endpoint
    model: str
    system: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    price: Price | None = None

    @property
    def max_tokens(self) -> int | None:
        """The most tokens that one output can have, if that is set."""
        limit = self.parameters.get("max_tokens", self.parameters.get("max_completion_tokens"))
        return limit if isinstance(limit, int) else None


def read_chat_model(name: str, reader: TableReader, endpoints: Mapping[str, Endpoint | None]) -> ChatModel | None:
    """Take the settings of a model from its table; what else it has is for the caller, and for ``finish``.

    ``endpoints`` has None for those whose problems are reported already.
    """
    endpoint_name = reader.text("endpoint", required='Name one of the [endpoints.NAME], as in endpoint = "local".')
    model = reader.text("model", required="Write the name by which the endpoint knows the model.")
    system = reader.text("system")
    seed = reader.whole_number("seed", 0, MAX_SEED)
    parameters = _read_parameters(reader)
    price = _read_price(reader)
    endpoint = None if endpoint_name is None else endpoints.get(endpoint_name)
    if endpoint_name is not None and endpoint_name not in endpoints:
        fix = f"{hint(endpoint_name, endpoints)}Write [endpoints.{escape_name(endpoint_name)}] with its url."
        reader.problem(f"there is no endpoint {quote(endpoint_name)}", fix)
    if endpoint is not None and endpoint.api == "anthropic":
        _check_anthropic(reader, parameters, seed)
    if endpoint is None or model is None:
        return None
    return ChatModel(name, endpoint, model, system, parameters, seed, price)


def _read_parameters(reader: TableReader) -> dict[str, Any]:
    """What is sent beside the messages: the common ones by name, any other in ``parameters``."""
    named: dict[str, Any] = {
        "temperature": reader.number("temperature", 0, 10),
        "top_p": reader.number("top_p", 0, 1),
        "max_tokens": reader.whole_number("max_tokens", 1, MAX_TOKENS),
        "stop": reader.texts("stop"),
    }
    found = {name: value for name, value in named.items() if value is not None}
    for name, value in (reader.subtable("parameters") or {}).items():
        secret = secret_name(name, value)
        if secret is not None:
            reader.problem(f"the parameter {secret} would be a key in a file", NO_KEYS)
        elif name in RESERVED or name in named:
            reason = RESERVED.get(name, "It is a setting of its own.")
            reader.problem(f"the parameter {name} cannot stand in parameters", reason)
        elif not _is_json(value):
            reader.problem(f"the parameter {escape_name(name)} cannot be sent as JSON", "Write numbers and texts.")
        else:
            found[name] = value
    return found


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):  # dates, and numbers that are not finite
        return False
    return True


def _read_price(reader: TableReader) -> Price | None:
    prices = [reader.number(f"price_{kind}", 0, MAX_PRICE) for kind in ("input", "output")]
    if all(price is None for price in prices):
        return None
    if any(price is None for price in prices):
        reader.problem("only one of price_input and price_output is given", "Give both, per million tokens, or none.")
        return None
    return Price(*(math.fabs(price) for price in prices if price is not None))


def _check_anthropic(reader: TableReader, parameters: dict[str, Any], seed: int | None) -> None:
    """Fit the parameters to the interface of Anthropic, which requires a limit and has other names."""
    if "max_tokens" not in parameters:
        reader.problem("max_tokens is missing, which this interface requires", "Write it, such as max_tokens = 1000.")
    if "stop" in parameters:
        parameters["stop_sequences"] = parameters.pop("stop")
    if seed is not None:
        reader.problem("this interface has no seed", "Leave it out.")
