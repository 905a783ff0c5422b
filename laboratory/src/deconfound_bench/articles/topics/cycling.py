"""Road racing."""

from __future__ import annotations

from deconfound_bench.articles.grammar import lines, listing
from deconfound_bench.articles.topic import Topic, events

CYCLING = Topic(
    name="cycling",
    heroes=lines("""
        a {climber|sprinter|rouleur|time-trial specialist} with {org}
        the {national|under-23|defending} champion
        {who leads the mountains competition|who wore the leader's jersey}
    """),
    seconds=lines("""
        a team-mate at {org}
        {sports director|coach} at {body}
        who finished second
    """),
    thirds=lines("""
        the race doctor
        a former winner of the {region} tour
        who watched from a camper van near the summit
    """),
    orgs=("{brand}-{brand}", "Team {brand}", "{brand} Cycling"),
    bodies=("Team {brand}", "the {cycling federation|race jury|anti-doping agency}"),
    matters=lines("""
        the {fourth|seventh|ninth|final|queen} stage of the Tour of {region} | the stage
        a {short|flat|hilly|mountain} time trial in {place} | the time trial
        the {nth} {place} Classic | the race
        a one-day race over the {cobbles|gravel} of {region} | the race
        a stage from {place} to {town} in {crosswinds|heavy rain|fierce heat} | the stage
        the national road championship | the championship
    """),
    events=events("""
        {hero} won {matter} on {day} after a {lone|long|brave} attack
        {hero} rode away from the field to win {matter}
        nobody could follow when {hero} attacked in {matter}

        {hero} {took|seized} the overall lead on {day} in {matter}
        {matter} handed {hero} the leader's jersey
        the general classification was turned upside down by {matter}

        {hero} won a {bunch|uphill|photo-finish} sprint to take {matter}
        {matter} went to {hero} by {half a wheel|a tyre's width}
        {hero} was the fastest in a crowded finish to {matter}

        a crash involving {n} riders marred {matter} on {day}
        {hero} won {matter}, but the talk was of a pile-up
        {matter} was decided after a mass fall on wet roads

        {hero} {announced|confirmed} on {day} that {he} would retire after {matter}
        {matter} will be the last for {hero}
        {hero} is to stop at the end of the season
    """),
    facts=lines("""
        the break went clear after {n} kilometres
        the peloton split in the crosswinds near {town}
        {second} punctured at the foot of the climb
        the descent into {town} was {wet|greasy|treacherous}
        {few} riders abandoned
        the gap was {few} minutes at the top of the {col|pass}
        a motorcycle blocked the road for a moment
        {org} set the pace on the lower slopes
        the feed zone was moved because of {roadworks|a landslip}
        bonus seconds were on offer at {sites}
        the jury handed out {few} fines for {terms}
        the final ramp averaged {dec} per cent
        the chase was hampered by {terms}
        the caravan reached {town} at {time}
        a change of {bike|wheel} cost {second} {secs} seconds
        {terms} played a part in the last {n} kilometres
    """),
    figures=lines("""
        the winning margin was {secs} seconds
        the average speed was {degrees} kilometres an hour
        {hero} led by {few} minutes and {secs} seconds
        the stage covered 1{n} kilometres
        temperatures reached {degrees} degrees on the {pass|plateau}
        only {n} of 1{n} starters finished
        the last climb rose {hundreds} metres
    """),
    actors=lines("""
        the peloton
        the breakaway
        {few} escapees
        {org}
        {body}
        the {yellow|green|white} jersey
        the sprinters' teams
        a group of favourites
        the {Belgian|Colombian|Norwegian} champion
        domestiques
        the chasers
    """),
    acts=lines("""
        {attacked|accelerated} on the steepest ramp
        lost contact {near|before} {sites}
        {worked|refused to work} in the chase
        {fell|slid out} on a bend outside {town}
        {closed|halved} the gap within {few} kilometres
        took no risks on the descent
        complained about {terms}
        paid for {terms} earlier in the day
        {controlled|policed} the front of the race
        swapped {turns|wheels} all the way to {sites}
        crossed the line {arm in arm|exhausted|in tears}
        ran short of {food|water}
        faded inside the last kilometre
    """),
    views=lines("""
        I had good legs and I decided not to wait.
        The team was perfect, they kept me out of the wind all day.
        I heard on the radio that the gap was growing, so I kept going.
        We had studied {terms} on the map for weeks.
        You only get one day like this.
        I could not feel my hands on the descent.
        It is a long way to the finish in {town}, and I take it day by day.
        My father drove {n} hours to see this.
    """),
    doubts=lines("""
        I had nothing left.
        The organisers should look at {terms} before somebody is badly hurt.
        We waited for the others to chase, and they waited for us.
        It was a stupid crash, but that is racing.
        I lost the race in one corner.
        {terms} are no excuse, the strongest rider won.
    """),
    past=lines("""
        The race was first held in {founded} and has been won {few} times by riders from {region}.
        {hero} turned professional in {lately} after {few} years as a {rower|skier|bicycle courier}.
        A fall in {lately} kept {hero} off the bike for {span}.
        The climb has not been used since {lately}.
        {org} was formed in {lately} from the remains of a smaller team.
    """),
    scenes=lines("""
        Cowbells and {accordions|air horns} could be heard from the last bend.
        A farmer had mown a bicycle into a field above {town}.
        Riders sat on the kerb wrapped in {foil|towels}.
        Children ran beside {hero} on the last ramp.
    """),
    ahead=lines("""
        The race continues on {weekday} with 1{n} kilometres to {town}.
        A rest day follows before the {high mountains|second time trial}.
        {hero} will next ride in {town} in {month}.
        The jury will look at the footage of {terms} on {weekday}.
        The race ends in {place} on {date}.
    """),
    terms=listing("""
        crosswinds, hairpins, gear ratios, tyre pressures, bonus seconds, team tactics, mountain passes, feed
        bottles, road barriers, photo finishes, saddle sores, heart rates, echelons, radio earpieces, narrow
        bridges, sprint trains, cobbles, time gaps, power meters, disc brakes, lead-outs, team cars, rain capes,
        traffic islands, climbers, training camps, aero helmets, wet leaves, broken spokes, musettes
    """),
    units=listing("riders, stage wins, sprint points, mountain points, spectators, retirements"),
    sites=listing("""
        the summit, the flamme rouge, the finish, the last bend, the feed station, the intermediate sprint
    """),
)
