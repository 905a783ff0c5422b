"""The vocabulary of the demo's customer messages.

Every phrase fits, letter for letter, both into a customer's message ("it leaks from the base") and into a note about it
("the kettle leaks from the base"), so a text search finds the fact in either. No phrase contains another one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trade:
    """One kind of product: what goes wrong with it, what people try, why it matters, what they ask for."""

    bought: str
    products: tuple[str, ...]
    problems: tuple[str, ...]
    tried: tuple[str, ...]
    impacts: tuple[str, ...]
    asks: tuple[str, ...]


TRADES = (
    Trade(
        bought="bought",
        products=(
            "espresso machine",
            "slow cooker",
            "rice cooker",
            "steam oven",
            "soup maker",
            "bottle warmer",
            "dishwasher",
        ),
        problems=(
            "leaks from the base",
            "trips the fuse after a few minutes",
            "makes an alarming noise",
            "stops halfway through",
            "smells of burning plastic",
            "shows error code E4 and locks up",
            "hardly gets warm any more",
        ),
        tried=("tried another socket", "cleaned it thoroughly", "read the manual twice", "let it cool down overnight"),
        impacts=(
            "guests are coming on Saturday",
            "a family of five depends on it",
            "there is a newborn in the house",
            "the kitchen floor is already damaged",
            "the old one has been thrown away",
        ),
        asks=("a full refund", "a replacement", "a free repair", "an engineer's visit", "a spare part"),
    ),
    Trade(
        bought="bought",
        products=("tablet", "laptop", "e-reader", "fitness watch", "baby monitor", "satnav", "games console"),
        problems=(
            "freezes on the start screen",
            "will not charge past half",
            "gets very hot while charging",
            "has a line of dead pixels",
            "switches itself off at random",
            "keeps losing the connection",
            "refuses the latest update",
        ),
        tried=(
            "reset it to factory settings",
            "swapped the cable",
            "restarted it a dozen times",
            "asked a friend who knows about these things",
        ),
        impacts=(
            "it is needed for work every day",
            "exams are coming up",
            "a long journey starts on Sunday",
            "all the family photos are on it",
            "it was a birthday present",
        ),
        asks=("a full refund", "a replacement", "a free repair", "a loan device", "the data recovered"),
    ),
    Trade(
        bought="bought",
        products=("soundbar", "wireless headset", "portable speaker", "turntable", "kitchen radio", "karaoke set"),
        problems=(
            "crackles at any volume",
            "has no sound on the left side",
            "hums even when nothing is playing",
            "will not pair with anything",
            "cuts out in the middle of a song",
            "came without a power supply",
        ),
        tried=(
            "moved it away from the router",
            "paired it from scratch",
            "tested it in another room",
            "turned it off and on again",
        ),
        impacts=(
            "a big party is planned for next week",
            "it is used for teaching",
            "it was a present for a retirement",
            "there is nothing else in the house to listen to",
        ),
        asks=("a full refund", "a replacement", "a free repair", "a different make", "a partial refund"),
    ),
    Trade(
        bought="bought",
        products=("cordless drill", "hedge trimmer", "lawnmower", "pressure washer", "leaf blower", "chainsaw"),
        problems=(
            "cuts out under load",
            "loses power after ten minutes",
            "will not start in the morning",
            "rattles as if something were loose",
            "came with a damaged switch",
            "gives off blue smoke",
        ),
        tried=(
            "oiled the moving parts",
            "taken the cover off and looked inside",
            "followed the checklist in the booklet",
            "let it rest for a day",
        ),
        impacts=(
            "a paying customer is waiting for the work",
            "the builders are here until Thursday",
            "the garden is open to visitors soon",
            "it nearly caused an accident",
        ),
        asks=("a full refund", "a replacement", "a free repair", "a spare part", "a safety check"),
    ),
    Trade(
        bought="ordered",
        products=("bookcase", "standing desk", "wardrobe", "sideboard", "bunk bed", "dining table", "shoe cabinet"),
        problems=(
            "wobbles badly",
            "has a deep scratch across the front",
            "has holes drilled in the wrong place",
            "is missing a bag of screws",
            "is in the wrong colour",
            "has a cracked board",
            "is four centimetres too wide",
        ),
        tried=(
            "checked it against the delivery note",
            "gone through the leaflet step by step",
            "measured it three times",
            "sent in photos",
        ),
        impacts=(
            "the flat must be ready for new tenants",
            "everything is piled up on the floor",
            "a child is sleeping on a mattress",
            "time off work was needed to receive it",
        ),
        asks=("a full refund", "a replacement", "the missing pieces", "somebody to assemble it", "a price reduction"),
    ),
    Trade(
        bought="ordered",
        products=("winter tent", "hiking rucksack", "cabin suitcase", "sleeping bag", "rain jacket", "camera backpack"),
        problems=(
            "split along a seam on the first trip",
            "lets water in",
            "has a zip that jams",
            "smells strongly of chemicals",
            "is smaller than the page said",
            "lost a buckle within a week",
        ),
        tried=(
            "treated it with a spray",
            "aired it for days",
            "taken it to a repair shop",
            "compared it with a friend's",
        ),
        impacts=(
            "the expedition leaves in ten days",
            "a whole holiday was spoiled by it",
            "a school trip is coming up",
            "it was bought with birthday money",
        ),
        asks=("a full refund", "an exchange", "a free repair", "a credit note", "a better one at the same price"),
    ),
    Trade(
        bought="signed up for",
        products=("broadband line", "streaming plan", "phone contract", "gym membership", "meal box", "parking permit"),
        problems=(
            "was charged twice this month",
            "was renewed without notice",
            "is still in the wrong name",
            "has been suspended for no reason",
            "keeps showing as unpaid",
            "costs more than the advert said",
        ),
        tried=(
            "called the hotline twice",
            "logged out and in again",
            "sent a copy of the bill",
            "changed the password",
        ),
        impacts=(
            "the account is now overdrawn",
            "a debt collector has written",
            "a small pension has to cover it",
            "the next payment is due tomorrow",
        ),
        asks=(
            "the money back",
            "an immediate cancellation",
            "a corrected invoice",
            "a written explanation",
            "a lower rate",
        ),
    ),
    Trade(
        bought="ordered",
        products=("gift hamper", "bouquet of roses", "case of wine", "wedding album", "picture frame", "party cake"),
        problems=(
            "never turned up",
            "was left out in the rain",
            "went to a neighbour who denies it",
            "arrived with the box crushed",
            "has been stuck at the depot for days",
            "turned out to be another person's order",
        ),
        tried=("asked at the depot", "spoken to the neighbours", "checked the tracking page", "called the courier"),
        impacts=(
            "the big day is tomorrow",
            "it was for somebody in hospital",
            "a colleague's farewell went ahead without it",
            "there was no time to find something else",
        ),
        asks=(
            "a full refund",
            "a second delivery",
            "a proof of delivery",
            "a courier to collect it",
            "a written apology",
        ),
    ),
)

HISTORIES = (
    "this is the second time in a year",
    "an earlier email went unanswered",
    "the chat was closed without an answer",
    "a promised call never came",
    "the shop in town could not help",
    "three people gave three different answers",
    "the online form does not accept the number",
    "a letter last month was ignored too",
)
DEADLINES = (
    "by Friday",
    "by the end of the week",
    "before the weekend",
    "within three days",
    "by Monday noon",
    "before the end of the month",
    "within a fortnight",
)
CONTACTS = (
    "by email only",
    "by phone after six",
    "by text message",
    "by phone in the morning",
    "by post",
    "by email after work",
)

# What an inventive note may add. No customer ever says one of these.
CLAIMS = (
    "was offered a voucher last time",
    "is considering legal action",
    "has posted about it online",
    "lives outside the delivery area",
    "paid by bank transfer",
    "was promised a free upgrade",
    "had an engineer visit last week",
    "has an extended warranty",
    "spoke to the store manager",
    "has already returned the item",
)

# Warm words in a note that tell its reader nothing.
COURTESIES = (
    "What a wonderfully clear message",
    "Thank you so much for taking such good care of this",
    "It is always a delight to help",
    "You are doing a brilliant job",
    "Rest assured that nothing could be more important to us",
    "Our customers truly mean the world to us",
    "I hope this little summary brightens your day",
    "Please never hesitate to reach out",
    "Your kindness and patience are greatly appreciated",
    "With a smile and a little care, all will be well",
)
