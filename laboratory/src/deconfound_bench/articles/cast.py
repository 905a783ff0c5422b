"""Who and what an article is about: the names that recur in it, and how they are mentioned again."""

from __future__ import annotations

from dataclasses import dataclass

from deconfound.demo.text_sampling import TextSampler
from deconfound_bench.articles import names
from deconfound_bench.articles.names import Person
from deconfound_bench.articles.topic import Topic
from deconfound_bench.articles.voice import Voice

SHORT = {
    "Council": "the council",
    "Court": "the court",
    "Police": "the force",
    "Constabulary": "the force",
    "Hospital": "the hospital",
    "Infirmary": "the hospital",
    "School": "the school",
    "University": "the university",
    "Trust": "the trust",
    "Union": "the union",
    "Gallery": "the gallery",
    "Theatre": "the theatre",
    "Festival": "the festival",
    "Orchestra": "the orchestra",
    "Cooperative": "the cooperative",
    "Technology": "the institute",
    "Observatory": "the observatory",
    "Academy": "the academy",
}
SHORT_IN = {
    "business": "the company",
    "technology": "the company",
    "energy": "the company",
    "transport": "the operator",
    "tennis": "the tournament",
    "cycling": "the team",
}
LEARNED = ("professor", "surgeon", "biologist", "physicist", "geologist", "chemist", "lecturer", "paediatrician")
POOLS = {"town": 7, "firm": 3, "brand": 4, "street": 2, "player": 3}
MAKERS = {"town": names.town, "firm": names.firm, "brand": names.brand, "street": names.street, "player": names.surname}


@dataclass(frozen=True, slots=True)
class Part:
    """A person together with the template of a role."""

    person: Person
    role: str


@dataclass(frozen=True, slots=True)
class Cast:
    """The people of one article, its places and firms, and the wordings of its event."""

    topic: Topic
    parts: dict[str, Part]
    pools: dict[str, list[str]]
    known: dict[str, str]
    matter: tuple[str, str]
    org: str
    event: tuple[str, ...]


def cast_article(topic: Topic, voice: Voice, region: str, dice: TextSampler) -> Cast:
    """Make up everything that stays the same throughout one article."""
    place = names.town(dice)
    roles = {"hero": topic.heroes, "second": topic.seconds, "third": topic.thirds}
    long, short = dice.pick(topic.matters).rsplit(" | ", 1)
    suitable = [event for event in topic.events if not event.suits or short.rsplit(" ", 1)[-1] in event.suits]
    return Cast(
        topic=topic,
        parts={part: Part(names.person(dice), dice.pick(choice)) for part, choice in roles.items()},
        pools={name: list(dict.fromkeys(MAKERS[name](dice) for _ in range(size))) for name, size in POOLS.items()},
        known={"place": place, "region": region, "outlet": voice.outlet, "saint": dice.pick(names.SAINTS)},
        matter=(long, short),
        org=dice.pick(topic.orgs),
        event=tuple(dice.sample(dice.pick(suitable).wordings, 3)),
    )


def short_name(name: str, topic: str) -> str:
    """Say how an organisation is called once it has been named."""
    return SHORT.get(name.rsplit(" ", 1)[-1], SHORT_IN.get(topic, name))


def title(person: Person, role: str, voice: Voice) -> str:
    """Give the form of address before a person's surname, or nothing."""
    if any(word in role for word in LEARNED):
        return "Prof." if "professor" in role else "Dr."
    return voice.titles[1] if person.woman else voice.titles[0]
