"""National politics."""

from __future__ import annotations

from deconfound_bench.articles.grammar import lines, listing
from deconfound_bench.articles.topic import Topic, events

POLITICS = Topic(
    name="politics",
    heroes=lines("""
        the {junior |}minister for {regional affairs|pensions|trade|fisheries|the interior|local growth}
        leader of the {opposition|Reform Union|Centre Alliance|Agrarian Bloc}
        chair of the {public accounts|home affairs|constitutional|budget} committee
        a {veteran |first-term |}member of parliament for {place}
        the {government's|cabinet's} chief whip
    """),
    seconds=lines("""
        the {opposition's|party's} voice on {finance|housing|welfare}
        a former {cabinet|treasury} minister
        deputy leader of the {Civic Party|Liberal Front|Workers' List}
        a rebel on the government benches
    """),
    thirds=lines("""
        a lecturer in politics at {town} University
        director of the {Open Ballot Project|Institute for Public Choice|Centre for Fair Taxes}
        a retired civil servant
        a pollster at {firm}
    """),
    orgs=("the government", "the {Reform Union|Centre Alliance|Civic Party}", "the {upper|lower} house", "the cabinet"),
    bodies=lines("""
        the {electoral commission|national audit office|ethics panel|statistics authority}
        the {constitutional|budget|welfare} committee
    """),
    matters=lines("""
        a bill to {overhaul|simplify} {state pensions|party funding|inheritance tax} | the bill
        a plan to {merge|move|close} {few} {ministries|regional offices|agencies} | the plan
        a {|draft |revised }budget worth {sum} | the budget
        a {referendum|public vote} on {devolution|fixed terms|the voting age} | the vote
        a {trade|border|fisheries} treaty with {three|four|seven} neighbouring states | the treaty
        an inquiry into {lobbying|ministerial expenses|the handling of contracts} | the inquiry
        a reshuffle of the cabinet | the reshuffle
        a {cap|levy|freeze} on {rents|fuel duty|senior pay in the public service} | the measure
    """),
    events=events("""
        for: bill plan budget treaty measure
        {org} {suffered|was handed} a {narrow |surprise |}defeat over {matter} on {day}
        lawmakers threw out {matter} by {few} votes
        {matter} was voted down after a late rebellion

        for: bill plan budget vote treaty inquiry measure reshuffle
        {org} {set out|unveiled|published} {matter} on {day}
        details of {matter} were {made public|released} on {day}
        voters got their first look at {matter}

        {hero} {resigned|stepped down|quit} on {day} in a {row|dispute} over {matter}
        {matter} has claimed its first {casualty|scalp}, with {hero} {leaving|walking out of} the front bench
        the departure of {hero} leaves a gap in the team behind {matter}

        for: bill plan budget treaty measure inquiry vote
        lawmakers {approved|passed|backed} {matter} late on {day} by {n} votes to {few}
        {matter} cleared its {first|second|final} hurdle on {day}
        a {comfortable|clear} majority came out in favour of {matter}

        for: bill plan budget treaty measure
        {hero} {promised|pledged} to {rewrite|rethink|soften} {matter} after {protests|criticism} over {terms}
        {matter} is to be changed, {hero} {said|announced} on {day}
        a {partial |}retreat over {matter} was under way on {day}

        support for {org} {slipped|fell} to {share} in a poll taken after {matter} was announced
        {matter} has cost {org} support, a survey {showed|suggested} on {day}
        only {share} of voters said they trusted {org} with {matter}
    """),
    facts=lines("""
        the debate ran for {few} hours and was {twice|briefly} interrupted from the public gallery
        {few} members of the ruling party {abstained|stayed away}
        the text ran to {hundreds} pages
        the whips had spent the weekend {telephoning|courting} {waverers|doubters}
        a compromise on {terms} was dropped at the last minute
        the measure would take effect from {month} {|next year}
        {body} had asked for {sharper|clearer} rules on {terms}
        the clause on {terms} drew the {loudest|longest} objections
        no {minister|member of the cabinet} was available for interview on {weekday}
        letters between {org} and {body} were released under access laws
        the coalition's smaller partner had {asked for|demanded} a seat at the table
        the speaker called a recess at {time}
        an amendment on {terms} fell by {few} votes
        the cost would be met from {reserves|borrowing|a levy on imports}
        {hero} had been in the post for {less than|just over} {span}
        the opposition tabled {n} questions about {terms}
        a leaked memo warned of {delays|gaps} in {terms}
        the chamber was {half empty|full} when the result was read out
    """),
    figures=lines("""
        {share} of those asked {supported|opposed} {matter}
        the treasury put the cost at {money} over {few} years
        turnout in the last election was {pct}
        the governing parties held {hundreds} seats
        spending on {terms} rose by {pct} in real terms
        {thousands} people signed a petition against {matter}
        the party's membership fell from {thousands} to {thousands}
    """),
    actors=lines("""
        {ministers|cabinet colleagues}
        backbenchers from {region}
        the opposition
        {whips|party managers}
        a group of {few} senators
        officials in the {treasury|prime minister's office}
        campaigners for {terms}
        allies of {hero}
        negotiators for the smaller parties
        the committee
        mayors of {few} {large|coastal} cities
    """),
    acts=lines("""
        {pressed|pushed} for a {second reading|free vote} before the recess
        {refused|declined} to say whether {terms} had been discussed
        tabled {few} amendments on {terms}
        {rejected|brushed aside} claims that the figures were out of date
        {welcomed|cautiously welcomed} the changes to {terms}
        walked out of {talks|a briefing} on {terms}
        warned of a {constitutional tangle|legal challenge}
        met {behind closed doors|for {few} hours} at {sites}
        wrote to {body} about {terms}
        {demanded|called for} an apology
        {hinted|signalled} that a deal on {terms} was {close|still possible}
        lined up behind {hero}
        accused the government of {neglecting|misreading} {region}
        cited the {budget|rule book|constitution} in defence of {terms}
    """),
    views=lines("""
        This is a {sensible|modest|overdue} reform and people will feel the difference.
        We have listened, and the text is better for it.
        The country cannot afford another decade of drift.
        I will not negotiate through the newspapers.
        Every promise in our manifesto on {terms} has been costed.
        We owe it to voters in places like {place} to get {terms} right.
        Nobody came into politics to protect {terms}.
        The arithmetic in this chamber is what it is, and we have to work with it.
        I would rather lose a vote than mislead the house.
        There was a mandate for this, and we are using it.
    """),
    doubts=lines("""
        This is a government that has run out of road.
        They have had {few} years to fix {terms} and they have produced a press release.
        The sums simply do not add up.
        It is a bad bill, badly drafted, and it will end up in the courts.
        Who asked for this?
        If ministers believe in it, they should put it to the country.
        People in {region} will pay for it twice.
        What we heard today about {terms} was an insult to this chamber.
    """),
    past=lines("""
        The question of {terms} has divided the {house|country} for {more than |almost |}{few} decades.
        An earlier {version|attempt}, in {year}, {collapsed|was withdrawn} within {span}.
        {org} came to power in {year} on a promise to deal with {terms}.
        Relations between {hero} and {second} have been {cool|strained} since the {leadership contest|budget} of {year}.
        Similar laws exist in {few} other countries, with mixed results.
        The last cabinet to try fell in {year}.
    """),
    scenes=lines("""
        Outside {sites}, a few dozen {protesters|supporters} stood with {placards|umbrellas} in the {drizzle|cold}.
        There were {groans|cheers} from the back benches when the tellers returned.
        An usher removed a man who had thrown {leaflets|paper darts} from the gallery.
        Reporters waited until after {time} for a statement that lasted {few} minutes.
    """),
    ahead=lines("""
        The {bill|matter} now goes to {body}, which is expected to report {in {month}|before the summer recess}.
        A {second|final} vote is {scheduled|pencilled in} for {weekday}.
        Party members meet in {town} on {date} to settle the question.
        {hero} is due to answer questions from {body} next week.
        Without a deal on {terms} by {month}, an early election cannot be ruled out.
    """),
    terms=listing("""
        pension credits, party donations, border checks, regional grants, tax thresholds, voting rules, expense
        claims, lobbying registers, tariff schedules, welfare payments, public contracts, committee seats,
        ministerial powers, emergency decrees, fishing quotas, civil liberties, constituency boundaries, postal
        ballots, spending limits, coalition agreements, select committees, cabinet minutes, devolved powers, customs
        forms, veterans' benefits, embassy closures, immigration rules, standing orders, manifesto pledges, budget
        deficits, peerages, by-elections
    """),
    units=listing("votes, seats, amendments, petitions, constituencies, delegates, questions, abstentions"),
    sites=listing("parliament, the old customs house, party headquarters, the cabinet office, the conference hall"),
)
