"""Invented numbers, dates and sums, written the way one newspaper writes them."""

from __future__ import annotations

from collections.abc import Callable

from deconfound.demo.names import MONTHS
from deconfound.demo.text_sampling import TextSampler
from deconfound_bench.articles.grammar import listing
from deconfound_bench.articles.voice import Voice

WEEKDAYS = listing("Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday")
SMALL = listing("two, three, four, five, six, seven, eight, nine")
ORDINALS = {1: "st", 2: "nd", 3: "rd"}
THIS_YEAR = 2024


def small(dice: TextSampler) -> str:
    """A number below ten, in words; small ones are commoner."""
    return SMALL[int(dice.roll() ** 1.6 * len(SMALL))]


def dozens(dice: TextSampler) -> str:
    """A number of two digits."""
    return str(dice.between(11, 96))


def hundreds(dice: TextSampler) -> str:
    """A number of three digits, every third one rounded."""
    number = dice.between(102, 989)
    return str(round(number, -1) if dice.chance(0.35) else number)


def thousands(dice: TextSampler) -> str:
    """A number from about a thousand to about a hundred thousand, evenly over the sizes."""
    number = int(1_100 * 90 ** dice.roll())
    return f"{round(number, -2) if dice.chance(0.5) else number:,}"


def decimal(dice: TextSampler) -> str:
    """A number such as 3.5."""
    return f"{dice.between(1, 12)}.{dice.between(1, 9)}"


def nth(dice: TextSampler) -> str:
    """A number such as 22nd, never in the teens' exceptions."""
    number = dice.between(14, 89)
    return f"{number}{'th' if number < 20 else ORDINALS.get(number % 10, 'th')}"


def percent(dice: TextSampler, voice: Voice) -> str:
    """A share, mostly small."""
    number = 1 + dice.roll() ** 1.5 * 88
    written = f"{number:.1f}" if dice.chance(0.4) else f"{number:.0f}"
    return written + voice.percent


def rate(dice: TextSampler, voice: Voice) -> str:
    """A share as small as those of interest, taxes and pay."""
    return f"{dice.between(11, 98) / 10:.1f}{voice.percent}"


def money(dice: TextSampler, voice: Voice) -> str:
    """A sum of money from ten thousand or so to a hundred million."""
    if dice.chance(0.35):
        return f"{voice.currency}{dice.between(120, 9_500) * 100:,}"
    return f"{voice.currency}{dice.between(11, 990) / 10:.1f}{voice.million}"


def fee(dice: TextSampler, voice: Voice) -> str:
    """A sum of money that one household might pay."""
    return f"{voice.currency}{dice.between(12, 780)}"


def wage(dice: TextSampler, voice: Voice) -> str:
    """A sum of money that one person might earn in a year."""
    return f"{voice.currency}{dice.between(11, 95)},{dice.between(1, 9)}00"


def large_sum(dice: TextSampler, voice: Voice) -> str:
    """A sum of money in the millions."""
    number = 1.2 * 300 ** dice.roll()
    return f"{voice.currency}{number:.{1 if number < 20 else 0}f}{voice.million}"


def modest_sum(dice: TextSampler, voice: Voice) -> str:
    """A sum of money in the thousands."""
    return f"{voice.currency}{dice.between(6, 940) * 1_000:,}"


def date(dice: TextSampler, voice: Voice) -> str:
    """A day of the year."""
    month, day = dice.pick(MONTHS), dice.between(1, 28)
    return f"{month} {day}" if voice.american else f"{day} {month}"


def clock(dice: TextSampler, voice: Voice) -> str:
    """A time of day."""
    hour, minute = dice.between(1, 12), dice.pick(("", "15", "20", "30", "40", "45"))
    half = "a.m." if dice.chance(0.5) else "p.m."
    mark = ":" if voice.american else "."
    return f"{hour}{mark}{minute} {half}" if minute else f"{hour} {half}"


def at_clock(minutes: int, voice: Voice) -> str:
    """A time of day, given as minutes since midnight."""
    hour, minute = minutes // 60 % 24, minutes % 60
    mark = ":" if voice.american else "."
    return f"{(hour + 11) % 12 + 1}{mark}{minute:02d} {'a.m.' if hour < 12 else 'p.m.'}"


def year(dice: TextSampler) -> str:
    """A year of the past, most of them recent."""
    return str(THIS_YEAR - 1 - int(dice.roll() ** 3 * 95))


def span(dice: TextSampler) -> str:
    """A length of time."""
    return f"{small(dice)} {dice.pick(('weeks', 'weeks', 'months', 'months', 'years'))}"


def win(dice: TextSampler) -> str:
    """A score by which a football match is won."""
    lost = int(dice.roll() ** 2 * 3)
    return f"{lost + 1 + int(dice.roll() ** 2 * 3)}-{lost}"


def sets(dice: TextSampler) -> str:
    """A score by which a tennis match is won."""
    lost = dice.pick((None, "4-6", "6-7", "3-6"))
    won = [dice.pick(("6-1", "6-2", "6-3", "6-4", "7-5", "7-6")) for _ in range(2)]
    return ", ".join(won if lost is None else [won[0], lost, won[1]])


PLAIN: dict[str, Callable[[TextSampler], str]] = {
    "few": small,
    "n": dozens,
    "hundreds": hundreds,
    "thousands": thousands,
    "dec": decimal,
    "nth": nth,
    "year": year,
    "lately": lambda dice: str(THIS_YEAR - dice.between(2, 15)),
    "founded": lambda dice: str(THIS_YEAR - dice.between(30, 140)),
    "secs": lambda dice: str(dice.between(11, 58)),
    "degrees": lambda dice: str(dice.between(17, 39)),
    "span": span,
    "year_next": lambda dice: str(THIS_YEAR + dice.between(1, 4)),
    "weekday": lambda dice: dice.pick(WEEKDAYS),
    "month": lambda dice: dice.pick(MONTHS),
}
VOICED: dict[str, Callable[[TextSampler, Voice], str]] = {
    "pct": percent,
    "rate": rate,
    "money": money,
    "fee": fee,
    "wage": wage,
    "date": date,
    "time": clock,
}
