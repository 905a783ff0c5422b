"""Write a customer's facts as a message, in one of several tones."""

from __future__ import annotations

from dataclasses import dataclass

from deconfound.demo.messages import TRADE_OF, Message, with_article
from deconfound.demo.text_sampling import TextSampler


@dataclass(frozen=True, slots=True)
class Tone:
    """Openings, digressions, requests and endings of one kind of customer."""

    openings: tuple[str, ...]
    asides: tuple[str, ...]
    requests: tuple[str, ...]
    endings: tuple[str, ...]


TONES = (
    Tone(
        ("Hello,", "Good morning,", "Dear team,", "Hello, I hope this finds you well."),
        (
            "I have always been happy with your shop.",
            "I am sure this is just bad luck.",
            "Your colleague on the phone was lovely, by the way.",
            "I know you must get a lot of these messages.",
        ),
        ("Could I please have {ask}?", "I would be grateful for {ask}.", "Would you be able to arrange {ask}?"),
        ("Thank you so much for your help.", "Many thanks in advance.", "I appreciate it.", "With kind regards,"),
    ),
    Tone(
        ("Hi.", "To whom it may concern:", "Support,", "Hi there."),
        ("It is as simple as that.", "I have kept the receipt.", "Photos on request."),
        ("I want {ask}.", "Please arrange {ask}.", "Needed: {ask}."),
        ("Thanks.", "Regards,", "Please confirm.", "Best,"),
    ),
    Tone(
        ("I am furious.", "This is not acceptable.", "I can hardly believe I have to write this.", "Enough is enough."),
        (
            "I have never seen service like it.",
            "Does anybody check anything over there?",
            "My neighbour warned me about you.",
            "I will not be fobbed off again.",
        ),
        ("I demand {ask}.", "I expect {ask}, no excuses.", "The least I expect is {ask}."),
        ("I am waiting.", "Sort this out.", "I hope somebody actually reads this.", "Not impressed,"),
    ),
    Tone(
        (
            "Hello, me again.",
            "Hi, sorry for the long message.",
            "Hello, I am not sure whether this is the right address.",
            "Good evening, my son told me to write to you.",
        ),
        (
            "My sister has been with you for years and never had any trouble, which makes it stranger still.",
            "I am not very good with these things, as my husband never tires of telling me.",
            "We had talked about it at home for weeks before we decided.",
            "I read the small print last night and was none the wiser for it, I must admit.",
            "I would have come in person, but the bus no longer stops near your branch.",
        ),
        (
            "I have thought about it and I think I would like {ask}.",
            "I suppose what I am asking for is {ask}.",
            "My wife says we should ask for {ask}.",
        ),
        ("Sorry again for going on.", "Anyway, that is the whole story.", "Thank you for reading all this.", "Yours,"),
    ),
)

COMPLAINTS = (
    "Unfortunately it {problem}.",
    "The trouble is that it {problem}.",
    "I am writing because it {problem}.",
    "Now it turns out that it {problem}.",
    "But it {problem}.",
)
MORE_COMPLAINTS = (
    "It also {problem}.",
    "On top of that, it {problem}.",
    "And as if that were not enough, it {problem}.",
)
EFFORT_SENTENCES = (
    "I have {tried}, without success.",
    "Before you ask: I have {tried}.",
    "I have {tried} and it made no difference.",
    "So far I have {tried}.",
)
IMPACT_SENTENCES = (
    "I mention it because {impact}.",
    "It matters because {impact}.",
    "Please bear in mind that {impact}.",
    "You should know that {impact}.",
)
HISTORY_SENTENCES = ("I should add that {history}.", "For the record, {history}.", "By the way, {history}.")
CONTACT_SENTENCES = ("I can be reached {contact}.", "Please get back to me {contact}.", "Please answer {contact}.")


def render_message(message: Message, sampler: TextSampler) -> str:
    """Write the message in a random tone; every fact appears word for word, the name last."""
    tone = sampler.pick(TONES)
    middle = _effort(message, sampler)
    if message.history:
        middle.append(sampler.pick(HISTORY_SENTENCES).format(history=message.history))
    if message.impact:
        middle.append(sampler.pick(IMPACT_SENTENCES).format(impact=message.impact))
    middle = sampler.sample(middle, len(middle))
    for aside in sampler.sample(tone.asides, sampler.between(0, 2)):
        middle.insert(sampler.between(0, len(middle)), aside)
    opening, ending = sampler.pick(tone.openings), sampler.pick(tone.endings)
    parts = [*_story(message, sampler), *middle, _request(message, tone, sampler)]
    if message.contact:
        parts.append(sampler.pick(CONTACT_SENTENCES).format(contact=message.contact))
    return "\n".join([opening, " ".join(parts), ending, message.name])


def _story(message: Message, sampler: TextSampler) -> list[str]:
    bought = TRADE_OF[message.product].bought
    first, *others = message.problems
    more = [sampler.pick(MORE_COMPLAINTS).format(problem=problem) for problem in others]
    terms = _terms(message, sampler)
    if sampler.bernoulli(0.4):
        return [f"My {message.product} {first}.", *more, *_afterthought(message, terms)]
    complaint = sampler.pick(COMPLAINTS).format(problem=first)
    lead = (
        f"I {bought} {with_article(message.product)}"
        if sampler.bernoulli(0.6)
        else f"It is about the {message.product} I {bought}"
    )
    return [f"{lead}{terms}.", complaint, *more]


def _afterthought(message: Message, terms: str) -> list[str]:
    if message.date or message.amount:
        return [f"I {TRADE_OF[message.product].bought} it{terms}."]
    return [f"The order number is {message.reference}."] if message.reference else []


def _terms(message: Message, sampler: TextSampler) -> str:
    date = f" on {message.date}" if message.date else ""
    amount = f" for {message.amount}" if message.amount else ""
    wording = sampler.pick((" (order {})", ", order number {}", " under reference {}"))
    return date + amount + (wording.format(message.reference) if message.reference else "")


def _effort(message: Message, sampler: TextSampler) -> list[str]:
    if not message.tried:
        return []
    return [sampler.pick(EFFORT_SENTENCES).format(tried=" and ".join(message.tried))]


def _request(message: Message, tone: Tone, sampler: TextSampler) -> str:
    ask = " or else ".join(message.asks)
    if message.deadline:
        ask = f"{ask} {message.deadline}"
    return sampler.pick(tone.requests).format(ask=ask)
