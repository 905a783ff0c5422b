"""Trials and rulings."""

from __future__ import annotations

from deconfound_bench.articles.grammar import lines, listing
from deconfound_bench.articles.topic import Topic, events

COURTS = Topic(
    name="courts",
    heroes=lines("""
        {who presided over the case|the trial judge|a judge of the {commercial|family|administrative} division}
        {counsel for the claimants|who led the prosecution}
        a {haulage contractor|former accountant|landlord|caterer} from {town}
        the {claimants'|family's} solicitor
    """),
    seconds=lines("""
        {who appeared for the defence|counsel for the defendant}
        a {director|former manager} of {firm}
        an expert witness
        for {body}
    """),
    thirds=lines("""
        a {former|retired} judge
        who teaches law at {town} University
        a court reporter for {n} years
        director of the legal charity {Fair Hearing|Second Counsel|Open Bench}
    """),
    orgs=lines("""
        {place} {Crown|District|High} Court
        the {court of appeal|employment tribunal|commercial court} in {place}
        the {supreme|administrative} court
    """),
    bodies=lines("""
        the {prosecution service|bar council|legal aid agency}
        {firm}
        the {competition|data protection|insolvency} authority
    """),
    matters=lines("""
        a claim for {sum} over {defective|undelivered} {boilers|turbines|uniforms} | the claim
        a {fraud|forgery|bribery} case involving {hundreds} {invoices|pensioners|contracts} | the case
        a dispute over the will of a {farmer|shipping heir|piano dealer} | the dispute
        an appeal against a {few}-year sentence for {embezzlement|arson|perjury} | the appeal
        a {libel|copyright|patent} action brought by {firm} | the action
        an unfair dismissal claim by {n} {drivers|nurses|cooks} | the claim
        a challenge to the {new airport|prison|housing} rules | the challenge
        a case about a {right of way|boundary hedge|party wall} in {town} | the case
    """),
    events=events("""
        for: claim appeal challenge action case
        {org} {dismissed|struck out} {matter} on {day}
        {matter} failed on {day} when {org} found {no merit in it|too little evidence}
        judges ruled against those who had brought {matter}

        for: claim appeal challenge action
        {org} {upheld|allowed} {matter} on {day}
        {matter} succeeded in {org} on {day}
        the court found that {matter} was {well founded|fully made out}

        the hearing of {matter} {opened|began} at {org} on {day}
        jurors were sworn in on {day} to hear {matter}
        {matter} came to court {few} years after the events behind it

        {matter} was {settled|adjourned} on {day} before {a witness|an expert} could be called
        lawyers {announced|told the court of} a late agreement in {matter}
        {org} rose early on {day} as both sides in {matter} asked for time

        for: claim action dispute case
        {org} ordered {firm} to pay {sum} in {matter}
        {matter} ended with an award of {sum}
        damages of {sum} were awarded on {day} in {matter}
    """),
    facts=lines("""
        the judgment ran to {n} pages
        the jury of {seven|eight} women and {four|five} men deliberated for {few} hours
        the court heard that {terms} had been altered after {month}
        the defendant spoke only to confirm {a name and address|the plea}
        {few} witnesses gave evidence by video link
        the judge gave little weight to {terms}
        costs were reserved
        reporting restrictions were lifted at {time}
        the {ledger|contract|diary} at the centre of the case was shown on a screen
        an application to exclude {terms} was refused
        the defence did not call {second}
        emails between the parties mentioned {terms} {n} times
        the limitation period had expired in {year}
        a key document was found in a {garage|filing cabinet|solicitor's loft} in {town}
        both sides agreed that {terms} were genuine
        the dock was empty for the {morning|afternoon} session
        {hero} rejected the argument that {terms} fell outside the statute
    """),
    figures=lines("""
        legal costs have passed {money}
        the indictment listed {n} counts
        the sum in dispute was {money}
        the trial had lasted {n} days
        {thousands} pages of documents were disclosed
        interest was set at {rate}
        the court has a backlog of {thousands} cases
    """),
    actors=lines("""
        lawyers for {firm}
        the prosecution
        the defence
        the {judge|presiding judge}
        {claimants|former employees} in the public gallery
        a handwriting expert
        {few} of the jurors
        the respondent
        court staff
        the appeal judges
        relatives of {the dead man|the claimant}
    """),
    acts=lines("""
        {argued|submitted} that {terms} were {inadmissible|misleading|incomplete}
        asked for leave to appeal
        {cross-examined|questioned} {second} about {terms}
        {denied|disputed} any knowledge of {terms}
        relied on a ruling from {year}
        listened without visible emotion
        produced {terms} that had not been seen before
        {conceded|accepted} that {terms} should have been disclosed
        asked the court to take {terms} into account
        spoke of a {deliberate|sustained|careless} breach
        called the evidence on {terms} {thin|overwhelming|contradictory}
        left by a side door
        wept as the verdict was read
    """),
    views=lines("""
        The law is clear, and the evidence is clearer.
        This was a breach of trust, carried out with some care.
        My clients waited {few} years for this day.
        The statute says what it says, and the court cannot improve upon it.
        No reasonable jury could have reached another view about {terms}.
        I am satisfied that {terms} were prepared for the purpose of these proceedings.
        It has never been about the money.
        We are grateful to the court for its patience.
    """),
    doubts=lines("""
        We are disappointed and will study the judgment with care.
        My client maintains, as he always has, that {terms} were honest mistakes.
        There is not one scrap of paper that links my client to {terms}.
        This case should never have been brought.
        How can anyone be expected to remember {terms} after {few} years?
        The ruling leaves hundreds of families in doubt.
        It is a harsh result.
    """),
    past=lines("""
        The case goes back to {month} {year}, when {firm} first {complained|noticed discrepancies}.
        A first trial, in {year}, was abandoned after {few} days.
        The statute has been amended {few} times since {year}.
        {firm} had traded in {place} since {founded}.
        The leading authority, decided in {year}, concerned a {tannery|cargo of tea|stray horse}.
    """),
    scenes=lines("""
        Court {two|three|four} was so full that {reporters|students} sat on the floor.
        A {clock|radiator} ticked through the long silences.
        {hero} paused {twice|more than once} to pour a glass of water.
        On the steps afterwards there were {handshakes|tears} but few words.
    """),
    ahead=lines("""
        Sentencing {was adjourned|will take place} {until|on} {date}.
        Any appeal must be lodged within {n} days.
        The hearing continues on {weekday}.
        A further hearing on {costs|damages} is listed for {month}.
        {body} said it would publish a statement within {span}.
    """),
    terms=listing("""
        witness statements, bank records, expert reports, guilty pleas, sentencing guidelines, closing speeches,
        affidavits, injunctions, disclosure duties, forged signatures, legal fees, damages, jury directions, bail
        terms, previous convictions, invoices, grounds of appeal, contracts, mitigating factors, evidence bundles,
        tribunals, hearsay rules, court interpreters, settlement offers, restraining orders, custody arrangements,
        writs, trustees, title deeds, cross-examinations, remand prisoners, verdicts
    """),
    units=listing("counts, witnesses, exhibits, claimants, hearings, charges, appeals, defendants"),
    sites=listing("court three, the county court, the law courts, the old assize hall, the tribunal's offices"),
)
