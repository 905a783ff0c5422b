"""Invented numbers, dates and sums of money, written in the style of one newspaper."""

from __future__ import annotations

from collections.abc import Callable

from deconfound.demo.names import MONTHS
from deconfound.demo.text_sampling import TextSampler
from deconfound_bench.articles.house_style import HouseStyle

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
SMALL_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine")
ORDINAL_SUFFIXES = {1: "st", 2: "nd", 3: "rd"}
CURRENT_YEAR = 2024  # of every article, so that texts do not depend on the calendar


def small_number(dice: TextSampler) -> str:
    """A number from two to nine, in words; the smaller, the more frequent."""
    return SMALL_NUMBERS[int(dice.roll() ** 1.6 * len(SMALL_NUMBERS))]


def two_digits(dice: TextSampler) -> str:
    """A number of two digits."""
    return str(dice.between(11, 96))


def hundreds(dice: TextSampler) -> str:
    """A number of three digits, about every third one rounded."""
    number = dice.between(102, 989)
    return str(round(number, -1) if dice.bernoulli(0.35) else number)


def thousands(dice: TextSampler) -> str:
    """A number from 1,100 to 99,000, uniform on the log scale, half of them rounded."""
    number = int(1_100 * 90 ** dice.roll())
    return f"{round(number, -2) if dice.bernoulli(0.5) else number:,}"


def decimal(dice: TextSampler) -> str:
    """A number such as 3.5."""
    return f"{dice.between(1, 12)}.{dice.between(1, 9)}"


def ordinal(dice: TextSampler) -> str:
    """A number such as 22nd; 11th, 12th and 13th, which break the rule, are out of its range."""
    number = dice.between(14, 89)
    return f"{number}{'th' if number < 20 else ORDINAL_SUFFIXES.get(number % 10, 'th')}"


def percent(dice: TextSampler, style: HouseStyle) -> str:
    """A percentage; the smaller, the more frequent."""
    number = 1 + dice.roll() ** 1.5 * 88
    digits = f"{number:.1f}" if dice.bernoulli(0.4) else f"{number:.0f}"
    return digits + style.percent


def rate(dice: TextSampler, style: HouseStyle) -> str:
    """A percentage below ten, as for interest, taxes and pay."""
    return f"{dice.between(11, 98) / 10:.1f}{style.percent}"


def money(dice: TextSampler, style: HouseStyle) -> str:
    """A sum of money from 12,000 to 99 million."""
    if dice.bernoulli(0.35):
        return f"{style.currency}{dice.between(120, 9_500) * 100:,}"
    return f"{style.currency}{dice.between(11, 990) / 10:.1f}{style.million}"


def fee(dice: TextSampler, style: HouseStyle) -> str:
    """A sum of money that one household might pay."""
    return f"{style.currency}{dice.between(12, 780)}"


def wage(dice: TextSampler, style: HouseStyle) -> str:
    """A year's pay."""
    return f"{style.currency}{dice.between(11, 95)},{dice.between(1, 9)}00"


def large_sum(dice: TextSampler, style: HouseStyle) -> str:
    """A sum of money from 1.2 to 360 million, uniform on the log scale."""
    number = 1.2 * 300 ** dice.roll()
    return f"{style.currency}{number:.{1 if number < 20 else 0}f}{style.million}"


def modest_sum(dice: TextSampler, style: HouseStyle) -> str:
    """A sum of money in the thousands."""
    return f"{style.currency}{dice.between(6, 940) * 1_000:,}"


def date(dice: TextSampler, style: HouseStyle) -> str:
    """A day and a month."""
    month, day = dice.pick(MONTHS), dice.between(1, 28)
    return f"{month} {day}" if style.is_american else f"{day} {month}"


def time_of_day(dice: TextSampler, style: HouseStyle) -> str:
    """A time of day."""
    hour, minute = dice.between(1, 12), dice.pick(("", "15", "20", "30", "40", "45"))
    half = "a.m." if dice.bernoulli(0.5) else "p.m."
    separator = ":" if style.is_american else "."
    return f"{hour}{separator}{minute} {half}" if minute else f"{hour} {half}"


def format_time(minutes: int, style: HouseStyle) -> str:
    """A time of day, given as minutes since midnight."""
    hour, minute = minutes // 60 % 24, minutes % 60
    separator = ":" if style.is_american else "."
    return f"{(hour + 11) % 12 + 1}{separator}{minute:02d} {'a.m.' if hour < 12 else 'p.m.'}"


def past_year(dice: TextSampler) -> str:
    """A year of the last 95; the more recent, the more frequent."""
    return str(CURRENT_YEAR - 1 - int(dice.roll() ** 3 * 95))


def length_of_time(dice: TextSampler) -> str:
    """A length of time such as "three weeks"."""
    return f"{small_number(dice)} {dice.pick(('weeks', 'weeks', 'months', 'months', 'years'))}"


def match_score(dice: TextSampler) -> str:
    """The score of a football match, from the winner's side."""
    conceded = int(dice.roll() ** 2 * 3)
    return f"{conceded + 1 + int(dice.roll() ** 2 * 3)}-{conceded}"


def tennis_score(dice: TextSampler) -> str:
    """The score of a tennis match in two or three sets, from the winner's side."""
    lost = dice.pick((None, "4-6", "6-7", "3-6"))
    won = [dice.pick(("6-1", "6-2", "6-3", "6-4", "7-5", "7-6")) for _ in range(2)]
    return ", ".join(won if lost is None else [won[0], lost, won[1]])


# What fills the slots for numbers, by the name of the slot.
PLAIN_NUMBERS: dict[str, Callable[[TextSampler], str]] = {
    "few": small_number,
    "n": two_digits,
    "hundreds": hundreds,
    "thousands": thousands,
    "decimal": decimal,
    "ordinal": ordinal,
    "year": past_year,
    "recent_year": lambda dice: str(CURRENT_YEAR - dice.between(2, 15)),
    "founding_year": lambda dice: str(CURRENT_YEAR - dice.between(30, 140)),
    "coming_year": lambda dice: str(CURRENT_YEAR + dice.between(1, 4)),
    "seconds": lambda dice: str(dice.between(11, 58)),
    "degrees": lambda dice: str(dice.between(17, 39)),
    "span": length_of_time,
    "weekday": lambda dice: dice.pick(WEEKDAYS),
    "month": lambda dice: dice.pick(MONTHS),
}
STYLED_NUMBERS: dict[str, Callable[[TextSampler, HouseStyle], str]] = {
    "percent": percent,
    "rate": rate,
    "money": money,
    "fee": fee,
    "wage": wage,
    "date": date,
    "time": time_of_day,
}
