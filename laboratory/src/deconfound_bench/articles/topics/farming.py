"""Farms, crops and food prices."""

from __future__ import annotations

from deconfound_bench.articles.grammar import lines, listing
from deconfound_bench.articles.topic import Topic, events

FARMING = Topic(
    name="farming",
    heroes=lines("""
        who {farms {hundreds} hectares|keeps {hundreds} {ewes|dairy cows|hens}} near {place}
        president of the {region} farmers' union
        {a vet|an agronomist|a seed merchant} in {place}
        the agriculture minister
    """),
    seconds=lines("""
        a {contract|tenant|neighbouring} farmer
        {buying director|head of produce} at {firm}
        who campaigns for {river clean-ups|animal welfare}
    """),
    thirds=lines("""
        a soil scientist at {town} Agricultural College
        an auctioneer at {town} market
        who runs a {cheese dairy|cider press|mill}
    """),
    orgs=("the {region} Farmers' Union", "{place} Growers' Cooperative", "{brand} {Dairies|Seeds|Grain}"),
    bodies=listing(
        "the agriculture ministry, the veterinary service, the food agency, the levy board, the rural payments office"
    ),
    matters=lines("""
        {a poor|a record|an early|a late} {wheat|barley|apple|potato|cherry} harvest | the harvest
        an outbreak of {bird flu|bluetongue|potato blight|swine fever} | the outbreak
        a fall in the price of {milk|pork|wool|rapeseed} | the price fall
        a ban on {a common weedkiller|live exports|peat compost} | the ban
        a scheme that pays for {hedges|ponds|wild flowers} | the scheme
        a shortage of {pickers|fertiliser|hay|abattoirs} | the shortage
        the {nth} {region} agricultural show | the show
    """),
    events=events("""
        for: harvest outbreak fall ban shortage
        farmers in {region} {warned|said} on {day} of losses from {matter}
        {matter} could cost growers {sum}, {org} said on {day}
        growers around {place} are counting the cost of {matter}

        for: outbreak fall ban shortage scheme harvest
        {org} {called for|demanded} help on {day} over {matter}
        ministers are under pressure to act on {matter}
        {hero} asked the government on {day} to step in over {matter}

        for: fall ban shortage scheme
        {hundreds} {tractors|farmers} {blocked|converged on} {place} on {day} in protest at {matter}
        a protest over {matter} brought {place} to a halt
        {matter} brought farmers on to the streets of {place}

        for: harvest scheme show
        {matter} has {surprised|delighted} farmers in {region}
        growers in {region} had reason to smile on {day} because of {matter}
        there was {good|welcome} news for {region} in {matter}

        for: harvest outbreak fall shortage ban
        {body} {announced|confirmed} {sum} of aid on {day} for farms affected by {matter}
        {matter} has led to a payment of {sum}
        farms hit by {matter} are to share {sum}
    """),
    facts=lines("""
        {terms} were {down|up} on last year
        the soil had been too {wet|dry} for drilling since {month}
        lambs fetched up to {fee} a head at {town}
        a movement ban covered {n} parishes
        {few} flocks were culled
        contracts with {firm} ran out in {month}
        straw was scarce and {terms} were dear
        the cooperative paid {dec} {cents|pence} a litre
        frost on {date} damaged the blossom
        barns near {town} were full by {month}
        prices for {terms} had been set before the rain
        combines worked through the night
        {terms} were left in the ground
        the cold store at {place} held {thousands} tonnes
        buyers from {few} countries came to the sale
        a trial plot without {terms} yielded almost as much
        the vet was called at {time}
    """),
    figures=lines("""
        yields were {pct} below the {five|ten}-year average
        feed costs rose by {pct}
        the average farm made {wage} last year
        {thousands} tonnes were exported
        wheat traded at {hundreds} a tonne
        {n} farms in {region} gave up dairying
        the ewe flock shrank by {pct}
    """),
    actors=lines("""
        growers
        dairy farmers
        {sheep|hill} farmers around {town}
        the supermarkets
        seasonal workers
        vets
        grain merchants
        ministry officials
        {young|tenant} farmers
        buyers
        a coachload of {students|visitors}
    """),
    acts=lines("""
        {held|kept} {terms} back in the hope of better prices
        {switched|turned} to {terms}
        {lost|wrote off} {n} hectares of {beans|beet|maize}
        {sprayed|harvested} at night
        {complained|protested} about {terms}
        sold {terms} at a loss
        {tested|inspected} {few} herds
        {blamed|cited} {terms}
        {queued|waited} for {few} hours at the {mill|auction}
        {invested|put} {money} into {terms}
        asked for longer contracts on {terms}
        {judged|paraded} the best {terms} in the ring
    """),
    views=lines("""
        You can do everything right and the weather still has the last word.
        We have been on this land since {founded}, and I mean to hand it on.
        A fair price, that is all we ask.
        The hedges have brought the birds back, and {terms} have not suffered.
        I have not seen {terms} like these since my father's day.
        People want cheap food and pretty fields, and I cannot always give them both.
        Cows do not know that it is Sunday.
        Half of the work is {terms}, the other half is paper.
    """),
    doubts=lines("""
        At these prices I lose money every morning before breakfast.
        They bring in {terms} from abroad and tell us to plant trees.
        Another year like this and I shall sell up.
        The money goes to those who own the most land.
        The river runs brown every time it rains.
        Who is going to pick {terms}?
    """),
    past=lines("""
        The region lost {hundreds} farms between {founded} and {lately}.
        The last outbreak, in {year}, cost the industry {money}.
        {place} has held a livestock market since {founded}.
        Quotas for {terms} were abolished in {year}.
        The cooperative was founded by {n} families in {founded}.
    """),
    scenes=lines("""
        A {collie|lame ewe|row of calves} watched from the yard.
        Steam rose from the muck heap behind the parlour.
        At the market café, the talk was of nothing but {terms}.
        Apples lay {rotting|ankle deep} between the rows.
    """),
    ahead=lines("""
        The next payments are due in {month}.
        Restrictions will be reviewed on {date}.
        Harvest is expected to start in {month}.
        The union will meet in {town} on {date}.
        A decision on {terms} is promised by {month}.
    """),
    terms=listing("""
        milk prices, hay bales, seed potatoes, lambs, winter crops, subsidies, dairy herds, orchards, combine
        harvesters, fertilisers, hedgerows, pig sheds, crop yields, hops, beet fields, polytunnels, grain stores,
        livestock sales, fleeces, feed costs, free-range eggs, pesticides, farm shops, grazing rights, slurry pits,
        tractors, bees, heifers, irrigation ponds, vineyards, abattoirs, weeds
    """),
    units=listing("tonnes, hectares, sheep, cattle, farms, tractors, bales, seasonal workers"),
    sites=listing("the livestock market, the showground, the farm gate, the mill, the packing shed"),
)
