"""The kinds of sentences that articles consist of; each adds one to three sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from deconfound_bench.articles.template_filler import TemplateFiller
from deconfound_bench.articles.text_cleanup import capitalize, clean, to_sentence

Emphasis = Literal["quotes", "numbers", "colour"]

SPEAKER_SHARES = (("hero", 0.45), ("opponent", 0.25), ("observer", 0.15), ("bystander", 0.15))
ASSESSMENT = "{adj}{| and {adj}}"
ASSESSMENT_VERB = "{called {subject}|described {subject} as|spoke of {subject} as}"


@dataclass(frozen=True, slots=True)
class SentenceKind:
    """How to write one kind of sentence, and when.

    A kind is out of use once the list ``uses_up`` has no unused template. ``emphasis`` is the habit of the newspaper
    that makes the kind more or less frequent. Spoken kinds usually start a paragraph.
    """

    write: Callable[[TemplateFiller], list[str]]
    uses_up: str | None = None
    emphasis: Emphasis | None = None
    is_spoken: bool = False


def lead(filler: TemplateFiller) -> list[str]:
    """State the news."""
    news = filler.fill(filler.entities.event[0])
    roll = filler.dice.roll()
    if roll < 0.2:
        news = f"{news} {filler.fill_unused('circumstances')}"
    elif roll < 0.45:
        news = f"{news}, {filler.fill_unused('afterthoughts')}"
    elif roll < 0.65 and " said" not in news:
        news = f"{news}, {filler.fill_unused('sources')} said"
    sentence = to_sentence(news)
    if filler.dice.bernoulli(filler.style.newspaper.dateline):
        agency = filler.style.outlet.removeprefix("the ")
        place = filler.entities.place.upper()
        sentence = f"{place} ({agency}) — {sentence}" if filler.dice.bernoulli(0.5) else f"{place} — {sentence}"
    return [sentence]


def fact(filler: TemplateFiller) -> list[str]:
    """Add a detail, sometimes with a follow-up."""
    sentences = [to_sentence(_extend(filler, _clause(filler)))]
    if filler.dice.bernoulli(0.12):
        sentences.append(to_sentence(filler.fill_unused("follow_ups")))
    return sentences


def figure(filler: TemplateFiller) -> list[str]:
    """Give a number, often with a comparison."""
    number = filler.fill_unused("figures")
    if not filler.dice.bernoulli(0.35):
        return [to_sentence(_attribute(filler, number))]
    if filler.dice.bernoulli(filler.style.joining):
        return [to_sentence(f"{number}, and {filler.fill_unused('comparisons')}")]
    return [to_sentence(_attribute(filler, number)), *_write_clause("comparisons", filler)]


def comparison(filler: TemplateFiller) -> list[str]:
    """Compare two numbers."""
    return [to_sentence(_attribute(filler, filler.fill_unused("comparisons")))]


def restatement(filler: TemplateFiller) -> list[str]:
    """Repeat the news in other words."""
    filler.fixed["event"] = filler.fill_unused("other_event_wordings")
    return _write_clause("restatements", filler)


def timed_action(filler: TemplateFiller) -> list[str]:
    """Report what happened at some time of day."""
    action = filler.fill_unused("facts") if filler.dice.bernoulli(0.3) else _action(filler)
    if filler.dice.bernoulli(filler.style.joining):
        action = f"{action}, {filler.fill_unused('afterthoughts')}"
    return [to_sentence(f"{filler.fill_unused('time_markers')} {action}")]


def quote(filler: TemplateFiller) -> list[str]:
    """Quote somebody, with the attribution after the first sentence, before all of them, or at the end."""
    slot = _draw_speaker(filler)
    speech = _speech(filler, slot)
    opening, closing = filler.style.quotation_marks
    speaker, verb = _mention(filler, slot), _quote_verb(filler)
    first, rest = speech[0], " ".join(speech[1:])
    roll = filler.dice.roll()
    if roll < 0.5:
        verb = "asked" if first.endswith("?") else verb
        attribution = f"said {speaker}" if roll < 0.2 and verb == "said" else f"{speaker} {verb}"
        continued = [f"{opening}{rest}{closing}"] if rest else []
        return [clean(f"{opening}{_end_with_comma(first)}{closing} {attribution}."), *continued]
    if roll < 0.8:
        return [capitalize(clean(f"{speaker} {verb}:") + f" {opening}{' '.join(speech)}{closing}")]
    joined = " ".join([*speech[:-1], _end_with_comma(speech[-1])])
    return [clean(f"{opening}{joined}{closing} {speaker} {verb}.")]


def remark(filler: TemplateFiller) -> list[str]:
    """Quote a few words, or report a statement in indirect speech."""
    speaker = _mention(filler, _draw_speaker(filler))
    opening, closing = filler.style.quotation_marks
    if filler.dice.bernoulli(0.5):
        words = filler.fill(ASSESSMENT)
        verb = filler.fill(ASSESSMENT_VERB)
        return [to_sentence(f"{speaker} {verb} {opening}{words}{closing}.").replace(f"{closing}.", f".{closing}")]
    verb = filler.fill_any("remark_verbs")
    statement = filler.fill_unused("facts" if filler.dice.bernoulli(0.5) else "general_facts")
    return [to_sentence(f"{speaker} {verb} that {statement}")]


def question(filler: TemplateFiller) -> list[str]:
    """Ask the hero something and print the answer."""
    opening, closing = filler.style.quotation_marks
    return [*_write_sentence("questions", filler), f"{opening}{' '.join(_speech(filler, 'hero'))}{closing}"]


def _write_clause(name: str, filler: TemplateFiller) -> list[str]:
    """Turn a clause of the list into a sentence."""
    return [to_sentence(filler.fill_unused(name))]


def _write_sentence(name: str, filler: TemplateFiller) -> list[str]:
    """Write a sentence of the list, which has its own full stop."""
    return [capitalize(clean(filler.fill_unused(name)))]


def _clause(filler: TemplateFiller) -> str:
    """State one thing in the past tense."""
    roll = filler.dice.roll()
    if roll < 0.42:
        return filler.fill_unused("facts")
    return _action(filler) if roll < 0.74 else filler.fill_unused("general_facts")


def _action(filler: TemplateFiller) -> str:
    return f"{filler.fill_unused('actors')} {filler.fill_unused('actions')}"


def _extend(filler: TemplateFiller, clause: str) -> str:
    """Add a circumstance, a second clause, a source or a time, as often as the newspaper does."""
    dice, joining = filler.dice, filler.style.joining
    if dice.bernoulli(0.3 + joining / 2):
        is_circumstance = dice.bernoulli(0.5)
        addition = filler.fill_unused("circumstances" if is_circumstance else "afterthoughts")
        clause = f"{clause}{' ' if is_circumstance else ', '}{addition}"
    if dice.bernoulli(joining):
        clause = f"{clause}, {filler.fill_any('conjunctions')} {_clause(filler)}"
    roll = dice.roll()
    if roll < 0.13:
        return f"{clause}, according to {filler.fill_unused('sources')}"
    if roll < 0.25:
        return f"{filler.fill_unused('sources')} {filler.fill_any('reporting_verbs')} that {clause}"
    return f"{filler.fill_unused('time_phrases')} {clause}" if roll < 0.5 else clause


def _attribute(filler: TemplateFiller, number: str) -> str:
    """Sometimes add the source of a number."""
    if not filler.dice.bernoulli(0.4):
        return number
    if filler.dice.bernoulli(0.5):
        return f"{number}, according to {filler.fill_unused('sources')}"
    return f"{number}, {filler.fill_unused('sources')} said"


def _draw_speaker(filler: TemplateFiller) -> str:
    roll = filler.dice.roll()
    for slot, share in SPEAKER_SHARES:
        roll -= share
        if roll < 0:
            return slot
    return "hero"


def _mention(filler: TemplateFiller, slot: str) -> str:
    return filler.mention_bystander() if slot == "bystander" else filler.mention(slot)


def _quote_verb(filler: TemplateFiller) -> str:
    is_plain = filler.style.newspaper.plain_verbs
    if not is_plain and filler.dice.bernoulli(0.15):
        return filler.fill_any("vivid_quote_verbs")
    if is_plain and filler.dice.bernoulli(0.7):
        return "said"
    return filler.fill_any("quote_verbs")


def _speech(filler: TemplateFiller, slot: str) -> list[str]:
    """One to three sentences of direct speech that fit the speaker."""
    dice = filler.dice
    either = dice.pick(("hero_quotes", "opponent_quotes"))
    own = {"hero": "hero_quotes", "opponent": "opponent_quotes"}.get(slot, either)
    count = 1 + dice.bernoulli(0.45) + dice.bernoulli(0.15)
    sentences: list[str] = []
    for _ in range(count):
        preferred = "stock_phrases" if sentences and dice.bernoulli(0.3) else own
        is_general = filler.sampler.is_used_up(preferred) or dice.bernoulli(0.25)
        sentences += _write_sentence("general_quotes" if is_general else preferred, filler)
    return sentences


def _end_with_comma(sentence: str) -> str:
    return sentence if sentence.endswith(("?", "!")) else sentence.removesuffix(".") + ","


def _from_list(name: str, emphasis: Emphasis | None = None) -> SentenceKind:
    """A kind whose sentences are the templates of one list."""
    return SentenceKind(partial(_write_sentence, name), name, emphasis)


SENTENCE_KINDS = {
    "lead": SentenceKind(lead),
    "fact": SentenceKind(fact),
    "figure": SentenceKind(figure, "figures", "numbers"),
    "comparison": SentenceKind(comparison, "comparisons", "numbers"),
    "table": SentenceKind(partial(_write_clause, "tables"), "tables", "numbers"),
    "quote": SentenceKind(quote, emphasis="quotes", is_spoken=True),
    "remark": SentenceKind(remark, emphasis="quotes", is_spoken=True),
    "question": SentenceKind(question, "questions", "quotes", is_spoken=True),
    "restatement": SentenceKind(restatement, "other_event_wordings"),
    "aside": _from_list("asides", "colour"),
    "timed_action": SentenceKind(timed_action),
    "background": _from_list("background"),
    "scene": _from_list("scenes", "colour"),
    "outlook": _from_list("outlook"),
    "interview_opening": _from_list("interview_openings"),
    "biography": _from_list("biography", "colour"),
    "analysis_opening": _from_list("analysis_openings"),
    "argument": _from_list("arguments"),
    "conclusion": _from_list("conclusions"),
    "roundup_opening": _from_list("roundup_openings"),
    "correction": _from_list("corrections"),
    "further_correction": _from_list("further_corrections"),
}
