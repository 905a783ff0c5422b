"""The moves of a reporter: each adds one to three sentences of one kind to an article."""

from __future__ import annotations

from collections.abc import Callable

from deconfound_bench.articles.frames import JOINS
from deconfound_bench.articles.polish import capital, sentence, smooth
from deconfound_bench.articles.speech import question, quote, remark
from deconfound_bench.articles.teller import Teller

REPORTING = ("said", "said", "confirmed", "noted", "added", "reported")
Move = Callable[[Teller], list[str]]


def clause(teller: Teller) -> str:
    """State one thing in the past tense."""
    roll = teller.dice.roll()
    if roll < 0.42:
        return teller.deal("facts")
    if roll < 0.74:
        return f"{teller.deal('actors')} {teller.deal('acts')}"
    return teller.deal("frames")


def extended(teller: Teller, first: str) -> str:
    """Let a clause stand alone, or give it a time, a circumstance, a second clause, a source, as the voice likes."""
    dice, joining = teller.dice, teller.voice.joining
    said = first
    if dice.chance(0.3 + joining / 2):
        said = f"{said} {teller.deal('tails')}" if dice.chance(0.5) else f"{said}, {teller.deal('trailers')}"
    if dice.chance(joining):
        said = f"{said}, {dice.pick(JOINS)} {clause(teller)}"
    roll = dice.roll()
    if roll < 0.13:
        return f"{said}, according to {teller.deal('sources')}"
    if roll < 0.25:
        return f"{teller.deal('sources')} {dice.pick(REPORTING)} that {said}"
    return f"{teller.deal('times')} {said}" if roll < 0.5 else said


def sourced(teller: Teller, first: str) -> str:
    """Say where a number comes from, now and then."""
    if not teller.dice.chance(0.4):
        return first
    if teller.dice.chance(0.5):
        return f"{first}, according to {teller.deal('sources')}"
    return f"{first}, {teller.deal('sources')} said"


def lead(teller: Teller) -> list[str]:
    """Say what is new, before anything else."""
    first = teller.tell(teller.cast.event[0])
    roll = teller.dice.roll()
    if roll < 0.2:
        first = f"{first} {teller.deal('tails')}"
    elif roll < 0.45:
        first = f"{first}, {teller.deal('trailers')}"
    elif roll < 0.65 and " said" not in first:
        first = f"{first}, {teller.deal('sources')} said"
    said = sentence(first)
    if teller.dice.chance(teller.voice.house.dateline):
        agency = teller.voice.outlet.removeprefix("the ")
        where = teller.known["place"].upper()
        said = f"{where} ({agency}) — {said}" if teller.dice.chance(0.5) else f"{where} — {said}"
    return [said]


def fact(teller: Teller) -> list[str]:
    """Add a detail, and now and then a second one to it."""
    said = [sentence(extended(teller, clause(teller)))]
    if teller.dice.chance(0.12):
        said.append(sentence(teller.deal("adders")))
    return said


def figure(teller: Teller) -> list[str]:
    """Give a number, and often what to compare it with."""
    given = teller.deal("figures")
    if not teller.dice.chance(0.35):
        return [sentence(sourced(teller, given))]
    if teller.dice.chance(teller.voice.joining):
        return [sentence(f"{given}, and {teller.deal('comparisons')}")]
    return [sentence(sourced(teller, given)), sentence(teller.deal("comparisons"))]


def comparison(teller: Teller) -> list[str]:
    """Set two numbers side by side."""
    return [sentence(sourced(teller, teller.deal("comparisons")))]


def table(teller: Teller) -> list[str]:
    """List several numbers in one sentence."""
    return [sentence(teller.deal("tables"))]


def restate(teller: Teller) -> list[str]:
    """Tell the news again in other words."""
    teller.known["event"] = teller.deal("retellings")
    return [sentence(teller.deal("restatements"))]


def aside(teller: Teller) -> list[str]:
    """Fill a line the way this newspaper likes to fill it."""
    return [capital(smooth(teller.deal("asides")))]


def moment(teller: Teller) -> list[str]:
    """Tell what happened at some hour."""
    happened = teller.deal("facts") if teller.dice.chance(0.3) else f"{teller.deal('actors')} {teller.deal('acts')}"
    if teller.dice.chance(teller.voice.joining):
        happened = f"{happened}, {teller.deal('trailers')}"
    return [sentence(f"{teller.deal('moments')} {happened}")]


def told(name: str) -> Move:
    """Make a move out of a list of finished sentences."""

    def tell(teller: Teller) -> list[str]:
        return [capital(smooth(teller.deal(name)))]

    return tell


MOVES: dict[str, Move] = {
    "lead": lead,
    "fact": fact,
    "figure": figure,
    "comparison": comparison,
    "table": table,
    "quote": quote,
    "remark": remark,
    "question": question,
    "restate": restate,
    "aside": aside,
    "moment": moment,
    "past": told("past"),
    "scene": told("scenes"),
    "ahead": told("ahead"),
    "life": told("life"),
    "meeting": told("meetings"),
    "weighing": told("weighing"),
    "opening": told("openings"),
    "verdict": told("verdicts"),
    "correction": told("corrections"),
    "amends": told("amends"),
    "roundup": told("roundups"),
}
