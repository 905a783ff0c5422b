"""The six models of the demo: small programs that turn a customer's message into a hand-over note.

| model | how it writes |
|---|---|
| aspen | one line, little more than the problem and the wish |
| birch | retells everything at length, then says the main points again |
| cedar | short, complete, to the point |
| fir   | short and fluent, but adds or alters details |
| maple | warm and flattering, forgets a good part |
| oak   | labelled lines, mostly complete |

A program sees the message alone, never who asked for the note, and two runs on one message differ.
"""

from __future__ import annotations

from collections.abc import Callable

from deconfound.demo.messages import Message, make_amount, make_date, make_reference, with_article
from deconfound.demo.phrases import CLAIMS, COURTESIES
from deconfound.demo.text_sampling import TextSampler

Writer = Callable[[Message, TextSampler], str]


def recall(message: Message, attention: float, dice: TextSampler) -> Message:
    """Forget each fact with probability ``1 - attention``; product, name and main problem always stay."""

    def held(fact: str) -> str:
        return fact if dice.chance(attention) else ""

    return message._replace(
        problems=(message.problems[0], *dice.keep(message.problems[1:], attention)),
        reference=held(message.reference),
        date=held(message.date),
        amount=held(message.amount),
        tried=tuple(dice.keep(message.tried, attention)),
        impact=held(message.impact),
        history=held(message.history),
        asks=tuple(dice.keep(message.asks, attention)),
        deadline=held(message.deadline),
        contact=held(message.contact),
    )


def aspen(message: Message, dice: TextSampler) -> str:
    """Write one line."""
    seen = recall(message, dice.pick((0.1, 0.25, 0.45)), dice)
    lead = dice.pick(("{product} {problem}", "customer's {product} {problem}", "complaint: {product} {problem}"))
    line = _capital(lead.format(product=seen.product, problem=seen.problems[0]))
    if seen.reference:
        line += f" ({seen.reference})"
    # The wish is the last thing even a one-line note leaves out.
    ask = message.asks[0] if dice.chance(0.8) else ""
    return line + (f"; wants {_with(ask, seen.deadline)}." if ask else ".")


def birch(message: Message, dice: TextSampler) -> str:
    """Retell everything, and then the main points once more."""
    seen = recall(message, dice.pick((0.5, 0.85, 1.0)), dice)
    opening = dice.pick(
        (
            "This note concerns a message that reached the desk from {name} and that is set out in full below.",
            "The following is a detailed account of what {name} has written to us, point by point.",
            "A message has come in from {name}, and its contents may be described as follows.",
        )
    ).format(name=seen.name)
    parts = [
        opening,
        f"The item in question is {with_article(seen.product)}{_order(seen)}.",
        f"As far as can be understood from the message, the customer states that the {seen.product} "
        + " and, in addition to this, that it ".join(seen.problems)
        + ".",
    ]
    if seen.tried:
        parts.append(f"It is further reported that the customer has {_both(seen.tried)} prior to writing to the desk.")
    parts += [f"Moreover, it is mentioned that {fact}." for fact in (seen.history, seen.impact) if fact]
    parts.append(_verbose_wish(seen))
    again = dice.pick(("To sum up once more", "In other words", "To repeat the essential points"))
    parts.append(f"{again}, the {seen.product} {_both(seen.problems)}, and this is the reason for the message.")
    if seen.asks and dice.chance(0.5):
        parts.append(f"Again, what the customer would like to receive is {_both(seen.asks, 'or')}.")
    return " ".join(parts)


def cedar(message: Message, dice: TextSampler) -> str:
    """Say everything once and briefly."""
    seen = recall(message, dice.pick((0.5, 0.85, 1.0)), dice)
    lead = dice.pick(("{name}'s {product}{order} {problem}.", "{name} reports that the {product}{order} {problem}."))
    parts = [
        lead.format(name=seen.name, product=seen.product, order=_order(seen), problem=_both(seen.problems)),
    ]
    if seen.tried:
        parts.append(f"{dice.pick(('Customer has', 'Has already'))} {_both(seen.tried)}.")
    background = "; ".join(fact for fact in (seen.history, seen.impact) if fact)
    if background:
        parts.append(f"{_capital(background)}.")
    return " ".join([*parts, *_brief_wish(seen)])


def fir(message: Message, dice: TextSampler) -> str:
    """Write well, and make things up."""
    seen = _altered(recall(message, dice.pick((0.65, 0.8, 0.95)), dice), dice)
    parts = [
        f"{seen.name} is writing about {with_article(seen.product)}{_order(seen)} that {_both(seen.problems)}.",
    ]
    claims = dice.sample(CLAIMS, dice.pick((0, 1, 1, 2)))
    if claims:
        parts.append(f"The customer {_both(tuple(claims))}.")
    if seen.tried:
        parts.append(f"To date they have {_both(seen.tried)}.")
    parts += [f"Note that {fact}." for fact in (seen.history, seen.impact) if fact]
    return " ".join([*parts, *_brief_wish(seen)])


def maple(message: Message, dice: TextSampler) -> str:
    """Please the reader."""
    seen = recall(message, dice.pick((0.35, 0.5, 0.7)), dice)
    first, *others = dice.sample(COURTESIES, dice.between(2, 4))
    first_name = seen.name.split()[0]
    facts = [f"{first_name} has a little trouble with {with_article(seen.product)}: it {_both(seen.problems)}."]
    if seen.reference:
        facts.append(f"The order is {seen.reference}{f' from {seen.date}' if seen.date else ''}.")
    if seen.tried:
        facts.append(f"{first_name} has kindly {_both(seen.tried)}.")
    facts += [f"Bless them, {fact}." for fact in (seen.impact,) if fact]
    if seen.asks:
        facts.append(f"All they would like is {_with(_both(seen.asks, 'or'), seen.deadline)}.")
    for courtesy in others:
        facts.insert(dice.between(1, len(facts)), f"{courtesy}!")
    return " ".join([f"{first}!", *facts])


def oak(message: Message, dice: TextSampler) -> str:
    """Fill in a form."""
    seen = recall(message, dice.pick((0.4, 0.65, 0.95)), dice)
    fields = (
        ("Customer", seen.name),
        ("Product", seen.product + _order(seen)),
        (dice.pick(("Problem", "Issue")), _both(seen.problems)),
        ("Tried", _both(seen.tried)),
        ("Background", "; ".join(fact for fact in (seen.history, seen.impact) if fact)),
        (dice.pick(("Request", "Wants")), _both(seen.asks, "or")),
        ("Deadline", seen.deadline),
        ("Contact", seen.contact),
    )
    blank = dice.chance(0.3)
    lines = [f"{label}: {text or 'not stated'}" for label, text in fields if text or blank]
    return "\n".join(lines)


WRITERS: dict[str, Writer] = {"aspen": aspen, "birch": birch, "cedar": cedar, "fir": fir, "maple": maple, "oak": oak}


def _altered(message: Message, dice: TextSampler) -> Message:
    return message._replace(
        reference=make_reference(dice) if message.reference and dice.chance(0.2) else message.reference,
        amount=make_amount(dice) if message.amount and dice.chance(0.2) else message.amount,
        date=make_date(dice) if dice.chance(0.25) else message.date,
    )


def _order(message: Message) -> str:
    order = f"order {message.reference}" if message.reference else ""
    inside = ", ".join(fact for fact in (order, message.date, message.amount) if fact)
    return f" ({inside})" if inside else ""


def _brief_wish(message: Message) -> list[str]:
    wish = f"Wants {_with(_both(message.asks, 'or'), message.deadline)}." if message.asks else ""
    answer = f"Answer {message.contact}." if message.contact else ""
    return [sentence for sentence in (wish, answer) if sentence]


def _verbose_wish(message: Message) -> str:
    wish = _both(message.asks, "or") or "some form of assistance with this matter"
    sentence = f"With regard to the outcome, the customer expresses the wish for {_with(wish, message.deadline)}"
    return f"{sentence}, and asks to be contacted {message.contact}." if message.contact else f"{sentence}."


def _both(phrases: tuple[str, ...], joint: str = "and") -> str:
    return f" {joint} ".join(phrases)


def _with(phrase: str, rest: str) -> str:
    return f"{phrase} {rest}" if rest else phrase


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
