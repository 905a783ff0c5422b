"""What people say, and how a newspaper attributes it to them."""

from __future__ import annotations

from deconfound_bench.articles.polish import capital, sentence, smooth
from deconfound_bench.articles.teller import Teller

VERBS = (
    "said",
    "said",
    "said",
    "said",
    "added",
    "explained",
    "insisted",
    "told {outlet}",
    "told reporters",
)
COLOUR = ("argued", "admitted", "conceded", "joked", "warned", "maintained", "observed")
SPEAKERS = (("hero", 0.45), ("second", 0.25), ("third", 0.15), ("passer", 0.15))


def quote(teller: Teller) -> list[str]:
    """Let somebody speak, in one of the usual patterns."""
    speaker = _speaker(teller)
    lines = _lines(teller, speaker)
    opening, closing = teller.voice.marks
    who, verb = _who(teller, speaker), _verb(teller)
    first, rest = lines[0], " ".join(lines[1:])
    roll = teller.dice.roll()
    if roll < 0.5:
        verb = "asked" if first.endswith("?") else verb
        ending = f"said {who}" if roll < 0.2 and verb == "said" else f"{who} {verb}"
        more = [f"{opening}{rest}{closing}"] if rest else []
        return [smooth(f"{opening}{_comma(first)}{closing} {ending}."), *more]
    if roll < 0.8:
        return [capital(smooth(f"{who} {verb}:") + f" {opening}{' '.join(lines)}{closing}")]
    together = " ".join([*lines[:-1], _comma(lines[-1])])
    return [smooth(f"{opening}{together}{closing} {who} {verb}.")]


def remark(teller: Teller) -> list[str]:
    """Quote a few words only, or none: what somebody thought of it."""
    who = _who(teller, _speaker(teller))
    opening, closing = teller.voice.marks
    if teller.dice.chance(0.5):
        words = teller.tell("{adj}{| and {adj}}")
        call = teller.tell("{called {matter}|described {matter} as|spoke of {matter} as}")
        return [sentence(f"{who} {call} {opening}{words}{closing}.").replace(f"{closing}.", f".{closing}")]
    verb = teller.dice.pick(("said", "said", "added", "argued", "told {outlet}", "pointed out"))
    source = teller.deal("facts" if teller.dice.chance(0.5) else "frames")
    return [sentence(f"{who} {teller.tell(verb)} that {source}")]


def question(teller: Teller) -> list[str]:
    """Put a question to the person of the portrait and print the answer."""
    opening, closing = teller.voice.marks
    teller.say_he("hero")
    asked = capital(smooth(teller.deal("asked")))
    lines = _lines(teller, "hero")
    return [asked, f"{opening}{' '.join(lines)}{closing}"]


def _speaker(teller: Teller) -> str:
    roll = teller.dice.roll()
    for speaker, share in SPEAKERS:
        roll -= share
        if roll < 0:
            return speaker
    return "hero"


def _who(teller: Teller, speaker: str) -> str:
    return teller.passer() if speaker == "passer" else teller.person(speaker)


def _verb(teller: Teller) -> str:
    plain = teller.voice.house.kind in {"wire", "trade"}
    if not plain and teller.dice.chance(0.15):
        return teller.dice.pick(COLOUR)
    return "said" if plain and teller.dice.chance(0.7) else teller.tell(teller.dice.pick(VERBS))


def _lines(teller: Teller, speaker: str) -> list[str]:
    """One to three sentences of direct speech that suit the speaker."""
    side = {"hero": "views", "second": "doubts"}.get(speaker, teller.dice.pick(("views", "doubts")))
    count = 1 + (teller.dice.chance(0.45)) + (teller.dice.chance(0.15))
    said: list[str] = []
    for _ in range(count):
        usual = "chat" if said and teller.dice.chance(0.3) else side
        source = "talk" if teller.deck.spent(usual) or teller.dice.chance(0.25) else usual
        said.append(capital(smooth(teller.deal(source))))
    return said


def _comma(line: str) -> str:
    return line if line.endswith(("?", "!")) else line.removesuffix(".") + ","
