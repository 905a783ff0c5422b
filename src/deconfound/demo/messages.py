"""The contexts of the demo: customers' messages, made from facts and read back into them."""

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
    """What a customer says, as facts; an absent fact is an empty string."""

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


def imagine(dice: TextSampler) -> Message:
    """Make up what happened to one customer."""
    trade = dice.pick(TRADES)
    return Message(
        name=f"{dice.pick(FIRST_NAMES)} {dice.pick(SURNAMES)}",
        product=dice.pick(trade.products),
        problems=tuple(dice.sample(trade.problems, 2 if dice.chance(0.35) else 1)),
        reference=make_reference(dice) if dice.chance(0.85) else "",
        date=make_date(dice) if dice.chance(0.75) else "",
        amount=make_amount(dice) if dice.chance(0.55) else "",
        tried=tuple(dice.sample(trade.tried, int(dice.roll() * 2.6))),
        impact=dice.pick(trade.impacts) if dice.chance(0.55) else "",
        history=dice.pick(HISTORIES) if dice.chance(0.45) else "",
        asks=tuple(dice.sample(trade.asks, 2 if dice.chance(0.35) else 1)),
        deadline=dice.pick(DEADLINES) if dice.chance(0.5) else "",
        contact=dice.pick(CONTACTS) if dice.chance(0.4) else "",
    )


def make_reference(dice: TextSampler) -> str:
    """Make up an order number such as ``KX-48213``."""
    return f"{dice.pick('ABDGHKMRT')}{dice.pick('CFLNPSVX')}-{dice.between(10_000, 99_999)}"


def make_date(dice: TextSampler) -> str:
    """Make up a day of the year."""
    return f"{dice.between(1, 28)} {dice.pick(MONTHS)}"


def make_amount(dice: TextSampler) -> str:
    """Make up a price."""
    return f"£{dice.between(19, 480)}.{dice.pick(('00', '50', '90', '95', '99'))}"


def read(text: str) -> Message:
    """Find the facts in a customer's message; the inverse of ``tell`` whatever words it chose."""
    product = next(product for product in TRADE_OF if product in text)
    trade = TRADE_OF[product]
    return Message(
        name=text.rsplit("\n", 1)[-1],
        product=product,
        problems=_said(trade.problems, text),
        reference=_match(REFERENCE, text),
        date=_match(DATE, text),
        amount=_match(AMOUNT, text),
        tried=_said(trade.tried, text),
        impact="".join(_said(trade.impacts, text)),
        history="".join(_said(HISTORIES, text)),
        asks=_said(trade.asks, text),
        deadline="".join(_said(DEADLINES, text)),
        contact="".join(_said(CONTACTS, text)),
    )


def _match(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found.group() if found else ""


def _said(phrases: tuple[str, ...], text: str) -> tuple[str, ...]:
    return tuple(sorted((phrase for phrase in phrases if phrase in text), key=text.index))


def with_article(noun: str) -> str:
    """Put the indefinite article before a noun."""
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
