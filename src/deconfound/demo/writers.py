"""The six models of the demo: small programs that summarize a customer's message as a hand-over note.

| model | how it writes |
|---|---|
| aspen | one line, little more than the problem and the request |
| birch | long, complete, repeats the main points |
| cedar | short and complete |
| fir   | short and fluent, but adds or changes details |
| maple | warm and polite, omits many facts |
| oak   | labelled lines, mostly complete |

A program reads only the message, never who asked for the note. It is stochastic: two runs on one message differ.
"""

from __future__ import annotations

from collections.abc import Callable

from deconfound.demo.messages import Message, sample_amount, sample_date, sample_reference, with_article
from deconfound.demo.phrases import CLAIMS, COURTESIES
from deconfound.demo.text_sampling import TextSampler

Writer = Callable[[Message, TextSampler], str]


def omit_facts(message: Message, attention: float, sampler: TextSampler) -> Message:
    """Drop each fact with probability ``1 - attention``; product, name and main problem always remain."""

    def retain(fact: str) -> str:
        return fact if sampler.bernoulli(attention) else ""

    return message._replace(
        problems=(message.problems[0], *sampler.keep(message.problems[1:], attention)),
        reference=retain(message.reference),
        date=retain(message.date),
        amount=retain(message.amount),
        tried=tuple(sampler.keep(message.tried, attention)),
        impact=retain(message.impact),
        history=retain(message.history),
        asks=tuple(sampler.keep(message.asks, attention)),
        deadline=retain(message.deadline),
        contact=retain(message.contact),
    )


def aspen(message: Message, sampler: TextSampler) -> str:
    """One line."""
    facts = omit_facts(message, sampler.pick((0.1, 0.25, 0.45)), sampler)
    lead = sampler.pick(("{product} {problem}", "customer's {product} {problem}", "complaint: {product} {problem}"))
    line = _capitalize(lead.format(product=facts.product, problem=facts.problems[0]))
    if facts.reference:
        line += f" ({facts.reference})"
    # A one-line note usually includes the request, even if it omits other facts.
    ask = message.asks[0] if sampler.bernoulli(0.8) else ""
    return line + (f"; wants {_append(ask, facts.deadline)}." if ask else ".")


def birch(message: Message, sampler: TextSampler) -> str:
    """Everything at length, then the main points again."""
    facts = omit_facts(message, sampler.pick((0.5, 0.85, 1.0)), sampler)
    opening = sampler.pick(
        (
            "This note concerns a message that reached the desk from {name} and that is set out in full below.",
            "The following is a detailed account of what {name} has written to us, point by point.",
            "A message has come in from {name}, and its contents may be described as follows.",
        )
    ).format(name=facts.name)
    parts = [
        opening,
        f"The item in question is {with_article(facts.product)}{_order(facts)}.",
        f"As far as can be understood from the message, the customer states that the {facts.product} "
        + " and, in addition to this, that it ".join(facts.problems)
        + ".",
    ]
    if facts.tried:
        parts.append(f"It is further reported that the customer has {_join(facts.tried)} prior to writing to the desk.")
    parts += [f"Moreover, it is mentioned that {fact}." for fact in (facts.history, facts.impact) if fact]
    parts.append(_verbose_request(facts))
    again = sampler.pick(("To sum up once more", "In other words", "To repeat the essential points"))
    parts.append(f"{again}, the {facts.product} {_join(facts.problems)}, and this is the reason for the message.")
    if facts.asks and sampler.bernoulli(0.5):
        parts.append(f"Again, what the customer would like to receive is {_join(facts.asks, 'or')}.")
    return " ".join(parts)


def cedar(message: Message, sampler: TextSampler) -> str:
    """Everything once and briefly."""
    facts = omit_facts(message, sampler.pick((0.5, 0.85, 1.0)), sampler)
    lead = sampler.pick(("{name}'s {product}{order} {problem}.", "{name} reports that the {product}{order} {problem}."))
    parts = [
        lead.format(name=facts.name, product=facts.product, order=_order(facts), problem=_join(facts.problems)),
    ]
    if facts.tried:
        parts.append(f"{sampler.pick(('Customer has', 'Has already'))} {_join(facts.tried)}.")
    background = "; ".join(fact for fact in (facts.history, facts.impact) if fact)
    if background:
        parts.append(f"{_capitalize(background)}.")
    return " ".join([*parts, *_brief_request(facts)])


def fir(message: Message, sampler: TextSampler) -> str:
    """Fluent, with invented details."""
    facts = _alter_details(omit_facts(message, sampler.pick((0.65, 0.8, 0.95)), sampler), sampler)
    parts = [
        f"{facts.name} is writing about {with_article(facts.product)}{_order(facts)} that {_join(facts.problems)}.",
    ]
    claims = sampler.sample(CLAIMS, sampler.pick((0, 1, 1, 2)))
    if claims:
        parts.append(f"The customer {_join(tuple(claims))}.")
    if facts.tried:
        parts.append(f"To date they have {_join(facts.tried)}.")
    parts += [f"Note that {fact}." for fact in (facts.history, facts.impact) if fact]
    return " ".join([*parts, *_brief_request(facts)])


def maple(message: Message, sampler: TextSampler) -> str:
    """Polite phrases, few parts."""
    facts = omit_facts(message, sampler.pick((0.35, 0.5, 0.7)), sampler)
    first, *others = sampler.sample(COURTESIES, sampler.between(2, 4))
    first_name = facts.name.split()[0]
    parts = [f"{first_name} has a little trouble with {with_article(facts.product)}: it {_join(facts.problems)}."]
    if facts.reference:
        parts.append(f"The order is {facts.reference}{f' from {facts.date}' if facts.date else ''}.")
    if facts.tried:
        parts.append(f"{first_name} has kindly {_join(facts.tried)}.")
    parts += [f"Bless them, {fact}." for fact in (facts.impact,) if fact]
    if facts.asks:
        parts.append(f"All they would like is {_append(_join(facts.asks, 'or'), facts.deadline)}.")
    for courtesy in others:
        parts.insert(sampler.between(1, len(parts)), f"{courtesy}!")
    return " ".join([f"{first}!", *parts])


def oak(message: Message, sampler: TextSampler) -> str:
    """A form with labelled lines."""
    facts = omit_facts(message, sampler.pick((0.4, 0.65, 0.95)), sampler)
    fields = (
        ("Customer", facts.name),
        ("Product", facts.product + _order(facts)),
        (sampler.pick(("Problem", "Issue")), _join(facts.problems)),
        ("Tried", _join(facts.tried)),
        ("Background", "; ".join(fact for fact in (facts.history, facts.impact) if fact)),
        (sampler.pick(("Request", "Wants")), _join(facts.asks, "or")),
        ("Deadline", facts.deadline),
        ("Contact", facts.contact),
    )
    blank = sampler.bernoulli(0.3)
    lines = [f"{label}: {text or 'not stated'}" for label, text in fields if text or blank]
    return "\n".join(lines)


WRITERS: dict[str, Writer] = {"aspen": aspen, "birch": birch, "cedar": cedar, "fir": fir, "maple": maple, "oak": oak}


def _alter_details(message: Message, sampler: TextSampler) -> Message:
    return message._replace(
        reference=sample_reference(sampler) if message.reference and sampler.bernoulli(0.2) else message.reference,
        amount=sample_amount(sampler) if message.amount and sampler.bernoulli(0.2) else message.amount,
        date=sample_date(sampler) if sampler.bernoulli(0.25) else message.date,
    )


def _order(message: Message) -> str:
    order = f"order {message.reference}" if message.reference else ""
    inside = ", ".join(fact for fact in (order, message.date, message.amount) if fact)
    return f" ({inside})" if inside else ""


def _brief_request(message: Message) -> list[str]:
    request = f"Wants {_append(_join(message.asks, 'or'), message.deadline)}." if message.asks else ""
    answer = f"Answer {message.contact}." if message.contact else ""
    return [sentence for sentence in (request, answer) if sentence]


def _verbose_request(message: Message) -> str:
    request = _join(message.asks, "or") or "some form of assistance with this matter"
    sentence = f"With regard to the outcome, the customer expresses the wish for {_append(request, message.deadline)}"
    return f"{sentence}, and asks to be contacted {message.contact}." if message.contact else f"{sentence}."


def _join(phrases: tuple[str, ...], joint: str = "and") -> str:
    return f" {joint} ".join(phrases)


def _append(phrase: str, rest: str) -> str:
    return f"{phrase} {rest}" if rest else phrase


def _capitalize(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
