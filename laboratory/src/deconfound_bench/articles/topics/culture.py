"""Stage, music, books and museums."""

from __future__ import annotations

from deconfound_bench.articles.grammar import lines, listing
from deconfound_bench.articles.topic import Topic, events

CULTURE = Topic(
    name="culture",
    heroes=lines("""
        {artistic director|director|curator|chief conductor} {of|at} {org}
        {a novelist|a sculptor|a cellist|a playwright|a film-maker|a choreographer} born in {town}
        {who plays the lead|who wrote the score|who painted the panels}
    """),
    seconds=lines("""
        critic of {outlet}
        {a soprano|an actor|a translator|a stage designer} in the production
        chair of the {friends of the museum|arts committee|actors' union}
    """),
    thirds=lines("""
        an art historian at {town} University
        who has worked at the box office for {n} years
        a {collector|bookseller|piano tuner} from {town}
    """),
    orgs=lines("""
        the {place} {Playhouse|Opera|Symphony Orchestra|Film Festival|Book Festival}
        {place} {Museum of Art|Art Gallery|Folk Museum}
        the {Orpheum|Lyric|Palace|Old Granary} Theatre
    """),
    bodies=listing("the arts council, the musicians' union, the heritage lottery, the film board, the writers' guild"),
    matters=lines("""
        a {new|rarely heard} {opera|symphony|ballet} about {a lighthouse keeper|a beekeeper|two bakers} | the work
        an exhibition of {seascapes|glass|etchings|puppets|maps} | the exhibition
        a {first|third|debut} novel set in {a cannery|a border town|a boarding house} | the book
        a film shot in {n} days in {place} | the film
        the restoration of a {mural|church organ|silent film|theatre curtain} | the restoration
        a production of a {comedy|tragedy} from {year} | the production
        a festival of {folk song|street theatre|short films|brass bands} | the festival
        an album recorded in a {barn|disused swimming pool|chapel} | the album
    """),
    events=events("""
        for: work exhibition book film restoration production festival album
        {matter} was {presented|shown to the public} at {org} on {day}
        {org} {presented|introduced} {matter} on {day}
        audiences got a first look at {matter} on {day}

        for: work exhibition book film production album
        {matter} won the {region} Prize on {day}
        the jury chose {matter} from {n} entries
        {hero} took the {region} Prize for {matter}

        for: exhibition production festival work
        {org} {cancelled|called off} {matter} on {day} because of {terms}
        {matter} will not take place, {org} announced on {day}
        ticket holders learned on {day} that {matter} was off

        for: exhibition film production festival
        {matter} has drawn {thousands} {visitors|people} since {month}
        {org} extended {matter} on {day} after {record|strong} ticket sales
        crowds have made {matter} the surprise of the season

        {hero} {returned|came home} to {place} on {day} to present {matter}
        {matter} brought {hero} back to {place}
        {hero} {talked|spoke} about {matter} in {place} on {day}
    """),
    facts=lines("""
        the first act lasted {n} minutes
        the paint was thinned with {linseed oil|egg white}
        the cast of {n} rehearsed in a {scout hut|sports hall}
        a {standing ovation|long silence} followed the last scene
        the orchestra played from hand-copied parts
        the manuscript was found in a {suitcase|piano stool|cellar} in {town}
        {terms} were lent by {few} private owners
        the set turned on a wheel made for a {fairground|flour mill}
        the second movement drew on {terms}
        a {narrator|child|brass quintet} opened the evening
        {terms} filled the upper floor
        tickets had been on sale since {month}
        conservators worked under {lamps|microscopes} for {span}
        the subtitles failed for {few} minutes
        the publisher printed only {hundreds} copies at first
        the costumes borrowed from {terms}
        the lights went down at {time}
    """),
    figures=lines("""
        {thousands} tickets were sold in {few} days
        the painting fetched {money} at auction
        the production cost {money}
        public grants made up {pct} of income
        the museum had {thousands} visitors last year
        the book has been translated into {n} languages
        the festival runs for {n} days
    """),
    actors=lines("""
        the audience
        the chorus
        critics
        the {strings|dancers|puppeteers}
        {younger|regular} visitors
        the publisher
        conservators
        the {lead|understudy}
        a group of {school children|pensioners}
        the judges
        the ensemble
    """),
    acts=lines("""
        {applauded|cheered} for {few} minutes
        {borrowed|took} ideas from {terms}
        {praised|admired} the {lighting|pacing|colours}
        {grumbled|complained} about {terms}
        moved {slowly|easily} between {comedy|terms} and {grief|farce}
        {restored|cleaned} {terms} by hand
        stayed behind to talk about {terms}
        {struggled|coped} with {terms} in the second half
        {compared|likened} it to {terms} of the {1920s|1950s|1970s}
        left {humming|in silence|at the interval}
        brought a new warmth to {terms}
        {sang|spoke|played} without {amplification|a score}
    """),
    views=lines("""
        I wanted to make something that my grandmother would have stayed awake for.
        The piece is about memory, but it is also about soup.
        We found {terms} in the archive, and everything followed from that.
        You have to trust the audience.
        I threw away the first {hundreds} pages.
        The theatre is cold, it leaks, and I love it.
        Every town should have {terms} like these.
        The colours were there all along, under the varnish.
    """),
    doubts=lines("""
        It is an hour too long.
        There is a fine play in here somewhere.
        All this money for {terms}, and the library is closed on Mondays.
        I am not sure that it needed {terms}.
        It is pretty, and that is the trouble with it.
        You come out knowing less than when you went in.
    """),
    past=lines("""
        {org} opened in {founded} in a converted {tram depot|malt house|bank}.
        {hero} made {his} name in {lately} with a study of {terms}.
        The work was last performed in {place} in {year}.
        A fire in {year} destroyed most of the collection.
        The prize was set up in {founded} in memory of a {glassmaker|schoolmistress|local printer}.
    """),
    scenes=lines("""
        In the foyer, someone was playing the {accordion|piano} rather badly.
        A single red {chair|shoe|umbrella} stood on the stage.
        The paint was still wet on the posters in {street}.
        {hero} lit the stove, apologised for the mess and moved a cat.
    """),
    ahead=lines("""
        The run continues until {date}, with a matinee on {weekday}.
        The exhibition moves to {town} in {month}.
        A second volume is due in {year_next}.
        {org} will announce its next season in {month}.
        Tickets cost from {fee}.
    """),
    terms=listing("""
        watercolours, folk songs, stage sets, chamber works, oil sketches, brass bands, love letters, short stories,
        puppets, tapestries, film reels, choirs, costumes, violins, ticket prices, ceramics, landscapes, poems, box
        offices, translations, portraits, rehearsals, overtures, novels, dance steps, woodcuts, lullabies, programme
        notes, arts grants, first editions, lithographs, curtain calls
    """),
    units=listing("tickets, visitors, paintings, performances, entries, copies, seats, recordings"),
    sites=listing("the theatre, the gallery, the concert hall, the museum, the bookshop, the festival tent"),
)
