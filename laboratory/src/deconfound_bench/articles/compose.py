"""Compose one article: draw its topic, newspaper and structure, then add sentences until it is long enough."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

from deconfound.demo.text_sampling import TextSampler
from deconfound_bench.articles.entities import NameGenerator, invent_entities
from deconfound_bench.articles.house_style import HouseStyle, invent_house_style
from deconfound_bench.articles.sentence_kinds import SENTENCE_KINDS
from deconfound_bench.articles.template_filler import TemplateFiller, WordingSampler
from deconfound_bench.articles.text_cleanup import to_sentence
from deconfound_bench.articles.wordings import Structure, Topic, Wordings

# The number of words is log-normal, times the factor of the structure. The limits are those of printed news.
MEDIAN_WORDS, LOG_WORDS_SD = 340, 0.52
MIN_WORDS, MAX_WORDS = 72, 800
MIN_SENTENCES = 4
ROUNDUP = "roundup"  # the structure with several events
MIXED_ROUNDUP_PROBABILITY = 0.35  # that its events come from several topics


class Draft:
    """The sentences of an article so far, in paragraphs."""

    def __init__(self, style: HouseStyle, dice: TextSampler) -> None:
        self._usual_length = style.newspaper.paragraph
        self._dice = dice
        self._paragraphs: list[list[str]] = []
        self.words = 0
        self.sentences = 0

    def add(self, sentences: Sequence[str], *, new_paragraph: bool = False) -> None:
        """Continue the paragraph, or start a new one if the last is long enough."""
        is_full = not self._paragraphs or len(self._paragraphs[-1]) >= self._usual_length * (0.5 + self._dice.roll())
        if is_full or new_paragraph:
            self._paragraphs.append([])
        self._paragraphs[-1].extend(sentences)
        self.words += _count_words(sentences)
        self.sentences += len(sentences)

    def is_shorter_than(self, words: float) -> bool:
        """Whether the draft lacks words or sentences."""
        return self.words < words or self.sentences < MIN_SENTENCES

    def text(self) -> str:
        """Join sentences with spaces and paragraphs with blank lines."""
        return "\n\n".join(" ".join(paragraph) for paragraph in self._paragraphs)


class Composer:
    """Composes one article; topic, newspaper, structure and length are drawn first."""

    def __init__(self, wordings: Wordings, dice: TextSampler) -> None:
        self._wordings = wordings
        self._dice = dice
        self._names = NameGenerator(wordings.names, dice)
        self._topic = dice.pick(wordings.topics)
        self._style = invent_house_style(wordings.newspapers, self._names, dice)
        structures = wordings.structures
        self._structure = structures[_draw_weighted([structure.share for structure in structures], dice)]
        self._words = _draw_length(self._structure, dice)
        self._draft = Draft(self._style, dice)

    def compose(self) -> str:
        """Write the article."""
        if self._structure.name == ROUNDUP:
            self._compose_roundup()
        else:
            self._compose_story()
        return self._draft.text()

    def _compose_story(self) -> None:
        """Write about one event: the opening, the phases, the closing."""
        filler = self._make_filler(self._topic, self._names.region())
        self._add_opening(filler)
        closing = [SENTENCE_KINDS[kind].write(filler) for kind in self._structure.closing]
        words = self._words - sum(_count_words(sentences) for sentences in closing)
        phases = self._structure.phases
        while self._draft.is_shorter_than(words):
            phase = min(int(self._draft.words / words * len(phases)), len(phases) - 1)
            self._add_sentences(filler, phases[max(phase, 0)])
        for sentences in closing:
            self._draft.add(sentences, new_paragraph=self._dice.bernoulli(0.5))

    def _compose_roundup(self) -> None:
        """Write about several events of one region, from one topic or from several."""
        is_mixed = self._dice.bernoulli(MIXED_ROUNDUP_PROBABILITY)
        region = self._names.region()
        opening_filler = self._make_filler(self._topic, region)
        self._add_opening(opening_filler)
        while self._draft.is_shorter_than(self._words):
            topic = self._dice.pick(self._wordings.topics) if is_mixed else self._topic
            filler = self._make_filler(topic, region)
            filler.fixed["event"] = filler.fill(filler.entities.event[0])
            transition = filler.fill(opening_filler.sampler.draw_unused("roundup_transitions"))
            self._draft.add([to_sentence(transition)], new_paragraph=True)
            for _ in range(self._dice.between(1, 3)):
                self._add_sentences(filler, self._structure.phases[0])

    def _make_filler(self, topic: Topic, region: str) -> TemplateFiller:
        common, forms = self._wordings.common, self._wordings.forms
        entities = invent_entities(topic, region, self._names, self._dice)
        officials = common["official_facts"] if topic.has_officials else ()
        own = {
            "general_facts": common["general_facts"] + officials,
            "bystanders": common["jobs"] + common["other_bystanders"],
            "asides": self._style.newspaper.asides,
            "other_event_wordings": entities.event[1:],
        }
        sampler = WordingSampler({**common, **forms, **topic.lists, **own}, self._dice)
        return TemplateFiller(self._wordings, entities, self._style, sampler, self._dice)

    def _add_opening(self, filler: TemplateFiller) -> None:
        for kind in self._structure.opening:
            self._draft.add(SENTENCE_KINDS[kind].write(filler), new_paragraph=kind == "lead")

    def _add_sentences(self, filler: TemplateFiller, weights: Mapping[str, float]) -> None:
        """Draw a kind that still has unused templates, and add its sentences."""
        emphasis = self._style.emphasis
        usable = {
            kind: weight * emphasis.get(SENTENCE_KINDS[kind].emphasis or "", 1.0)
            for kind, weight in weights.items()
            if not filler.sampler.is_used_up(SENTENCE_KINDS[kind].uses_up or "")
        } or {"fact": 1.0}
        kind = SENTENCE_KINDS[list(usable)[_draw_weighted(list(usable.values()), self._dice)]]
        sentences = kind.write(filler)
        self._draft.add(sentences, new_paragraph=kind.is_spoken and self._dice.bernoulli(0.85))


def compose_article(wordings: Wordings, dice: TextSampler) -> str:
    """The text of one article, which depends only on the wordings and the dice."""
    return Composer(wordings, dice).compose()


def _draw_length(structure: Structure, dice: TextSampler) -> float:
    log_words = NormalDist(math.log(MEDIAN_WORDS * structure.length), LOG_WORDS_SD)
    words = math.exp(log_words.inv_cdf(0.001 + 0.998 * dice.roll()))
    return min(max(words, MIN_WORDS), MAX_WORDS)


def _draw_weighted(weights: Sequence[float], dice: TextSampler) -> int:
    """Draw a position with probability proportional to its weight."""
    roll = dice.roll() * sum(weights)
    for position, weight in enumerate(weights):
        roll -= weight
        if roll < 0:
            return position
    return len(weights) - 1


def _count_words(sentences: Sequence[str]) -> int:
    return sum(len(sentence.split()) for sentence in sentences)
