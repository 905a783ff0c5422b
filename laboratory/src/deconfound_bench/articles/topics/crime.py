"""Police matters."""

from __future__ import annotations

from deconfound_bench.articles.grammar import lines, listing
from deconfound_bench.articles.topic import Topic, events

CRIME = Topic(
    name="crime",
    heroes=lines("""
        {a detective inspector|a superintendent|a detective sergeant} with {org}
        who leads the {burglary|rural crime|fraud} team at {org}
        {the owner of the shop|who keeps the {jeweller's|post office} in {place}}
        the police and crime commissioner for {region}
    """),
    seconds=lines("""
        a {neighbour|shop assistant|dog walker} who saw what happened
        who has lived on {street} for {n} years
        a {bus driver|postman|night porter}
        who chairs the local watch scheme
    """),
    thirds=lines("""
        a criminologist at {town} University
        a former detective
        security adviser to the shopkeepers' federation
        a youth worker in {place}
    """),
    orgs=("{region} Police", "{region} Constabulary", "the {regional|national} crime agency"),
    bodies=listing(
        "the fire service, the transport police, the coastguard, the customs service, the forensic laboratory"
    ),
    matters=lines("""
        a burglary at a {jeweller's|pharmacy|bicycle shop|museum} in {street} | the burglary
        a series of {thefts|break-ins} from {vans|farms|churches|garden sheds} | the spree
        a {telephone|courier|parcel} fraud aimed at {pensioners|students|landlords} | the fraud
        a fire at a {warehouse|disused mill|furniture shop} in {place} | the fire
        the disappearance of a {violin|stamp collection|painting} worth {sum} | the theft
        a raid on a {cannabis farm|counterfeit workshop} in {street} | the raid
        the theft of {hundreds} metres of copper cable | the theft
        a {hit-and-run|late-night crash} on the {town} road | the collision
    """),
    events=events("""
        police {appealed|have appealed} for {witnesses|help} after {matter} on {day}
        detectives are looking for anyone who saw {matter}
        {matter} has prompted an appeal by {org}

        {few} people were arrested on {day} in connection with {matter}
        officers investigating {matter} {made|have made} {few} arrests
        {matter} led to arrests in {place} and {town}

        a {man|woman} of {n} was charged on {day} over {matter}
        {org} brought charges over {matter}
        a suspect will appear in court over {matter}

        for: burglary spree fraud theft raid
        {org} {recovered|found} goods worth {sum} while investigating {matter}
        property worth {sum} was found after {matter}
        {matter} may be close to being solved, {hero} said on {day}

        for: burglary spree fraud theft fire
        residents of {place} {were warned|have been told} to be on their guard after {matter}
        {hero} issued a warning on {day} following {matter}
        {matter} has left people in {place} {worried|uneasy}
    """),
    facts=lines("""
        the alarm was raised at {time}
        two men in {dark jackets|work clothes|crash helmets} were seen {running|driving} towards {street}
        a {white van|grey estate car|silver hatchback} was found {burnt out|abandoned} near {town}
        entry was gained through a {rear window|skylight|fire door}
        no one was hurt
        {few} patrols and a dog unit were sent
        cameras on {street} had been turned away from the road
        {terms} were among the items taken
        forensic officers spent {few} hours at {sites}
        the till had been emptied {but|and} the {stamps|lottery tickets} left alone
        house-to-house enquiries had begun by {weekday}
        the suspect was thought to be in his {twenties|thirties|fifties}
        the road was closed until {time}
        {body} also attended
        a reward of {money} was offered
        a {crowbar|glove|torch} was recovered from a {hedge|drain|skip}
        the shop had been targeted {twice|before}
        {terms} were traced to a lock-up in {town}
    """),
    figures=lines("""
        losses were estimated at {money}
        recorded {thefts|break-ins} in {region} rose by {pct} last year
        the force received {hundreds} calls about {terms}
        officers searched {few} addresses and seized {n} items
        only {pct} of such cases were solved
        {n} {victims|households} had come forward
        the force has lost {hundreds} officers since {year}
    """),
    actors=lines("""
        detectives
        officers from {town}
        a passing {taxi driver|jogger|nurse}
        neighbours
        the thieves
        shop staff
        a {police|coastguard} helicopter
        firefighters from {few} stations
        the victims
        investigators
        a man in his {thirties|forties|fifties}
    """),
    acts=lines("""
        studied footage from {n} cameras
        {escaped|made off} with {terms}
        gave chase as far as {street}
        {took|collected} statements from {few} people
        heard {breaking glass|shouting|a loud bang} shortly before {time}
        {released|circulated} a description of {one of the men|the car}
        linked the case to {terms} found in {town}
        {cordoned off|sealed} {street} for {few} hours
        forced a {door|shutter} at the back of {sites}
        found {terms} hidden under {floorboards|sacks|a tarpaulin}
        ruled out any link with {terms}
        asked {residents|drivers} to check their {doorbell|dashboard} cameras
        left the station while enquiries went on
    """),
    views=lines("""
        Somebody knows who did this, and I would ask them to pick up the telephone.
        This was planned, and it was carried out by people who knew the building.
        We would rather have ten calls that lead nowhere than miss the one that matters.
        Please look in your sheds and check your {terms}.
        We are following several lines of enquiry.
        It may seem a small thing, but {terms} like these mean a great deal to the family.
        We take every report of this kind seriously.
        We have more officers on {street} this week than in the whole of {month}.
    """),
    doubts=lines("""
        We never see a patrol car from one month to the next.
        I heard the glass go and I just froze.
        It has shaken the whole street.
        What is the point of cameras if nobody watches them?
        They took things that cannot be replaced.
        I rang {three|four} times before anyone came.
        You do not expect it in a place like {place}.
        It will be the third time I have had to clean up.
    """),
    past=lines("""
        The {shop|building} was broken into in {year}, when {terms} were taken.
        Police stations in {place} and {town} closed in {year}.
        {region} saw a run of similar cases in the {winter|spring} of {year}.
        The force set up a dedicated team in {year}.
        A gang from {town} was jailed in {year} for stealing {terms}.
    """),
    scenes=lines("""
        A strip of blue and white tape still hung from a lamp post on {street}.
        Glass lay across the pavement, and a hand-written sign read closed until further notice.
        A {kettle|radio} could be heard through the broken window.
        Neighbours stood in {dressing gowns|small groups} behind the cordon.
    """),
    ahead=lines("""
        Anyone with information is asked to call {org} and quote No. {hundreds}.
        A suspect is due before magistrates in {town} on {weekday}.
        Patrols will be stepped up until {month}.
        A public meeting will be held at {sites} on {date}.
        The results of tests by {body} are expected within {span}.
    """),
    terms=listing("""
        power tools, car keys, watches, gold rings, garden ornaments, number plates, fingerprints, phone records,
        quad bikes, catalytic converters, spirits and cigarettes, gift cards, bank cards, laptops, church silver,
        lead sheets, fishing rods, door locks, balaclavas, bolt cutters, charity boxes, medals, paintings, mopeds,
        passports, stolen plates, burglar alarms, copper pipes, antique clocks, postal orders, trailers, camera
        lenses
    """),
    units=listing("incidents, arrests, reports, victims, witnesses, stolen vehicles, officers, calls"),
    sites=listing("the scene, the shop, the industrial estate, the police station, the car park, the retail park"),
)
