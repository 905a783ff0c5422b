"""Software, devices and networks."""

from __future__ import annotations

from deconfound_bench.articles.grammar import lines, listing
from deconfound_bench.articles.topic import Topic, events

TECHNOLOGY = Topic(
    name="technology",
    heroes=lines("""
        {co-founder|chief executive|head of engineering|product manager} {of|at} {org}
        a {security researcher|chip designer|software engineer} at {org}
        who wrote the first version of the {program|app} in {lately}
    """),
    seconds=lines("""
        an analyst at {firm}
        {director|policy officer} of the {Digital Rights Forum|Open Net Group|Privacy Watch}
        a developer who left {org} in {year}
        who runs a repair shop in {place}
    """),
    thirds=lines("""
        professor of computing at {town} University
        the data protection commissioner
        a teacher who took part in the test
    """),
    orgs=("{brand}", "{brand} {Labs|Systems|Networks|Robotics|Software}", "{firm}"),
    bodies=(
        "the {data protection|telecoms|competition} {regulator|authority}",
        "{brand} Inc.",
        "the standards institute",
    ),
    matters=lines("""
        a data breach that exposed {thousands} {accounts|records} | the breach
        a {chip|processor} made for {hearing aids|cars|weather satellites} | the chip
        a {folding|rugged|low-cost} {phone|tablet|laptop} | the device
        an outage that lasted {few} hours | the outage
        a {translation|route-planning|bookkeeping|photo} app | the app
        a robot for {picking fruit|cleaning windows|sorting parcels} | the robot
        a {delivery drone|driverless bus} trial in {place} | the trial
        an update to its {operating system|browser|billing software} | the update
        a {fibre|satellite|mobile} network for {region} | the network
    """),
    events=events("""
        for: chip device app robot trial update network
        {org} {launched|unveiled|showed off} {matter} on {day}
        {matter} was {presented|shown} to {reporters|developers} on {day}
        {hero} took the stage on {day} to present {matter}

        for: breach outage
        {org} {admitted|disclosed|confirmed} {matter} on {day}
        customers were told of {matter} on {day}
        details of {matter} came out on {day}

        for: app robot trial update device chip
        {org} {suspended|withdrew|pulled} {matter} on {day} after complaints about {terms}
        {matter} was {halted|withdrawn} following complaints
        {hero} put {matter} on hold, citing {terms}

        {body} opened an investigation into {matter} on {day}
        regulators want to know more about {matter}
        {matter} has drawn the attention of {body}

        for: chip device app robot trial network
        {org} raised {sum} on {day} to {expand|pay for} {matter}
        investors have put {sum} into {matter}
        {matter} will be paid for with {sum} of new money
    """),
    facts=lines("""
        the flaw had gone unnoticed for {span}
        engineers traced the fault to {terms}
        passwords were stored in {plain|scrambled} form
        the battery lasted {few} hours in tests
        version {dec} was downloaded {thousands} times in {few} days
        users in {few} countries reported {terms}
        the code was published under an open licence
        the device weighs {hundreds} grams
        support for older {terms} would end in {month}
        the server farm at {town} was offline until {time}
        early testers complained about {terms}
        the company employs {hundreds} engineers in {place}
        {terms} were rewritten from scratch
        the feature was switched off by default
        a {rival|similar} product from {brand} failed in {year}
        the chip was made on a {n}-nanometre line
        access to {terms} was restored in stages
    """),
    figures=lines("""
        the service has {thousands} paying users
        it will cost {fee} a month
        traffic fell by {pct} within an hour
        the error rate was {dec} per cent, against {pct} before
        the market for {terms} is worth {money} a year
        speeds reached {hundreds} megabits a second
        {pct} of households in {region} are connected
    """),
    actors=lines("""
        engineers
        {early|beta} testers
        developers
        privacy campaigners
        the company
        {users|subscribers} in {region}
        rivals
        hackers
        network operators
        security firms
        parents and teachers
    """),
    acts=lines("""
        {patched|fixed} {terms} within {few} hours
        {complained|grumbled} about {terms}
        {demonstrated|tried out} {terms} at {sites}
        {questioned|doubted} the claims made for {terms}
        moved {terms} to a server in {town}
        {published|posted} {the source code|a list of affected devices}
        asked users to {change their passwords|install the update}
        {tested|measured} {terms} over {span}
        promised better {terms} by {month}
        discovered {terms} almost by accident
        {sold|licensed} {terms} to {firm}
        found {terms} {slow|clumsy|impressive}
    """),
    views=lines("""
        It just works, and that took us {few} years.
        We are sorry, and we have taken steps so that it cannot happen again.
        People do not want more features, they want fewer problems.
        The hard part was {terms}, everything else was plumbing.
        Our data show that people use it at the kitchen table.
        If you can use a kettle, you can use this.
        We will not sell {terms} to anyone.
        The next version will be twice as fast.
    """),
    doubts=lines("""
        It is a solution looking for a problem.
        They had one job, which was to look after {terms}.
        You agree to {n} pages of conditions and nobody reads them.
        What happens to the data when the firm is sold?
        My phone is {few} years old and it cannot run the thing.
        Benchmarks are one thing, {terms} are another.
        Who checks the machine?
    """),
    past=lines("""
        {org} was started in a {garage|spare bedroom|disused cinema} in {place} in {lately}.
        An earlier model, sold in {year}, was {recalled|quietly dropped}.
        The company was fined {money} in {year} over {terms}.
        {hero} once worked as a {telephone engineer|piano tuner|games tester}.
        The regulator was given new powers over {terms} in {year}.
    """),
    scenes=lines("""
        The demonstration was interrupted when the {projector|wireless network} failed.
        A queue of {n} people had formed outside the shop by {time}.
        In the basement at {town}, fans roared over rows of blinking lights.
        A robot arm dropped {an egg|a tomato} to general delight.
    """),
    ahead=lines("""
        The device goes on sale on {date}.
        {body} will report in {month}.
        An update that deals with {terms} is due within {span}.
        Tests with {hundreds} households start in {month}.
        {org} will show a second version at the fair in {town}.
    """),
    terms=listing("""
        passwords, servers, battery cells, user accounts, privacy settings, software updates, circuit boards,
        sensors, touch screens, cookies, algorithms, data centres, spam filters, fibre cables, voice assistants,
        training data, backups, firewalls, app stores, subscriptions, web browsers, semiconductors, search results,
        routers, headsets, encryption keys, chargers, drones, chat logs, licence fees, web cameras, spreadsheets
    """),
    units=listing("users, downloads, servers, complaints, accounts, devices, bugs, engineers"),
    sites=listing("the developer conference, the laboratory, the trade fair, the company's campus, the flagship shop"),
)
