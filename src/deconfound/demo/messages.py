"""The facts in a customer's message: sampled at random, and parsed back from the text."""

from __future__ import annotations

import re
from typing import NamedTuple

from deconfound.demo.names import FIRST_NAMES, MONTHS, SURNAMES
from deconfound.demo.phrases import CONTACTS, DEADLINES, HISTORIES, TRADES
from deconfound.demo.text_sampling import TextSampler

REFERENCE = re.compile(r"\b[A-Z]{2}-\d{5}\b")
AMOUNT = re.compile(r"£\d+\.\d\d\b")
DATE = re.compile(rf"\b\d{{1,2}} (?:{'|'.join(MONTHS)})\b")
TRADE_OF = {product: trade for trade in TRADES for product in trade.products}


class Message(NamedTuple):
    """The facts of one message; an absent fact is an empty string or tuple."""

    name: str
    product: str
    problems: tuple[str, ...]
    reference: str
    date: str
    amount: str
    tried: tuple[str, ...]
    impact: str
    history: str
    asks: tuple[str, ...]
    deadline: str
    contact: str


def sample_message(sampler: TextSampler) -> Message:
    """The facts of one random customer."""
    trade = sampler.pick(TRADES)
    return Message(
        name=f"{sampler.pick(FIRST_NAMES)} {sampler.pick(SURNAMES)}",
        product=sampler.pick(trade.products),
        problems=tuple(sampler.sample(trade.problems, 2 if sampler.bernoulli(0.35) else 1)),
        reference=sample_reference(sampler) if sampler.bernoulli(0.85) else "",
        date=sample_date(sampler) if sampler.bernoulli(0.75) else "",
        amount=sample_amount(sampler) if sampler.bernoulli(0.55) else "",
        tried=tuple(sampler.sample(trade.tried, int(sampler.roll() * 2.6))),
        impact=sampler.pick(trade.impacts) if sampler.bernoulli(0.55) else "",
        history=sampler.pick(HISTORIES) if sampler.bernoulli(0.45) else "",
        asks=tuple(sampler.sample(trade.asks, 2 if sampler.bernoulli(0.35) else 1)),
        deadline=sampler.pick(DEADLINES) if sampler.bernoulli(0.5) else "",
        contact=sampler.pick(CONTACTS) if sampler.bernoulli(0.4) else "",
    )


def sample_reference(sampler: TextSampler) -> str:
    """A random order number such as ``KX-48213``."""
    return f"{sampler.pick('ABDGHKMRT')}{sampler.pick('CFLNPSVX')}-{sampler.between(10_000, 99_999)}"


def sample_date(sampler: TextSampler) -> str:
    """A random day of the year."""
    return f"{sampler.between(1, 28)} {sampler.pick(MONTHS)}"


def sample_amount(sampler: TextSampler) -> str:
    """A random price."""
    return f"£{sampler.between(19, 480)}.{sampler.pick(('00', '50', '90', '95', '99'))}"


def parse_message(text: str) -> Message:
    """The facts in a message; the inverse of ``render_message`` for any wording."""
    product = next(product for product in TRADE_OF if product in text)
    trade = TRADE_OF[product]
    return Message(
        name=text.rsplit("\n", 1)[-1],
        product=product,
        problems=_phrases_in(trade.problems, text),
        reference=_match(REFERENCE, text),
        date=_match(DATE, text),
        amount=_match(AMOUNT, text),
        tried=_phrases_in(trade.tried, text),
        impact="".join(_phrases_in(trade.impacts, text)),
        history="".join(_phrases_in(HISTORIES, text)),
        asks=_phrases_in(trade.asks, text),
        deadline="".join(_phrases_in(DEADLINES, text)),
        contact="".join(_phrases_in(CONTACTS, text)),
    )


def _match(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match.group() if match else ""


def _phrases_in(phrases: tuple[str, ...], text: str) -> tuple[str, ...]:
    """The phrases that occur in the text, in the order of the text."""
    return tuple(sorted((phrase for phrase in phrases if phrase in text), key=text.index))


def with_article(noun: str) -> str:
    """The noun with its indefinite article."""
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
