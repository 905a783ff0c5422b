"""The people, places and organizations of an article, with invented names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from deconfound.demo.text_sampling import TextSampler
from deconfound_bench.articles.wordings import Lists, Subject, Topic

ROLE_LISTS = {"hero": "hero_roles", "opponent": "opponent_roles", "observer": "observer_roles"}
POOL_SIZES = {"town": 7, "firm": 3, "brand": 4, "street": 2, "player": 3}


@dataclass(frozen=True, slots=True)
class Person:
    """Someone in the news."""

    first: str
    last: str
    is_woman: bool


@dataclass(frozen=True, slots=True)
class Speaker:
    """A person with a role; ``academic_title`` is "Prof.", "Dr." or empty, as the role implies."""

    person: Person
    role: str
    academic_title: str


@dataclass(frozen=True, slots=True)
class Entities:
    """Who and what one article is about. Roles, organization, subject and event are still templates.

    ``pools`` are the names available for the slots of towns, companies, streets and athletes.
    """

    topic: Topic
    place: str
    region: str
    saint: str
    subject: Subject
    speakers: Mapping[str, Speaker]
    pools: Mapping[str, tuple[str, ...]]
    organization: str
    event: tuple[str, ...]


class NameGenerator:
    """Invents proper names from the parts in names.toml."""

    def __init__(self, lists: Lists, dice: TextSampler) -> None:
        self._lists = lists
        self._dice = dice

    def surname(self) -> str:
        """A surname: from the list, or composed of two parts."""
        if self._dice.bernoulli(0.45):
            return self._pick("surnames")
        name = self._compound()
        return f"{name}-{self._compound()}" if self._dice.bernoulli(0.03) else name

    def person(self) -> Person:
        """A woman or a man, sometimes with a middle initial."""
        is_woman = self._dice.bernoulli(0.5)
        first = self._pick("women" if is_woman else "men")
        middle = f" {self._pick('middle_initials')}." if self._dice.bernoulli(0.06) else ""
        return Person(first + middle, self.surname(), is_woman)

    def town(self) -> str:
        """A town; "St." in some names is hard for sentence splitters."""
        name = self._compound()
        roll = self._dice.roll()
        if roll < 0.08:
            return f"{self._pick('town_prefixes')} {name}"
        if roll < 0.13:
            return f"{name}-{self._pick('town_suffixes')}"
        return f"St. {self.saint()}s" if roll < 0.15 else name

    def saint(self) -> str:
        """A saint."""
        return self._pick("saints")

    def region(self) -> str:
        """A county or province."""
        name = self._pick("name_starts") + self._pick("region_ends")
        return f"{self._pick('region_prefixes')} {name}" if self._dice.bernoulli(0.2) else name

    def brand(self) -> str:
        """A made-up word, as the name of a company."""
        return self._pick("brand_starts") + self._pick("brand_ends")

    def firm(self) -> str:
        """A company, with its legal form or partners."""
        roll = self._dice.roll()
        if roll < 0.3:
            founder = self.surname()
            partners = (*self._lists["partner_types"], self.surname(), self.surname())
            return f"{founder} & {self._dice.pick(partners)}"
        if roll < 0.55:
            return f"{self.brand()} {self._pick('brand_company_types')}"
        if roll < 0.8:
            return f"{self.surname()} {self._pick('surname_company_types')}"
        return self.brand()

    def street(self) -> str:
        """A street."""
        name = self._pick("street_names") if self._dice.bernoulli(0.6) else self.surname()
        return f"{name} {self._pick('street_types')}"

    def newspaper(self) -> str:
        """A newspaper."""
        return f"the {self.town()} {self._pick('newspaper_names')}"

    def football_club(self) -> str:
        """A football club."""
        return f"{self.town()} {self._pick('club_suffixes')}"

    def pool(self, slot: str, size: int) -> tuple[str, ...]:
        """Distinct names for one of the slots of ``POOL_SIZES``; a repeated draw makes the pool smaller."""
        generators = {
            "town": self.town,
            "firm": self.firm,
            "brand": self.brand,
            "street": self.street,
            "player": self.surname,
        }
        return tuple(dict.fromkeys(generators[slot]() for _ in range(size)))

    def speaker(self, roles: tuple[str, ...]) -> Speaker:
        """A person with one of the roles."""
        person, role = self.person(), self._dice.pick(roles)
        is_academic = any(word in role for word in self._lists["academic_roles"])
        title = "Prof." if "professor" in role else "Dr."
        return Speaker(person, role, title if is_academic else "")

    def _compound(self) -> str:
        return self._pick("name_starts") + self._pick("name_ends")

    def _pick(self, name: str) -> str:
        return self._dice.pick(self._lists[name])


def invent_entities(topic: Topic, region: str, names: NameGenerator, dice: TextSampler) -> Entities:
    """Invent everything that stays the same throughout one article."""
    place = names.town()
    subject = dice.pick(topic.subjects)
    return Entities(
        topic=topic,
        place=place,
        region=region,
        subject=subject,
        speakers={slot: names.speaker(topic.lists[roles]) for slot, roles in ROLE_LISTS.items()},
        pools={slot: names.pool(slot, size) for slot, size in POOL_SIZES.items()},
        saint=names.saint(),
        organization=dice.pick(topic.lists["organizations"]),
        event=tuple(dice.sample(dice.pick([event for event in topic.events if event.fits(subject)]).wordings, 3)),
    )
