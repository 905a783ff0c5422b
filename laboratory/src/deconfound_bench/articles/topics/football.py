"""Association football."""

from __future__ import annotations

from deconfound_bench.articles.grammar import lines, listing
from deconfound_bench.articles.topic import Topic, events

FOOTBALL = Topic(
    name="football",
    heroes=lines("""
        the {manager|head coach|captain} of {org}
        the {org} {goalkeeper|striker|midfielder|full-back}
        the {org} assistant coach
    """),
    seconds=lines("""
        {manager|head coach|captain} of {rival}
        the {rival} {goalkeeper|centre-half|winger}
    """),
    thirds=lines("""
        a season-ticket holder for {n} years
        a former {international|club captain}
        secretary of the supporters' trust
    """),
    orgs=("{place} {Rovers|United|Town|Athletic|City|Wanderers|Albion|Rangers}",),
    bodies=("the {league|football association|players' union}", "the {referees'|supporters'} association"),
    matters=lines("""
        a {bad-tempered|lively|scrappy|one-sided|rain-soaked} {league match|cup tie} against {rival} | the match
        a {fifth-round|quarter-final|first-leg} tie with {rival} | the tie
        a {local|regional} derby against {rival} | the derby
        a play-off against {rival} | the play-off
        a top-of-the-table meeting with {rival} | the game
        a relegation battle with {rival} | the game
    """),
    events=events("""
        {org} {beat|defeated|saw off} {rival} {win} in {matter} on {day}
        {rival} went down {win} to {org} at {sites}
        {matter} finished {win} in favour of {org}

        a {late|stoppage-time} goal gave {org} {a {win} win|victory} in {matter}
        {org} left it late to beat {rival} {win}
        {matter} was settled in the {nth} minute

        {org} {climbed|moved up} to {second|third|fourth|fifth} in the table after winning {matter} {win}
        a {win} victory over {rival} lifted {org} on {day}
        {org} took all three points from {matter}

        {org} came from behind to win {matter} {win}
        {rival} led at half-time and lost {win}
        a second-half recovery took {org} past {rival}

        ten-man {org} {held on|hung on} to beat {rival} {win}
        {org} won {matter} {win} despite losing a player before the break
        a red card could not stop {org} from beating {rival} {win}
    """),
    facts=lines("""
        {player} {headed|volleyed|tapped} in from a {corner|free kick|low cross} after {n} minutes
        {rival} hit the {post|crossbar} {twice|before the interval}
        the referee played {few} minutes of added time
        a penalty was {saved|awarded after a long look at the monitor}
        the visitors had a goal ruled out for {offside|a push}
        {terms} were the difference
        {few} players were booked
        the pitch had needed {two|three} inspections
        {rival} lost their {captain|leading scorer} to a {hamstring|knee|shoulder} injury
        the home side had {pct} of the ball
        the goalkeeper saved with {his|her} {feet|fingertips|legs}
        a mistake in midfield let in {player}
        the equaliser came straight from {terms}
        {rival} changed their shape at the interval
        the winner went in off {a defender|the far post}
        {org} had not won at home since {month}
        the away end emptied before the whistle
    """),
    figures=lines("""
        the attendance was {thousands}
        {org} had {n} shots to {few}
        it was the {nth} win in {n} matches
        {rival} have taken only {few} points from {n}
        {player} now has {n} goals this season
        the gap at the top is {few} points
        ticket income was {money}
    """),
    actors=lines("""
        the home {crowd|supporters}
        the visitors
        {rival}
        the substitutes
        the back four
        {org}'s midfield
        the {referee|assistant referee}
        the travelling fans
        both {managers|benches}
        the {teenage|Danish|loan} winger
        defenders
    """),
    acts=lines("""
        {appealed|shouted} for a penalty
        wasted {few} good chances from {terms}
        {pressed|attacked} from the first whistle
        failed to deal with {terms}
        {struggled|laboured} to create anything from {terms}
        sang until the end
        shot {wide|over the bar} when it seemed easier to score
        {tired|faded} in the last {n} minutes
        looked {dangerous|nervous|sharp} from {terms}
        dropped {deeper|back} to protect the lead
        cleared {twice|once} off the line
        waved away the protests
        came close with {terms}
    """),
    views=lines("""
        The lads gave everything and they deserved it.
        We talked about {terms} all week, and it paid off.
        I thought we were excellent in the second half.
        One game at a time, that is all I ask.
        You need a bit of luck, and today we had it.
        The young ones were fearless.
        We knew {rival} would come at us with {terms}.
        I have not slept much this week, so I will tonight.
    """),
    doubts=lines("""
        We were second best from start to finish.
        You cannot defend {terms} like that and expect to win.
        I have seen the decision again and it is never a penalty.
        It hurts, but there are {n} games left.
        I am not going to criticise the referee, but you saw it.
        We switched off, and at this level you get punished.
        The dressing room is very quiet.
    """),
    past=lines("""
        The clubs last met in {year}, when {rival} won {win}.
        {org} were relegated in {year} and almost went out of business.
        {player} arrived from {town} for {money} in {lately}.
        {rival} have not won at {sites} since {year}.
        {org} last reached this stage of the cup in {year}.
    """),
    scenes=lines("""
        Rain swept across {sites} and the floodlights failed for {few} minutes.
        A dog on the pitch held up play shortly before the interval.
        The {brass band|club mascot} led the home supporters into the street afterwards.
        Scarves were thrown on to the pitch at the end.
    """),
    ahead=lines("""
        {org} travel to {town} on {weekday}.
        The draw for the next round takes place on {date}.
        {player} faces a scan on {weekday} and could miss {span}.
        {rival} meet {town} {City|Athletic} next and will be without {few} regulars.
        The league resumes on {date} after the international break.
    """),
    terms=listing("""
        set pieces, long throws, back passes, corners, counter-attacks, loose balls, full-backs, missed chances,
        through balls, yellow cards, wingers, long balls, crosses, second balls, tackles, headers, free kicks,
        penalties, clean sheets, transfer fees, injuries, own goals, substitutions, loan deals, training sessions,
        overhead kicks, near-post flicks, season tickets, early goals
    """),
    units=listing("points, goals, supporters, season tickets, bookings, away fans"),
    sites=lines("""
        {place} Park
        the {Riverside|County|Mill Lane|Foundry|Station Road} ground
        Victoria Road
    """),
)
