"""How one invented newspaper writes: its habits, which apply to a whole article."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deconfound.demo.text_sampling import TextSampler
from deconfound_bench.articles.entities import NameGenerator
from deconfound_bench.articles.wordings import NewspaperKind

MAX_JOINING = 0.8  # some sentences must remain short


@dataclass(frozen=True, slots=True)
class HouseStyle:
    """The habits of one newspaper.

    ``titles`` are the forms of address for men and for women, empty if the newspaper uses surnames only. ``emphasis``
    has factors on the weights of quotes, numbers and colour. ``joining`` is the probability that a sentence continues
    with a second clause.
    """

    newspaper: NewspaperKind
    outlet: str
    titles: tuple[str, str]
    percent: str
    currency: str
    million: str
    is_american: bool
    quotation_marks: tuple[str, str]
    emphasis: Mapping[str, float]
    joining: float


def invent_house_style(newspapers: Sequence[NewspaperKind], names: NameGenerator, dice: TextSampler) -> HouseStyle:
    """Invent a newspaper of one of the kinds; its habits vary around those of its kind."""
    newspaper = dice.pick(newspapers)
    is_american = dice.bernoulli(0.4)
    has_titles = dice.bernoulli(0.35)
    titles = (("Mr.", "Ms.") if is_american or dice.bernoulli(0.4) else ("Mr", "Ms")) if has_titles else ("", "")
    percent = "%" if dice.bernoulli(0.35) else (" percent" if is_american else " per cent")
    currency = "$" if is_american else dice.pick(("£", "£", "€"))
    return HouseStyle(
        newspaper=newspaper,
        outlet=names.newspaper(),
        titles=titles,
        percent=percent,
        currency=currency,
        million=" million" if is_american or dice.bernoulli(0.6) else "m",
        is_american=is_american,
        quotation_marks=("“", "”") if dice.bernoulli(0.4) else ('"', '"'),
        emphasis={
            "quotes": newspaper.quotes * _random_factor(dice),
            "numbers": newspaper.numbers * _random_factor(dice),
            "colour": newspaper.colour * _random_factor(dice),
        },
        joining=min(MAX_JOINING, newspaper.joining * _random_factor(dice)),
    )


def _random_factor(dice: TextSampler) -> float:
    """A factor between 1/2 and 2, uniform on the log scale."""
    return float(2.0 ** (2 * dice.roll() - 1))
