"""Schools and universities."""

from __future__ import annotations

from deconfound_bench.articles.grammar import lines, listing
from deconfound_bench.articles.topic import Topic, events

EDUCATION = Topic(
    name="education",
    heroes=lines("""
        {head teacher|head|principal|deputy head} {of|at} {org}
        {vice-chancellor|dean of students|registrar} at {place} University
        a {physics|music|primary|geography} teacher at {org}
        the schools minister
    """),
    seconds=lines("""
        {general|branch} secretary of the teachers' union
        who has {two|three} children at the school
        a {second-year|final-year} student
        chair of the governors
    """),
    thirds=lines("""
        a researcher at the {town} Institute of Education
        an inspector of schools
        a former pupil
    """),
    orgs=lines("""
        {place} {Grammar|Primary|High|Community} School
        {place} {Academy|College}
        St. {saint}'s School
        {place} University
    """),
    bodies=listing(
        "the education ministry, the exam board, the schools inspectorate, the students' union, the local authority"
    ),
    matters=lines("""
        a plan to {shorten the school day|start lessons later|ban mobile phones} | the plan
        a {strong|weak|mixed} set of {exam|reading test} results | the outcome
        a strike over {pay|workload|class sizes} | the strike
        the merger of {two|three} {village|secondary} schools | the merger
        a rise in tuition fees to {fee} a term | the rise
        a new {curriculum|course} in {coding|cooking|local history|statistics} | the course
        a {critical|glowing|mixed} inspection report | the report
        a {science block|sports hall|library} that cost {sum} | the building
    """),
    events=events("""
        for: plan merger rise course building
        {org} {announced|confirmed} {matter} on {day}
        parents were told about {matter} on {day}
        {hero} {set out|explained} {matter} to parents

        {matter} {divided|split} {parents|staff} at {org} this week
        there was {anger|unease} at {org} over {matter}
        opinion at the school gate is split over {matter}

        for: plan outcome course building report
        {pupils|students} at {org} {welcomed|had mixed feelings about} {matter} on {day}
        there were cheers and groans at {org} on {day} over {matter}
        {matter} gave {org} something to talk about

        for: outcome report
        {body} {published|released} {matter} on {day}
        figures behind {matter} were released on {day}
        {matter} showed a {widening|narrowing} gap between {region} and the rest

        for: plan merger rise course
        {org} {dropped|delayed|reversed} {matter} after {protests|a petition}
        {matter} will not happen this {term|year}, {hero} said
        a campaign by parents has stopped {matter}
    """),
    facts=lines("""
        {n} classes were taught in temporary cabins
        the lesson began with {a riddle|ten minutes of silence|a song}
        {terms} had been cut twice since {month}
        {few} teachers left at the end of the summer term
        letters went home in {few} languages
        the roof of the {gym|dining hall} had leaked for {few} years
        pupils wrote to {body} about {terms}
        the waiting list for places stood at {n}
        {terms} took up {pct} of a teacher's week
        the exam was sat in {month}
        a breakfast club fed {n} children each morning
        {body} praised {terms}
        students occupied {sites} for {few} days
        the timetable left no room for {terms}
        grades in {mathematics|French|chemistry} were better than expected
        the bus to {town} no longer ran after {time}
        governors met {twice|in private} to discuss {terms}
    """),
    figures=lines("""
        {pct} of pupils reached the expected standard
        applications fell by {pct}
        the school has {hundreds} pupils, up from {hundreds} in {year}
        the average class had {n} children
        a shortfall of {money} remained
        {pct} of graduates found work within {few} months
        the pass rate was {pct}, against {pct} a year earlier
    """),
    actors=lines("""
        teachers
        parents
        {sixth-form|final-year} students
        governors
        union members
        the local authority
        inspectors
        {former|younger} pupils
        lecturers
        the exam board
        cleaners and cooks at the school
    """),
    acts=lines("""
        {objected|complained} that {terms} had not been thought through
        {spent|raised} {money} on {terms}
        {marked|set} {hundreds} papers over {few} weekends
        {volunteered|offered} to help with {terms}
        wrote a letter signed by {n} {colleagues|families}
        {praised|criticised} {terms}
        {measured|compared} {terms} in {n} schools
        stood outside {sites} with banners
        {asked for|demanded} smaller {classes|groups}
        {rehearsed|practised} for {span}
        {reported|noticed} better {terms}
        voted {narrowly|overwhelmingly} for further action
    """),
    views=lines("""
        Children only get one chance at this.
        Our pupils have worked hard and they have earned it.
        The first thing I noticed was the noise, they were talking to each other again.
        A good teacher needs time, and {terms} eat time.
        We looked at what works elsewhere, and {terms} were top of the list.
        I came here in {lately} and I have never been prouder.
        It is not about league tables.
        If a child is hungry, you can forget about fractions.
    """),
    doubts=lines("""
        Nobody asked the people who do the teaching.
        My son gets home at {time} as it is.
        You cannot fatten a pig by weighing it.
        We are losing good people because of {terms}.
        It will hit poorer families hardest.
        Where is the money for {terms} going to come from?
        It looks fine on paper.
    """),
    past=lines("""
        The school was founded in {founded} for the children of {weavers|railway workers|fishermen}.
        {org} was rated as inadequate in {year}.
        A similar experiment in {town} was given up in {year}.
        Fees were introduced in {year} and have risen {few} times.
        The number of school-age children in {place} has fallen since {year}.
    """),
    scenes=lines("""
        In the hall, {n} children sat cross-legged in front of a {piano|telescope|rabbit hutch}.
        One girl opened the envelope, closed it, and opened it again.
        Paper {snowflakes|rockets} hung from the ceiling of the classroom.
        The bell rang, and for once nobody moved.
    """),
    ahead=lines("""
        The consultation ends on {date}.
        Term starts on {date}.
        A further day of action is planned for {weekday}.
        {body} will visit again in {month}.
        Governors will vote on {terms} in {month}.
    """),
    terms=listing("""
        class sizes, reading lists, exam grades, school meals, lesson plans, tuition fees, teaching assistants,
        student loans, uniforms, playgrounds, homework clubs, entrance tests, textbooks, staff rooms, scholarships,
        mock exams, after-school clubs, lecture halls, apprenticeships, detentions, spelling tests, supply teachers,
        music lessons, truancy rates, degree courses, special needs places, field trips, parents' evenings,
        bursaries, dormitories, dissertations, league tables
    """),
    units=listing("pupils, teachers, places, applications, lessons, students, exclusions, vacancies"),
    sites=listing(
        "the school gate, the assembly hall, the library, the lecture theatre, the playground, the science block"
    ),
)
