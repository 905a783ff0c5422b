"""Railways, roads, ports and buses."""

from __future__ import annotations

from deconfound_bench.articles.grammar import lines, listing
from deconfound_bench.articles.topic import Topic, events

TRANSPORT = Topic(
    name="transport",
    heroes=lines("""
        {managing director|operations director|chief engineer} of {org}
        the transport {minister|commissioner}
        {station manager|harbour master|route manager} at {place}
        project director of the {place} line
    """),
    seconds=lines("""
        {regional organiser|assistant secretary} of the {drivers'|rail workers'} union
        who commutes from {place} to {town}
        chair of the {passengers'|cyclists'|road users'} association
        owner of a haulage firm in {town}
    """),
    thirds=lines("""
        a transport planner at {firm}
        a retired signalman
        lecturer in logistics at {town} University
    """),
    orgs=("{region} {Railways|Trains|Buses|Ferries}", "the {region} transit authority", "{brand} {Rail|Air|Lines}"),
    bodies=listing(
        "the rail regulator, the highways authority, the port authority, the transport ministry, the safety board"
    ),
    matters=lines("""
        a {few}-day strike by {drivers|signal staff|cabin crew} | the strike
        the {new|delayed} line between {place} and {town} | the line
        a {rate} rise in fares | the fare rise
        a derailment near {town} | the derailment
        a new timetable with {n} fewer trains a day | the timetable
        the closure of the {place} {bridge|tunnel|level crossing} | the closure
        a fleet of {n} {electric|hydrogen|second-hand} {buses|trains|ferries} | the fleet
        a toll on the {town} {bridge|tunnel|bypass} | the toll
    """),
    events=events("""
        for: strike derailment timetable closure
        passengers faced {delays|disruption|long queues} on {day} because of {matter}
        {matter} disrupted {thousands} journeys on {day}
        {org} apologised to travellers caught up in {matter}

        for: rise timetable closure fleet toll line
        {org} {announced|confirmed} {matter} on {day}
        {matter} was {announced|set out} by {org} on {day}
        travellers in {region} learned of {matter} on {day}

        for: strike toll timetable rise
        talks over {matter} {broke down|ended without agreement} on {day}
        no agreement on {matter} was reached on {day}
        {matter} looks set to go on after talks failed

        for: line fleet closure
        {matter} will cost {sum}, {org} said on {day}
        the bill for {matter} has {risen|grown} to {sum}
        {sum} has been set aside for {matter}

        for: derailment closure
        investigators {blamed|pointed to} {terms} in a report on {matter}
        a report into {matter} was published on {day}
        {matter} might have been avoided, {body} found
    """),
    facts=lines("""
        replacement buses ran every {n} minutes
        the {07.42|06.15|17.20} from {town} was cancelled {few} days running
        signals failed between {place} and {town}
        the bridge was inspected in {month}
        {few} lanes were closed in each direction
        {terms} had been on order since {year}
        platform staff handed out {water|leaflets|vouchers}
        the first train left {place} at {time}
        queues stretched back as far as {town}
        drivers were offered a rise of {rate}
        {body} had warned about {terms}
        the tunnel was dug through {clay|chalk|granite}
        one carriage came to rest against a {signal box|goods shed}
        {terms} were not covered by the contract
        the last stretch of track was laid in {month}
        night services were suspended
        a points failure at {town} made matters worse
    """),
    figures=lines("""
        {pct} of trains ran on time
        the line will carry {thousands} passengers a day
        journey times fell by {n} minutes
        a season ticket will cost {fee} more
        lorry traffic rose by {pct}
        the project is {few} years late
        the operator was fined {money}
    """),
    actors=lines("""
        commuters
        engineers
        the drivers' union
        ticket staff
        lorry drivers
        the operator
        passengers at {place}
        investigators
        residents near the line
        track workers
        airport managers
    """),
    acts=lines("""
        waited for {few} hours without {terms}
        {repaired|replaced} {n} metres of {track|cable}
        {accused|blamed} managers over {terms}
        {rejected|accepted} an offer on {terms}
        asked for compensation for {terms}
        {checked|examined} {terms} along the whole route
        {switched|turned} to {buses|bicycles|car sharing}
        {found|discovered} cracks in {few} {axles|beams}
        complained of {crowded|dirty} {terms}
        {walked|made their way} along the track to {town}
        promised extra {terms} for the holidays
        {tested|inspected} {terms} overnight
    """),
    views=lines("""
        We know how frustrating this is, and we are sorry.
        It will knock {n} minutes off the journey to {town}.
        Safety comes first, and {terms} have to be checked one by one.
        We have made a fair offer on {terms}.
        The line paid for itself in {few} years.
        It is the biggest change to {terms} since {year}.
        Nobody takes strike action lightly.
        Once people see the new {terms}, they will come back.
    """),
    doubts=lines("""
        I could walk it faster.
        They put up the fares and take away the {terms}.
        I have lost count of the mornings I have been late.
        It is a line from nowhere to nowhere.
        Our members have not had a proper rise since {year}.
        Has anyone from the board ever taken the {07.42|06.15} to {town}?
        Hauliers cannot absorb another charge.
    """),
    past=lines("""
        The line was closed in {year} and its track lifted the following spring.
        {org} took over the route in {year} from {firm}.
        A collision at the same junction in {year} led to new rules on {terms}.
        The bridge, opened in {founded}, was built for {thousands} vehicles a day.
        The last strike, in {year}, lasted {span}.
    """),
    scenes=lines("""
        On platform {two|four|five}, a choir of {school children|stranded students} began to sing.
        The departure board showed nothing but the word delayed.
        Suitcases were stacked against the shuttered {kiosk|café}.
        A lone {busker|vending machine} did good business.
    """),
    ahead=lines("""
        Normal service is expected from {weekday}.
        Further talks will be held on {date}.
        The first passengers should travel in {year_next}.
        {body} will publish its final report in {month}.
        The new fares apply from {date}.
    """),
    terms=listing("""
        ticket machines, signal boxes, railcars, season tickets, road works, bus lanes, level crossings,
        platform staff, freight trains, brake pads, overhead wires, toll booths, ferry crossings, car parks, speed
        limits, runways, axle loads, night buses, timetables, sleeper services, tyre checks, cargo containers,
        connecting trains, delays, rail replacement buses, ticket barriers, traffic lights, landing slots, driver
        rosters, bypasses, cycle racks
    """),
    units=listing("passengers, trains, cancellations, vehicles, lorries, bus routes, stations, drivers"),
    sites=listing("the station, the depot, the ferry terminal, the junction, the airport, the bus garage"),
)
