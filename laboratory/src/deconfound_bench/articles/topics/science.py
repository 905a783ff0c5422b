"""Research and discovery."""

from __future__ import annotations

from deconfound_bench.articles.grammar import lines, listing
from deconfound_bench.articles.topic import Topic, events

SCIENCE = Topic(
    name="science",
    heroes=lines("""
        {an astronomer|a geologist|a marine biologist|a physicist|a chemist|a palaeontologist} at {org}
        who led the {study|team|dig}
        professor of {genetics|materials science|oceanography|archaeology} at {org}
    """),
    seconds=lines("""
        who was not involved in the {work|study}
        {a statistician|an astronomer|a botanist} at {town} University
        a doctoral student on the team
    """),
    thirds=lines("""
        curator of {fossils|instruments|minerals} at the {region} Museum
        {editor of the journal|who reviewed the paper}
        head of the {research council's|academy's} {polar|space} programme
    """),
    orgs=(
        "the University of {place}",
        "{place} Institute of Technology",
        "the {place} Observatory",
        "{place} University",
    ),
    bodies=listing(
        "the research council, the national academy, the space agency, the geological survey, the royal museum"
    ),
    matters=lines("""
        a {fossil|skeleton} of a {reptile|giant otter|flightless bird|marine worm} | the find
        a {faint|distant|dim} {planet|comet|star} {hundreds} light years away | the object
        a study of {terms} over {n} years | the study
        a new {alloy|catalyst|battery material|glass} | the material
        a map of the {sea floor|genome of the common nettle|inner ear} | the map
        a trial of a {telescope|sensor|drill} in {Antarctica|the high desert|deep water} | the trial
        a method for dating {pottery|cave paintings|peat} | the method
    """),
    events=events("""
        {researchers|scientists} at {org} {described|reported} {matter} on {day}
        {matter} was {described|presented} in a paper published on {day}
        {hero} and colleagues have published their account of {matter}

        for: find object study map method
        {matter} may {overturn|change} what is known about {terms}, according to work published on {day}
        long-held ideas about {terms} have been called into question by {matter}
        textbooks may need a new page because of {matter}

        {hero} was awarded the {region} {Medal|Prize} on {day} for {matter}
        {matter} has won {hero} one of the field's top honours
        the prize went to {hero} for work on {matter}

        for: study trial map method material
        {body} {granted|awarded} {sum} on {day} for {matter}
        {matter} will go on for {few} more years thanks to a grant of {sum}
        {hero} has secured {sum} to continue {matter}

        for: find object study material method map
        doubts were raised on {day} about {matter}
        {second} {failed|was unable} to reproduce results from {matter}
        a second team looked at {matter} and reached a different conclusion
    """),
    facts=lines("""
        the measurements were repeated {few} times
        samples were taken at a depth of {hundreds} metres
        the team compared {terms} from {n} sites
        the signal was too regular to be noise
        earlier work on {terms} had relied on smaller samples
        the specimen lay in a drawer for {n} years before anyone looked closely
        {terms} were scanned at the {town} synchrotron
        the effect disappeared above {n} degrees
        the data were released alongside the paper
        the instrument weighed only {dec} kilograms
        computer models of {terms} predicted something quite different
        peer review took {span}
        the error bars were {small|large}
        the first hint came from a {student|retired miner|amateur diver}
        results for {terms} were less clear
        the layer was dated to about {thousands} years ago
        the researchers ruled out {terms} as an explanation
    """),
    figures=lines("""
        the sample consisted of {thousands} {measurements|specimens}
        the uncertainty was put at {rate}
        the object is about {dec} times as {massive|large} as the Earth
        the rate was {pct} higher than expected
        the work cost {money}
        the paper lists {n} authors
        only {few} such {finds|cases} are known
    """),
    actors=lines("""
        the researchers
        colleagues at {town} University
        {few} independent experts
        the authors
        engineers
        field workers
        a rival group in {town}
        the referees
        {geologists|biologists|astronomers} on the project
        technicians
        the committee that funded the work
    """),
    acts=lines("""
        {analysed|examined} {terms} with a new kind of {microscope|laser|software}
        {cautioned|warned} against reading too much into {terms}
        {collected|gathered} {hundreds} samples
        traced {terms} back to {the last ice age|a single source}
        called the evidence on {terms} {compelling|suggestive|preliminary}
        spent {span} in the field
        {found|saw} no sign of {terms}
        {calibrated|adjusted} the instrument against {terms}
        suggested that {terms} had been {underestimated|misread}
        {ran|repeated} the experiment in {town}
        invited others to check {terms}
        stumbled on {terms} by accident
    """),
    views=lines("""
        At first we thought that the instrument was broken.
        It is the kind of result you wait a whole career for.
        Nature did not read our grant proposal.
        It tells us that {terms} are far older than anyone believed.
        We do not claim to have solved the problem, but we have a better question.
        The beauty of it is that anyone with access to {terms} can check.
        I rang my co-author at two in the morning.
        There is a simple explanation, and we tried very hard to rule it out.
    """),
    doubts=lines("""
        It is an interesting result, but the sample is small.
        Extraordinary claims about {terms} need better data.
        I would like to see it done again by somebody else.
        Correlation is not a mechanism.
        There are at least {three|four} other explanations.
        We have been here before with {terms}, in {year}.
    """),
    past=lines("""
        The idea was first put forward in {year} and was {ridiculed|ignored} for decades.
        {org} has studied {terms} since {year}.
        A similar claim, made in {year}, was later withdrawn.
        The instrument was built in {year} for another purpose.
        {hero} began as a {school teacher|mining engineer|lab technician} in {town}.
    """),
    scenes=lines("""
        The {skull|vial|meteorite}, no larger than a {walnut|thumb}, sits in a padded box.
        On the wall of the laboratory hangs a photograph of a {mule|storm|much younger team}.
        The freezers hummed as {hero} {looked for|pulled out} a tray.
        Snow had closed the road to the station for {few} weeks.
    """),
    ahead=lines("""
        The team will return to {town} in {month} with {better|larger} instruments.
        A second paper, on {terms}, is under review.
        {body} will decide on further funding in {month}.
        Results from the {next|second} season are expected in {year_next}.
        The specimen goes on display on {date}.
    """),
    terms=listing("""
        isotopes, sediment cores, light curves, ocean currents, cave deposits, gene variants, spectral lines, tooth
        fragments, magnetic fields, ice sheets, tree rings, pollen grains, fault lines, radio signals, enzymes,
        plankton blooms, meteorites, rock layers, crystals, orbits, fossil feathers, neutrons, volcanic vents,
        seed banks, growth rings, coral reefs, proteins, dust clouds, tectonic plates, cosmic rays, stone tools
    """),
    units=listing("samples, specimens, species, measurements, citations, light years, sites, papers"),
    sites=listing("the laboratory, the dig, the observatory, the museum, the field station, the research vessel"),
)
