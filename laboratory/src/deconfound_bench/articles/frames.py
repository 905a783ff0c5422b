"""Wording that serves every subject: clauses about any matter, filler, attributions, ways to go on."""

from __future__ import annotations

from deconfound_bench.articles.grammar import lines, listing

# Clauses in the past tense, fit for indirect speech, like a topic's own facts.
FRAMES = lines("""
    {terms} {dominated|overshadowed|featured in} {much of the {day|discussion|morning}|the early exchanges|the week}
    {few} of the {n} {people|parties} involved had {raised|mentioned} {terms}
    little {was said|had been heard} about {terms}
    {a long-running|an unresolved|a {adj}} {argument|dispute|question} over {terms} had {come to a head|flared up again}
    {terms} had been {a sore point|a talking point|an afterthought} {since {month}|for {span}}
    the {mood|atmosphere} was {mood} rather than {mood}
    {place} had {seldom|rarely|not often} seen anything so {adj}
    {both sides|those present|people in {town}} {looked|seemed|sounded} {mood} {when|as soon as} {terms} were mentioned
    the {first|second|latest} {account|estimate|version} turned out to be {adj}
    {terms} and {terms} {were closely linked|could not be separated|were often confused}
    the {adj} state of {terms} came as {no|little} surprise
    {town} and {town} had {both|each} {faced|gone through} something similar
    people in {region} had {grown used to|lost patience with|paid little attention to} {terms}
    {hero} and {second} had {spoken|met|exchanged letters} {twice|several times|only once} since {month}
    {no figure|no date|no reason} was given
    opinions on {terms} {differed|varied} {sharply|widely|from street to street}
    {a handful|a majority|about a third} of those present {wanted|expected} {changes to|more from|less talk of} {terms}
    {terms} had {improved|worsened|hardly changed} in {span}
    the {arrangement|system|set-up} {had worked well|was never popular|dated from {year}}
    {terms} were {mentioned|discussed} {more than once|only in passing}
""")
# The same for subjects in which somebody is in charge.
DUTIES = lines("""
    plans for {terms} had been {quietly dropped|redrawn|held back} {in {month}|last year|twice}
    {body} had been {informed|consulted|kept waiting} {for {span}|since {month}|throughout}
    {a spokesman|a spokeswoman} for {org} {confirmed|denied|would not discuss} {terms}
    the {costs|benefits|risks} of {terms} were {hard to measure|in dispute|greater than first thought}
    an {early|internal|unpublished} {note|draft|review} had described {terms} as {adj}
    responsibility for {terms} {lay|rested} with {body}
    the {place} {office|branch|site} had {received|answered} {hundreds} {letters|calls|enquiries} about {terms}
    {org} had {set aside|spent} {money} for {terms}
    {terms} would {have to wait|be looked at again|remain as they were}
""")
TIMES = lines("""
    on {weekday},
    earlier in the {week|day},
    late on {weekday},
    {in|during} {month},
    by {the weekend|{weekday} evening|the end of the day},
    within {few} {days|hours},
    {since|in} {year},
    at {sites},
    in {place},
    {meanwhile|separately|at the same time},
    {in the end|for the moment|until then|in recent weeks},
    not for the first time,
""")
TAILS = lines("""
    despite {terms}
    amid {concern|doubts|questions} over {terms}
    after {weeks|months|years} of {talk about|rows over} {terms}
    in spite of {a late appeal|objections} from {town}
    with {terms} {still unsettled|very much in mind|next on the list}
    {partly|largely|mainly} because of {terms}
    at {sites} on {weekday}
    for the {first|second|third} time {since {year}|in {few} years}
    without {much|any} {fuss|warning|explanation}
    as {terms} {took their toll|began to tell}
    in what {one|some} called {a|an} {adj} {step|moment|turn}
""")
TRAILERS = lines("""
    {a step|a move|a detail} that {few|many|some} in {place} {had not expected|found {adj}|had long feared}
    something {hero} {had warned of|had asked for|had mentioned} {in {month}|more than once|the week before}
    a {adj} {outcome|turn|sign} for {region}
    adding to {months|years} of {argument|speculation} over {terms}
    leaving {few} {days|weeks} to {sort out|settle} {terms}
    {prompting|raising} {fresh |}{questions|talk} about {terms}
    the {first|latest|third} such {case|episode} {since {year}|in {span}}
    which {surprised|pleased|annoyed} {some of those present|people in {town}|{body}}
    {much|rather} as {second} had predicted in {month}
    {though|even if} {terms} {had little to do with it|told a different story}
    a point {made|stressed} by {several speakers|people in {town}|{body}}
    {not least|in particular} {where {terms} were concerned|in {town} and {town}}
    {to the|to the evident} {relief|dismay|amusement} of {those present|people in {town}|{body}}
    {at a time when|just as} {terms} {were|had become} a {adj} subject
""")
SOURCES = lines("""
    {people|two people} {familiar with|close to} {org}
    {officials|a spokesman|a spokeswoman} for {org}
    {a statement|a note|a letter} from {org}
    {documents|minutes|figures} seen by {outlet}
    {a report|an account|figures} published by {body}
    {hero}
    {second}
    {those present|witnesses|several people} at {sites}
    {body}
""")
JOINS = listing("while, while, and, and, but, although")
ADDERS = lines("""
    {It|That} was {in part|chiefly} {a question of|down to} {terms}.
    The same was {said|true} of {terms}.
    {Much|A great deal|Something} {depends|depended} on {terms}.
    That left {terms}.
    {Others|Some} {pointed|looked} to {terms}.
    There were {exceptions|surprises}, {terms} among them.
    None of this was {new|entirely unexpected}.
    So far, {terms} have {escaped|not been affected}.
    {Few|Not many} {disagreed|were surprised}.
""")
ASIDES = {
    "wire": lines("""
        Further details were not immediately available.
        {org} did not respond to a request for comment.
        The report could not be independently verified.
        It was not immediately clear {what|how much} {terms} had to do with it.
        Calls to {body} were not returned on {weekday}.
    """),
    "broadsheet": lines("""
        It is, in other words, {a|an} {adj} business.
        There is a certain irony in this, given what is known of {terms}.
        History offers few precedents, and none of them is {adj}.
        To anyone who has followed {terms} over the years, the pattern will be familiar.
        {terms}, as ever, are easier to praise than to pay for.
        The truth, one suspects, is rather more {adj}.
    """),
    "popular": lines("""
        And that is not all!
        Talk about {terms}!
        You could hardly make it up.
        {place} has never seen anything like it!
        But what about {terms}?
        It is the news that everyone in {place} was waiting for.
        No wonder people are talking.
        Fed up with {terms}? You are not alone.
    """),
    "local": lines("""
        Readers of {outlet} will remember {terms}.
        Regulars at the {Red Lion|Railway Arms|Wheatsheaf} on {street} talked of little else.
        Do you have a view on {terms}? Write to us at the usual address.
        The {vicar|butcher|postmistress} of {place} said much the same.
        Tea was served afterwards by the ladies of {street}.
        Many in {place} know {hero} from the {church fête|allotments|bowls club}.
    """),
    "trade": lines("""
        The sector as a whole has seen {pct} growth in {terms}.
        Practitioners will note the implications for {terms}.
        A full table is available to subscribers.
        Definitions of {terms} changed in {year}, so that earlier figures are not strictly comparable.
        Guidance on {terms} was last revised in {month}.
    """),
    "broadcaster": lines("""
        We have asked {org} for a response.
        Here is what we know so far.
        It comes {days|weeks|months} after a row over {terms}.
        Our reporter in {place} says the mood is {mood}.
        So why do {terms} matter?
        The programme has seen {documents|messages} about {terms}.
    """),
}
COMPARISONS = lines("""
    that compared with {hundreds} {units} {a year earlier|in {month}|in {year}}
    the number of {units} {rose|fell} by {pct} {over the year|in {span}}
    there were {n} {units} in {month} and {n} in {month}
    the average was {dec}, against {dec} for {region} as a whole
    {town} {led|headed} the list with {hundreds} {units}, ahead of {town} with {n}
    it was the {highest|lowest} {figure|number} since {year}
    the figure excludes {terms}
    about {pct} of {units} were {in|from} {region}
    {terms} accounted for {pct} of the total
""")
TABLES = lines("""
    {town} had {n} {units}, {town} {n}, {town} {n} and {town} {few}.
    By area, the number of {units} was {hundreds} in {town}, {n} in {town} and {n} in {town}.
    {units}: {town} {n}, {town} {n}, {town} {few}.
    {month} brought {n} {units}, {month} {n} and {month} {n}.
    The largest {increase|fall} was in {town} ({pct}), followed by {town} ({pct}) and {town} ({pct}).
""")
RESTATEMENTS = lines("""
    In short, {event}.
    As {reported|noted} above, {event}.
    To recall: {event}.
    {The news|Word} that {event} {spread quickly|came as a surprise to some}.
    The {upshot|result|long and short of it} is that {event}.
""")
ADJECTIVES = listing("""
    difficult, quiet, modest, awkward, unusual, delicate, uneven, ordinary, costly, brisk, clumsy, fragile, muddled,
    orderly, puzzling, sensible, surprising, tedious, thorough, tricky, vague, welcome, abrupt, chaotic, clear,
    complicated, decisive, dull, encouraging, exhausting, faint, familiar, frantic, half-hearted, hasty, heated,
    inconclusive, lively, lukewarm, mild, mixed, noisy, obscure, painful, peculiar, persistent, plain, pragmatic,
    predictable, promising, prudent, rash, remarkable, rocky, routine, scrappy, serious, shaky, sharp, simple, slow,
    solemn, sombre, steady, stormy, striking, tentative, thorny, tough, troubled, uncertain, unexpected, urgent,
    vivid, expensive, crowded, hurried, flawed, fair, patchy, popular, generous, narrow, overdue, reckless, risky,
    roundabout, sound, thin, untidy, useful, wasteful, well-meant, workable, absurd, ambitious, balanced,
    convenient, dubious, excessive, feeble, harmless, ingenious, long-winded, lopsided, minor, misleading,
    necessary, old-fashioned, premature, reasonable, regrettable, rigid, secretive, sloppy, successful, superficial,
    tiresome, unfair, unpopular
""")
OCCUPATIONS = listing("""
    plumber, florist, retired bus driver, hairdresser, student nurse, locksmith, beekeeper, bookkeeper, driving
    instructor, baker, crane operator, dental nurse, piano teacher, warehouse worker, gardener, joiner, taxi driver,
    receptionist, tailor, welder, lorry driver, childminder, estate agent, optician, roofer, waiter, librarian,
    mechanic, surveyor, cook, tattooist, cobbler, glazier, postal worker, dog groomer, carpet fitter, fishmonger,
    swimming teacher, translator, paramedic, electrician, archivist, barber, butcher, caretaker, cleaner,
    draughtsman, engineer, farrier, goldsmith, grocer, harbour pilot, organist, painter and decorator, pensioner,
    photographer, picture framer, printer, seamstress, shepherd, sign writer, stonemason, telephonist, tiler,
    trainee solicitor, upholsterer, vet, web designer, youth worker, mother of three, father of two, widower,
    amateur historian
""")
MOODS = listing("""
    cautious, hopeful, patient, tense, cheerful, gloomy, sober, reluctant, subdued, weary, anxious, blunt, candid,
    confident, confused, curious, defiant, earnest, frank, impatient, irritable, jovial, nervous, optimistic, polite,
    pragmatic, sceptical, thoughtful, uneasy, stubborn, restless, resigned, relaxed, determined, apologetic, alert,
    amused, bewildered, calm, downcast, grateful, indignant, proud, puzzled, relieved, rueful, serene, unmoved, wary
""")
LOCALS = OCCUPATIONS + listing("pensioner, mother of three, father of two, widower, grandmother, father of twins")
COMMON: dict[str, tuple[str, ...]] = {
    "frames": FRAMES,
    "times": TIMES,
    "tails": TAILS,
    "trailers": TRAILERS,
    "sources": SOURCES,
    "adders": ADDERS,
    "comparisons": COMPARISONS,
    "tables": TABLES,
    "restatements": RESTATEMENTS,
    "adj": ADJECTIVES,
    "mood": MOODS,
    "jobs": OCCUPATIONS,
    "locals": LOCALS,
}
