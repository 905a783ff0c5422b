"""Town and county councils."""

from __future__ import annotations

from deconfound_bench.articles.grammar import lines, listing
from deconfound_bench.articles.topic import Topic, events

COUNCIL = Topic(
    name="council",
    heroes=lines("""
        leader of {org}
        the council's {cabinet member|portfolio holder} for {finance|leisure|planning|the environment}
        {chief executive|head of planning|monitoring officer} at {org}
        mayor of {place}
        ward councillor for {place} {North|South|Riverside|Castle}
    """),
    seconds=lines("""
        leader of the {independent|opposition} group
        chair of the {place} residents' association
        a {parish|ward} councillor
        who runs a {bakery|hardware shop|café} on {street}
    """),
    thirds=lines("""
        secretary of the {place} Civic Society
        a trader in the {covered|Saturday} market
        regional organiser for the municipal workers' union
        a retired surveyor
    """),
    orgs=("{place} {Town|City|Borough|District} Council", "{region} County Council", "{place} Parish Council"),
    bodies=lines("""
        the {planning|scrutiny|licensing|finance} committee
        {region} County Council
        the {ombudsman|planning inspectorate|district auditor}
    """),
    matters=lines("""
        a plan to close {few} {branch libraries|day centres|public toilets} | the plan
        a proposal for {hundreds} homes on {fields|allotments|a former dairy} off {street} | the proposal
        a {trial|scheme} to {pedestrianise|close to traffic} {street} | the scheme
        a {rate} rise in council tax | the increase
        a new {leisure centre|swimming pool|bus station|skate park} costing {sum} | the project
        a {switch to|contract for} fortnightly bin collections | the change
        an application for a {late licence|drive-through restaurant|phone mast} on {street} | the application
        the sale of the {old town hall|corn exchange|cattle market} | the sale
    """),
    events=events("""
        {org} {approved|backed|waved through} {matter} on {day}
        {matter} was given the go-ahead by councillors
        {matter} will go forward after a vote at {sites}

        councillors {rejected|threw out|turned down} {matter} by {few} votes on {day}
        {matter} was refused after a {long|noisy|packed} meeting
        {org} said no to {matter}

        a decision on {matter} was {put off|deferred|delayed} for {span}
        {org} {postponed|shelved} {matter} on {day} so that {officers|consultants} could look again
        residents will have to wait to learn what becomes of {matter}

        more than {hundreds} people {attended|crowded into} a meeting about {matter} at {sites} on {day}
        {matter} drew a crowd of {hundreds} on {day}
        residents turned out in force to {question|hear about} {matter}

        for: plan project scheme change
        the cost of {matter} has {risen|climbed} to {sum}, {org} {admitted|confirmed} on {day}
        {matter} will cost {sum}, a report to councillors {showed|said}
        {hero} {blamed|pointed to} {terms} for the rising bill for {matter}
    """),
    facts=lines("""
        the chamber heard from {few} speakers, {all but one|most} of them against
        officers had recommended {approval|refusal}
        the report did not mention {terms}
        {few} councillors declared an interest and left the room
        the consultation drew {hundreds} replies, {few} of them in favour
        a site visit was arranged for {weekday} morning
        the {boiler|roof|lift} at {sites} had failed {twice|again}
        the ward had lost its {post office|last bank|bus shelter} in {year}
        parking on {street} was raised by almost every speaker
        a motion to delay the vote was lost
        the minutes showed that {terms} had been discussed in private
        {org} would borrow the money over {n} years
        neighbours had complained about {terms} since {month}
        a petition was handed in by pupils from {town} Primary School
        the mayor used a casting vote
        drainage and {terms} remained the main objections
        the land had been owned by the council since {year}
    """),
    figures=lines("""
        the authority must save {money} by {month}
        a typical household would pay {fee} more a year
        visits fell by {pct} in {span}
        repairs alone were put at {money}
        {share} of residents who replied were against
        the council spent {money} on {terms} last year
        the site covers {dec} hectares
    """),
    actors=lines("""
        {councillors|members} from both sides
        planning officers
        residents of {street}
        the {ruling|independent} group
        market traders
        a {barrister|consultant} hired by the council
        volunteers at the {library|food bank}
        the town clerk
        objectors
        shopkeepers near {street}
        the scrutiny panel
    """),
    acts=lines("""
        asked for a breakdown of {terms}
        complained that {terms} had been ignored
        {handed in|delivered} a petition with {hundreds} names
        {questioned|queried} the figures for {terms}
        called for a {public|parish} meeting
        {defended|stood by} the advice on {terms}
        described {street} as {a rat run|an accident waiting to happen|neglected}
        {proposed|seconded} a motion on {terms}
        {applauded|heckled|jeered} as the vote was read out
        offered to take over {terms} as a charity
        blamed cuts in the government grant
        measured the {noise|traffic} on {street} for {few} days
        promised to look again at {terms}
    """),
    views=lines("""
        We have to balance the books, and this is the least painful way to do it.
        The town needs it, and it needs it now.
        Nobody has come up with a better use for the site.
        We are not closing anything, we are changing how {terms} are run.
        I live here too, and I drive down {street} every morning.
        It will bring life back into the middle of {place}.
        Officers have answered every question about {terms} that was put to them.
        If we do nothing, the building will fall down.
    """),
    doubts=lines("""
        They had made up their minds before we walked in.
        Where are people supposed to park?
        My mother is {n} and she cannot get to {town} on the bus.
        Once it has gone, we will never get it back.
        It is always this end of town that loses out.
        You cannot put a price on {terms}.
        There are enough lorries on {street} as it is.
        The drawings show trees that do not exist.
    """),
    past=lines("""
        {sites} was built in {founded} and last refurbished in {lately}.
        The council has cut {money} from its budget since {year}.
        A similar application was refused in {year} and again on appeal.
        {place} has been without a {pool|cinema|bus station} since {year}.
        The ward boundary was redrawn in {year}, adding {hundreds} homes.
        Plans for the site have come and gone for {n} years.
    """),
    scenes=lines("""
        People stood {two|three} deep at the back and in the corridor.
        One man held up a jar of {brown|cloudy} water from his cellar.
        The meeting broke up at {time}, with the {tea urn|microphone} still on.
        Somebody had chalked the word no on the steps of {sites}.
    """),
    ahead=lines("""
        {body} will consider the matter on {date}.
        A final decision is due at full council in {month}.
        Comments can be sent to {org} until {date}.
        Work could start in {month} if {terms} can be settled.
        The council's lawyers will report back within {span}.
    """),
    terms=listing("""
        parking permits, pot-holes, bin collections, planning conditions, street lights, allotments, grass verges,
        business rates, bus subsidies, library hours, flood defences, playgrounds, public conveniences, taxi
        licences, market stalls, care packages, drainage works, speed humps, affordable homes, parish precepts, tree
        orders, pavement cafés, refuse lorries, litter fines, heritage grants, sports pitches, listed buildings,
        cycle lanes, youth clubs, burial plots, council houses, road closures
    """),
    units=listing("objections, homes, parking spaces, complaints, letters of support, councillors, permits, jobs"),
    sites=listing(
        "the town hall, the guildhall, the community centre, the library, the church hall, the corn exchange"
    ),
)
