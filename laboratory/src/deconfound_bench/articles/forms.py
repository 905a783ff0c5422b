"""Wording that belongs to one form of article: the portrait, the analysis, the diary, the round-up, the correction."""

from __future__ import annotations

from deconfound_bench.articles.grammar import lines

LIFE = lines("""
    {he_cap} {grew up|was born} in {town}, where {his} {mother|father|uncle} {ran a {garage|pub}|taught {music|Latin}}.
    {he_cap} {left school at {sixteen|eighteen}|studied in {town}} and {worked|found work} as {a|an} {jobs} for {span}.
    {he_cap} {lives|still lives} {in|near} {town} with {his} {family|two dogs|partner and {few} children}.
    On {his} desk {stands|lies} {a photograph of {town}|a jar of boiled sweets|a stack of papers on {terms}}.
    {he_cap} {reads|answers} every letter {about {terms}|that comes in}, {usually|often} before {time}.
    Friends describe {him} as {mood}, {mood} and {a little|never} {mood}.
    {he_cap} {speaks|talks} {quickly|softly|in long, {adj} sentences}, and {laughs|frowns} {often|when {terms} come up}.
    In {lately} {he} {moved|came} to {place} {to work on {terms}|almost by chance|and never left}.
    {he_cap} {collects|repairs} {old radios|walking sticks|maps of {region}} {in {his} spare time|at weekends}.
    What does {he} make of {terms}? {he_cap} {shrugs|smiles|takes a moment}.
    {he_cap} has {few} {brothers|sisters}, one of whom {works|worked} {with {terms}|in {town}}.
    It was {a teacher|an aunt|a chance meeting} in {town} that first made {him} think about {terms}.
""")
MEETINGS = lines("""
    {hero} {pours|orders} {tea|coffee} and {looks out of the window|comes straight to the point}.
    It is {time}, and {hero} is already {talking about|thinking about|busy with} {terms}.
    {hero} does not {look like|strike a visitor as} {a|an} {jobs}, but {he} used to be one.
    There are {few} {chairs|clocks|telephones} in the room, and {hero} {apologises for|is proud of} all of them.
    {hero} {arrives|appears} {late|early|on a bicycle} and {mood}, with {a folder|a bag} {full of|marked} {terms}.
    Ask anyone in {place} about {terms} and they will send you to {hero}.
""")
ASKED = lines("""
    Asked about {terms}, {speaker_he} {paused|smiled|sighed|did not hesitate}.
    Is {speaker_he} worried about {terms}?
    {speaker_he_cap} is {mood} about {terms}.
    {speaker_he_cap} {does not accept|is used to hearing} that {terms} are {to blame|the problem}.
    What about {terms}?
    The conversation turns to {terms}.
    There is {a pause|laughter} when {terms} are mentioned.
    Would {speaker_he} do it again?
""")
WEIGHING = lines("""
    There are {two|three} ways to look at {matter}.
    Supporters point to {terms}; critics point to {terms}.
    The {first|strongest} argument {for|against} {matter} is {terms}.
    On paper, {terms} look {adj}; in practice, they are {adj}.
    Much depends on what is meant by {terms}.
    The comparison with {town} is {adj}, but it only goes so far.
    Nor do {terms} tell the whole story.
    Behind {matter} lies {a|an} {adj} question: who pays for {terms}?
    {hero} has {a|an} {adj} hand to play, and {terms} do not make it {easier|stronger}.
    It would be wrong to blame {terms} alone.
    That is where {terms} come in.
    If {terms} {are|remain} the test, then {matter} {passes|fails} it.
    The evidence from {region} is {adj} at best.
    A more {adj} reading is that {org} had little choice.
    One thing is not in doubt: {terms} have become {more|less} {adj} since {year}.
    For {org}, the {danger|temptation} is to {confuse {terms} with {terms}|do nothing|move too fast}.
    Seen from {town}, all this looks {rather |}different.
""")
OPENINGS = lines("""
    Why {are|have} {terms} {so {adj}|back in the news|not gone away}?
    What is {matter} really about?
    For {span}, {terms} were {nobody's business|a matter for specialists}. Not any more.
    It {started|began} with {terms}.
    Few things divide {place} like {terms}.
    {terms} are {adj}. {terms} are {adj}. And both are about to change.
    Every {few} years, {org} {rediscovers|returns to} {terms}.
""")
VERDICTS = lines("""
    For now, {matter} {remains|is} {a|an} {adj} {bet|compromise|experiment}.
    Whether {terms} will {follow|survive} is {another|a different} question.
    The answer, as so often, lies in {terms}.
    None of that will be settled {this year|before {month}}.
    Until then, {terms} will have to do.
    It may yet prove {adj}.
""")
MOMENTS = lines("""
    At {hour},
    Shortly {before|after} {hour},
    By {hour},
    {few} minutes later,
    Soon afterwards,
    A little later,
    Then
    {Before long|Not long after},
    After {a|another} {short|long} wait,
    It was about {hour} when
    Towards {hour},
    Only at {hour} was it clear that
    Meanwhile
""")
ROUNDUPS = lines("""
    Here is a look at the {day|week} in {region}.
    Here are some of the {other |smaller |}stories from around {region}.
    {In brief|News in brief}, from {town} to {town}.
    It was {a|an} {adj} week for {terms} across {region}.
    The {region} notebook: what happened, and what was said about it.
    {few} stories that deserve a second look.
""")
SWITCHES = lines("""
    In {place}, {event}.
    Elsewhere, {event}.
    Further {north|south|east|west}, {event}.
    Also this week, {event}.
    In other news, {event}.
    {place}: {event}.
    On a different note, {event}.
    From {place} came word that {event}.
    Not far from {town}, {event}.
    {day}'s other story: {event}.
""")
CORRECTIONS = lines("""
    An article on {date} about {matter} misstated the number of {units}. It is {hundreds}, not {n}.
    Because of an editing error, a report on {date} about {matter} gave the wrong {age|title|first name} for {hero}.
    A report about {matter}, published on {date}, said that {fact}. This was not the case.
    In an article on {matter} ({date}) we said that {sum} had been spent on {terms}. The correct sum is {money}.
""")
AMENDS = lines("""
    The {meeting|event} took place at {sites} in {town}, not in {town}.
    {second} was quoted as saying that {terms} were {adj}. The word used was {adj}.
    A caption with the same article confused {terms} with {terms}.
    The error {was introduced|arose} during {editing|translation}.
    We apologise to {hero} and to {org} for the error.
    The online version has been {amended|corrected}.
    The figure of {pct} referred to {terms}, not to {terms}.
    {outlet} {regrets|is happy to correct} the mistake.
    As the article should have made clear, {fact}.
    The role of {body} was also described wrongly; it {advises on|pays for|inspects} {terms}.
    The date of the {decision|event} was {date}, not {date}.
    {hero} joined {org} in {lately}, not {lately}.
""")
TALK = lines("""
    We {have to|need to|must} {talk about|deal with|look at} {terms}{|, and soon|, whether we like it or not}.
    {Look at|Take|Think of} {terms}, {nobody saw that coming|it is the same story|that tells you everything}.
    I {worry|think|hear} a great deal about {terms}{|, and so do most people in {place}}.
    {If you ask me|In my view|To be honest}, {terms} {matter more|are the least of it|are only part of the story}.
    {terms} {do not|will never} {fix|explain|run} themselves.
    There {was|has been} {too much|not enough} {talk of|attention to} {terms}{| in {region}}.
    {Five|Ten|Twenty} years ago {nobody|hardly anyone} {here |}{talked about|cared about|had heard of} {terms}.
    {You|We} {learn|learned} {a lot|something} from {terms}, {even if it hurts|and from {terms} too}.
    My {first|main} {thought|concern} was {for|about} {terms}.
    {In {town}|Over in {town}} they {went about it|handled {terms}} {differently|better|much the same way}.
    I {would|could} not have {managed|done it} without {the people in {place}|help from {town}|a bit of luck}.
    {Everyone|Someone} has to {think about|keep an eye on} {terms}.
    {Give|Allow} it {span}, and then we {can talk|will know}.
    {People|Folk} {here|in {place}} are {mood}, and {I do not blame them|rightly so|that is understandable}.
    It was {adj}, I {admit|grant you} that{|, but it was also {adj}}.
    What {struck|surprised} me {most |}was how {adj} it {all |}{was|seemed}.
""")
CHAT = lines("""
    I think people understand that.
    It is early days.
    That is the honest answer.
    We shall see.
    I do not want to say more than that at this stage.
    You have to be realistic.
    We are where we are.
    I have said it before and I will say it again.
    It is a question of {terms}, nothing else.
    Ask me again in {month}.
    People keep asking me about {terms}.
    We will do whatever it takes.
    I would not call it {adj}, but it is not {adj} either.
    I have been doing this for {n} years.
    At the end of the day, it comes down to {terms}.
    There are no easy answers.
""")
FORMS: dict[str, tuple[str, ...]] = {
    "life": LIFE,
    "asked": ASKED,
    "weighing": WEIGHING,
    "openings": OPENINGS,
    "verdicts": VERDICTS,
    "moments": MOMENTS,
    "roundups": ROUNDUPS,
    "switches": SWITCHES,
    "corrections": CORRECTIONS,
    "amends": AMENDS,
    "meetings": MEETINGS,
    "talk": TALK,
    "chat": CHAT,
}
