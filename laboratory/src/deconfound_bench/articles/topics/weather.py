"""Weather and its consequences."""

from __future__ import annotations

from deconfound_bench.articles.grammar import lines, listing
from deconfound_bench.articles.topic import Topic, events

WEATHER = Topic(
    name="weather",
    heroes=lines("""
        {chief|duty|senior} forecaster at {org}
        who coordinates emergency planning for {region}
        {harbour master|lifeboat coxswain} at {place}
        head of {flood response|river management} at {body}
    """),
    seconds=lines("""
        a farmer near {town}
        who keeps the {inn|campsite|corner shop} in {place}
        {operations|duty} manager for the {rail|ferry|power} company
        whose house on {street} was flooded
    """),
    thirds=lines("""
        a climate researcher at {town} University
        a volunteer with the mountain rescue team
        a keen amateur observer
    """),
    orgs=("the {meteorological office|weather service|national forecast centre}", "{region} Weather Service"),
    bodies=listing("the environment agency, the coastguard, the highways authority, the rivers trust, the power grid"),
    matters=lines("""
        a {deep|fast-moving|slow-moving} {storm|depression} from the {west|north-west|Atlantic} | the storm
        a {late|early|spring} heatwave | the heatwave
        {flooding|widespread flooding} along the {place} valley | the flooding
        a {week|fortnight} of {heavy snow|freezing fog|hard frost} | the cold spell
        a drought that has lasted {span} | the drought
        a {violent|slow} thunderstorm | the storm
        a gale of up to {n} miles an hour | the gale
    """),
    events=events("""
        {matter} {left|cut off} {thousands} homes without power on {day}
        {thousands} homes lost electricity because of {matter}
        engineers were working to reconnect homes hit by {matter}

        {org} {issued|extended} a {yellow|amber|red} warning on {day} as {matter} approached
        {matter} prompted a warning for {region} on {day}
        people in {region} were told to prepare for {matter}

        {matter} {closed|blocked} roads and {disrupted|halted} trains across {region} on {day}
        travellers were stranded by {matter}
        {region} was brought to a {near |}standstill by {matter}

        {few} people were rescued from {cars|a caravan park|rooftops} in {place} during {matter}
        rescue teams were called out {n} times because of {matter}
        {matter} trapped {few} people in {place}

        {matter} began to ease on {day}, leaving a repair bill of {sum}
        the clean-up after {matter} {began|started} on {day}
        {place} counted the cost of {matter}
    """),
    facts=lines("""
        the river {place} burst its banks at {time}
        {n} millimetres of rain fell in {few} hours
        trees came down on the {town} road
        schools in {few} towns stayed shut
        sandbags were handed out at {sites}
        the sea wall at {town} was breached in {few} places
        gritters had been out since {time}
        {terms} were reported along the coast
        a {church|barn|school} lost part of its roof
        flights from {town} were {cancelled|diverted}
        the ground was already {saturated|baked hard}
        {body} opened the sluice gates
        a rest centre was set up at {sites}
        mobile phone masts failed for {few} hours
        winds backed to the north during the night
        {terms} caught many drivers by surprise
        water levels peaked shortly before {time}
    """),
    figures=lines("""
        the temperature {fell|dropped} to minus {few} degrees at {town}
        a gust of {n} miles an hour was recorded at {town}
        it was the {wettest|driest|warmest|coldest} {month} since {year}
        rainfall was {pct} above the average
        reservoirs stood at {pct} of capacity
        {hundreds} properties were flooded
        the river rose {dec} metres overnight
    """),
    actors=lines("""
        forecasters
        emergency crews
        residents of {street}
        drivers on the {town} road
        power engineers
        firefighters
        lifeboat crews
        farmers
        council workers
        volunteers with {boats|tractors}
        holidaymakers
    """),
    acts=lines("""
        spent the night at {sites}
        {cleared|removed} {n} fallen trees
        {pumped|bailed} water out of cellars
        moved {livestock|furniture} to higher ground
        {warned|cautioned} that {terms} could return
        {abandoned|left} their cars near {town}
        {watched|monitored} {terms} through the night
        blamed blocked {drains|culverts} for {terms}
        {shared|handed out} {soup|blankets|torches}
        {stayed|remained} on call until {time}
        compared the scenes with those of {year}
        reported {terms} as far inland as {town}
    """),
    views=lines("""
        The advice is simple: do not travel unless you have to.
        We have not seen {terms} like this for {n} years.
        The ground cannot take any more.
        It came up so fast that we only had time to grab the dog.
        People have been wonderful, there was soup within the hour.
        The worst of {terms} should be over by {weekday}.
        Never drive into water if you cannot see the road.
        Our crews have worked {n} hours with hardly a break.
    """),
    doubts=lines("""
        We asked for those drains to be cleared in {month}.
        Nobody knocked, nobody rang, the warning came too late.
        How many times do we have to go through this?
        The insurance will not cover {terms}.
        The barrier was meant to stop exactly this.
        It is the mud that breaks your heart.
    """),
    past=lines("""
        {place} was last flooded in {year}, when {hundreds} people had to leave their homes.
        The barrier was completed in {year} at a cost of {money}.
        The winter of {year} remains the coldest on record in {region}.
        Records at {town} go back to {founded}.
        Defences along the river were raised in {year}.
    """),
    scenes=lines("""
        A rowing boat was tied to the railings of the {bank|bakery} on {street}.
        Wheelie bins floated down {street}.
        By dusk the only light came from {candles|the chip shop}.
        Gulls stood in the flooded cricket field.
    """),
    ahead=lines("""
        Conditions should improve from {weekday}, with temperatures of about {degrees} degrees.
        The warning remains in force until {time} on {weekday}.
        A further band of {rain|snow|showers} is expected on {weekday}.
        {body} will review {terms} in {month}.
        Schools hope to reopen on {weekday}.
    """),
    terms=listing("""
        snow drifts, high tides, flood gates, black ice, power cuts, fallen trees, downpours, river levels,
        sandbags, burst pipes, strong gusts, heavy showers, hailstones, fog banks, weather fronts, storm surges, icy
        roads, leaking roofs, water shortages, hosepipe bans, heat alerts, evacuation orders, thunderclouds, dry
        spells, overnight frosts, landslips, barometers, flood plains, ferry cancellations, sea mists
    """),
    units=listing("homes, flood warnings, rescues, fallen trees, cancelled trains, properties, road closures"),
    sites=listing("the village hall, the school gym, the fire station, the harbour, the leisure centre"),
)
