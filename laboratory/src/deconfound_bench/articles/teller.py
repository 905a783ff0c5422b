"""Fill templates for one article, remembering what has been mentioned."""

from __future__ import annotations

from deconfound.demo.text_sampling import TextSampler
from deconfound_bench.articles import names
from deconfound_bench.articles.cast import Cast, short_name, title
from deconfound_bench.articles.deck import Deck
from deconfound_bench.articles.grammar import Choice, Parts, Slot, parse
from deconfound_bench.articles.numbers import (
    PLAIN,
    VOICED,
    WEEKDAYS,
    at_clock,
    large_sum,
    modest_sum,
    percent,
    rate,
    sets,
    win,
)
from deconfound_bench.articles.voice import Voice

WORDS = {"terms", "units", "adj", "mood", "sites"}  # lists of which an article has favourites
MODEST = {"crime", "culture", "wildlife", "council", "education"}  # subjects without millions
PRONOUNS = {"he": ("he", "she"), "his": ("his", "her"), "him": ("him", "her"), "he_cap": ("He", "She")}
FIRST_POOL = 1.6  # how strongly the first of several towns or firms is preferred
SECOND_NAME = 0.16
AGAIN_LONG = 0.12
SUFFIXES = ("Rovers", "United", "Town", "Athletic", "City", "Wanderers", "Albion", "Rangers", "Harriers", "Vale")


class Teller:
    """Fills templates with one article's cast, numbers and favourite words."""

    def __init__(self, cast: Cast, voice: Voice, deck: Deck, dice: TextSampler) -> None:
        self.cast = cast
        self.voice = voice
        self.deck = deck
        self.dice = dice
        self.known = dict(cast.known)
        self._mentioned: set[str] = set()
        self._last: dict[str, list[str]] = {}
        self._minutes = dice.between(66, 108) * 5
        self._settle()

    def _settle(self) -> None:
        """Fix what may be said only one way in the whole article."""
        dice, voice = self.dice, self.voice
        self.known["day"] = dice.pick(WEEKDAYS)
        self.known["move"] = rate(dice, voice)
        make_sum = modest_sum if self.cast.topic.name in MODEST else large_sum
        self.known["sum"] = make_sum(dice, voice)
        self.known["share"] = percent(dice, voice)
        self.known["win"], self.known["sets"] = win(dice), sets(dice)
        self.known["rival"] = f"{names.town(dice)} {dice.pick(SUFFIXES)}"
        self.known["org_long"] = self.tell(self.cast.org)
        for pool in self.cast.pools.values():
            pool[:] = [one for one in pool if one not in self.known["org_long"]] or pool
        self.known["body"] = self.tell(dice.pick(self.cast.topic.bodies))
        self.known["long"], self.known["short"] = (self.tell(form) for form in self.cast.matter)
        self.say_he("hero")

    def say_he(self, part: str) -> None:
        """Let the pronouns of a speaker refer to this person."""
        woman = self.cast.parts[part].person.woman
        self.known["speaker_he"], self.known["speaker_he_cap"] = ("she", "She") if woman else ("he", "He")

    def tell(self, template: str) -> str:
        """Fill a template."""
        return self._fill(parse(template))

    def deal(self, name: str) -> str:
        """Fill a template of this list that was not used before."""
        return self.tell(self.deck.deal(name))

    def _fill(self, parts: Parts) -> str:
        said = []
        for part in parts:
            if isinstance(part, str):
                said.append(part)
            elif isinstance(part, Slot):
                said.append(self._slot(part.name))
            elif isinstance(part, Choice):
                said.append(self._fill(self.dice.pick(part.options)))
        return "".join(said)

    def _slot(self, name: str) -> str:  # noqa: PLR0911
        if name in self.known:
            return self.known[name]
        if name in PLAIN:
            return PLAIN[name](self.dice)
        if name in VOICED:
            return VOICED[name](self.dice, self.voice)
        if name in self.cast.pools:
            return self._from_pool(name)
        if name in self.cast.parts:
            return self.person(name)
        if name in PRONOUNS:
            return PRONOUNS[name][self.cast.parts["hero"].person.woman]
        if name in SPECIAL:
            return SPECIAL[name](self)
        return self.tell(self.deck.favour(name) if name in WORDS else self.deck.deal(name))

    def _from_pool(self, name: str) -> str:
        pool = self.cast.pools[name]
        chosen = int(self.dice.roll() ** FIRST_POOL * len(pool))
        # Two towns in one sentence are two towns.
        recent = self._last.setdefault(name, [])
        for _ in pool:  # a pool that names a town twice may have no other left
            if pool[chosen] not in recent:
                break
            chosen = (chosen + 1) % len(pool)
        recent.append(pool[chosen])
        del recent[: -(len(pool) // 2) or None]
        return pool[chosen]

    def person(self, part: str) -> str:
        """Name a person: with the role at first, by surname later."""
        who, role = self.cast.parts[part].person, self.cast.parts[part].role
        address = title(who, role, self.voice)
        if part not in self._mentioned:
            self._mentioned.add(part)
            learned = f"{address} " if address in {"Dr.", "Prof."} else ""
            return f"{learned}{who.first} {who.last}, {self.tell(role)},"
        if self.dice.chance(SECOND_NAME):
            return f"{who.first} {who.last}"
        return f"{address} {who.last}".strip()

    def passer(self) -> str:
        """Name somebody who appears only once."""
        who = names.person(self.dice)
        age = f" {self.dice.between(19, 84)}," if self.dice.chance(0.5) else ""
        home = self.tell("{from {town}|of {street}|from {place}|in {place}}")
        return f"{who.first} {who.last},{age} a {self.deal('locals')} {home},"

    def org(self) -> str:
        """Name the organisation of the article, in full at first."""
        long = self.known["org_long"]
        return self._again("org", long, short_name(long, self.cast.topic.name), 0.45)

    def matter(self) -> str:
        """Name what the article is about, in full at first."""
        return self._again("matter", self.known["long"], self.known["short"], AGAIN_LONG)

    def _again(self, what: str, long: str, short: str, again: float) -> str:
        if what not in self._mentioned:
            self._mentioned.add(what)
            return long
        return long if self.dice.chance(again) else short

    def hour(self) -> str:
        """Let time pass since the last hour that was told."""
        self._minutes += self.dice.between(2, 9) * 5
        return at_clock(self._minutes, self.voice)

    def event(self) -> str:
        """Tell the news itself in one of its wordings."""
        return self.tell(self.dice.pick(self.cast.event))

    def fact(self) -> str:
        """Tell one of the facts."""
        return self.deal("facts")


SPECIAL = {
    "org": Teller.org,
    "matter": Teller.matter,
    "event": Teller.event,
    "fact": Teller.fact,
    "passer": Teller.passer,
    "hour": Teller.hour,
}
