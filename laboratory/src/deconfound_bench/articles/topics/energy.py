"""Power, heat and fuel."""

from __future__ import annotations

from deconfound_bench.articles.grammar import lines, listing
from deconfound_bench.articles.topic import Topic, events

ENERGY = Topic(
    name="energy",
    heroes=lines("""
        {chief executive|head of generation|grid director} of {org}
        the energy {minister|secretary}
        {site manager|chief engineer} at the {place} {plant|wind farm|dam}
        founder of the {place} heat cooperative
    """),
    seconds=lines("""
        campaigns director for {Clear Coast|Warm Homes Now|the Moor Defenders}
        an analyst at {firm}
        who lives {few} miles from the site
        national officer of the power workers' union
    """),
    thirds=lines("""
        professor of power engineering at {town} University
        a heating engineer in {place}
        former head of the grid
    """),
    orgs=("{brand} {Energy|Power|Renewables|Grid}", "{region} {Power|Gas|Electric}", "the national grid operator"),
    bodies=listing(
        "the energy regulator, the nuclear inspectorate, the price commission, the coal authority, the energy ministry"
    ),
    matters=lines("""
        a wind farm of {n} turbines off {place} | the wind farm
        a {pct} rise in household bills | the rise
        the closure of the {place} {coal|gas|oil} plant | the closure
        a {solar park|battery store|biogas plant} outside {place} | the project
        a {cable|pipeline} between {place} and {town} | the link
        a reactor at {place} that is {few} years late | the reactor
        a scheme to insulate {thousands} homes | the scheme
        a power cut that darkened {region} | the power cut
    """),
    events=events("""
        for: farm project link reactor scheme closure
        {org} {won approval|was given consent} on {day} for {matter}
        {matter} was approved on {day}
        {body} gave its consent to {matter}

        for: farm rise closure project link scheme
        {org} {announced|confirmed} {matter} on {day}
        {matter} was announced on {day}, {few} months earlier than expected
        customers and staff learned of {matter} on {day}

        for: farm closure project link reactor
        opponents of {matter} {took their case|went} to court on {day}
        a legal challenge to {matter} {opened|began} on {day}
        {matter} faces a {new|fresh} challenge

        for: farm project link reactor scheme
        {matter} will {cost|need} {sum} more than planned, {org} said on {day}
        the price of {matter} has gone up by {sum}
        {hero} {blamed|cited} {terms} for the rising cost of {matter}

        for: cut rise reactor scheme closure
        {body} {opened|ordered} an inquiry into {matter} on {day}
        questions about {matter} will be put to {org}
        {matter} is to be investigated
    """),
    facts=lines("""
        the first power should flow in {month}
        the turbines stand {hundreds} metres tall
        {terms} were delivered by barge
        wholesale prices had {doubled|halved} since {month}
        the plant has run since {year}
        {few} units were offline for repairs
        the cable was damaged by {an anchor|a landslip}
        demand peaked at {time} on {weekday}
        {terms} made up the shortfall
        households would be offered {terms}
        the reservoir was {pct} full
        welds at the site had to be redone
        {body} wanted more detail on {terms}
        the site was once a {quarry|brickworks|naval depot}
        heat from the plant warms {hundreds} greenhouses
        the grid frequency dropped for {few} seconds
        contracts for {terms} were signed in {month}
    """),
    figures=lines("""
        capacity will reach {hundreds} megawatts
        a typical bill will rise by {fee} a year
        wind supplied {pct} of electricity in {month}
        the project will employ {hundreds} people while it is built
        emissions fell by {pct}
        gas storage stood at {pct}
        the subsidy is worth {money} a year
    """),
    actors=lines("""
        engineers
        campaigners
        households on {prepaid|fixed} tariffs
        the regulator
        union officials
        investors in {terms}
        grid controllers
        fishermen from {town}
        landowners along the route
        suppliers
        ministers
    """),
    acts=lines("""
        {warned|cautioned} of shortages of {terms}
        {restarted|shut down} {few} generators
        {objected|agreed} to {terms} on their land
        {cut|raised} charges for {terms}
        {laid|buried} {n} kilometres of cable
        {blamed|cited} {terms}
        {asked|pressed} for a social tariff
        {replaced|inspected} {terms} during the shutdown
        {argued|calculated} that {terms} would pay for themselves
        {switched|moved} to {heat pumps|wood pellets|night rates}
        bought {terms} from abroad
        {signed|walked away from} a contract for {terms}
    """),
    views=lines("""
        This will keep the lights on in {thousands} homes.
        The wind is free, it is the steel that costs money.
        We have to build {terms} somewhere.
        Every month of delay adds to the bill.
        The grid was designed for another century.
        I am proud of what the men and women at this plant have done.
        Insulation is dull, and it works.
        Our customers will see the benefit when {terms} come down.
    """),
    doubts=lines("""
        They are industrialising the last quiet valley we have.
        Bills go up like a rocket and come down like a feather.
        I sit in my coat and watch the meter.
        It is late, it is over budget and nobody needs it.
        What is the plan for when the wind does not blow?
        They promised us jobs and sent us {terms}.
    """),
    past=lines("""
        Coal was mined at {place} until {year}.
        The first scheme for the site was drawn up in {year} and dropped.
        {org} was privatised in {lately}.
        A blackout in {year} was traced to {terms}.
        The country imported {pct} of its energy in {year}.
    """),
    scenes=lines("""
        From the cliff path, the {cranes|turbines} look like a row of pins.
        The control room at {place} is as quiet as a library.
        In the village hall, a {model|map} of the site lay under a sheet of glass.
        The cooling towers will come down in {month}.
    """),
    ahead=lines("""
        Work starts in {month} and should take {few} years.
        {body} will rule on {terms} by {date}.
        The new tariffs apply from {date}.
        The court is expected to decide within {span}.
        The plant will be connected to the grid in {year_next}.
    """),
    terms=listing("""
        heat pumps, turbines, gas contracts, smart meters, pylons, solar panels, storage tanks, fuel bills, price
        caps, cooling towers, carbon permits, battery packs, peak loads, power lines, wood pellets, substations,
        drilling rights, blade repairs, fuel rods, insulation grants, transformers, night tariffs, tidal barrages,
        boilers, pipelines, interconnectors, spot prices, generators, wind auctions, oil imports, standing charges,
        steam valves
    """),
    units=listing("megawatts, turbines, homes, jobs, kilometres of cable, outages, panels, objections"),
    sites=listing("the control room, the power station, the site, the substation, the cliff top, the inquiry"),
)
