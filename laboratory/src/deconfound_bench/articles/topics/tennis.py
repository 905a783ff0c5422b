"""Tennis tournaments."""

from __future__ import annotations

from deconfound_bench.articles.grammar import lines, listing
from deconfound_bench.articles.topic import Topic, events

TENNIS = Topic(
    name="tennis",
    heroes=lines("""
        the {second|fourth|seventh|ninth} seed
        a {qualifier|wild card|left-hander} from {town}
        {a former junior champion|ranked {nth} in the world}
    """),
    seconds=lines("""
        the {top|third|fifth} seed
        last year's runner-up
        a {French|Czech|Canadian|Argentine} {baseliner|doubles specialist}
    """),
    thirds=lines("""
        who coaches {few} players on the tour
        the tournament director
        a former champion turned commentator
    """),
    orgs=("the {place} {Open|International|Masters}", "the {region} Championships"),
    bodies=listing("the players' council, the tennis federation, the tournament office, the umpires' panel"),
    matters=lines("""
        a {first-round|second-round|third-round} match {delayed by rain|under the lights} | the match
        a {quarter-final|semi-final} that lasted {few} hours | the quarter-final
        the {women's|men's} final of {org} | the final
        a five-set match on {sites} | the match
        a meeting of {left-handers|two former champions|two teenagers} | the contest
    """),
    events=events("""
        {hero} beat {second} {sets} on {day} to win {matter}
        {second} was beaten {sets} by {hero} in {matter}
        {matter} ended {sets} in favour of {hero}

        {hero} {saved|fought off} {few} match points before winning {matter} {sets}
        {second} had {few} chances to finish {matter} and took none
        {hero} came back from the brink in {matter}

        {hero} needed {less than|barely} {secs} minutes to win {matter} {sets}
        {second} was swept aside in {matter}
        {matter} was over almost before the crowd had sat down

        {hero} reached the last {eight|four|sixteen} of {org} by winning {matter} {sets}
        the run of {hero} goes on after {matter}
        {org} lost {second} on {day} when {hero} won {matter}

        {hero} won {matter} when {second} {retired hurt|withdrew with a back injury} on {day}
        an injury to {second} brought {matter} to an early end
        {matter} finished in anticlimax as {second} limped off
    """),
    facts=lines("""
        {hero} broke serve in the {third|fifth|seventh} game
        the second set went to a tie-break
        {second} double-faulted {twice|on set point}
        the roof was closed at {time}
        play was held up for {few} hours by rain
        {second} called for the trainer after the {first|second} set
        the rallies from the back of the court were {long|punishing}
        {terms} proved decisive
        a line call was overturned by the {camera|umpire}
        {hero} won {n} points in a row on serve
        the wind on {sites} made {terms} difficult
        {second} threw a racket and was warned
        the crowd sided with {the outsider|{hero}}
        {hero} came to the net {n} times
        a lob on match point landed on the line
        {terms} deserted {second} in the deciding set
    """),
    figures=lines("""
        {hero} served {n} aces
        the match lasted {few} hours and {secs} minutes
        {second} made {n} unforced errors
        the winner receives {money}
        {pct} of first serves went in
        the fastest serve was measured at {hundreds} kilometres an hour
        it was only the {nth} meeting of the two
    """),
    actors=lines("""
        {second}
        the umpire
        the crowd
        both players
        the {top|second} seed
        the younger player
        a ball girl
        the ground staff
        the {doubles|junior} pair
        the {favourite|outsider}
    """),
    acts=lines("""
        {struggled|wrestled} with {terms} throughout
        went for {terms} and missed
        {held|dropped} serve to {love|fifteen}
        {questioned|challenged} a call in the {sixth|eighth} game
        won the longer rallies with {terms}
        found {terms} when it mattered
        moved {stiffly|freely} after the break
        {attacked|took apart} the weaker wing with {terms}
        {changed|switched} rackets {twice|three times}
        slipped on the baseline but played on
        served out the set without losing a point
        asked for quiet before every serve
    """),
    views=lines("""
        I just tried to stay in the point and make one more ball.
        I have dreamed of this court since I was {few}.
        My {terms} were there today, and that makes everything easier.
        I was so nervous that I could hardly toss the ball.
        We worked on {terms} all winter.
        I like playing here, people get behind you.
        I told myself that {he} must be tired too.
        Tomorrow I will sleep late.
    """),
    doubts=lines("""
        I did not feel the ball.
        Too good, what can I say?
        The schedule is crazy, we finished after midnight.
        If you make that many mistakes with {terms}, you go home.
        My back went in the first set.
        They need to look at {terms} on that court.
    """),
    past=lines("""
        {hero} won the junior title here in {lately}.
        The two last met in {town} in {lately}, with {second} winning in straight sets.
        {org} moved to its present site in {year}.
        {hero} missed most of {lately} with a {wrist|hip|elbow} injury.
        No {qualifier|teenager} has won the title since {year}.
    """),
    scenes=lines("""
        Umbrellas went up in the top tier during the second set.
        A champagne cork landed on the service line and was {solemnly|quickly} removed.
        {hero} lay flat on {his} back on the {clay|grass} when it was over.
        The shadows had reached the net by the third set.
    """),
    ahead=lines("""
        {hero} plays {town}'s {passer} in the next round on {weekday}.
        The semi-finals are on {weekday}.
        {org} ends on {date}.
        Rain is forecast for {weekday}, and play may start at {time}.
        {second} hopes to return in {town} in {month}.
    """),
    terms=listing("""
        backhands, drop shots, second serves, forehand winners, tie-breaks, sliced returns, volleys, break points,
        lobs, passing shots, baseline rallies, double faults, line calls, aces, clay courts, grass courts, racket
        strings, seedings, wild cards, medical time-outs, night sessions, ranking points, hawk-eye challenges, shot
        clocks, smashes, return games, unforced errors, kick serves, knee straps
    """),
    units=listing("aces, ranking points, spectators, entries, tickets, matches"),
    sites=listing("the centre court, court two, the show court, the clay courts, the practice courts"),
)
