"""How one newspaper writes: its habits, which hold for a whole article."""

from __future__ import annotations

from dataclasses import dataclass

from deconfound.demo.text_sampling import TextSampler
from deconfound_bench.articles.names import outlet


@dataclass(frozen=True, slots=True)
class House:
    """The habits of one kind of newspaper.

    ``quotes``, ``numbers`` and ``colour`` weigh how often people are quoted, figures given and scenes or asides told;
    ``joining`` is the chance that a sentence goes on with a second clause, ``paragraph`` the usual number of sentences
    in one.
    """

    kind: str
    quotes: float
    numbers: float
    colour: float
    joining: float
    paragraph: float
    dateline: float


HOUSES = (
    House("wire", quotes=0.9, numbers=1.4, colour=0.4, joining=0.55, paragraph=1.4, dateline=0.85),
    House("broadsheet", quotes=1.0, numbers=1.0, colour=0.9, joining=0.75, paragraph=3.2, dateline=0.1),
    House("popular", quotes=1.3, numbers=0.7, colour=1.6, joining=0.15, paragraph=1.1, dateline=0.0),
    House("local", quotes=1.5, numbers=0.8, colour=1.3, joining=0.45, paragraph=1.7, dateline=0.05),
    House("trade", quotes=0.5, numbers=2.0, colour=0.2, joining=0.7, paragraph=2.6, dateline=0.15),
    House("broadcaster", quotes=1.1, numbers=1.0, colour=0.7, joining=0.35, paragraph=1.2, dateline=0.0),
)


@dataclass(frozen=True, slots=True)
class Voice:
    """One newspaper's habits together with its way of writing names, sums and dates.

    ``titles`` are the forms of address for men and women, empty where surnames stand alone.
    """

    house: House
    outlet: str
    titles: tuple[str, str]
    percent: str
    currency: str
    million: str
    american: bool
    marks: tuple[str, str]
    quotes: float
    numbers: float
    colour: float
    joining: float


def make_voice(dice: TextSampler) -> Voice:
    """Make up a newspaper: one of the kinds, with habits of its own around theirs."""
    house = dice.pick(HOUSES)
    american = dice.chance(0.4)
    titled = dice.chance(0.35)
    titles = (("Mr.", "Ms.") if american or dice.chance(0.4) else ("Mr", "Ms")) if titled else ("", "")
    percent = "%" if dice.chance(0.35) else (" percent" if american else " per cent")
    currency = "$" if american else dice.pick(("£", "£", "€"))
    return Voice(
        house=house,
        outlet=outlet(dice),
        titles=titles,
        percent=percent,
        currency=currency,
        million=" million" if american or dice.chance(0.6) else "m",
        american=american,
        marks=("“", "”") if dice.chance(0.4) else ('"', '"'),
        quotes=house.quotes * _around(dice),
        numbers=house.numbers * _around(dice),
        colour=house.colour * _around(dice),
        joining=min(0.8, house.joining * _around(dice)),
    )


def _around(dice: TextSampler) -> float:
    return float(2.0 ** (2 * dice.roll() - 1))
