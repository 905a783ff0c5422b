"""Hospitals, medicine and public health."""

from __future__ import annotations

from deconfound_bench.articles.grammar import lines, listing
from deconfound_bench.articles.topic import Topic, events

HEALTH = Topic(
    name="health",
    heroes=lines("""
        {medical director|chief nurse|chief executive} of {org}
        a {paediatrician|heart surgeon|family doctor|midwife|psychiatrist} at {org}
        director of public health for {region}
    """),
    seconds=lines("""
        {regional|national} officer for the nurses' union
        whose {mother|husband|daughter} was treated at the hospital
        chair of the patients' forum
        a general practitioner in {town}
    """),
    thirds=lines("""
        an epidemiologist at {town} University
        a pharmacist on {street}
        director of the charity {Open Ward|Clear Breath|Steady Hands}
    """),
    orgs=lines("""
        {place} {General|Infirmary|Royal|Children's} Hospital
        St. {saint}'s Hospital
        the {region} health {trust|board}
    """),
    bodies=listing(
        "the health ministry, the medicines regulator, the care inspectorate, the blood service, the cancer registry"
    ),
    matters=lines("""
        an outbreak of {measles|norovirus|whooping cough|food poisoning} in {place} | the outbreak
        a trial of a {vaccine|tablet|blood test} for {asthma|migraine|diabetes|arthritis} | the trial
        the closure of a {maternity|children's|stroke|minor injuries} unit | the closure
        a waiting list of more than {thousands} patients | the waiting list
        a shortage of {nurses|anaesthetists|blood|antibiotics} | the shortage
        a screening programme for {bowel cancer|hearing loss|heart disease} | the programme
        a {critical|damning|mixed} inspection report | the report
        a new {wing|operating theatre|scanner} paid for by {donations|bequests} | the project
    """),
    events=events("""
        for: outbreak closure list shortage report
        {org} {apologised|said sorry} on {day} over {matter}
        patients received an apology for {matter}
        {matter} should never have {happened|been allowed}, {hero} {said|admitted} on {day}

        for: trial programme project outbreak
        {matter} {entered|moved into} a new phase on {day}, {org} said
        {hero} {reported|spoke of} {steady|slow} progress with {matter}
        there was {encouraging|mixed} news on {day} about {matter}

        for: outbreak shortage list closure
        {org} {cancelled|postponed} {hundreds} operations because of {matter}
        {hundreds} operations were put off because of {matter}
        {matter} forced surgeons to send patients home

        for: outbreak shortage closure list
        {n} {people|patients} are known to have been affected by {matter}
        {org} confirmed on {day} that {matter} had affected {n} people
        the number of those touched by {matter} has reached {n}

        for: outbreak list shortage programme project report
        the government {promised|found} {sum} on {day} to deal with {matter}
        {sum} is to be spent on {matter}
        {matter} will get extra money, ministers said on {day}
    """),
    facts=lines("""
        wards were running at {pct} of capacity
        {few} wards were closed to visitors
        patients waited on trolleys for up to {n} hours
        the unit had been short of {terms} since {month}
        letters were sent to {hundreds} families
        half of the volunteers were given a placebo
        the side effects were mostly {mild|headaches|nausea}
        {body} was told on {weekday}
        {few} children were kept in overnight
        {terms} were linked to {shorter|longer} stays
        the scanner broke down {twice|again} in {month}
        agency staff filled {n} shifts a week
        the results held for {men and women|all age groups}
        inspectors found {terms} stored in a corridor
        bookings for {terms} opened at {time}
        the clinic moved into {sites} as a stopgap
        {terms} improved within {span}
    """),
    figures=lines("""
        the risk fell by {pct} among those treated
        {thousands} people have waited longer than {n} weeks
        the trial followed {thousands} adults for {few} years
        vaccination rates dropped to {pct}
        vacancies stood at {hundreds}
        treatment costs about {fee} a patient
        admissions rose by {pct} in {month}
    """),
    actors=lines("""
        doctors
        nurses on the night shift
        {patients|relatives}
        {few} consultants
        health officials
        the hospital's managers
        ambulance crews
        researchers
        inspectors
        pharmacists in {region}
        parents
    """),
    acts=lines("""
        {urged|advised} people to {wash their hands|check their vaccination cards|stay at home}
        {reported|recorded} {fewer|more} problems with {terms}
        described conditions as {stretched|unsafe|much improved}
        {raised|voiced} concern about {terms}
        {set up|opened} a helpline
        spoke of double shifts and of {terms}
        {found|saw} no link with {terms}
        {blamed|pointed to} {terms} for the delays
        {checked|reviewed} the records of {hundreds} patients
        asked for more {terms}
        {praised|thanked} the staff at {sites}
        moved {terms} to {town}
    """),
    views=lines("""
        If you are worried, please call us before you come in.
        The care on the ward was excellent, it was the wait that nearly finished me.
        Our staff have been magnificent under great pressure.
        The results on {terms} are better than we dared to hope.
        We are not out of the woods, but the curve is bending.
        No one should have to travel {n} miles for {terms}.
        Prevention is cheaper than {terms}, and kinder too.
        We got this wrong, and we are putting it right.
    """),
    doubts=lines("""
        You cannot run a hospital on goodwill.
        We were left in a corridor for {few} hours.
        It is a small trial, and we need to see {terms} over the long term.
        Nurses are leaving because they can earn more stacking shelves.
        What happens when winter comes?
        We warned about {terms} a year ago.
        Nobody told us anything.
    """),
    past=lines("""
        The hospital opened in {founded} with {hundreds} beds.
        {org} was placed in special measures in {year}.
        An earlier review of {terms} was stopped in {year}.
        The last outbreak on this scale was in {year}.
        {place} has had no {dentist|maternity ward} of its own since {year}.
    """),
    scenes=lines("""
        In the waiting room, a {toddler|man with a bandaged hand} slept across two chairs.
        A hand-written notice on the door asked visitors to be patient.
        Trolleys lined the corridor as far as the {chapel|lift}.
        {hero} had been on duty since {time}.
    """),
    ahead=lines("""
        {body} will publish its findings in {month}.
        The next phase, with {hundreds} patients, starts in {month}.
        Clinics will be held at {sites} on {weekday}.
        A decision on {terms} is expected within {span}.
        Inspectors will return in {month}.
    """),
    terms=listing("""
        waiting times, blood tests, intensive care beds, booster doses, ambulance delays, hip operations, infection
        rates, prescriptions, ward rounds, mental health services, care homes, hospital meals, nurse rotas, hearing
        aids, face masks, allergies, painkillers, maternity services, cancer referrals, home visits, dialysis
        machines, side effects, school vaccinations, inhalers, discharge letters, scan results, stroke units, blood
        donors, outpatients, insulin pumps, sleep disorders, physiotherapists
    """),
    units=listing("cases, beds, patients, appointments, doses, vacancies, complaints, operations"),
    sites=listing("""
        the hospital, the health centre, the clinic, the leisure centre, the accident department, the ward
    """),
)
