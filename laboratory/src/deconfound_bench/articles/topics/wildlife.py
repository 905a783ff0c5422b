"""Nature and conservation."""

from __future__ import annotations

from deconfound_bench.articles.grammar import lines, listing
from deconfound_bench.articles.topic import Topic, events

WILDLIFE = Topic(
    name="wildlife",
    heroes=lines("""
        {warden|head ranger|ecologist} at the {place} reserve
        {director|conservation officer} of {org}
        who has counted {birds|butterflies|bats} at {place} for {n} years
        a {marine|freshwater} biologist at {town} University
    """),
    seconds=lines("""
        a {gamekeeper|fisherman|forester} near {town}
        secretary of the {anglers'|landowners'|shooting} association
        who walks {a dog|the shore} there every day
    """),
    thirds=lines("""
        curator of {birds|insects|molluscs} at the {region} Museum
        a pupil from {town} who made the discovery
        a vet at the {town} rescue centre
    """),
    orgs=("the {region} Wildlife Trust", "the {place} Bird Observatory", "the {region} National Park", "{place} Zoo"),
    bodies=listing(
        "the nature agency, the forestry commission, the rivers trust, the park authority, the fisheries board"
    ),
    matters=lines("""
        the return of {beavers|ospreys|otters|lynx|cranes} to the {place} valley | the return
        a count of {seals|butterflies|curlews|hedgehogs} | the count
        a plan to {cull|fence out|relocate} {hundreds} {deer|wild boar|goats} | the plan
        a stranding of {n} {pilot whales|dolphins} near {place} | the stranding
        an invasion of {crayfish|knotweed|hornets|mitten crabs} | the invasion
        a fire on {hundreds} hectares of {heath|moorland|pine forest} | the fire
        a spill of {slurry|diesel|milk} in the river {place} | the spill
        the {birth|escape|release} of a {red panda|snow leopard|sea eagle} | the event
    """),
    events=events("""
        {org} {announced|reported} {matter} on {day}
        {matter} was {confirmed|reported} on {day}
        news of {matter} reached {org} on {day}

        for: return count event
        {matter} has {delighted|surprised} naturalists in {region}
        naturalists in {region} spoke on {day} of {matter}
        there was {excitement|joy} in {place} over {matter}

        for: stranding invasion fire spill plan count
        {matter} has {alarmed|worried} {conservationists|anglers} in {region}
        concern grew on {day} over {matter}
        {org} called on {day} for action over {matter}

        for: stranding fire spill invasion count
        volunteers {worked|spent the night} on {day} to deal with {matter}
        more than {hundreds} volunteers turned out because of {matter}
        {matter} brought helpers to {place} from as far as {town}

        for: return plan fire spill invasion
        {body} {approved|set aside} {sum} on {day} in connection with {matter}
        {sum} will be spent following {matter}
        {matter} will be followed by spending of {sum}
    """),
    facts=lines("""
        the {nest|den|lodge} was found in {month}
        cameras recorded {terms} at {time}
        {few} {chicks|pups|cubs} were ringed
        the tide had gone out before help arrived
        {terms} had not been seen in {region} since {year}
        the reserve was closed to visitors for {span}
        samples were sent to a laboratory in {town}
        {terms} feed on the mud flats at low water
        the carcass was {dec} metres long
        rangers mended {n} metres of fence
        the water was tested {few} times a day
        {terms} had begun to recover
        gulls and {terms} moved in within hours
        the eggs were kept in an incubator at {degrees} degrees
        a landowner gave access to {terms}
        a satellite tag showed a journey of {thousands} kilometres
        the marsh was drained for {terms} in {year}
    """),
    figures=lines("""
        numbers have fallen by {pct} since {year}
        {hundreds} pairs were counted, {n} more than last year
        {thousands} visitors came in {month}
        about {pct} of the heath was lost
        survival in the first year was {pct}
        the clean-up will cost {money}
        volunteers gave {thousands} hours
    """),
    actors=lines("""
        rangers
        volunteers
        birdwatchers
        a team of {divers|climbers|vets}
        anglers
        landowners
        children from {town} Primary School
        scientists
        walkers
        the park authority
        local fishermen
    """),
    acts=lines("""
        {planted|removed} {hundreds} {saplings|thistles|tyres}
        {counted|recorded} {terms} from dawn to dusk
        {reported|saw} {terms} near {town}
        {complained|worried} about damage to {terms}
        {kept|stood} watch at {sites}
        {cleared|restored} {few} ponds
        {tracked|followed} {terms} by radio
        asked dog owners to stay away from {terms}
        {blamed|linked it to} {terms}
        {released|treated} {n} animals
        {argued|suggested} that {terms} needed more room
        {built|put up} {n} boxes for {terms}
    """),
    views=lines("""
        I cried when I saw the first one, and I do not mind saying so.
        Leave the place alone and it will mend itself.
        It is a sign that the river is healthier than it was.
        We have {few} years to save {terms}, perhaps less.
        The children knew more about {terms} than I did.
        Please keep your distance and take your litter home.
        Nobody expected {terms} to do so well.
        It only takes one dog off the lead.
    """),
    doubts=lines("""
        It is all very well for people in town.
        They will be in my lambs by the spring.
        We were never asked about {terms}.
        You cannot turn back the clock.
        The count is only as good as the weather.
        The money would be better spent on {terms}.
    """),
    past=lines("""
        {terms} vanished from {region} in {year}.
        The reserve was created in {year} on the site of a {gravel pit|firing range}.
        {org} bought the land in {year} for {money}.
        A first attempt, in {year}, failed when {few} of the animals died.
        Hunting was banned in {region} in {year}.
    """),
    scenes=lines("""
        Mist lay over the reed beds, and somewhere a {bittern|snipe} called.
        A line of wellington boots stood outside the hide.
        {hero} {knelt|crouched} and parted the grass with two fingers.
        The smell of smoke still hung over the heath.
    """),
    ahead=lines("""
        A second count will take place in {month}.
        The animals will be released in {month} if tests are clear.
        {body} is to decide on {terms} by {date}.
        Paths should reopen on {weekday}.
        Volunteers are needed at {sites} on {weekday}.
    """),
    terms=listing("""
        reed beds, nesting sites, sea birds, wild flowers, salmon runs, bat roosts, fish stocks, owls, dragonflies,
        mussel beds, fox dens, peat bogs, grey squirrels, hedgehogs, oak woods, oyster beds, meadows, toads,
        spawning grounds, moths, rock pools, wading birds, roe deer, eels, ancient trees, badger setts, water voles,
        seal pups, fungi, puffins, kingfishers, sand dunes
    """),
    units=listing("pairs, sightings, hectares, volunteers, species, animals, nests, saplings"),
    sites=listing("the hide, the estuary, the visitor centre, the mud flats, the beach, the nature reserve"),
)
