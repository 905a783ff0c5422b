"""Draw templates and fill their slots, for one article."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from deconfound.demo.text_sampling import TextSampler
from deconfound_bench.articles import numbers
from deconfound_bench.articles.entities import Entities, NameGenerator
from deconfound_bench.articles.grammar import Choice, Parts, Slot, parse
from deconfound_bench.articles.house_style import HouseStyle
from deconfound_bench.articles.wordings import Lists, Wordings

# An article prefers this many words of a list, the first of them most. Other words occur now and then.
MAX_FAVOURITES = 11
FAVOURITE_EXPONENT = 1.7
OTHER_WORD_PROBABILITY = 0.14
MIN_DRAWS_BETWEEN_REPEATS = 3
MAX_REDRAWS = 6
FAVOURITE_LISTS = ("terms", "units", "adj", "mood", "sites")

POOL_EXPONENT = 1.6  # how strongly the first names of a pool are preferred
FULL_NAME_PROBABILITY = 0.16  # at a later mention
LONG_SUBJECT_PROBABILITY = 0.12
LONG_ORGANIZATION_PROBABILITY = 0.45
BYSTANDER_HOME = "{from {town}|of {street}|from {place}|in {place}}"


class WordingSampler:
    """Draws templates without repetition, and words with the preferences of one article."""

    def __init__(self, lists: Lists, dice: TextSampler) -> None:
        self._lists = lists
        self._dice = dice
        self._unused: dict[str, list[str]] = {}
        self._favourites: dict[str, list[str]] = {}
        self._recent: dict[str, list[str]] = {}

    def draw(self, name: str) -> str:
        """Draw a template of the list with replacement."""
        return self._dice.pick(self._lists[name])

    def draw_unused(self, name: str) -> str:
        """Draw a template of the list that this article has not used; after the last one, start again."""
        unused = self._unused.get(name)
        if not unused:
            unused = self._unused[name] = list(self._lists[name])
        return unused.pop(int(self._dice.roll() * len(unused)))

    def is_used_up(self, name: str) -> bool:
        """Whether this article has used every template of the list."""
        return self._unused.get(name) == []

    def draw_favourite(self, name: str) -> str:
        """Draw a word of the list, usually a favourite, and not one of the last few draws."""
        recent = self._recent.setdefault(name, [])
        for _ in range(MAX_REDRAWS):
            word = self._draw_word(name)
            if word not in recent:
                break
        recent.append(word)
        del recent[:-MIN_DRAWS_BETWEEN_REPEATS]
        return word

    def _draw_word(self, name: str) -> str:
        if self._dice.bernoulli(OTHER_WORD_PROBABILITY):
            return self.draw(name)
        favourites = self._favourites.get(name)
        if favourites is None:
            words = self._lists[name]
            favourites = self._favourites[name] = self._dice.sample(words, min(MAX_FAVOURITES, len(words)))
        return favourites[int(self._dice.roll() ** FAVOURITE_EXPONENT * len(favourites))]


class TemplateFiller:
    """Fills templates with the entities and numbers of one article, and remembers what was mentioned.

    ``fixed`` are the values of the slots that do not change within the article.
    """

    def __init__(
        self, wordings: Wordings, entities: Entities, style: HouseStyle, sampler: WordingSampler, dice: TextSampler
    ) -> None:
        self.entities = entities
        self.style = style
        self.sampler = sampler
        self.dice = dice
        self._names = NameGenerator(wordings.names, dice)
        self._mentioned: set[str] = set()
        self._pools = dict(entities.pools)
        self._recent_names: dict[str, list[str]] = {name: [] for name in entities.pools}
        self._minutes = dice.between(66, 108) * 5
        self._slot_fillers = self._choose_slot_fillers()
        self.fixed = self._draw_fixed_values()
        self._organization = self.fill(entities.organization)
        self._short_organization = wordings.short_organizations.get(
            self._organization.rsplit(" ", 1)[-1], entities.topic.short_organization or self._organization
        )
        # A town that is part of the organization's name would be confused with it.
        for slot, pool in entities.pools.items():
            self._pools[slot] = tuple(name for name in pool if name not in self._organization) or pool
        self.fixed["authority"] = self.fill(dice.pick(entities.topic.lists["authorities"]))
        self._long_subject, self._short_subject = self.fill(entities.subject.long), self.fill(entities.subject.short)

    def fill(self, template: str) -> str:
        """Fill a template."""
        return self._fill_parts(parse(template))

    def fill_any(self, name: str) -> str:
        """Fill a template of the list, whether used before or not."""
        return self.fill(self.sampler.draw(name))

    def fill_unused(self, name: str) -> str:
        """Fill a template of the list that this article has not used."""
        return self.fill(self.sampler.draw_unused(name))

    def mention(self, slot: str) -> str:
        """Name a speaker: with the role at first, usually by surname later."""
        speaker = self.entities.speakers[slot]
        person = speaker.person
        if slot not in self._mentioned:
            self._mentioned.add(slot)
            return f"{speaker.academic_title} {person.first} {person.last}, {self.fill(speaker.role)},".lstrip()
        if self.dice.bernoulli(FULL_NAME_PROBABILITY):
            return f"{person.first} {person.last}"
        return f"{speaker.academic_title or self.style.titles[person.is_woman]} {person.last}".strip()

    def mention_bystander(self) -> str:
        """Name a new person who occurs only once."""
        person = self._names.person()
        age = f" {self.dice.between(19, 84)}," if self.dice.bernoulli(0.5) else ""
        home = self.fill(BYSTANDER_HOME)
        return f"{person.first} {person.last},{age} a {self.fill_unused('bystanders')} {home},"

    def _choose_slot_fillers(self) -> dict[str, Callable[[], str]]:
        return {
            **{slot: partial(draw, self.dice) for slot, draw in numbers.PLAIN_NUMBERS.items()},
            **{slot: partial(draw, self.dice, self.style) for slot, draw in numbers.STYLED_NUMBERS.items()},
            **{slot: partial(self._draw_from_pool, slot) for slot in self.entities.pools},
            **{slot: partial(self.mention, slot) for slot in self.entities.speakers},
            **{slot: partial(self._fill_favourite, slot) for slot in FAVOURITE_LISTS},
            "bystander": self.mention_bystander,
            "org": self._mention_organization,
            "subject": self._mention_subject,
            "fact": partial(self.fill_unused, "facts"),
            "jobs": partial(self.fill_unused, "jobs"),
            "next_time": self._next_time,
        }

    def _draw_fixed_values(self) -> dict[str, str]:
        dice, style, entities = self.dice, self.style, self.entities
        he, his, him = ("she", "her", "her") if entities.speakers["hero"].person.is_woman else ("he", "his", "him")
        draw_sum = numbers.large_sum if entities.topic.large_sums else numbers.modest_sum
        return {
            "place": entities.place,
            "region": entities.region,
            "saint": entities.saint,
            "outlet": style.outlet,
            "he": he,
            "his": his,
            "him": him,
            "he_cap": he.capitalize(),
            "day": dice.pick(numbers.WEEKDAYS),
            "change": numbers.rate(dice, style),
            "sum": draw_sum(dice, style),
            "share": numbers.percent(dice, style),
            "match_score": numbers.match_score(dice),
            "tennis_score": numbers.tennis_score(dice),
            "rival": self._names.football_club(),
        }

    def _fill_parts(self, parts: Parts) -> str:
        texts = []
        for part in parts:
            if isinstance(part, str):
                texts.append(part)
            elif isinstance(part, Slot):
                texts.append(self._fill_slot(part.name))
            elif isinstance(part, Choice):
                texts.append(self._fill_parts(self.dice.pick(part.options)))
        return "".join(texts)

    def _fill_slot(self, slot: str) -> str:
        return self.fixed[slot] if slot in self.fixed else self._slot_fillers[slot]()

    def _fill_favourite(self, name: str) -> str:
        return self.fill(self.sampler.draw_favourite(name))

    def _draw_from_pool(self, slot: str) -> str:
        """Draw a name that was not among the last ones, so that two towns in a sentence differ."""
        pool, recent = self._pools[slot], self._recent_names[slot]
        position = int(self.dice.roll() ** POOL_EXPONENT * len(pool))
        for _ in pool:  # the pool may have no other name left
            if pool[position] not in recent:
                break
            position = (position + 1) % len(pool)
        recent.append(pool[position])
        del recent[: -(len(pool) // 2) or None]
        return pool[position]

    def _mention_organization(self) -> str:
        return self._mention_again("org", self._organization, self._short_organization, LONG_ORGANIZATION_PROBABILITY)

    def _mention_subject(self) -> str:
        return self._mention_again("subject", self._long_subject, self._short_subject, LONG_SUBJECT_PROBABILITY)

    def _mention_again(self, slot: str, long: str, short: str, long_probability: float) -> str:
        if slot not in self._mentioned:
            self._mentioned.add(slot)
            return long
        return long if self.dice.bernoulli(long_probability) else short

    def _next_time(self) -> str:
        """A time of day 10 to 45 minutes after the last one."""
        self._minutes += self.dice.between(2, 9) * 5
        return numbers.format_time(self._minutes, self.style)
